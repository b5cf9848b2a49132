"""Three-way merges."""

import copy

import pytest
from hypothesis import given, settings

from annotator.core.comparison import diff, merge, merging, resolve
from annotator.core.comparison.composing import compose, new_circles
from annotator.core.schema import SchemaProblem, read_document
from tests.annotator.document_cases import answer, call, document, documents, on, plain, task, trip


def edited(*edits, start=None):
    data = copy.deepcopy(start) if start else trip()
    for edit in edits:
        edit(data)
    return read_document(data)


def step(data, number):
    return data["tasks"][0]["steps"][number]


def remove(step_id):
    """Delete a step of task t1 as an editor does: its edges go, too."""

    def edit(d):
        steps = d["tasks"][0]["steps"]
        steps[:] = [s for s in steps if s["id"] != step_id]
        for s in steps:
            if s["depends_on"]:
                s["depends_on"] = [x for x in s["depends_on"] if x["id"] != step_id]

    return edit


def ids(data):
    return [s["id"] for s in data["tasks"][0]["steps"]]


def depends(data, step_id):
    value = resolve(data, f"/tasks/t1/steps/{step_id}/depends_on")
    return value and [d["id"] for d in value]


def test_changes_at_different_places_are_both_kept():
    mine = edited(lambda d: d["tasks"][0].update(policy="single_tool"))
    theirs = edited(lambda d: step(d, 1)["arguments"].update(city="Rome"))
    result = merge(trip(), mine, theirs)
    assert result.conflicts == []
    assert result.document == edited(
        lambda d: d["tasks"][0].update(policy="single_tool"), lambda d: step(d, 1)["arguments"].update(city="Rome")
    )


def test_two_arguments_of_one_call_are_different_places():
    mine = edited(lambda d: step(d, 0)["arguments"].update(city="Rome"))
    theirs = edited(lambda d: step(d, 0)["arguments"]["filters"].update(stops=1))
    result = merge(trip(), mine, theirs)
    assert result.conflicts == []
    assert step(result.document, 0)["arguments"] == {"city": "Rome", "filters": {"stops": 1, "cabin": ["eco", "biz"]}}


def test_the_same_change_twice_is_no_conflict():
    both = edited(lambda d: d["tasks"][0].update(policy="chat"), remove("s1"))
    result = merge(trip(), both, copy.deepcopy(both))
    assert (result.conflicts, result.document) == ([], both)


def test_one_place_changed_differently_is_a_conflict_that_holds_mine():
    mine = edited(lambda d: d["tasks"][0].update(policy="chat"))
    theirs = edited(lambda d: d["tasks"][0].update(policy="clarify"))
    result = merge(trip(), mine, theirs)
    (conflict,) = result.conflicts
    assert (conflict.anchor, conflict.base, conflict.mine, conflict.theirs) == (
        "/tasks/t1/policy", "multi_tool", "chat", "clarify"
    )  # fmt: skip
    assert result.document == mine


@pytest.mark.parametrize(
    ("choice", "policy"),
    [("mine", "chat"), ("theirs", "clarify"), ({"value": "single_tool"}, "single_tool"), ({"value": None}, None)],
)
def test_a_choice_settles_a_conflict(choice, policy):
    mine = edited(lambda d: d["tasks"][0].update(policy="chat"))
    theirs = edited(lambda d: d["tasks"][0].update(policy="clarify"))
    result = merge(trip(), mine, theirs, choices={"/tasks/t1/policy": choice, "/env_info": "theirs"})
    assert result.conflicts == []
    assert result.document["tasks"][0]["policy"] == policy


@pytest.mark.parametrize("choice", ["left", {}, {"absent": False}, {"valeu": 1}])
def test_what_is_no_choice_is_refused(choice):
    mine = edited(lambda d: d["tasks"][0].update(policy="chat"))
    theirs = edited(lambda d: d["tasks"][0].update(policy="clarify"))
    with pytest.raises(ValueError, match="/tasks/t1/policy must be mine, theirs, a value, or absent"):
        merge(trip(), mine, theirs, choices={"/tasks/t1/policy": choice})


