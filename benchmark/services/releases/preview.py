"""What a release would contain if it was frozen now, as far as the rows say; the checks run when it is frozen."""

from dataclasses import dataclass

from annotator.models import Dialogue, Project, User
from annotator.models.content import DialogueStatus, GoldRole
from annotator.services.access.permissions import require_administrator
from benchmark.models import Release, ReleaseState
from reviews.models import GoldItem

#: The number of gold items that a preview names.
NAMED = 20


@dataclass(frozen=True)
class Preview:
    """What would go into a release."""

    #: Verified dialogues, with the answers of gold items, and all others.
    verified: int
    others: int
    #: The gold items in use whose answer is verified, and the first of them.
    gold_count: int
    gold: list[GoldItem]
    #: The native format of the newest frozen release; empty if there is none.
    last_format: str


def preview_release(*, actor: User, project: Project) -> Preview:
    """Preview the next release. Raises Denied for anyone but administrators."""
    require_administrator(actor=actor, project=project)
    dialogues = Dialogue.objects.filter(project=project, published=True, archived_at=None).counted()
    verified = dialogues.filter(status=DialogueStatus.VERIFIED)
    items = GoldItem.objects.filter(
        project=project, retired_at=None, source__in=verified.filter(gold_role=GoldRole.ANSWER).values("pk")
    )
    count = verified.count()
    frozen = Release.objects.filter(project=project, state=ReleaseState.FROZEN).order_by("-frozen_at", "-pk")
    return Preview(
        verified=count,
        others=dialogues.count() - count,
        gold_count=items.count(),
        gold=list(items.select_related("source").defer("source__search_text").order_by("source__external_id")[:NAMED]),
        last_format=frozen.values_list("native_format", flat=True).first() or "",
    )
