"""Verified dialogues about which a dispute was accepted, and that are as they were: a release would have the error."""

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from annotator.models import Project, User
from annotator.models.content import DialogueStatus, GoldRole
from annotator.services.access.permissions import require_administrator
from reviews.models import Cycle, DisputeState, Feedback


def accepted_unchanged(*, actor: User, project: Project) -> QuerySet[Feedback]:
    """Return the feedback, the latest answer last, whose accepted dispute nothing has followed. Raises Denied.

    A newer revision or another cycle of the dialogue follows it. Gold items are in no release.
    """
    require_administrator(actor=actor, project=project)
    again = Cycle.objects.in_effect().filter(
        dialogue=OuterRef("dialogue"), created_at__gt=OuterRef("dispute__answered_at")
    )
    rows = Feedback.objects.filter(
        ~Q(dialogue__gold_role=GoldRole.GOLD),
        ~Exists(again),
        dialogue__project=project,
        dialogue__published=True,
        dialogue__archived_at=None,
        dialogue__status=DialogueStatus.VERIFIED,
        dialogue__head__created_at__lte=F("dispute__answered_at"),
        dispute__state=DisputeState.ACCEPTED,
    )
    return rows.select_related("dialogue").defer("dialogue__search_text").order_by("dispute__answered_at", "pk")
