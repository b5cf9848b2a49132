"""Moves a dialogue from one stage to the next; the outcome of a stage decides which move.

The caller of each function has locked the dialogue. The functions change the dialogue's fields without saving them; the
caller saves it once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.db.models import Max, QuerySet
from django.utils import timezone

from annotator.models import Dialogue, Revision
from annotator.models.content import DialogueStatus
from annotator.services.database.compiled import compiled
from annotator.services.database.statements import insert
from annotator.services.dialogues.continuations import follow_reviews
from reviews.core.protocols import AuthorRule, EntryMode, Outcome, Protocol, Stage, StageKind
from reviews.models import Cycle, CycleState, Draw, Priority, Slot, SlotState, StageRun, StageRunState
from reviews.services.queue.notifications import notify_experts, notify_return
from reviews.services.queue.order import new_position
from reviews.services.statistics.item_history import ITEM_HISTORY
from reviews.services.transitions.transition_log import Journal
from reviews.services.transitions.verified_tools import remember_verified, tools_are_verified

#: Each is called with a dialogue that has just been verified, in its transaction.
VERIFIED: list[Callable[[Dialogue], object]] = []
#: The outcome of a run in a pool whose item was not drawn.
NOT_DRAWN = "not_drawn"


@dataclass(frozen=True)
class CycleContext:
    """The cycle that a transition works on."""

    journal: Journal
    cycle: Cycle
    protocol: Protocol
    #: The priority of the slot that the dialogue comes from; later slots keep it.
    priority: int = Priority.NORMAL

    @property
    def dialogue(self) -> Dialogue:
        return self.journal.dialogue

    def set_status(self, status: DialogueStatus, stage: str) -> None:
        """Set where the dialogue is now, and count it there."""
        self.journal.status(self.dialogue.status, status)
        self.dialogue.status, self.dialogue.stage, self.dialogue.updated_at = status, stage, timezone.now()


def advance(context: CycleContext, run: StageRun, outcome: Outcome, revision: Revision) -> None:
    """Move the dialogue from a settled run to where the outcome leads. ``revision``: its content from now on."""
    _MOVES[outcome](context, run, revision)


def forward(context: CycleContext, run: StageRun, revision: Revision) -> None:
    """Move to the next stage, or verify the dialogue after the last one. In a stage with rounds: back to the pool."""
    if context.protocol.stage(run.stage).in_rounds and run.outcome != NOT_DRAWN:
        pool(context, context.protocol.stage(run.stage), revision, seen=True)
        return
    following = context.protocol.next_taking(run.stage)
    if following is None:
        verify(context, revision)
    elif following.entry.mode is EntryMode.ALL:
        open_run(context, following, revision)
    else:
        pool(context, following, revision)


def open_run(
    context: CycleContext,
    stage: Stage,
    revision: Revision,
    *,
    entered_as: str = "regular",
    escalated_from: StageRun | None = None,
    confirms: int = 0,
    for_owner: bool = False,
) -> StageRun:
    """Open a stage for the dialogue: a new round with a slot for each reviewer.

    ``confirms``: how many people in a row have just approved this revision in this stage. ``for_owner``: reserve a
    self-check for the owner in its first round too.
    """
    run = _new_run(context, stage, revision, StageRunState.OPEN, entered_as, escalated_from)
    status = DialogueStatus.ESCALATED if entered_as == "escalated" else DialogueStatus.IN_REVIEW
    context.set_status(status, stage.key)
    open_slots(context, run, stage, revision, confirms=confirms, for_owner=for_owner)
    return run


def open_slots(
    context: CycleContext,
    run: StageRun,
    stage: Stage,
    revision: Revision,
    *,
    confirms: int = 0,
    for_owner: bool = False,
    people: Sequence[int] = (),
) -> None:
    """Create the slots of a run. Later rounds of a self-check, and stages for owners only, are reserved for the owner.

    ``people``: for whom the slots are reserved, one each; empty: open to everyone.
    """
    dialogue = context.dialogue
    own_work = stage.kind is StageKind.SELF_CHECK and (for_owner or run.round > 1)
    of_owner = stage.eligible.author is AuthorRule.OWNER or own_work
    reserved = dict(enumerate(people))
    slots = [
        Slot(
            stage_run=run,
            index=index,
            project_id=run.project_id,
            dialogue=dialogue,
            cycle=context.cycle,
            protocol_id=context.cycle.protocol_id,
            stage=stage.key,
            stage_kind=stage.kind,
            round=run.round,
            state=SlotState.OPEN,
            priority=context.priority,
            position=new_position(index),
            revision=revision,
            revision_author_id=revision.author_id,
            owner_id=dialogue.owner_id,
            reserved_for_id=dialogue.owner_id if of_owner else reserved.get(index),
            confirms=confirms,
        )
        for index in range(stage.reviewers)
    ]
    insert(slots)
    context.journal.count(f"left:{stage.key}", stage.reviewers)
    if of_owner and run.round > 1:
        notify_return(actor=context.journal.actor, dialogue=dialogue, stage=stage)


def end_cycle(context: CycleContext, state: CycleState, revision: Revision | None, reason: str = "") -> None:
    """End the cycle."""
    cycle = context.cycle
    cycle.state, cycle.ended_at, cycle.exit_revision, cycle.reason = state, timezone.now(), revision, reason[:500]
    cycle.save(update_fields=["state", "ended_at", "exit_revision", "reason"])
    if state != CycleState.SUPERSEDED:
        ITEM_HISTORY.enqueue(cycle.project_id, [cycle.dialogue_id])


def verify(context: CycleContext, revision: Revision) -> None:
    """End the cycle with this content as the verified revision.

    If its tools must be verified first, it waits: the cycle goes on without a stage until ``end_verified`` is called.
    """
    if tools_are_verified(context.dialogue.project, context.protocol, revision):
        end_verified(context, revision)
        return
    context.set_status(DialogueStatus.IN_REVIEW, "")
    tools = revision.toolset_revision.toolset.name
    context.journal.event("cycle.waits_for_tools", after={"cycle": context.cycle.number, "toolset": tools})


def end_verified(context: CycleContext, revision: Revision) -> None:
    """End the cycle with this content as the verified revision, whose tools are verified if they must be."""
    end_cycle(context, CycleState.VERIFIED, revision)
    context.set_status(DialogueStatus.VERIFIED, "")
    context.journal.event(
        "cycle.verified", after={"cycle": context.cycle.number, "content_hash": revision.content_hash}
    )
    remember_verified(context.dialogue, revision)
    follow_reviews({context.dialogue.pk: revision.pk})
    for follow in VERIFIED:
        follow(context.dialogue)


def _reject(context: CycleContext, run: StageRun, revision: Revision) -> None:
    end_cycle(context, CycleState.REJECTED, None)
    context.set_status(DialogueStatus.REJECTED, "")
    context.journal.event("cycle.rejected", after={"cycle": context.cycle.number, "stage": run.stage})
    follow_reviews({context.dialogue.pk: None})


def _escalate(context: CycleContext, run: StageRun, revision: Revision) -> None:
    expert = context.protocol.expert_stage(run.stage)
    if expert is None:
        raise ValueError(f"nobody takes what stage {run.stage} escalates")
    open_run(context, expert, revision, entered_as="escalated", escalated_from=run)
    notify_experts(dialogue=context.dialogue, stage=expert)


def _back_to_author(context: CycleContext, run: StageRun, revision: Revision) -> None:
    author = context.protocol.author_stage(run.stage)
    if author is None:
        raise ValueError(f"stage {run.stage} has no author to send the item back to")
    open_run(context, author, revision)


def _restart(context: CycleContext, run: StageRun, revision: Revision) -> None:
    # A sample counts an item once, as it was drawn; later rounds of the same item are not part of it.
    entered_as = "regular" if run.entered_as == "sampled" else run.entered_as
    open_run(context, context.protocol.stage(run.stage), revision, entered_as=entered_as,
             escalated_from=run.escalated_from)  # fmt: skip


def _confirm(context: CycleContext, run: StageRun, revision: Revision) -> None:
    before = run.slots.values_list("confirms", flat=True)[0]
    open_run(context, context.protocol.stage(run.stage), revision, confirms=before + 1)


def _return(context: CycleContext, run: StageRun, revision: Revision) -> None:
    """Return the dialogue to the stage that escalated it; its reviewers decide whether it is right now."""
    if run.escalated_from is None:
        forward(context, run, revision)
        return
    stage = context.protocol.returns_to(run.stage, run.escalated_from.stage)
    if stage is None:
        forward(context, run, revision)
    elif stage.in_rounds:
        pool(context, stage, revision)
    else:
        open_run(context, stage, revision)


_MOVES: dict[Outcome, Callable[[CycleContext, StageRun, Revision], None]] = {
    Outcome.PASS: forward,
    Outcome.PASS_WITH_FIX: forward,
    Outcome.REJECTED: _reject,
    Outcome.ESCALATE: _escalate,
    Outcome.BACK_TO_AUTHOR: _back_to_author,
    Outcome.RESTART: _restart,
    Outcome.RETURN: _return,
    Outcome.CONFIRM: _confirm,
}


def pool(context: CycleContext, stage: Stage, revision: Revision, *, seen: bool = False) -> None:
    """Put the dialogue in the stage's pool. ``seen``: this revision was already reviewed there without a dispute."""
    _new_run(context, stage, revision, StageRunState.POOLED, "regular", None, seen=seen)
    context.set_status(DialogueStatus.POOLED, stage.key)
    context.journal.count(f"pooled:{stage.key}")


