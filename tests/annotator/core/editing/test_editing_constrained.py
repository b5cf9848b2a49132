"""Edits of a constrained case, and comparing and merging two versions of one."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.comparison import (
    apply_changes,
    describe,
    describe_changes,
    diff,
    discrepancies,
    merge,
    same_content,
)
from annotator.core.editing import CASE_OPERATIONS, OPERATIONS, EditProblem, apply, can_rebase
from annotator.core.schema import canonical, read_document
from tests.annotator.case_documents import CODE, TOOLSET, call, case

Document = dict[str, Any]


def edited(anchor: str, op: str = "set", **fields: Any) -> Document:
    document = case()
    before = canonical(document)
    result, _ = apply(document, {"op": op, "anchor": anchor, **fields}, toolset=TOOLSET)
    assert canonical(document) == before
    return result


def refused(anchor: str, op: str = "set", **fields: Any) -> str:
    with pytest.raises(EditProblem) as raised:
        edited(anchor, op, **fields)
    return raised.value.message


@pytest.mark.parametrize("field", ["system_prompt", "answer", "scenario", "language"])
def test_a_blank_text_or_label_means_not_annotated(field: str) -> None:
    assert edited(f"/{field}", value="")[field] is None


def test_texts_and_labels_are_set() -> None:
    assert edited("/user_query", value="")["user_query"] == ""
    assert edited("/scenario", value="single_hop")["scenario"] == "single_hop"
    assert edited("/constraints/c1/text", value="First\r\nthen")["constraints"][1]["text"] == "First\nthen"
    assert edited("/constraints/c1/anchor", value="ferry before")["constraints"][1]["anchor"] == "ferry before"
    assert (
        edited("/reference_trajectory/r3/final", value="At 21:40.")["reference_trajectory"][2]["final"] == "At 21:40."
    )
    assert edited("", "set_language", value="zh")["language"] == "zh"


def test_a_category_brings_its_dimension() -> None:
    constraint = edited("/constraints/c1", "set_category", value="length")["constraints"][1]
    assert (constraint["dimension"], constraint["category"]) == ("response", "length")
    constraint = edited("/constraints/c1", "set_category", value="")["constraints"][1]
    assert (constraint["dimension"], constraint["category"]) == ("behavior", None)
    assert "Choose one" in refused("/constraints/c1", "set_category", value="size")


def test_json_is_read_and_what_is_none_is_refused() -> None:
    place = "/constraints/c0/parameters"
    assert edited(place, "set_json", text='{"max_callTimes": 3}')["constraints"][0]["parameters"] == {
        "max_callTimes": 3
    }
    assert edited(place, "set_json", text=" ")["constraints"][0]["parameters"] is None
    assert edited("/unsolved_set", "set_json", value={"find_ferry": []})["unsolved_set"] == {"find_ferry": []}
    assert "line 1" in refused(place, "set_json", text="{'a': 1}")
    assert "Must be an object" in refused(place, "set_json", text="3")
    assert "line 1" in refused("/reference_trajectory/r1/calls/s1/observation", "set_json", text="no such harbour")


def test_code_is_kept_whether_it_can_be_read_or_not() -> None:
    place = "/constraints/c4/validator"
    validator = edited(place, "set_code", text="def f(", function=" f ")["constraints"][4]["validator"]
    assert (validator["code"], validator["function"]) == ("def f(", "f")
    assert edited(place, "set_code", text=CODE)["constraints"][4]["validator"]["function"] == "validate_punctuation"
    assert edited(place, "set_code", text="")["constraints"][4]["validator"] is None
    assert edited("/constraints/c0/validator", "set_code", text=CODE)["constraints"][0]["validator"]["code"] == CODE
    assert edited("/tool_codes/find_ferry", "set_code", text="")["tool_codes"]["find_ferry"] == ""


@pytest.mark.parametrize(
    ("anchor", "op"),
    [
        ("/constraints/c9/text", "set"),
        ("/constraints/c0/id", "set"),
        ("/kind", "set"),
        ("/extra", "set_json"),
        ("/tool_codes/other", "set_code"),
        ("/constraints/c0", "set_code"),
        ("/reference_trajectory/r9/calls/s1/arguments", "set_json"),
        ("/constraints/c9", "set_category"),
    ],
)
def test_what_is_not_there_or_cannot_be_set_is_refused(anchor: str, op: str) -> None:
    assert refused(anchor, op, value="x", text="{}").endswith(".")


@pytest.mark.parametrize("op", sorted(OPERATIONS.keys() - CASE_OPERATIONS.keys()))
def test_edits_of_tasks_are_refused_in_a_case(op: str) -> None:
    assert "for dialogues of this kind" in refused("/tasks/t1", op)


def test_an_edit_is_made_again_only_where_its_place_is_as_it_was() -> None:
    op = {"op": "set_json", "anchor": "/constraints/c0/parameters", "text": "{}"}
    assert can_rebase(op, case(), edited("/constraints/c1/text", value="x"))
    assert not can_rebase(op, case(), edited("/constraints/c0/parameters", "set_json", text="{}"))


def test_differences_are_named_by_ids_and_in_words() -> None:
    changed = case()
    changed["constraints"].insert(0, {**deepcopy(changed["constraints"][0]), "id": "c9"})
    changed["constraints"][1]["parameters"]["max_callTimes"] = 3
    changed["reference_trajectory"][0]["calls"][0]["arguments"]["harbour"] = "Sund"
    changes = {change.anchor: change.place for change in describe_changes(case(), read_document(changed))}
    assert changes == {
        "/constraints/c9": "constraint 1 (tool call count)",
        "/constraints/c0/parameters/max_callTimes": "constraint 2 (tool call count), parameters max_callTimes",
        "/reference_trajectory/r1/calls/s1/arguments/harbour": "round 1, call s1 find_ferry, argument harbour",
    }
    assert describe(case(), "/constraints/c4/validator/code") == "constraint 5 (content), validator, code"


def test_white_space_counts_in_code_and_not_in_prose() -> None:
    spaced = edited("/constraints/c4/validator", "set_code", text=CODE.replace("    ", "  "))
    assert [place.label for place in discrepancies(case(), spaced)] == ["constraint"]
    assert same_content(case(), edited("/user_query", value=case()["user_query"].replace(" ", "  ")))


def test_two_who_work_on_different_constraints_are_brought_together() -> None:
    mine = edited("/constraints/c0/text", value="Four calls.")
    theirs = edited("/constraints/c1/text", value="Ferry first.")
    theirs["constraints"].append({**deepcopy(theirs["constraints"][0]), "id": "c7"})
    merged = merge(case(), mine, read_document(theirs))
    assert merged.conflicts == []
    assert [one["text"] for one in merged.document["constraints"][:2]] == ["Four calls.", "Ferry first."]
    assert merged.document["constraints"][-1]["id"] == "c7"
    both = merge(case(), mine, edited("/constraints/c0/text", value="At most four."))
    assert [conflict.anchor for conflict in both.conflicts] == ["/constraints/c0/text"]


def test_a_trajectory_that_somebody_adds_is_one_change() -> None:
    bare = case(reference_trajectory=None)
    (change,) = diff(bare, case())
    assert (change.anchor, change.before) == ("/reference_trajectory", None)
    assert merge(bare, bare, case()).document == case()


keys = st.lists(st.sampled_from("abcde"), unique=True, max_size=5)
words = st.sampled_from(["x", "y", "z"])


@st.composite
def cases(draw: st.DrawFn) -> Document:
    constraints = [{"id": key, "text": draw(words), "parameters": {"n": draw(words)}} for key in draw(keys)]
    rounds = [{"id": key, "calls": [call(f"s{key}", draw(words))]} for key in draw(keys)]
    return case(constraints=constraints, reference_trajectory=draw(st.none() | st.just(rounds)), answer=draw(words))


@given(before=cases(), after=cases())
def test_changes_lead_from_one_version_to_the_other(before: Document, after: Document) -> None:
    assert apply_changes(before, diff(before, after)) == after
    assert merge(before, before, after).document == after
    assert merge(before, after, before).document == after
