"""Moves on items that a draw did not select, thousands at a time: they are verified, or wait for the next round."""

from django.db.models import F, OuterRef, Subquery
from django.utils import timezone

from annotator.models import Dialogue
from annotator.models.content import DialogueStatus
from annotator.services.database.bulk_insert import insert_rows
from annotator.services.history.event_chain import extend_chains, in_portions
from reviews.models import Cycle, CycleState, Draw, StageRun, StageRunState
from reviews.services.statistics.counters import write_deltas
from reviews.services.statistics.item_history import ITEM_HISTORY
from reviews.services.transitions.moves import NOT_DRAWN


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
    """Verify the items left in the pool of the last stage."""
    if not runs:
        return
    settle_as_not_drawn(runs)
    for portion in in_portions([run.pk for run in runs]):
        entry = StageRun.objects.filter(pk__in=portion, cycle=OuterRef("pk")).values("entry_revision")[:1]
        Cycle.objects.filter(stage_runs__in=portion).update(
            state=CycleState.VERIFIED, ended_at=timezone.now(), exit_revision=Subquery(entry)
        )
    for portion in in_portions([run.cycle.dialogue_id for run in runs]):
        Dialogue.objects.filter(pk__in=portion).update(
            status=DialogueStatus.VERIFIED, stage="", updated_at=timezone.now()
        )
    ITEM_HISTORY.enqueue(draw.project_id, [run.cycle.dialogue_id for run in runs])
    by_stage: dict[str, int] = {}
    for run in runs:
        key = f"outcome:{run.stage}:{NOT_DRAWN}"
        by_stage[key] = by_stage.get(key, 0) + 1
    moved = {f"status:{DialogueStatus.POOLED}": -len(runs), f"status:{DialogueStatus.VERIFIED}": len(runs)}
    write_deltas(project_id=draw.project_id, deltas={**by_stage, **moved})
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
