"""Edits of a whole tool graph."""

import pytest

from annotator.core.comparison import diff, resolve
from annotator.core.editing import EditProblem, apply
from tests.annotator.document_cases import answer, call, clarification, document, on, task, trip

T1 = "/tasks/t1"


def edges(data, task_id="t1"):
    """{step: what it depends on}; a dependency of order alone in brackets, None where not annotated."""
    return {
        step["id"]: None
        if step["depends_on"] is None
        else " ".join(f"({d['id']})" if d["kind"] == "logical" else d["id"] for d in step["depends_on"])
        for step in resolve(data, f"/tasks/{task_id}/steps")
    }


def shaped(data, op="set_shape", **fields):
    return edges(apply(data, {"op": op, "anchor": T1, **fields})[0])


def refused(data, op, **fields):
    before = str(data)
    with pytest.raises(EditProblem) as caught:
        apply(data, {"op": op, "anchor": T1, **fields})
    assert str(data) == before
    return caught.value


def bare(*more, answered=True):
    """Three calls nobody has annotated."""
    last = [answer("s4", depends_on=None)] if answered else []
    return document(task("t1", *(call(f"s{i}", depends_on=None) for i in (1, 2, 3)), *last), *more)


def test_many_edges_are_accepted_at_once():
    chosen = [{"step": "s3", "id": "s2"}, {"step": "s3", "id": "s1"}, {"step": "s2", "id": "s1", "kind": "logical"}]
    data, touched = apply(bare(), {"op": "accept_dependencies", "anchor": T1, "edges": chosen})
    assert edges(data) == {"s1": None, "s2": "(s1)", "s3": "s1 s2", "s4": None}
    assert touched == T1


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (None, "which dependencies"),
        ([], "which dependencies"),
        ({}, "which dependencies"),
        (["s1"], "needs a “step”"),
        ([{"step": 5, "id": "s1"}], "needs a “step”"),
        ([{"step": "s9", "id": "s1"}], "no step s9"),
        ([{"step": "s2", "id": "s9"}], "no step s9"),
        ([{"step": "s2"}], "id of a step"),
        ([{"step": "s2", "id": "s2"}], "depend on itself"),
        ([{"step": "s2", "id": "s4"}], "is the answer"),
        ([{"step": "s2", "id": "s1"}] * 2, "already depends on s1"),
        ([{"step": "s2", "id": "s1"}] * 10_000, "10,000 dependencies were sent"),
        ([{"step": "s2", "id": "s1", "kind": "hearsay"}], ""),
    ],
)
def test_edges_that_cannot_be_accepted_leave_everything_as_it_was(chosen, words):
    problem = refused(bare(), "accept_dependencies", edges=chosen)
    assert words in problem.message
    assert problem.circle == ()


def test_accepting_a_circle_names_it():
    chosen = [{"step": "s1", "id": "s3"}, {"step": "s2", "id": "s1"}, {"step": "s3", "id": "s2"}]
    problem = refused(bare(), "accept_dependencies", edges=chosen)
    assert "s3 → s2 → s1 → s3" in problem.message
    assert problem.circle == ("s3", "s2", "s1", "s3")


def test_an_edge_that_is_there_is_not_drawn_again():
    with pytest.raises(EditProblem, match="already depends on s1"):
        apply(trip(), {"op": "add_dependency", "anchor": f"{T1}/steps/s3", "id": "s1"})
    with pytest.raises(EditProblem) as caught:
        apply(trip(), {"op": "add_dependency", "anchor": f"{T1}/steps/s1", "id": "s3"})
    assert caught.value.circle == ("s1", "s3", "s1")


def test_shapes_in_one_go():
    assert shaped(bare(), shape="chain") == {"s1": "", "s2": "(s1)", "s3": "(s2)", "s4": "s3"}
    assert shaped(bare(), shape="independent") == {"s1": "", "s2": "", "s3": "", "s4": "s1 s2 s3"}
    assert shaped(bare(answered=False), shape="chain") == {"s1": "", "s2": "(s1)", "s3": "(s2)"}
    # The properties of an edge that stays are kept.
    assert shaped(trip(), shape="chain") == {"s1": "", "s2": "(s1)", "s3": "s2", "s4": "s3"}


def test_what_is_not_annotated_depends_on_nothing_and_what_is_stays():
    data, _ = apply(bare(), {"op": "set_dependencies", "anchor": f"{T1}/steps/s3", "value": on(["s1"])})
    assert shaped(data, shape="annotated") == {"s1": "", "s2": "", "s3": "s1", "s4": "s2 s3"}
    assert "already annotated" in refused(trip(), "set_shape", shape="annotated").message


def test_a_clarification_stands_between_what_comes_before_and_after():
    steps = [call("s1", depends_on=None), clarification("s2", depends_on=None), call("s3", depends_on=None)]
    data = document(task("t1", *steps, call("s4", depends_on=None), answer("s5", depends_on=None)))
    assert shaped(data, shape="independent") == {"s1": "", "s2": "(s1)", "s3": "(s2)", "s4": "(s2)", "s5": "s3 s4"}
    assert shaped(data, shape="chain") == {"s1": "", "s2": "(s1)", "s3": "(s1) (s2)", "s4": "(s3)", "s5": "s4"}
    assert shaped(data, shape="annotated")["s2"] == "(s1)"


def test_a_shape_is_copied_first_call_to_first():
    last = call("c", depends_on=["a", {"id": "b", "kind": "logical"}])
    source = task("t2", call("a"), call("b"), last)
    assert shaped(bare(source), op="copy_shape", **{"from": "t2"}) == {"s1": "", "s2": "", "s3": "s1 (s2)", "s4": "s3"}


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (task("t2", call("a")), "has 1 calls, but this one has 3"),
        (task("t2", call("a", depends_on=None)), "no shape to copy"),
        (task("t3"), "no task t2"),
    ],
)
def test_a_shape_that_cannot_be_copied(source, words):
    assert words in refused(bare(source), "copy_shape", **{"from": "t2"}).message


@pytest.mark.parametrize(
    ("data", "shape", "words"),
    [(bare(), "star", "one of"), (bare(), None, "one of"), (document(task("t1", answer("s1"))), "chain", "no calls")],
)
def test_a_shape_that_makes_no_sense(data, shape, words):
    assert words in refused(data, "set_shape", shape=shape).message


def test_a_copied_shape_that_a_clarification_bars():
    # In the source the first call waits for the last; here a question comes between them.
    source = task("t2", call("a", depends_on=["b"]), call("b", depends_on=[]))
    steps = [call("s1", depends_on=None), clarification("s2", depends_on=None), call("s3", depends_on=None)]
    data = document(task("t1", *steps), source)
    problem = refused(data, "copy_shape", **{"from": "t2"})
    assert "would form a cycle" in problem.message
    assert set(problem.circle) == {"s1", "s2", "s3"}


def test_one_edit_changes_only_dependencies():
    after, _ = apply(trip(), {"op": "set_shape", "anchor": T1, "shape": "independent"})
    assert {change.anchor.rsplit("/", 1)[-1] for change in diff(trip(), after)} == {"depends_on"}