def test_a_value_no_document_may_hold_is_refused_at_its_anchor():
    mine = edited(lambda d: step(d, 1).update(depends_on=None))
    theirs = edited(lambda d: step(d, 1).update(depends_on=on(["s1"])))
    anchor = "/tasks/t1/steps/s2/depends_on"
    with pytest.raises(SchemaProblem) as caught:
        merge(trip(), mine, theirs, choices={anchor: {"value": "s1"}})
    assert caught.value.problems[0].pointer == anchor


def test_a_removed_argument_can_be_chosen_absent():
    mine = edited(lambda d: step(d, 1)["arguments"].update(city="Rome"))
    theirs = edited(lambda d: step(d, 1)["arguments"].pop("city"))
    anchor = "/tasks/t1/steps/s2/arguments/city"
    result = merge(trip(), mine, theirs)
    assert [(c.anchor, c.mine, c.theirs) for c in result.conflicts] == [(anchor, "Rome", None)]
    for choice in ("theirs", {"absent": True}):
        assert step(merge(trip(), mine, theirs, choices={anchor: choice}).document, 1)["arguments"] == {}


def test_a_change_inside_a_removed_step_is_a_conflict_about_the_step():
    mine = edited(remove("s2"))
    theirs = edited(lambda d: step(d, 1)["arguments"].update(city="Rome"))
    result = merge(trip(), mine, theirs)
    (conflict,) = result.conflicts
    assert (conflict.anchor, conflict.mine) == ("/tasks/t1/steps/s2", None)
    assert conflict.theirs["arguments"] == {"city": "Rome"}
    assert result.document == mine
    kept = merge(trip(), mine, theirs, choices={conflict.anchor: "theirs"})
    assert kept.conflicts == []
    assert plain(kept.document) == plain(theirs)


def test_removing_two_different_steps_removes_both_and_their_edges():
    result = merge(trip(), edited(remove("s1")), edited(remove("s2")))
    assert result.conflicts == []
    assert ids(result.document) == ["s3", "s4"]
    assert depends(result.document, "s3") == []


def test_an_edge_to_a_step_that_the_other_side_removed_goes():
    theirs = edited(lambda d: step(d, 3).update(depends_on=on(["s3", "s1"])))
    result = merge(trip(), edited(remove("s1")), theirs)
    assert result.conflicts == []
    assert depends(result.document, "s4") == ["s3"]


def test_edges_of_a_removed_step_do_not_hide_what_the_other_side_did_to_the_edges():
    theirs = edited(lambda d: step(d, 2).update(depends_on=on(["s1"])))
    result = merge(trip(), edited(remove("s1")), theirs)
    assert result.conflicts == []
    assert depends(result.document, "s3") == []


def test_added_steps_bring_their_edges_along():
    def add_mine(d):
        d["tasks"][0]["steps"].insert(2, call("s5", "getHotel", depends_on=["s1"]))
        step(d, 3)["depends_on"].append({"id": "s5", "kind": "logical"})

    def edges(d):
        step(d, 2)["depends_on"] = on(["s2"])

    result = merge(trip(), edited(add_mine), edited(edges))
    assert result.conflicts == []
    assert ids(result.document) == ["s1", "s2", "s5", "s3", "s4"]
    assert resolve(result.document, "/tasks/t1/steps/s3/depends_on") == [
        {"id": "s2", "kind": "parameter"}, {"id": "s5", "kind": "logical"}
    ]  # fmt: skip


def test_steps_added_at_the_same_spot_stand_one_after_the_other_and_the_answer_stays_last():
    mine = edited(lambda d: d["tasks"][0]["steps"].insert(3, call("s5", "getA")))
    theirs = edited(
        lambda d: d["tasks"][0]["steps"].insert(3, call("s6", "getB")),
        lambda d: d["tasks"][0]["steps"].insert(4, call("s7", "getC")),
    )
    assert ids(merge(trip(), mine, theirs).document) == ["s1", "s2", "s3", "s5", "s6", "s7", "s4"]
    assert ids(merge(trip(), theirs, mine).document) == ["s1", "s2", "s3", "s6", "s7", "s5", "s4"]


