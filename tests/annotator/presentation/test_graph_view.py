"""A task's graph as pages show it."""

import json
from math import comb

import pytest

from annotator.core.editing import apply
from annotator.core.provenance import trace
from annotator.core.schema.toolsets import CompiledToolset
from annotator.presentation.graph import view_graph
from benchmark.core.formats import FORMATS
from tests.annotator.document_cases import answer, call, clarification, document, on, task, trip

NO_TOOLS = CompiledToolset.of('{"tools":[]}')


def view(data, task_id="t1", **options):
    return view_graph(data, task_id, trace=trace(data, NO_TOOLS).task(task_id), **options)


def edge(graph, step, needs):
    return next(edge for edge in graph.edges if (edge.step, edge.needs) == (step, needs))


def test_what_is_said_of_each_step():
    graph = view(trip(), selected="s2")
    assert [(node.id, node.batch) for node in graph.nodes] == [
        ("s1", "batch 1 · 2 parallel"), ("s2", "batch 1 · 2 parallel"), ("s3", "batch 2"), ("s4", "answer")
    ]  # fmt: skip
    assert graph.nodes[2].label == "s3 bookFlight, batch 2, depends on s1, s2, on the longest chain"
    assert graph.nodes[3].above == ("s1", "s2", "s3")
    assert [node.selected for node in graph.nodes] == [False, True, False, False]
    assert [head.text for head in graph.heads] == ["batch 1 · 2 parallel", "batch 2", "answer"]


def test_counts_and_topology_are_of_the_calls():
    graph = view(trip())
    # Two calls before a third: together, or one after the other in either order.
    assert (str(graph.tally.total), str(graph.tally.optimal), graph.tally.fewest) == ("3", "1", 2)
    assert graph.topology == "mixed"
    chat = view(trip(), "t2")
    assert (chat.tally, chat.topology, len(chat.nodes)) == (None, None, 1)


def test_kinds_of_edges_are_told_in_words():
    data = document(
        task(
            "t1",
            call("s1", observation={"id": "ZX-9"}),
            call("s2", depends_on=[{"id": "s1", "kind": "logical"}], observation={"sky": "blue"}),
            call("s3", depends_on=["s1", "s2"], arguments={"id": "ZX-9"}),
        )
    )
    graph = view(data)
    assert edge(graph, "s2", "s1").note == "order"
    assert edge(graph, "s3", "s1").note == "implied"
    assert edge(graph, "s3", "s2").note == "no value"
    # In two lines: there is room for no more between two columns.
    assert edge(graph, "s3", "s2").note_lines == ["no value"]
    assert edge(graph, "s3", "s2").label == "s3 depends on s2, should pass a value but doesn’t, on the longest chain"


def test_a_suggestion_is_drawn_beside_the_graph():
    data = document(
        task("t1", call("s1", observation={"id": "ZX-9"}), call("s2", arguments={"id": "ZX-9"}), user_message="Go.")
    )
    graph = view(data)
    assert graph.drawn == []
    assert [(one.step, one.needs) for one in graph.sure] == [("s2", "s1")]
    assert graph.suggested[0].label.startswith("Suggested: s2 depends on s1. s1 (")
    assert {node.box.column for node in graph.nodes} == {0}


def test_what_is_not_annotated():
    data = document(task("t1", call("s1", depends_on=None), call("s2", depends_on=["s1"])))
    graph = view(data)
    assert graph.open_steps == ["s1"]
    assert (graph.topology, graph.tally) == (None, None)
    assert [head.text for head in graph.heads] == ["batch 1, so far", "batch 2, so far"]
    assert "dependencies not annotated" in graph.nodes[0].label


def test_a_stored_circle_is_drawn_with_its_steps_marked():
    data = document(task("t1", call("s1", depends_on=["s3"]), call("s2"), call("s3", depends_on=["s1", "s2"])))
    graph = view(data)
    assert graph.circle == ("s1", "s3")
    assert [node.circle for node in graph.nodes] == [True, False, True]
    assert edge(graph, "s1", "s3").state == "circle"
    assert len(graph.drawn) == 3


