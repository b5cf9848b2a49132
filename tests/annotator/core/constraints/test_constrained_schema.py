"""The document of a constrained case: what it accepts, and what it says of what it does not."""

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.schema import SchemaProblem, canonical, json_schema, load_text, read_document
from annotator.core.schema.constrained import MAX_CODES
from annotator.core.search import describe_document
from tests.annotator.case_documents import case


def problems(data: object) -> dict[str, str]:
    with pytest.raises(SchemaProblem) as raised:
        read_document(data)
    return {problem.pointer: problem.message for problem in raised.value.problems}


def test_a_whole_case_is_read_and_reading_it_again_changes_nothing() -> None:
    document = case()
    assert read_document(load_text(canonical(document))) == document
    assert (document["extra"], document["constraints"][0]["variants"]) == ({}, [])


def test_almost_everything_may_be_unknown_and_null_is_not_empty() -> None:
    document = read_document({"kind": "constrained", "user_query": ""})
    assert (document["reference_trajectory"], document["unsolved_set"]) == (None, None)
    assert (document["constraints"], document["tool_codes"]) == ([], {})
    assert read_document({"kind": "constrained", "user_query": "", "reference_trajectory": []}) != document


@pytest.mark.parametrize(
    ("change", "pointer", "words"),
    [
        ({"user_query": None}, "/user_query", "Must be text"),
        ({"scenario": "two_hops"}, "/scenario", "multi_hop"),
        ({"tasks": []}, "/tasks", "Unknown field"),
        ({"unsolved_set": {"find": "Gull"}}, "/unsolved_set/find", "Must be a list"),
        ({"constraints": [{"id": "a b"}]}, "/constraints/0/id", "pattern"),
        ({"constraints": [{"id": "c"}, {"id": "c"}]}, "/constraints/1/id", "used twice"),
        ({"constraints": [{"id": "c", "parameters": 3}]}, "/constraints/0/parameters", "Must be an object"),
        ({"constraints": [{"id": "c", "validator": {}}]}, "/constraints/0/validator", "either Python code or"),
        (
            {"constraints": [{"id": "c", "validator": {"code": "", "form": "words"}}]},
            "/constraints/0/validator",
            "either",
        ),
        ({"reference_trajectory": [{"id": "r"}, {"id": "r"}]}, "/reference_trajectory/1/id", "used twice"),
        (
            {"reference_trajectory": [{"id": "r", "calls": [{"id": "s", "name": "f", "arguments": 5}]}]},
            "/reference_trajectory/0/calls/0/arguments",
            "Must be",
        ),
        (
            {"reference_trajectory": [{"id": "r", "final": "", "calls": [{"id": "s", "name": "f", "arguments": {}}]}]},
            "/reference_trajectory/0",
            "either calls tools or",
        ),
        (
            {"reference_trajectory": [{"id": r, "calls": [{"id": "s", "name": "f", "arguments": {}}]} for r in "ab"]},
            "/reference_trajectory/1/calls/0/id",
            "used twice in the trajectory",
        ),
        ({"tool_codes": {"f": "x" * 300_000}}, "/tool_codes/f", "262144"),
    ],
)
def test_each_fault_is_named_by_a_pointer_and_a_sentence(change: dict, pointer: str, words: str) -> None:
    found = problems({"kind": "constrained", "user_query": "Where?"} | change)
    assert words in found[pointer]
    assert all(message.endswith(".") for message in found.values())


def test_the_codes_of_a_case_are_no_longer_in_all_than_can_be_read_in_two_seconds() -> None:
    half = "#" * (MAX_CODES // 2)
    case(tool_codes={f"tool_{n}": half for n in range(9)})
    with pytest.raises(SchemaProblem, match=r"may have 524,288 characters in total; this has 52\d,\d{3}\."):
        case(tool_codes={f"tool_{n}": half[n:] for n in range(2)} | {"tool_2": "a = 1\n" * 20})


def test_all_faults_are_told_at_once() -> None:
    found = problems({"kind": "constrained", "answer": 3, "scenario": 1, "constraints": {}})
    assert set(found) == {"/user_query", "/answer", "/scenario", "/constraints"}


def test_an_unknown_kind_is_refused_with_those_there_are() -> None:
    kinds = "multi_turn, single_task, composite, constrained, toolset"
    assert problems({"kind": "other"}) == {"/kind": f"Must be one of: {kinds}."}


def test_the_json_schema_describes_what_is_read() -> None:
    schema = jsonschema_rs.Draft202012Validator(json_schema("constrained"))
    assert schema.is_valid(case())
    assert not schema.is_valid(case() | {"scenario": "two_hops"})
    assert not schema.is_valid({"kind": "constrained"})


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(st.sampled_from("abcd"), json_values, max_size=3)


@given(
    parameters=st.none() | objects,
    unsolved=st.none() | st.dictionaries(st.sampled_from("abcd"), st.lists(json_values)),
    extra=objects,
)
def test_whatever_stands_in_the_open_fields_comes_back(parameters: object, unsolved: object, extra: dict) -> None:
    constraint = {"id": "c", "parameters": parameters, "extra": extra}
    document = case(constraints=[constraint], unsolved_set=unsolved, extra=extra)
    assert document["constraints"][0]["parameters"] == parameters
    assert document["unsolved_set"] == unsolved
    assert document["extra"] == document["constraints"][0]["extra"] == extra
    assert read_document(load_text(canonical(document))) == document


def test_lists_show_a_case_by_its_query_and_without_labels() -> None:
    labels = describe_document(case())
    assert labels.title == "When does the last boat leave Norhavn today?"
    assert (labels.policies, labels.topologies, labels.information) == ([], [], [])
    assert (labels.task_count, labels.call_count, labels.switches) == (1, 2, 0)
    assert labels.tools == ["find_ferry", "read_timetable"]
    assert {"norhavn", "ferry", "timetable", "length", "hald"} <= set(labels.search_text.split())
    assert describe_document(case(), index=False).search_text == ""
