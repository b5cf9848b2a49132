"""Edits made in one window while another one has moved on."""

import copy

import pytest

from annotator.core.comparison import split
from annotator.core.editing import OPERATIONS, EditProblem, apply, can_rebase
from tests.annotator.document_cases import on, trip

T1 = "/tasks/t1"
S1, S2, S3, S4 = (f"{T1}/steps/s{n}" for n in (1, 2, 3, 4))

#: One sensible edit of each kind.
EDITS = [
    {"op": "set", "anchor": f"{T1}/policy", "value": "chat"},
    {"op": "set", "anchor": f"{S1}/arguments/city", "value": "Rome"},
    {"op": "set_language", "value": "zh"},
    {"op": "set_env_info", "anchor": T1, "value": "x"},
    {"op": "add_context", "role": "user"},
    {"op": "set_context", "anchor": "/context/0", "content": "x"},
    {"op": "delete_context", "anchor": "/context/0"},
    {"op": "add_task", "after": "t1"},
    {"op": "delete_task", "anchor": T1},
    {"op": "move_task", "anchor": T1, "by": 1},
    {"op": "choose_candidate", "anchor": T1, "id": "m1"},
    {"op": "add_candidate", "anchor": T1, "text": "x"},
    {"op": "add_step", "anchor": T1, "type": "call", "name": "x", "after": "s1"},
    {"op": "delete_step", "anchor": S1},
    {"op": "move_step", "anchor": S1, "by": 1},
    {"op": "duplicate_step", "anchor": S1},
    {"op": "set_dependencies", "anchor": S3, "value": on(["s1"])},
    {"op": "add_dependency", "anchor": S3, "id": "s1", "kind": "logical"},
    {"op": "remove_dependency", "anchor": S3, "id": "s1"},
    {"op": "accept_dependencies", "anchor": T1, "edges": [{"step": "s2", "id": "s1"}]},
    {"op": "set_shape", "anchor": T1, "shape": "chain"},
    {"op": "copy_shape", "anchor": T1, "from": "t1"},
    {"op": "set_argument", "anchor": f"{S1}/arguments/new", "value": 1},
    {"op": "delete_argument", "anchor": f"{S1}/arguments/city"},
    {"op": "rename_argument", "anchor": f"{S1}/arguments/city", "to": "town"},
    {"op": "set_arguments", "anchor": S1, "value": {}},
    {"op": "set_observation", "anchor": S1, "text": "x", "as": "text"},
    {"op": "set_inferable", "anchor": f"{S1}/arguments/city", "reason": "x"},
]


def later(*ops):
    data = trip()
    for op in ops:
        data, _ = apply(data, op)
    return data


def test_every_operation_is_here():
    assert {edit["op"] for edit in EDITS} == set(OPERATIONS)


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit["op"])
def test_nothing_has_changed(edit):
    assert can_rebase(edit, trip(), copy.deepcopy(trip()))


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit["op"])
def test_something_else_has_changed(edit):
    elsewhere = [
        {"op": "set", "anchor": "/tasks/t2/user_message", "value": "other"},
        {"op": "set", "anchor": f"{S4}/text", "value": "other"},
    ]
    if edit["op"] == "delete_task":
        elsewhere.pop()
    current = later(*elsewhere)
    assert can_rebase(edit, trip(), current)
    result, _ = apply(current, edit)
    # The one pair of tasks with as many calls is a task and itself: that copy changes nothing.
    assert (result != current) == (edit["op"] != "copy_shape")


#: What only adds something leaves what it is about as it was.
ADDING = ("add_task", "add_candidate", "add_step", "duplicate_step")


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit["op"])
def test_the_same_edit_was_made_in_another_window(edit):
    assert can_rebase(edit, trip(), later(edit)) == (edit["op"] in (*ADDING, "copy_shape"))


@pytest.mark.parametrize(
    ("edit", "other"),
    [
        ({"op": "set_arguments", "anchor": S1, "value": {}}, {"op": "set", "anchor": f"{S1}/name", "value": "y"}),
        ({"op": "set_observation", "anchor": S1, "text": ""}, {"op": "set", "anchor": f"{S1}/name", "value": "y"}),
        ({"op": "set", "anchor": f"{S1}/arguments/a", "value": 1}, {"op": "delete_step", "anchor": S1}),
        (
            {"op": "set", "anchor": f"{S1}/arguments/a", "value": 1},
            {"op": "set_arguments", "anchor": S1, "value": {"a": 2}},
        ),
        ({"op": "add_step", "anchor": T1, "type": "answer"}, {"op": "delete_task", "anchor": T1}),
        ({"op": "add_step", "anchor": T1, "type": "call", "after": "s2"}, {"op": "delete_step", "anchor": S2}),
        ({"op": "add_task", "after": "t2"}, {"op": "delete_task", "anchor": "/tasks/t2"}),
        ({"op": "set_dependencies", "anchor": S4, "value": on(["s1"])}, {"op": "delete_step", "anchor": S1}),
        ({"op": "add_dependency", "anchor": S4, "id": "s1"}, {"op": "set", "anchor": f"{S1}/name", "value": "y"}),
        (
            {"op": "accept_dependencies", "anchor": T1, "edges": [{"step": "s2", "id": "s1"}]},
            {"op": "set_dependencies", "anchor": S2, "value": None},
        ),
        (
            {"op": "accept_dependencies", "anchor": T1, "edges": [{"step": "s2", "id": "s1"}]},
            {"op": "set", "anchor": f"{S1}/name", "value": "y"},
        ),
        ({"op": "set_shape", "anchor": T1, "shape": "chain"}, {"op": "delete_step", "anchor": S2}),
        ({"op": "copy_shape", "anchor": "/tasks/t2", "from": "t1"}, {"op": "delete_step", "anchor": S2}),
        (
            {"op": "choose_candidate", "anchor": T1, "id": "m1"},
            {"op": "set", "anchor": f"{T1}/user_message", "value": "y"},
        ),
        ({"op": "move_step", "anchor": S1, "by": 1}, {"op": "add_step", "anchor": T1, "type": "clarification"}),
        ({"op": "delete_step", "anchor": S1}, {"op": "set", "anchor": f"{S1}/arguments/city", "value": "Rome"}),
        ({"op": "set", "anchor": "/context/1/content", "value": "x"}, {"op": "delete_context", "anchor": "/context/0"}),
    ],
)
def test_what_the_edit_is_about_has_changed(edit, other):
    assert not can_rebase(edit, trip(), later(other))


def test_two_arguments_of_one_call_do_not_get_in_each_others_way():
    first = {"op": "set", "anchor": f"{S1}/arguments/city", "value": "Rome"}
    second = {"op": "set", "anchor": f"{S1}/arguments/filters/stops", "value": 2}
    assert can_rebase(second, trip(), later(first))


@pytest.mark.parametrize(
    "op", [{}, {"op": "explode"}, {"op": "set", "anchor": 5}, {"op": "set", "anchor": "x"}, {"op": ["set"]}]
)
def test_an_edit_that_makes_no_sense_is_left_to_be_refused(op):
    assert can_rebase(op, trip(), later({"op": "set_language", "value": "zh"}))
    with pytest.raises(EditProblem):
        apply(trip(), op)


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit["op"])
def test_every_operation_says_what_it_is_about(edit):
    # Otherwise it would be applied to whatever another window has made of the place.
    _, about = OPERATIONS[edit["op"]]
    assert about(edit, split(edit.get("anchor", "")), trip())
