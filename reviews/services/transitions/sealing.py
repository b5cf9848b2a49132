"""What a blind stage hides, and how it is shown once the stage has settled."""

from collections.abc import Collection, Sequence

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotator.models import Dialogue, Event, Project, Revision, User, Waiver
from annotator.services.database.compiled import Change, compiled, compiled_update
from annotator.services.dialogues.revisions import unseal
from reviews.models import Claim, Comment, Review, Slot, StageRun, StageRunState
from reviews.services.feedback.comments import notify_unsealed


def blind_for(actor: User, dialogues: Sequence[int]) -> set[int]:
    """Those of the dialogues (by key) that stand in a blind stage and whose authors the actor must not know.

    Whoever oversees the project may, but of what they review themselves.
    """
    runs = StageRun.objects.filter(cycle__dialogue__in=dialogues, state=StageRunState.OPEN, blind=True)
    own = Slot.objects.filter(Q(holder=actor) | Q(claims__person=actor), stage_run=OuterRef("pk"))
    runs = runs.filter(~Q(project__in=Project.objects.overseen_by(actor)) | Exists(own))
    return set(runs.values_list("cycle__dialogue", flat=True))


def reviewed_blind(actor: User, project: Project) -> QuerySet[Claim, int]:
    """Dialogues (by key) that the actor reviews or reviewed in a blind stage that has not settled."""
    runs = {"slot__stage_run__state": StageRunState.OPEN, "slot__stage_run__blind": True}
    claims = Claim.objects.filter(project=project, person=actor, **runs)
    return claims.values_list("slot__dialogue", flat=True)


def unseal_stage(dialogue: Dialogue, fixes: Sequence[Revision] = (), *, only: bool = False) -> None:
    """Open what reviewers have sealed about a dialogue. The caller holds its lock.

    Only one stage of a dialogue is ever open, so whatever they sealed belongs to it, or was set aside as it began anew.
    A revision that an import holds back until it publishes is no reviewer's. ``fixes``: reviewers' revisions that the
    caller has at hand; ``only``: there are no others.
    """
    fixes = list(fixes)
    if not only:
        sealed = Revision.objects.filter(dialogue=dialogue, sealed=True, batch=None).defer("content")
        fixes += sealed.exclude(pk__in=[fix.pk for fix in fixes])
    for fix in fixes:
        fix.dialogue = dialogue
    unseal(fixes)
    for open_rows in (_open_reviews, _open_events, _open_waivers):
        open_rows(dialogue.pk)
    # Whoever comments holds the dialogue: between these two nobody does.
    opened = _sealed_comments(dialogue.pk)
    if opened:
        Comment.objects.filter(pk__in=opened).update(sealed=False)
    notify_unsealed(dialogue, opened)


@compiled_update
def _open_reviews(dialogue_id: int) -> Change:
    return Review.objects.filter(dialogue=dialogue_id, sealed=True), {"sealed": False}


@compiled_update
def _open_events(dialogue_id: int) -> Change:
    return Event.objects.filter(dialogue=dialogue_id, sealed=True), {"sealed": False}


@compiled_update
def _open_waivers(dialogue_id: int) -> Change:
    return Waiver.objects.filter(dialogue=dialogue_id, sealed=True), {"sealed": False}


@compiled
def _sealed_comments(dialogue_id: int) -> QuerySet[Comment, int]:
    return Comment.objects.filter(dialogue=dialogue_id, sealed=True).order_by("pk").values_list("pk", flat=True)


def unseal_set_aside(dialogue: Dialogue, stages: Collection[str]) -> None:
    """Open what was sealed in these blind stages, which have been set aside, unless one of them has begun anew, blind.

    Then it opens when that one settles: whoever is to review the dialogue there must not know what was said of it.
    """
    anew = StageRun.objects.filter(cycle__dialogue=dialogue, state=StageRunState.OPEN, blind=True, stage__in=stages)
    if stages and not anew.exists():
        unseal_stage(dialogue)