def test_an_answer_and_a_call_added_at_the_end():
    base = document(task("t1", call("s1")))
    mine = edited(lambda d: d["tasks"][0]["steps"].append(answer("s2")), start=base)
    theirs = edited(lambda d: d["tasks"][0]["steps"].append(call("s3")), start=base)
    for one, other in ((mine, theirs), (theirs, mine)):
        result = merge(base, one, other)
        assert result.conflicts == []
        assert ids(result.document) == ["s1", "s3", "s2"]


def test_different_steps_added_under_one_id_are_one_conflict():
    mine = edited(lambda d: d["tasks"][0]["steps"].insert(0, call("s5", "getA")))
    theirs = edited(lambda d: d["tasks"][0]["steps"].insert(0, call("s5", "getB")))
    (conflict,) = merge(trip(), mine, theirs).conflicts
    assert (conflict.anchor, conflict.base, conflict.mine["name"]) == ("/tasks/t1/steps/s5", None, "getA")


def test_two_answers_added_by_two_people_are_conflicts():
    base = document(task("t1", call("s1")))
    mine = edited(lambda d: d["tasks"][0]["steps"].append(answer("s2")), start=base)
    theirs = edited(lambda d: d["tasks"][0]["steps"].append(answer("s3")), start=base)
    result = merge(base, mine, theirs)
    assert [c.anchor for c in result.conflicts] == ["/tasks/t1/steps/s2", "/tasks/t1/steps/s3"]
    assert result.document == mine
    choices = {"/tasks/t1/steps/s2": "theirs", "/tasks/t1/steps/s3": "theirs"}
    assert merge(base, mine, theirs, choices=choices).document == theirs


def test_another_tool_and_other_arguments_are_a_conflict_about_the_step():
    mine = edited(lambda d: step(d, 1).update(name="getAir"))
    theirs = edited(lambda d: step(d, 1)["arguments"].update(city="Rome"))
    for one, other in ((mine, theirs), (theirs, mine)):
        assert [c.anchor for c in merge(trip(), one, other).conflicts] == ["/tasks/t1/steps/s2"]


def test_another_tool_and_other_edges_merge():
    mine = edited(lambda d: step(d, 1).update(name="getAir"))
    theirs = edited(lambda d: step(d, 1).update(depends_on=on(["s1"])))
    result = merge(trip(), mine, theirs)
    assert result.conflicts == []
    assert (step(result.document, 1)["name"], depends(result.document, "s2")) == ("getAir", ["s1"])


def test_edges_that_run_in_a_circle_together_are_conflicts():
    mine = edited(lambda d: step(d, 0).update(depends_on=on(["s2"])))
    theirs = edited(lambda d: step(d, 1).update(depends_on=on(["s1"])))
    places = ["/tasks/t1/steps/s1/depends_on", "/tasks/t1/steps/s2/depends_on"]
    result = merge(trip(), mine, theirs)
    assert [c.anchor for c in result.conflicts] == places
    assert "s1 → s2 → s1" in result.conflicts[0].reason
    assert result.document == mine
    settled = merge(trip(), mine, theirs, choices={places[0]: "theirs", places[1]: "theirs"})
    assert (settled.conflicts, settled.document) == ([], theirs)
    circular = merge(trip(), mine, theirs, choices={places[0]: "mine", places[1]: "theirs"})
    assert [c.anchor for c in circular.conflicts] == places


