"""Seals the reviews of a blind stage, and unseals them when the stage ends."""

from collections.abc import Collection, Sequence

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotator.models import Dialogue, Event, Project, Revision, SuggestionDecision, User, Waiver
from annotator.services.database.compiled import Change, compiled, compiled_update
from annotator.services.dialogues.revisions import unseal
from reviews.models import Claim, Comment, Review, Slot, StageRun, StageRunState
from reviews.services.feedback.comments import notify_unsealed


def blind_for(actor: User, dialogues: Sequence[int]) -> set[int]:
    """Return the keys of those dialogues that are in a blind stage and whose authors the actor must not see.

    People who oversee the project may see them, except in dialogues that they review themselves.
    """
    runs = StageRun.objects.filter(cycle__dialogue__in=dialogues, state=StageRunState.OPEN, blind=True)
    own = Slot.objects.filter(Q(holder=actor) | Q(claims__person=actor), stage_run=OuterRef("pk"))
    runs = runs.filter(~Q(project__in=Project.objects.overseen_by(actor)) | Exists(own))
    return set(runs.values_list("cycle__dialogue", flat=True))


def reviewed_blind(actor: User, project: Project) -> QuerySet[Claim, int]:
    """Return the keys of dialogues that the actor reviews or reviewed in a blind stage that has not ended."""
    runs = {"slot__stage_run__state": StageRunState.OPEN, "slot__stage_run__blind": True}
    claims = Claim.objects.filter(project=project, person=actor, **runs)
    return claims.values_list("slot__dialogue", flat=True)


def unseal_stage(dialogue: Dialogue, fixes: Sequence[Revision] = (), *, only: bool = False) -> None:
    """Unseal what reviewers did on a dialogue. The caller has locked it.

    Only one stage of a dialogue is open at a time, so everything sealed belongs to it or to cancelled runs. Revisions
    of an import in progress are not unsealed here. ``fixes``: reviewers' revisions that are already loaded; ``only``:
    there are no others.
    """
    fixes = list(fixes)
    if not only:
        sealed = Revision.objects.filter(dialogue=dialogue, sealed=True, batch=None).defer("content")
        fixes += sealed.exclude(pk__in=[fix.pk for fix in fixes])
    for fix in fixes:
        fix.dialogue = dialogue
    unseal(fixes)
    for open_rows in (_open_reviews, _open_events, _open_waivers, _open_decisions):
        open_rows(dialogue.pk)
    # A new comment locks the dialogue first, so none is added between these two queries.
    opened = _sealed_comments(dialogue.pk)
    if opened:
        Comment.objects.filter(pk__in=opened).update(sealed=False)
    notify_unsealed(dialogue, opened)


def find_sealed(dialogues: Sequence[int]) -> set[int]:
    """Return the dialogues (by key) in which ``unseal_stage`` would unseal anything."""
    found: set[int] = set()
    for model in (Review, Event, Waiver, SuggestionDecision, Comment):
        rows = model.objects.filter(dialogue__in=dialogues, sealed=True).order_by()
        found.update(rows.values_list("dialogue", flat=True).distinct())
    revisions = Revision.objects.filter(dialogue__in=dialogues, sealed=True, batch=None).order_by()
    return found | set(revisions.values_list("dialogue", flat=True).distinct())


@compiled_update
def _open_reviews(dialogue_id: int) -> Change:
    return Review.objects.filter(dialogue=dialogue_id, sealed=True), {"sealed": False}


@compiled_update
def _open_events(dialogue_id: int) -> Change:
    return Event.objects.filter(dialogue=dialogue_id, sealed=True), {"sealed": False}


@compiled_update
def _open_waivers(dialogue_id: int) -> Change:
    return Waiver.objects.filter(dialogue=dialogue_id, sealed=True), {"sealed": False}


@compiled_update
def _open_decisions(dialogue_id: int) -> Change:
    return SuggestionDecision.objects.filter(dialogue=dialogue_id, sealed=True), {"sealed": False}


@compiled
def _sealed_comments(dialogue_id: int) -> QuerySet[Comment, int]:
    return Comment.objects.filter(dialogue=dialogue_id, sealed=True).order_by("pk").values_list("pk", flat=True)


def unseal_set_aside(dialogue: Dialogue, stages: Collection[str]) -> None:
    """Unseal what these cancelled blind stages sealed, unless one of them has restarted as a blind stage.

    In that case it is unsealed when the new run ends: the new reviewers must not see earlier reviews.
    """
    again = StageRun.objects.filter(cycle__dialogue=dialogue, state=StageRunState.OPEN, blind=True, stage__in=stages)
    if stages and not again.exists():
        unseal_stage(dialogue)
