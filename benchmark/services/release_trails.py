"""The trail of a released item: which stages it passed, who reviewed it (by pseudonym), with what verdict."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from reviews.models import Cycle, CycleState, Review, StageRun


@dataclass(slots=True, frozen=True)
class Verified:
    """The last cycle of a dialogue, where it ended in verification, and of the verified revision what is short."""

    cycle: int
    dialogue: int
    number: int
    protocol: int
    protocol_number: int
    revision: int
    content_hash: str
    toolset_hash: str
    clean_mark: str | None


def verified_cycles(dialogue_ids: Iterable[int]) -> dict[int, Verified]:
    """By dialogue; without those whose last cycle ended otherwise, or with no revision."""
    last: dict[int, tuple[Any, ...]] = {}
    cycles = Cycle.objects.filter(dialogue_id__in=list(dialogue_ids)).order_by("number")
    for row in cycles.values_list(
        "state",
        "pk",
        "dialogue_id",
        "number",
        "protocol_id",
        "protocol__number",
        "exit_revision_id",
        "exit_revision__content_hash",
        "exit_revision__toolset_revision__content_hash",
        "exit_revision__clean_mark",
    ):
        last[row[2]] = row
    return {
        key: Verified(*row[1:]) for key, row in last.items() if row[0] == CycleState.VERIFIED and row[6] is not None
    }


def write_trails(cycles: Iterable[Verified]) -> dict[int, dict[str, Any]]:
    """The trail of each cycle, by the cycle's key, as JSON values. Times are left out: they would tell people apart."""
    cycles = list(cycles)
    keys = [cycle.cycle for cycle in cycles]
    reviews: dict[int, list[dict[str, Any]]] = defaultdict(list)
    given = Review.objects.filter(stage_run__cycle__in=keys, sealed=False).order_by("pk")
    for run_id, reviewer, verdict, seen, made in given.values_list(
        "stage_run_id",
        "person__pseudonym",
        "verdict",
        "seen_revision__content_hash",
        "made_revision__content_hash",
    ):
        reviews[run_id].append({"reviewer": reviewer, "verdict": verdict, "saw": seen, "made": made})
    stages: dict[int, list[dict[str, Any]]] = defaultdict(list)
    runs = StageRun.objects.filter(cycle__in=keys).order_by("pk")
    for cycle_id, run_id, stage, round_, entered_as, blind, outcome, discrepancies, entry, exit_ in runs.values_list(
        "cycle_id",
        "pk",
        "stage",
        "round",
        "entered_as",
        "blind",
        "outcome",
        "discrepancy_count",
        "entry_revision__content_hash",
        "exit_revision__content_hash",
    ):
        stages[cycle_id].append(
            {
                "stage": stage,
                "round": round_,
                "entered_as": entered_as,
                "blind": blind,
                "outcome": outcome,
                "discrepancies": discrepancies,
                "entry": entry,
                "exit": exit_,
                "reviews": reviews[run_id],
            }
        )
    return {
        cycle.cycle: {"cycle": cycle.number, "protocol": cycle.protocol_number, "stages": stages[cycle.cycle]}
        for cycle in cycles
    }