def _new_run(
    context: CycleContext,
    stage: Stage,
    revision: Revision,
    state: StageRunState,
    entered_as: str,
    escalated_from: StageRun | None,
    *,
    seen: bool = False,
) -> StageRun:
    earlier, looks = max(_rounds(context.cycle.pk, stage.key), default=0), None
    if stage.in_rounds:
        # The round has the number of the draw it waits for, so it is the same round for all items.
        draws = Draw.objects.filter(project=context.cycle.project_id, stage=stage.key)
        earlier = max(earlier, draws.aggregate(last=Max("number"))["last"] or 0)
        before = StageRun.objects.filter(cycle=context.cycle, stage=stage.key, state=StageRunState.SETTLED)
        looks = before.exclude(outcome=NOT_DRAWN).count()
    run = StageRun(
        cycle=context.cycle,
        project_id=context.cycle.project_id,
        stage=stage.key,
        round=earlier + 1,
        looks=looks,
        seen=seen,
        state=state,
        entered_as=entered_as,
        blind=stage.blind,
        entry_revision=revision,
        escalated_from=escalated_from,
    )
    insert([run])
    return run


@compiled
def _rounds(cycle_id: int, stage: str) -> QuerySet[StageRun, int]:
    return StageRun.objects.filter(cycle=cycle_id, stage=stage).values_list("round", flat=True)
