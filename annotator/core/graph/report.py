"""The figures of one tool graph as a row: its legal paths, and how the published evaluators treat them."""

import json
from collections.abc import Mapping
from typing import Any

from annotator.core.graph.counting import STEPS, PathCounter
from annotator.core.graph.dag import Graph, find_cycle
from annotator.core.graph.evaluators import lint_published
from annotator.core.graph.published import PublishedCode
from annotator.core.graph.reading import MAX_CALLS
from annotator.core.graph.topology import topology_of

#: Far above any published task; a larger record is refused unread.
MAX_LISTED = 1_000


class NotAGraph(ValueError):
    """A record that does not describe a tool graph; the message says what is wrong."""


def graph_row(record: object, bound: int = STEPS) -> dict[str, int | str | None]:
    """Return the row of a record ``{"names": [tool, …], "dependencies": [[position, …], …]}``, one entry for each call.

    Positions count from 0. ``optimal_steps`` and ``max_steps`` are numbers of batches. A count is None if it takes more
    than ``bound`` steps or there are more than 64 calls; the topology is None without calls. The evaluators count
    as telling the arguments of all calls apart. Raises NotAGraph.
    """
    names, graph = read_record(record)
    listed: int | None = None
    fewest_listed: int | None = None
    c3: int | None = None
    wild: int | None = None
    tally = PathCounter(graph, bound).tally()
    if len(names) <= MAX_CALLS:
        count, fewest_listed = PublishedCode(graph, names, bound).count()
        listed = count.value
        lint = lint_published(graph, names, bound=bound, examples=0)
        c3, wild = lint.c3.value, lint.wild.value
    return {
        "path_count": tally.total.value,
        "optimal_steps": tally.fewest,
        "optimal_path_count": tally.optimal.value,
        "max_steps": tally.most,
        "topology": topology_of(graph),
        "published_code_path_count": listed,
        "published_code_min_steps": fewest_listed,
        "rejected_by_c3": c3,
        "rejected_by_wild": wild,
    }


def read_record(record: object) -> tuple[list[str], Graph]:
    """Return the tool names and the graph of a record; ids are the positions as text. Raises NotAGraph."""
    if not isinstance(record, Mapping):
        raise NotAGraph("A graph must be a JSON object with “names” and “dependencies”.")
    names, dependencies = (_listed(record, key) for key in ("names", "dependencies"))
    if len(names) != len(dependencies):
        found = f"{len(names)} and {len(dependencies)} entries"
        raise NotAGraph(f"“names” and “dependencies” have {found}. Each call needs one entry in both.")
    for i, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise NotAGraph(f"The name of call {i} is not a tool name.")
    needs = [_need(i, needed, len(names)) for i, needed in enumerate(dependencies)]
    cycle = find_cycle(needs)
    if cycle:
        circle = " → ".join(str(i) for i in [*cycle, cycle[0]])
        raise NotAGraph(f"The dependencies form a cycle ({circle}). Remove one of them.")
    return names, Graph(tuple(str(i) for i in range(len(names))), tuple(needs))


def _listed(record: Mapping[str, Any], key: str) -> list[Any]:
    if key not in record:
        raise NotAGraph(f"“{key}” is missing.")
    value = record[key]
    if not isinstance(value, list):
        raise NotAGraph(f"“{key}” is not a list.")
    if len(value) > MAX_LISTED:
        raise NotAGraph(f"“{key}” has {len(value):,} entries. The limit is {MAX_LISTED:,} calls.")
    return value


def _need(call: int, needed: object, calls: int) -> int:
    if not isinstance(needed, list):
        raise NotAGraph(f"The dependencies of call {call} are not a list.")
    mask = 0
    for other in needed:
        if not isinstance(other, int) or isinstance(other, bool):
            raise NotAGraph(f"Call {call} depends on {json.dumps(other):.40}, which is not a position.")
        if not 0 <= other < calls:
            raise NotAGraph(f"Call {call} depends on {other}, but calls are numbered 0 to {calls - 1}.")
        if other == call:
            raise NotAGraph(f"Call {call} depends on itself.")
        if mask >> other & 1:
            raise NotAGraph(f"Call {call} lists {other} twice. Remove one.")
        mask |= 1 << other
    return mask
