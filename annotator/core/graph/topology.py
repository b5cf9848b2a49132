"""The shape of a task's calls, derived from its graph."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from annotator.core.graph.dag import Graph, positions
from annotator.core.graph.reading import GraphReading, read_graph


class Topology(StrEnum):
    SINGLE = "single"
    SEQUENTIAL = "sequential"
    PARALLEL = "parallel"
    MIXED = "mixed"


def call_graph(steps: Sequence[Mapping[str, Any]], reading: GraphReading) -> Graph | None:
    """Return the graph over the calls alone: clarifications and answers are contracted, paths through them stay.

    None if it is not known: the reading has no graph or has problems, or dependencies of a call, or of a step that a
    call waits for, are not annotated.
    """
    graph = reading.graph
    if graph is None or reading.problems:
        return None
    calls = {step["id"] for step in steps if step["type"] == "call"}
    if reading.unannotated:
        open_ids = set(reading.unannotated)
        if open_ids & calls:
            return None
        for node, above in zip(graph.ids, graph.ancestors, strict=True):
            if node in calls and any(graph.ids[j] in open_ids for j in positions(above)):
                return None
    return graph if len(calls) == len(graph.ids) else graph.contracted(calls)


def topology_of(calls: Graph | None) -> Topology | None:
    """Return single for one call, sequential for a chain, parallel without edges, else mixed. None without calls.

    A chain with redundant edges is still a chain. The longest chain is enough to tell, so no transitive reduction is
    computed.
    """
    if calls is None or not calls.ids:
        return None
    if len(calls.ids) == 1:
        return Topology.SINGLE
    if calls.fewest_batches == len(calls.ids):
        return Topology.SEQUENTIAL
    return Topology.PARALLEL if calls.fewest_batches == 1 else Topology.MIXED


def derive_topology(steps: Sequence[Mapping[str, Any]]) -> Topology | None:
    """Return the topology of a task's steps; None without calls or if dependencies are invalid or not annotated."""
    if not any(step["type"] == "call" for step in steps):
        return None
    return topology_of(call_graph(steps, read_graph(steps)))
