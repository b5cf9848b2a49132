"""Histories of changes."""

import copy

import pytest
from hypothesis import given

from annotator.core.comparison import apply_changes, describe_changes, diff
from tests.annotator.document_cases import answer, call, clarification, document, documents, on, plain, task, trip


def changed(edit):
    """The changes that ``edit`` makes to the trip, as {anchor: (kind, before, after)}."""
    data = trip()
    edit(data)
    return {c.anchor: (str(c.kind), c.before, c.after) for c in diff(trip(), data)}


def step(data, number):
    return data["tasks"][0]["steps"][number]


def test_one_value():
    found = changed(lambda d: step(d, 0)["arguments"]["filters"]["cabin"].__setitem__(1, "first"))
    assert found == {"/tasks/t1/steps/s1/arguments/filters/cabin/1": ("changed", "biz", "first")}


def test_a_list_of_another_length_is_one_value():
    found = changed(lambda d: step(d, 0)["arguments"]["filters"]["cabin"].append("first"))
    assert found == {"/tasks/t1/steps/s1/arguments/filters/cabin": ("changed", ["eco", "biz"], ["eco", "biz", "first"])}


def test_arguments_that_appear_and_go():
    def edit(d):
        del step(d, 1)["arguments"]["city"]
        step(d, 1)["arguments"]["a/b"] = {"c": 1}

    assert changed(edit) == {
        "/tasks/t1/steps/s2/arguments/city": ("removed", "Oslo", None),
        "/tasks/t1/steps/s2/arguments/a~1b": ("added", None, {"c": 1}),
    }


def test_a_number_is_its_kind_and_its_value():
    left = document(task("t1", call("s1", arguments={"a": True, "b": 1, "c": 0, "d": 0.0, "e": 10**30, "f": 1.5})))
    right = copy.deepcopy(left)
    right["tasks"][0]["steps"][0]["arguments"] = {"a": 1, "b": 1.0, "c": False, "d": -0.0, "e": 10**30 + 1, "f": 1.50}
    assert [c.anchor[-1] for c in diff(left, right)] == ["a", "b", "c", "d", "e"]


def test_key_order_and_the_order_of_dependencies_are_no_changes():
    def edit(d):
        step(d, 0)["arguments"] = dict(reversed(step(d, 0)["arguments"].items()))
        step(d, 2)["depends_on"].reverse()

    assert changed(edit) == {}


def test_the_kind_of_a_dependency_is_a_change_and_null_is_not_empty():
    def kinds(d):
        step(d, 3)["depends_on"] = on([{"id": "s3", "kind": "logical"}])

    assert list(changed(kinds)) == ["/tasks/t1/steps/s4/depends_on"]
    assert changed(lambda d: step(d, 0).update(depends_on=None)) == {
        "/tasks/t1/steps/s1/depends_on": ("changed", [], None)
    }


def test_white_space_is_a_change_of_history():
    assert list(changed(lambda d: d["tasks"][1].update(user_message="Thanks! "))) == ["/tasks/t2/user_message"]


def test_an_inserted_step_leaves_its_neighbours_unchanged():
    data = trip()
    data["tasks"][0]["steps"].insert(1, call("s5"))
    (change,) = diff(trip(), data)
    assert (change.anchor, change.kind, change.follows, change.group) == (
        "/tasks/t1/steps/s5", "added", "s1", "/tasks/t1/steps/s5"
    )  # fmt: skip
    assert change.after["name"] == "search"


def test_a_removed_step_is_one_change_and_its_edges_another():
    def edit(d):
        del d["tasks"][0]["steps"][0]
        step(d, 1)["depends_on"].pop(0)

    assert {a: kind for a, (kind, _, _) in changed(edit).items()} == {
        "/tasks/t1/steps/s1": "removed",
        "/tasks/t1/steps/s3/depends_on": "changed",
    }


def test_moved_steps_are_one_change():
    assert changed(lambda d: d["tasks"][0]["steps"].insert(0, d["tasks"][0]["steps"].pop(1))) == {
        "/tasks/t1/steps#order": ("moved", ["s1", "s2", "s3", "s4"], ["s2", "s1", "s3", "s4"])
    }