def test_a_refused_edge_is_shown_with_its_circle():
    graph = view(trip(), refused=("s1", "s3"), circle=("s1", "s3", "s1"))
    assert edge(graph, "s1", "s3").note == "refused"
    assert [node.id for node in graph.nodes if node.circle] == ["s1", "s3"]
    assert all(one.state != "refused" for one in view(trip(), refused=("s9", "s1")).edges)


def test_a_refused_edge_and_the_one_it_turns_round_do_not_both_have_a_word():
    graph = view(trip(), refused=("s2", "s3"), circle=("s2", "s3", "s2"))
    assert (edge(graph, "s2", "s3").note, edge(graph, "s3", "s2").note) == ("refused", "")
    assert edge(graph, "s3", "s2").label == edge(view(trip()), "s3", "s2").label


def test_a_clarification_has_a_column_and_no_batch():
    data = document(task("t1", clarification("s1"), call("s2", depends_on=["s1"]), answer("s3", depends_on=["s2"])))
    graph = view(data)
    assert [node.batch for node in graph.nodes] == ["clarification", "batch 1", "answer"]
    assert graph.topology == "single"


@pytest.mark.parametrize("steps", [[], [call("s1"), call("s1")], [call(f"s{n}") for n in range(65)]])
def test_what_cannot_be_drawn_says_why(steps):
    data = document(task("t1"))
    data["tasks"][0]["steps"] = document(task("t1", *{step["id"]: step for step in steps}.values()))["tasks"][0][
        "steps"
    ]
    if len(steps) == 2:
        data["tasks"][0]["steps"] *= 2
    graph = view_graph(data, "t1")
    assert graph.drawing is None
    assert graph.why_not.endswith((".", "task."))


def test_other_tasks_whose_shape_fits():
    data = document(
        task("t1", call("s1"), call("s2")),
        task("t2", call("a"), call("b", depends_on=["a"])),
        task("t3", call("a"), call("b", depends_on=None)),
        task("t4", call("a")),
    )
    assert view(data).twins == [("t2", 2, "sequential")]
    assert view(data, "t4").twins == []


def test_dangling_and_doubled_edges_do_not_stand_in_the_way():
    data = document(task("t1", call("s1", depends_on=on(["s9"])), call("s2", depends_on=["s1", "s1"])))
    graph = view(data)
    assert [(one.step, one.needs) for one in graph.edges] == [("s2", "s1")]
    assert graph.topology is None


def test_a_real_task_nobody_has_annotated_takes_its_five_chains_of_two(shared_data):
    with (shared_data / "wild" / "candidates.jsonl").open(encoding="utf-8") as lines:
        record = next(record for record in map(json.loads, lines) if record["id"] == "wild_tool_bench_9_t3")
    data = FORMATS["wild"].read(record)[0].document
    task_id = data["tasks"][-1]["id"]
    graph = view_graph(data, task_id)
    assert len(graph.open_steps) == len(graph.nodes) == 11
    assert (graph.topology, graph.tally, graph.drawn) == (None, None, [])
    # The author of an article is known only after reading it.
    for n in range(5):
        op = {"op": "add_dependency", "anchor": f"/tasks/{task_id}/steps/s{n + 5}", "id": f"s{n}"}
        data, _ = apply(data, op)
    assert view_graph(data, task_id).open_steps == ["s0", "s1", "s2", "s3", "s4", "s10"]
    data, _ = apply(data, {"op": "set_shape", "anchor": f"/tasks/{task_id}", "shape": "annotated"})
    graph = view_graph(data, task_id)
    assert graph.nodes[-1].needs == ("s5", "s6", "s7", "s8", "s9")
    assert [head.text for head in graph.heads] == ["batch 1 · 5 parallel", "batch 2 · 5 parallel", "answer"]
    # Ω°(m) = C(m,2)^5; the k-th difference at 0 counts the paths of k batches.
    maps = [comb(m, 2) ** 5 for m in range(11)]
    counted = [sum((-1) ** (k - j) * comb(k, j) * maps[j] for j in range(k + 1)) for k in range(11)]
    assert graph.tally.total.value == sum(counted)
    assert (graph.topology, graph.tally.fewest, graph.tally.optimal.value) == ("mixed", 2, 1)
    assert graph.drawing.crossings == 0
