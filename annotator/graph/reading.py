"""From a task's steps to its graph, with every fault as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from annotator.graph.dag import Graph, find_cycle

#: More calls than this in one task are refused: nobody can review them, and counting paths is bounded by it.
MAX_CALLS = 64
#: Calls, clarifications and answers together.
MAX_STEPS = 128


class FaultKind(StrEnum):
    UNKNOWN_ID = "unknown_id"
    SELF_DEPENDENCY = "self_dependency"
    DUPLICATE_DEPENDENCY = "duplicate_dependency"
    DUPLICATE_ID = "duplicate_id"
    CYCLE = "cycle"
    TOO_MANY_STEPS = "too_many_steps"


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with the dependencies of ``step``; ``ids`` are the ids meant (of a cycle: all, in its order)."""

    kind: FaultKind
    step: str
    ids: tuple[str, ...]


class GraphReading(NamedTuple):
    """What could be read of a task's graph.

    ``graph`` holds all steps with every lawful edge (faulty ones are left out), and is None where ids are used twice,
    there are too many steps, or the edges run in a circle. ``unannotated`` are the ids of steps whose ``depends_on``
    is null: they stand in the graph as if they depended on nothing. ``needed`` is a bitset of the positions of steps
    that some other step depends on.
    """

    graph: Graph | None
    faults: tuple[Fault, ...]
    unannotated: tuple[str, ...]
    needed: int = 0


def read_graph(steps: Sequence[Mapping[str, Any]]) -> GraphReading:
    """The graph of one task's ``steps`` (dicts with ``id``, ``type``, ``depends_on`` as in the document)."""
    position = {step["id"]: i for i, step in enumerate(steps)}
    if len(position) != len(steps):
        return GraphReading(None, tuple(_duplicate_ids(steps)), ())
    if len(steps) > MAX_STEPS or (len(steps) > MAX_CALLS and sum(step["type"] == "call" for step in steps) > MAX_CALLS):
        return GraphReading(None, (Fault(FaultKind.TOO_MANY_STEPS, steps[0]["id"], ()),), ())
    faults: list[Fault] = []
    unannotated: list[str] = []
    needs: list[int] = []
    forward, needed = False, 0
    for i, step in enumerate(steps):
        dependencies = step["depends_on"]
        mask = 0
        if dependencies is None:
            unannotated.append(step["id"])
        elif dependencies:
            for dependency in dependencies:
                j = position.get(dependency["id"], -1)
                if j >= 0 and j != i and not mask >> j & 1:
                    mask |= 1 << j
                    forward = forward or j > i
                else:
                    faults.append(Fault(_fault_kind(i, j), step["id"], (dependency["id"],)))
        needs.append(mask)
        needed |= mask
    # Steps that only look back cannot run in a circle.
    cycle = find_cycle(needs) if forward else []
    if cycle:
        ids = tuple(steps[i]["id"] for i in cycle)
        faults.append(Fault(FaultKind.CYCLE, ids[0], ids))
        return GraphReading(None, tuple(faults), tuple(unannotated), needed)
    return GraphReading(Graph(tuple(position), tuple(needs)), tuple(faults), tuple(unannotated), needed)


def _fault_kind(node: int, needed: int) -> FaultKind:
    if needed < 0:
        return FaultKind.UNKNOWN_ID
    return FaultKind.SELF_DEPENDENCY if needed == node else FaultKind.DUPLICATE_DEPENDENCY


def _duplicate_ids(steps: Sequence[Mapping[str, Any]]) -> list[Fault]:
    seen: set[str] = set()
    faults = []
    for step in steps:
        if step["id"] in seen:
            faults.append(Fault(FaultKind.DUPLICATE_ID, step["id"], (step["id"],)))
        seen.add(step["id"])
    return faults
