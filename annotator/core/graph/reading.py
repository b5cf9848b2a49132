"""Read a task's graph from its steps; every problem is returned as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

from annotator.core.graph.dag import Graph, find_cycle

#: A task with more calls is refused: nobody can review it, and counting paths is bounded by it.
MAX_CALLS = 64
#: Calls, clarifications and answers together.
MAX_STEPS = 128
#: Readings of tasks with at most this many steps, and dependencies of a step, are cached.
_FEW = 16

#: A step's id and the ids it depends on; None if not annotated.
Link = tuple[str, tuple[str, ...] | None]


class GraphProblemKind(StrEnum):
    UNKNOWN_ID = "unknown_id"
    SELF_DEPENDENCY = "self_dependency"
    DUPLICATE_DEPENDENCY = "duplicate_dependency"
    DUPLICATE_ID = "duplicate_id"
    CYCLE = "cycle"
    TOO_MANY_STEPS = "too_many_steps"


@dataclass(frozen=True, slots=True)
class GraphProblem:
    """A problem with the dependencies of ``step``; ``ids`` are the ids concerned (for a cycle: all, in its order)."""

    kind: GraphProblemKind
    step: str
    ids: tuple[str, ...]


class GraphReading(NamedTuple):
    """The readable part of a task's graph.

    ``graph`` has all steps with every valid edge (invalid ones are left out); None if ids are used twice, there are too
    many steps, or the edges form a cycle. ``unannotated`` are the ids of steps whose ``depends_on`` is null: in the
    graph they depend on nothing. ``needed`` is a bitset of the positions of steps that some other step depends on.
    """

    graph: Graph | None
    problems: tuple[GraphProblem, ...]
    unannotated: tuple[str, ...]
    needed: int = 0


def read_graph(steps: Sequence[Mapping[str, Any]]) -> GraphReading:
    """Return the graph of one task's ``steps`` (dicts with ``id``, ``type``, ``depends_on`` as in the document)."""
    few = len(steps) <= _FEW
    links: list[Link] = []
    for step in steps:
        needs = step["depends_on"]
        few = few and (needs is None or len(needs) <= _FEW)
        links.append((step["id"], None if needs is None else tuple([need["id"] for need in needs])))
    # Labels, checks and topology need the same reading, and many tasks of a file have the same structure.
    return _read_few(tuple(links)) if few else _read(tuple(links), sum(step["type"] == "call" for step in steps))


@lru_cache(maxsize=4096)
def _read_few(links: tuple[Link, ...]) -> GraphReading:
    return _read(links, 0)


def _read(links: tuple[Link, ...], calls: int) -> GraphReading:
    position = {step: i for i, (step, _) in enumerate(links)}
    if len(position) != len(links):
        return GraphReading(None, tuple(_duplicate_ids(links)), ())
    if len(links) > MAX_STEPS or calls > MAX_CALLS:
        return GraphReading(None, (GraphProblem(GraphProblemKind.TOO_MANY_STEPS, links[0][0], ()),), ())
    problems: list[GraphProblem] = []
    unannotated: list[str] = []
    needs: list[int] = []
    forward, needed = False, 0
    for i, (step, dependencies) in enumerate(links):
        mask = 0
        if dependencies is None:
            unannotated.append(step)
        else:
            for dependency in dependencies:
                j = position.get(dependency, -1)
                if j >= 0 and j != i and not mask >> j & 1:
                    mask |= 1 << j
                    forward = forward or j > i
                else:
                    problems.append(GraphProblem(_problem_kind(i, j), step, (dependency,)))
        needs.append(mask)
        needed |= mask
    # Steps that only depend on earlier ones cannot form a cycle.
    cycle = find_cycle(needs) if forward else []
    if cycle:
        ids = tuple(links[i][0] for i in cycle)
        problems.append(GraphProblem(GraphProblemKind.CYCLE, ids[0], ids))
        return GraphReading(None, tuple(problems), tuple(unannotated), needed)
    return GraphReading(Graph(tuple(position), tuple(needs)), tuple(problems), tuple(unannotated), needed)


def _problem_kind(node: int, needed: int) -> GraphProblemKind:
    if needed < 0:
        return GraphProblemKind.UNKNOWN_ID
    return GraphProblemKind.SELF_DEPENDENCY if needed == node else GraphProblemKind.DUPLICATE_DEPENDENCY


def _duplicate_ids(links: Sequence[Link]) -> list[GraphProblem]:
    seen: set[str] = set()
    problems = []
    for step, _ in links:
        if step in seen:
            problems.append(GraphProblem(GraphProblemKind.DUPLICATE_ID, step, (step,)))
        seen.add(step)
    return problems