def test_a_circle_through_an_added_step():
    def mine_edit(d):
        d["tasks"][0]["steps"].insert(1, call("s5", depends_on=["s1"]))
        step(d, 2)["depends_on"] = on(["s5"])

    theirs = edited(lambda d: step(d, 0).update(depends_on=on(["s2"])))
    for one, other in ((edited(mine_edit), theirs), (theirs, edited(mine_edit))):
        result = merge(trip(), one, other)
        assert [c.anchor for c in result.conflicts] == [
            "/tasks/t1/steps/s1/depends_on",
            "/tasks/t1/steps/s2/depends_on",
        ]
        assert not [*new_circles(result.document)]


def test_a_circle_that_was_there_is_left_to_the_checks():
    base = edited(lambda d: step(d, 0).update(depends_on=on(["s3"])))
    theirs = edited(lambda d: d.update(env_info="2026"), start=base)
    result = merge(base, base, theirs)
    assert (result.conflicts, result.document) == ([], theirs)


def test_a_circle_that_one_side_has_is_left_to_the_checks_and_one_that_both_make_is_a_conflict():
    circle = edited(lambda d: step(d, 0).update(depends_on=on(["s3"])))
    later = edited(lambda d: d.update(env_info="2026"))
    whole = edited(lambda d: d.update(env_info="2026"), start=circle)
    for mine, theirs in ((circle, later), (later, circle)):
        result = merge(trip(), mine, theirs)
        assert (result.conflicts, result.document) == ([], whole)

    def both(d):
        d["tasks"][0]["steps"].insert(3, call("s5"))
        d["tasks"][0]["steps"].insert(4, call("s6"))

    base = edited(both)
    mine = edited(
        lambda d: (step(d, 0).update(depends_on=on(["s3"])), step(d, 3).update(depends_on=on(["s6"]))), start=base
    )
    theirs = edited(lambda d: step(d, 4).update(depends_on=on(["s5"])), start=base)
    for one, other in ((mine, theirs), (theirs, mine)):
        conflicts = merge(base, one, other).conflicts
        assert [c.anchor for c in conflicts] == ["/tasks/t1/steps/s5/depends_on", "/tasks/t1/steps/s6/depends_on"]


def test_circles_of_many_steps_are_opened_at_once(monkeypatch):
    def version(first=(), second=()):
        return edited(lambda d: d["tasks"][0].update(steps=[
            call(f"{name}{n}", depends_on=[f"{other}{n}" for other in needs])
            for n in range(20) for name, needs in (("a", first), ("b", second))
        ]))  # fmt: skip

    rounds = []
    monkeypatch.setattr(merging, "compose", lambda *args, **more: rounds.append(1) or compose(*args, **more))
    assert len(merge(version(), version(first="b"), version(second="a")).conflicts) == 40
    assert len(rounds) == 2


def test_no_task_may_be_left_out_twice():
    mine, theirs = edited(lambda d: d["tasks"].pop(0)), edited(lambda d: d["tasks"].pop(1))
    result = merge(trip(), mine, theirs)
    places = [c.anchor for c in result.conflicts]
    assert sorted(places) == ["/tasks/t1", "/tasks/t2"]
    assert result.document == mine
    emptied = merge(trip(), mine, theirs, choices={"/tasks/t1": "mine", "/tasks/t2": "theirs"})
    assert sorted(c.anchor for c in emptied.conflicts) == sorted(places)
    both = merge(trip(), mine, theirs, choices={"/tasks/t1": "theirs", "/tasks/t2": "mine"})
    assert (both.conflicts, both.document) == ([], trip())


def test_one_side_moves_steps_and_the_other_adds_one():
    mine = edited(lambda d: d["tasks"][0]["steps"].insert(0, d["tasks"][0]["steps"].pop(1)))
    theirs = edited(lambda d: d["tasks"][0]["steps"].insert(1, call("s5")))
    assert ids(merge(trip(), mine, theirs).document) == ["s2", "s1", "s5", "s3", "s4"]
    assert ids(merge(trip(), theirs, mine).document) == ["s2", "s1", "s5", "s3", "s4"]


