"""The graph of a task's steps: reading, batches, reduction, contraction, topology."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.graph import (
    MAX_CALLS,
    MAX_STEPS,
    Graph,
    GraphProblem,
    GraphProblemKind,
    Topology,
    call_graph,
    derive_topology,
    read_graph,
    topology_of,
)
from annotator.core.graph.dag import find_cycle

KINDS = {"c": "call", "q": "clarification", "a": "answer"}


def steps(**dependencies: str | None) -> list[dict[str, Any]]:
    """Steps by name: c… is a call, q… a clarification, a… the answer; "" depends on nothing, None is not annotated."""
    return [
        {
            "id": name,
            "type": KINDS[name[0]],
            "depends_on": None if needs is None else [{"id": need, "kind": "parameter"} for need in needs.split()],
        }
        for name, needs in dependencies.items()
    ]


def read(**dependencies: str | None) -> Graph:
    graph = read_graph(steps(**dependencies)).graph
    assert graph is not None
    return graph


@st.composite
def acyclic(draw: st.DrawFn, size: int = 7) -> Graph:
    """Any acyclic graph of up to ``size`` nodes whose ids are in no particular order."""
    count = draw(st.integers(0, size))
    order = draw(st.permutations(range(count)))
    needs = [0] * count
    for place, node in enumerate(order):
        for earlier in order[:place]:
            needs[node] |= draw(st.integers(0, 1)) << earlier
    return Graph(tuple(f"c{i}" for i in range(count)), tuple(needs))


def reachable(graph: Graph) -> set[tuple[str, str]]:
    """All pairs (id, what it waits for), by brute force."""
    pairs = set(graph.edges())
    while True:
        more = pairs | {(a, d) for a, b in pairs for c, d in pairs if b == c}
        if more == pairs:
            return pairs
        pairs = more


def longest_chain(graph: Graph) -> int:
    def length(node: str) -> int:
        return 1 + max((length(needed) for other, needed in graph.edges() if other == node), default=0)

    return max((length(node) for node in graph.ids), default=0)


# Reading


def test_steps_become_a_graph() -> None:
    reading = read_graph(steps(c0="", c1="c0", c2="c0", a="c1 c2"))
    assert reading.problems == ()
    assert reading.unannotated == ()
    assert reading.graph is not None
    assert reading.graph.edges() == [("c1", "c0"), ("c2", "c0"), ("a", "c1"), ("a", "c2")]


def test_null_is_not_the_empty_list() -> None:
    reading = read_graph(steps(c0="", c1=None, a="c0"))
    assert reading.unannotated == ("c1",)
    assert reading.problems == ()


@pytest.mark.parametrize(
    ("dependencies", "problem"),
    [
        ({"c0": "c9"}, GraphProblem(GraphProblemKind.UNKNOWN_ID, "c0", ("c9",))),
        ({"c0": "c0"}, GraphProblem(GraphProblemKind.SELF_DEPENDENCY, "c0", ("c0",))),
        ({"c0": "", "c1": "c0 c0"}, GraphProblem(GraphProblemKind.DUPLICATE_DEPENDENCY, "c1", ("c0",))),
        ({"c0": "c2", "c1": "c0", "c2": "c1"}, GraphProblem(GraphProblemKind.CYCLE, "c0", ("c0", "c2", "c1"))),
    ],
)
def test_problems_are_data(dependencies: dict[str, str], problem: GraphProblem) -> None:
    assert read_graph(steps(**dependencies)).problems == (problem,)


def test_an_invalid_edge_is_left_out_and_the_rest_stays() -> None:
    graph = read(c0="", c1="c0 c9 c1")
    assert graph.edges() == [("c1", "c0")]


def test_an_id_used_twice_gives_no_graph() -> None:
    reading = read_graph(steps(c0="") + steps(c0=""))
    assert reading.graph is None
    assert reading.problems == (GraphProblem(GraphProblemKind.DUPLICATE_ID, "c0", ("c0",)),)


def test_more_calls_than_anybody_can_review_are_refused() -> None:
    most = steps(**{f"c{i}": "" for i in range(MAX_CALLS)}, a="c0")
    assert read_graph(most).graph is not None
    one_more = read_graph([*most, *steps(cx="")])
    assert one_more.graph is None
    assert [problem.kind for problem in one_more.problems] == [GraphProblemKind.TOO_MANY_STEPS]
    questions = read_graph(steps(**{f"q{i}": "" for i in range(MAX_STEPS + 1)}))
    assert [problem.kind for problem in questions.problems] == [GraphProblemKind.TOO_MANY_STEPS]


def test_a_cycle_is_named_even_when_other_steps_hang_on_it() -> None:
    reading = read_graph(steps(c0="c2", c1="", c2="c3 c1", c3="c2"))
    assert reading.graph is None
    assert reading.problems == (GraphProblem(GraphProblemKind.CYCLE, "c2", ("c2", "c3")),)


@given(st.lists(st.integers(0, 2**6 - 1), min_size=6, max_size=6))
def test_a_cycle_is_found_exactly_when_there_is_one(masks: list[int]) -> None:
    needs = [mask & ~(1 << i) for i, mask in enumerate(masks)]
    cycle = find_cycle(needs)
    if not cycle:
        Graph(tuple("abcdef"), tuple(needs))
    else:
        assert len(set(cycle)) == len(cycle)
        assert all(needs[a] >> b & 1 for a, b in zip(cycle, [*cycle[1:], cycle[0]], strict=True))
        with pytest.raises(ValueError, match="cycle"):
            Graph(tuple("abcdef"), tuple(needs))


# Batches


def test_columns_of_a_diamond() -> None:
    graph = read(c0="", c1="c0", c2="c0", c3="c1 c2")
    assert graph.columns == {"c0": 0, "c1": 1, "c2": 1, "c3": 2}
    assert graph.fewest_batches == 3


def test_an_empty_graph_needs_no_batch() -> None:
    assert Graph((), ()).fewest_batches == 0


def test_sixty_four_independent_calls_are_one_batch_and_a_chain_of_them_sixty_four() -> None:
    ids = tuple(f"c{i}" for i in range(64))
    assert Graph(ids, (0,) * 64).fewest_batches == 1
    assert Graph(ids, tuple((1 << i) - 1 for i in range(64))).fewest_batches == 64


@given(acyclic())
def test_fewest_batches_is_the_longest_chain(graph: Graph) -> None:
    assert graph.fewest_batches == longest_chain(graph)
    assert all(graph.columns[needed] < graph.columns[node] for node, needed in graph.edges())
    place = {node: i for i, node in enumerate(graph.columns)}
    assert all(place[needed] < place[node] for node, needed in graph.edges())


def test_fewest_batches_of_real_shapes(shared_data: Path) -> None:
    for line in (shared_data / "parity" / "paths.jsonl").read_text().splitlines():
        row = json.loads(line)
        graph = Graph.from_edges(
            [str(i) for i in range(len(row["names"]))],
            [(str(i), str(j)) for i, needs in enumerate(row["dependencies"]) for j in needs],
        )
        assert graph.fewest_batches == row["optimal_steps"]


# Reduction and contraction


def test_a_shortcut_edge_is_redundant() -> None:
    graph = read(c0="", c1="c0", c2="c0 c1")
    assert graph.redundant_edges() == [("c2", "c0")]
    assert graph.reduced.edges() == [("c1", "c0"), ("c2", "c1")]


def test_nothing_is_redundant_in_a_diamond() -> None:
    assert read(c0="", c1="c0", c2="c0", c3="c1 c2").redundant_edges() == []


@given(acyclic())
def test_the_reduction_keeps_the_order_and_no_edge_too_many(graph: Graph) -> None:
    reduced = graph.reduced
    assert reachable(reduced) == reachable(graph)
    assert reduced.redundant_edges() == []
    assert set(reduced.edges()) | set(graph.redundant_edges()) == set(graph.edges())
    for edge in reduced.edges():
        fewer = Graph.from_edges(graph.ids, set(reduced.edges()) - {edge})
        assert reachable(fewer) != reachable(graph)


@given(acyclic())
def test_ancestors_are_everything_reachable(graph: Graph) -> None:
    pairs = {
        (node, graph.ids[j])
        for node, mask in zip(graph.ids, graph.ancestors, strict=True)
        for j in range(len(graph.ids))
        if mask >> j & 1
    }
    assert pairs == reachable(graph)


@given(acyclic(), st.sets(st.sampled_from([f"c{i}" for i in range(7)])))
def test_contraction_keeps_what_waits_for_what(graph: Graph, keep: set[str]) -> None:
    kept = graph.contracted(keep)
    assert kept.ids == tuple(node for node in graph.ids if node in keep)
    assert reachable(kept) == {(a, b) for a, b in reachable(graph) if a in keep and b in keep}


# Topology


@pytest.mark.parametrize(
    ("dependencies", "topology"),
    [
        ({"a": ""}, None),
        ({"q0": "", "a": "q0"}, None),
        ({"c0": "", "a": "c0"}, Topology.SINGLE),
        ({"q0": "", "c0": "q0", "a": "c0"}, Topology.SINGLE),
        ({"c0": "", "c1": "c0", "a": "c1"}, Topology.SEQUENTIAL),
        ({"c0": "", "c1": "c0", "c2": "c0 c1", "a": "c2"}, Topology.SEQUENTIAL),
        ({"c0": "", "q0": "c0", "c1": "q0", "a": "c1"}, Topology.SEQUENTIAL),
        ({"c0": "", "q0": "c0", "q1": "q0", "c1": "q1", "a": "c1"}, Topology.SEQUENTIAL),
        ({"c0": "", "c1": "", "a": "c0 c1"}, Topology.PARALLEL),
        ({"q0": "", "c0": "q0", "c1": "q0", "a": "c0 c1"}, Topology.PARALLEL),
        ({"c0": "", "c1": "", "c2": "c0", "a": "c1 c2"}, Topology.MIXED),
        ({"c0": "", "c1": "c0", "c2": "c0", "a": "c1 c2"}, Topology.MIXED),
        ({"c0": None, "a": "c0"}, None),
        ({"c0": "", "a": None}, Topology.SINGLE),
        ({"q0": None, "c0": "", "c1": "c0", "a": "c1"}, Topology.SEQUENTIAL),
        ({"q0": None, "c0": "q0", "a": "c0"}, None),
        ({"c0": "c9", "a": "c0"}, None),
        ({"c0": "c1", "c1": "c0", "a": "c0"}, None),
    ],
)
def test_topology(dependencies: dict[str, str | None], topology: Topology | None) -> None:
    assert derive_topology(steps(**dependencies)) == topology


def test_a_task_without_steps_has_no_topology() -> None:
    assert derive_topology([]) is None


def test_the_call_graph_leaves_clarification_and_answer_out() -> None:
    task = steps(c0="", q0="c0", c1="q0", a="c1")
    calls = call_graph(task, read_graph(task))
    assert calls is not None
    assert calls.edges() == [("c1", "c0")]


@given(acyclic())
def test_topology_agrees_with_the_transitive_reduction(graph: Graph) -> None:
    edges = graph.reduced.edges()
    nodes = len(graph.ids)
    if nodes < 2:
        expected = Topology.SINGLE if nodes else None
    elif not edges:
        expected = Topology.PARALLEL
    elif len(edges) == nodes - 1 and len({a for a, _ in edges}) == len({b for _, b in edges}) == nodes - 1:
        expected = Topology.SEQUENTIAL
    else:
        expected = Topology.MIXED
    assert topology_of(graph) == expected
