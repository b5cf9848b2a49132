"""Moves on items that a draw did not select, thousands at a time: they are verified, or wait for the next round."""

from collections import Counter

from django.db.models import F, OuterRef, Subquery
from django.utils import timezone

from annotator.models import Dialogue
from annotator.models.content import DialogueStatus
from annotator.services.database.bulk_insert import insert_rows
from annotator.services.dialogues.continuations import follow_reviews
from annotator.services.history.event_chain import extend_chains, in_portions
from reviews.models import Cycle, CycleState, Draw, StageRun, StageRunState
from reviews.services.protocols.versions import parse
from reviews.services.statistics.counters import write_deltas
from reviews.services.statistics.item_history import ITEM_HISTORY
from reviews.services.transitions.moves import NOT_DRAWN
from reviews.services.transitions.verified_tools import (
    demands_verified_tools,
    remember_all_verified,
    with_unverified_tools,
)


def settle_as_not_drawn(runs: list[StageRun]) -> None:
    """Settle runs without a review. The caller has locked their dialogues, here and below."""
    for portion in in_portions([run.pk for run in runs]):
        StageRun.objects.filter(pk__in=portion).update(
            state=StageRunState.SETTLED,
            outcome=NOT_DRAWN,
            exit_revision=F("entry_revision"),
            settled_at=timezone.now(),
        )


def wait_for_next_round(draw: Draw, runs: list[StageRun]) -> None:
    """Keep items in the pool: end their run in this round and open one for the next."""
    if not runs:
        return
    settle_as_not_drawn(runs)
    insert_rows(
        StageRun,
        ("cycle_id", "stage", "entry_revision_id", "blind", "looks", "seen"),
        [(run.cycle_id, run.stage, run.entry_revision_id, run.blind, run.looks, run.seen) for run in runs],
        constants={
            "project_id": draw.project_id, "round": draw.number + 1, "state": StageRunState.POOLED,
            "opened_at": timezone.now(),
        },
    )  # fmt: skip
    write_deltas(
        project_id=draw.project_id,
        deltas={f"outcome:{draw.stage}:{NOT_DRAWN}": len(runs), f"pooled:{draw.stage}": len(runs)},
    )


def verify_all(draw: Draw, runs: list[StageRun]) -> None:
    """Verify the items left in the pool of the last stage. Those whose tools must be verified first wait for them."""
    if not runs:
        return
    settle_as_not_drawn(runs)
    by_stage = Counter(f"outcome:{run.stage}:{NOT_DRAWN}" for run in runs)
    write_deltas(project_id=draw.project_id, deltas=by_stage)
    demanding = [run for run in runs if demands_verified_tools(draw.project, parse(run.cycle.protocol))]
    unverified = (
        with_unverified_tools(draw.project, [run.entry_revision_id for run in demanding]) if demanding else set()
    )
    held = [run for run in demanding if run.entry_revision_id in unverified]
    keys = {run.pk for run in held}
    _let_wait(draw, held)
    _end_verified(draw, [run for run in runs if run.pk not in keys])


def _let_wait(draw: Draw, runs: list[StageRun]) -> None:
    _move_all(draw, runs, DialogueStatus.IN_REVIEW)
    entries = {run.cycle.dialogue_id: {"cycle": run.cycle.number, "draw": draw.public_id} for run in runs}
    extend_chains(actor=draw.actor, project=draw.project, kind="cycle.waits_for_tools", entries=entries)


def _end_verified(draw: Draw, runs: list[StageRun]) -> None:
    for portion in in_portions([run.pk for run in runs]):
        entry = StageRun.objects.filter(pk__in=portion, cycle=OuterRef("pk")).values("entry_revision")[:1]
        Cycle.objects.filter(stage_runs__in=portion).update(
            state=CycleState.VERIFIED, ended_at=timezone.now(), exit_revision=Subquery(entry)
        )
    _move_all(draw, runs, DialogueStatus.VERIFIED)
    dialogues = [run.cycle.dialogue_id for run in runs]
    for portion in in_portions(dialogues):
        remember_all_verified(portion)
    for some in in_portions(runs):
        follow_reviews({run.cycle.dialogue_id: run.entry_revision_id for run in some})
    ITEM_HISTORY.enqueue(draw.project_id, dialogues)
    extend_chains(
        actor=draw.actor,
        project=draw.project,
        kind="cycle.verified",
        entries={
            run.cycle.dialogue_id: {
                "cycle": run.cycle.number,
                "content_hash": run.entry_revision.content_hash,
                "draw": draw.public_id,
            }
            for run in runs
        },
    )


def _move_all(draw: Draw, runs: list[StageRun], status: DialogueStatus) -> None:
    """Move dialogues out of the pool, into no stage."""
    for portion in in_portions([run.cycle.dialogue_id for run in runs]):
        Dialogue.objects.filter(pk__in=portion).update(status=status, stage="", updated_at=timezone.now())
    moved = {f"status:{DialogueStatus.POOLED}": -len(runs), f"status:{status}": len(runs)}
    write_deltas(project_id=draw.project_id, deltas=moved if runs else {})