def test_two_different_orders_are_a_conflict():
    mine = edited(lambda d: d["tasks"][0]["steps"].insert(0, d["tasks"][0]["steps"].pop(1)))
    theirs = edited(lambda d: d["tasks"][0]["steps"].insert(0, d["tasks"][0]["steps"].pop(2)))
    result = merge(trip(), mine, theirs)
    (conflict,) = result.conflicts
    assert (conflict.anchor, conflict.theirs) == ("/tasks/t1/steps#order", ["s3", "s1", "s2", "s4"])
    assert ids(result.document) == ["s2", "s1", "s3", "s4"]
    chosen = merge(trip(), mine, theirs, choices={conflict.anchor: "theirs"})
    assert (chosen.conflicts, ids(chosen.document)) == ([], ["s3", "s1", "s2", "s4"])


def test_candidate_messages_of_both_sides_are_kept():
    mine = edited(lambda d: d["tasks"][0]["candidate_messages"].append({"id": "m3", "text": "x", "extra": {}}))
    theirs = edited(lambda d: d["tasks"][1]["candidate_messages"].append({"id": "m1", "text": "y", "extra": {}}))
    result = merge(trip(), mine, theirs)
    assert result.conflicts == []
    assert [len(t["candidate_messages"]) for t in result.document["tasks"]] == [3, 1]


@given(documents(), documents())
def test_merging_with_an_unchanged_side_gives_the_other(base, changed):
    for result in (merge(base, changed, base), merge(base, base, changed)):
        assert result.conflicts == []
        assert plain(result.document) == plain(changed)
        assert [t["id"] for t in result.document["tasks"]] == [t["id"] for t in changed["tasks"]]
        for one, other in zip(result.document["tasks"], changed["tasks"], strict=True):
            assert [s["id"] for s in one["steps"]] == [s["id"] for s in other["steps"]]


@settings(max_examples=300)
@given(documents(), documents(), documents())
def test_any_merge_is_a_valid_document_without_edges_to_nowhere(base, mine, theirs):
    seen = copy.deepcopy((base, mine, theirs))
    result = merge(base, mine, theirs)
    assert (base, mine, theirs) == seen
    assert read_document(result.document) == result.document
    assert not [*new_circles(result.document)]
    for item in result.document["tasks"]:
        known = {s["id"] for s in item["steps"]}
        assert all(d["id"] in known for s in item["steps"] for d in s["depends_on"] or ())


@settings(max_examples=300)
@given(documents(), documents(), documents())
def test_conflicts_are_symmetric(base, mine, theirs):
    one = {c.anchor: (c.mine, c.theirs) for c in merge(base, mine, theirs).conflicts}
    other = {c.anchor: (c.theirs, c.mine) for c in merge(base, theirs, mine).conflicts}
    assert one == other


@settings(max_examples=300)
@given(documents(), documents(), documents())
def test_one_side_chosen_everywhere_holds_its_values_there(base, mine, theirs):
    result = merge(base, mine, theirs)
    for side, data in (("mine", mine), ("theirs", theirs)):
        settled = merge(base, mine, theirs, choices={c.anchor: side for c in result.conflicts})
        assert settled.conflicts == []
        assert read_document(settled.document) == settled.document
        for conflict in result.conflicts:
            if not conflict.anchor.endswith(("#order", "/depends_on")):
                left = [c for c in diff(data, settled.document) if c.anchor == conflict.anchor]
                assert left == []


@given(documents(), documents())
def test_edits_at_different_places_meet(one, other):
    base = document(task("t1", call("s1")), task("t2"), task("t3"), env_info="x")
    first, second = one["tasks"][0], {**other["tasks"][0], "id": "t3"}
    mine = copy.deepcopy(base)
    mine["tasks"][0] = {**first, "id": "t1"}
    theirs = copy.deepcopy(base)
    theirs["tasks"][2] = second
    expected = copy.deepcopy(mine)
    expected["tasks"][2] = second
    result = merge(base, mine, theirs)
    assert result.conflicts == []
    assert plain(result.document) == plain(expected)