def test_a_step_of_another_type_is_one_change():
    def edit(d):
        d["tasks"][0]["steps"][1] = clarification("s2")

    assert {a: kind for a, (kind, _, _) in changed(edit).items()} == {"/tasks/t1/steps/s2": "changed"}


def test_another_tool_and_its_arguments_are_told_apart_in_a_history():
    found = changed(lambda d: step(d, 1).update(name="getAir", arguments={"town": "Oslo"}))
    assert list(found) == [
        "/tasks/t1/steps/s2/name", "/tasks/t1/steps/s2/arguments/city", "/tasks/t1/steps/s2/arguments/town"
    ]  # fmt: skip


def test_what_a_change_belongs_to():
    def edit(d):
        d["env_info"] = None
        d["tasks"][0]["policy"] = "chat"
        step(d, 0)["observation"]["rows"] = []

    data = trip()
    edit(data)
    assert [c.group for c in diff(trip(), data)] == ["", "/tasks/t1", "/tasks/t1/steps/s1"]


def test_changes_in_words():
    data = trip()
    data["tasks"][0]["steps"].insert(3, call("s5", depends_on=["s1"]))
    step(data, 2)["depends_on"] = on([])
    step(data, 1)["observation"] = None
    data["tasks"].reverse()
    data["env_info"] = "2026-05-02"
    found = {c.place: c for c in describe_changes(trip(), data)}
    assert list(found) == [
        "environment information",
        "task 2, call s2 getWeather, observation",
        "task 2, call s3 bookFlight, dependencies",
        "task 2, call s5 search",
        "order of tasks",
    ]
    dependencies = found["task 2, call s3 bookFlight, dependencies"]
    assert (dependencies.before, dependencies.after) == ("s1 (passes a value), s2 (passes a value)", "nothing")
    assert found["task 2, call s2 getWeather, observation"].after == "not annotated"
    assert found["task 2, call s5 search"].before is None
    assert '"city": "Oslo"' in found["task 2, call s5 search"].after
    assert (found["order of tasks"].before, found["order of tasks"].after) == ("t1, t2", "t2, t1")
    assert found["environment information"].is_text
    assert not dependencies.is_text
    assert dependencies.group_place == "task 2, call s3 bookFlight"


def test_another_kind_of_document_is_one_change():
    left, right = trip(), {"kind": "single_task", "query": "x"}
    (change,) = diff(left, right)
    assert (change.anchor, change.after) == ("", right)
    assert apply_changes(left, [change]) == right


@given(documents())
def test_a_document_does_not_differ_from_itself(data):
    assert diff(data, copy.deepcopy(data)) == []


@given(documents(), documents())
def test_the_changes_lead_to_the_other_version(before, after):
    seen = copy.deepcopy(before), copy.deepcopy(after)
    result = apply_changes(before, diff(before, after))
    assert plain(result) == plain(after)
    assert [t["id"] for t in result["tasks"]] == [t["id"] for t in after["tasks"]]
    assert (before, after) == seen


@given(documents(), documents())
def test_a_result_shares_nothing_with_its_sources(before, after):
    seen = copy.deepcopy(after)
    result = apply_changes(before, diff(before, after))
    for item in result["tasks"]:
        item["user_message"] = "spoiled"
        for part in item["steps"]:
            part.clear()
        item["extra"]["spoiled"] = 1
    assert after == seen


@pytest.mark.parametrize("steps", [[answer("s2")], [call("s1"), answer("s2")]])
def test_adding_at_the_front_is_exact(steps):
    left = document(task("t1", *steps))
    right = document(task("t1", call("s7"), call("s6"), *steps))
    assert plain(apply_changes(left, diff(left, right))) == plain(right)


def test_what_has_keys_too_long_for_an_anchor_is_compared_whole():
    key = "k" * 700
    before, after = ({"a": {key: [n], "b": n}, "c": [{"d": {key: n}}]} for n in (1, 2))
    old, new = (document(task("t1", call("s1", observation=value))) for value in (before, after))
    assert diff(old, copy.deepcopy(old)) == []
    place = "/tasks/t1/steps/s1/observation"
    assert {c.anchor: (c.before, c.after) for c in diff(old, new)} == {
        f"{place}/a": (before["a"], after["a"]),
        f"{place}/c/0/d": (before["c"][0]["d"], after["c"][0]["d"]),
    }
    assert apply_changes(old, diff(old, new)) == new
