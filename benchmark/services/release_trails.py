"""The trail of a released item: which stages it passed, who reviewed it (by pseudonym), with what verdict."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from reviews.models import Cycle, CycleState, Review, StageRun


def verified_cycles(dialogue_ids: Iterable[int]) -> dict[int, Cycle]:
    """The last cycle of each dialogue, where it ended in verification, with the revision that was verified."""
    last: dict[int, Cycle] = {}
    cycles = Cycle.objects.filter(dialogue_id__in=list(dialogue_ids)).order_by("number")
    for cycle in cycles.select_related("exit_revision__toolset_revision", "protocol"):
        last[cycle.dialogue_id] = cycle
    return {key: cycle for key, cycle in last.items() if cycle.state == CycleState.VERIFIED}


def write_trails(cycles: Iterable[Cycle]) -> dict[int, dict[str, Any]]:
    """The trail of each cycle, by the cycle's key, as JSON values. Times are left out: they would tell people apart."""
    cycles = list(cycles)
    reviews: dict[int, list[dict[str, Any]]] = defaultdict(list)
    given = Review.objects.filter(stage_run__cycle__in=cycles, sealed=False).order_by("pk")
    for run_id, reviewer, verdict, seen, made in given.values_list(
        "stage_run_id",
        "person__pseudonym",
        "verdict",
        "seen_revision__content_hash",
        "made_revision__content_hash",
    ):
        reviews[run_id].append({"reviewer": reviewer, "verdict": verdict, "saw": seen, "made": made})
    stages: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for run in (
        StageRun.objects.filter(cycle__in=cycles)
        .select_related("entry_revision", "exit_revision")
        .defer("entry_revision__content", "exit_revision__content")
        .order_by("pk")
    ):
        stages[run.cycle_id].append(
            {
                "stage": run.stage,
                "round": run.round,
                "entered_as": run.entered_as,
                "blind": run.blind,
                "outcome": run.outcome,
                "discrepancies": run.discrepancy_count,
                "entry": run.entry_revision.content_hash,
                "exit": run.exit_revision.content_hash if run.exit_revision else None,
                "reviews": reviews[run.pk],
            }
        )
    return {
        cycle.pk: {"cycle": cycle.number, "protocol": cycle.protocol.number, "stages": stages[cycle.pk]}
        for cycle in cycles
    }
