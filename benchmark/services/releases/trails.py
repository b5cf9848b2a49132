"""The trail of a released item: the stages it passed, its reviewers (by pseudonym) and their verdicts."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from annotator.models import Event
from reviews.core.protocols.version_mapping import Action
from reviews.models import Cycle, CycleState, Review, StageRun


@dataclass(slots=True, frozen=True)
class Verified:
    """The last cycle of a dialogue, if it ended in verification, and the short fields of the verified revision."""

    cycle: int
    dialogue: int
    number: int
    protocol_number: int
    revision: int
    content_hash: str
    toolset_hash: str
    clean_mark: str | None


def verified_cycles(dialogue_ids: Iterable[int]) -> dict[int, Verified]:
    """Return the last cycle of each dialogue, by its key. Leaves out dialogues whose last cycle ended otherwise or
    without a revision.
    """
    last: dict[int, tuple[Any, ...]] = {}
    cycles = Cycle.objects.in_effect().filter(dialogue_id__in=list(dialogue_ids)).order_by("number")
    for row in cycles.values_list(
        "state",
        "pk",
        "dialogue_id",
        "number",
        "protocol__number",
        "exit_revision_id",
        "exit_revision__content_hash",
        "exit_revision__toolset_revision__content_hash",
        "exit_revision__clean_mark",
    ):
        last[row[2]] = row
    return {
        key: Verified(*row[1:]) for key, row in last.items() if row[0] == CycleState.VERIFIED and row[5] is not None
    }


def protocols_of(trail: dict[str, Any]) -> set[int]:
    """Return the numbers of the protocol versions that a trail names."""
    return {trail["protocol"], *(stage["protocol"] for stage in trail["stages"])}


def write_trails(cycles: Iterable[Verified]) -> dict[int, dict[str, Any]]:
    """Return the trail of each cycle, by the cycle's key, as JSON values. Times are left out: they could identify
    people.
    """
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
    moves = _moves(cycles)
    numbers = {cycle.cycle: cycle.protocol_number for cycle in cycles}
    stages: dict[int, list[dict[str, Any]]] = defaultdict(list)
    breaks = {key: iter([move for move in moves[key] if move.why]) for key in keys}
    runs = StageRun.objects.filter(cycle__in=keys).order_by("pk")
    for (
        cycle_id, run_id, settled_at, stage, round_, entered_as, blind, outcome, discrepancies, entry, exit_,
    ) in runs.values_list(
        "cycle_id",
        "pk",
        "settled_at",
        "stage",
        "round",
        "entered_as",
        "blind",
        "outcome",
        "discrepancy_count",
        "entry_revision__content_hash",
        "exit_revision__content_hash",
    ):  # fmt: skip
        if settled_at is None:
            # A stage that was not settled was interrupted by one of the moves that removed it.
            later = broken = next(breaks[cycle_id], None)
        else:
            later, broken = next((move for move in moves[cycle_id] if move.at > settled_at), None), None
        stages[cycle_id].append(
            {
                "stage": stage,
                "protocol": later.before if later else numbers[cycle_id],
                **({"broken_off": broken.why} if broken else {}),
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


class _Move(NamedTuple):
    """A cycle's move to another version of the protocol: when, from which one, and why it interrupted the cycle's
    stage; blank if it did not."""

    at: datetime
    before: int
    why: str


def _moves(cycles: list[Verified]) -> dict[int, list[_Move]]:
    """Return the moves by cycle, in order. Nothing moves to the first version of a protocol."""
    cycle_of = {cycle.dialogue: cycle.cycle for cycle in cycles if cycle.protocol_number > 1}
    out: dict[int, list[_Move]] = defaultdict(list)
    replaced: dict[int, list[_Move]] = {}
    kinds = ["cycle.begun", "cycle.migrated", "cycle.withdrawn"]
    events = Event.objects.filter(dialogue__in=list(cycle_of), kind__in=kinds)
    for dialogue, kind, at, before, after in events.order_by("dialogue_id", "number").values_list(
        "dialogue_id", "kind", "created_at", "before", "after"
    ):
        key = cycle_of[dialogue]
        if kind == "cycle.begun":
            # The cycle in question is the last one, unless a later one was withdrawn.
            replaced[key], out[key] = out[key], []
        elif kind == "cycle.withdrawn":
            out[key] = replaced[key]
        else:
            out[key].append(_Move(at, before["protocol"], "" if after["action"] == Action.STAY else after["why"]))
    return out
