"""Reasons to refuse a wild record: the place in the record, and a sentence."""

from typing import Any

import pytest

from tests.benchmark.formats.format_records import ANSWERS, answer, ask, node, problems_of, wild_record


def broken(**changes: Any) -> dict[str, Any]:
    return {**wild_record(), **changes}


def with_node(**changes: Any) -> dict[str, Any]:
    record = wild_record()
    record["english_answer_list"][0][0].update(changes)
    return record


PROBLEMS = [
    (broken(id=None), "/id", "not null"),
    (broken(id=True), "/id", "not true or false"),
    (broken(id=" "), "/id", "empty"),
    (broken(id="x" * 300), "/id", "300 characters"),
    (broken(id="a\nb"), "/id", "control characters"),
    (broken(english_tasks="one"), "/english_tasks", "not text"),
    (broken(english_tasks=["a", 2, "c", "d"]), "/english_tasks/1", "not a number"),
    (broken(english_tasks=["x"] * 65), "/english_tasks", "The limit is 64"),
    (broken(english_answer_list=ANSWERS[:3]), "/english_answer_list", "3 entries, but there are 4 tasks"),
    (broken(english_answer_list=[{}, [], [], []]), "/english_answer_list/0", "list of nodes, not an object"),
    (broken(english_task_types=["Single-Tool"]), "/english_task_types", "1 entries, but there are 4 tasks"),
    (broken(english_task_types=["Chat", "Chat", "Chat", "Talk"]), "/english_task_types/3", "'Talk' is unknown"),
    (broken(english_task_types=["Chat", [], "Chat", "Chat"]), "/english_task_types/1", "unknown"),
    (broken(english_turn_subtypes=["Explicit"] * 4), "/english_turn_subtypes", "there are 3 tasks after the first"),
    (broken(english_turn_subtypes=["Explicit", "x", None]), "/english_turn_subtypes/1", "'x' is unknown"),
    (broken(first_task_turn_subtype="x"), "/first_task_turn_subtype", "unknown"),
    (broken(english_env_info=["a"]), "/english_env_info", "not a list"),
    (broken(english_tools="[]"), "/english_tools", "not text"),
    (broken(english_tools=["getWeather"]), "/english_tools/0", "not text"),
    (broken(context={}), "/context", "not an object"),
    (broken(context=["hello"]), "/context/0", "not text"),
    (broken(context=[{"role": "bot", "content": ""}]), "/context/0/role", "one of: system, user"),
    (broken(context=[{"role": "user", "content": 1}]), "/context/0/content", "not a number"),
    (with_node(idx="0"), "/english_answer_list/0/0/idx", "whole number, not text"),
    (with_node(idx=True), "/english_answer_list/0/0/idx", "not true or false"),
    (with_node(idx=1), "/english_answer_list/0/1/idx", "used twice"),
    (with_node(action="getWeather"), "/english_answer_list/0/0/action", "not text"),
    (with_node(action={"arguments": {}}), "/english_answer_list/0/0/action/name", "must be text"),
    (with_node(action={"name": "a", "arguments": [1]}), "/english_answer_list/0/0/action/arguments", "not a list"),
    (with_node(dependency_list=0), "/english_answer_list/0/0/dependency_list", "not a number"),
    (with_node(dependency_list=["0"]), "/english_answer_list/0/0/dependency_list/0", "not text"),
    (with_node(dependency_list=[0.5]), "/english_answer_list/0/0/dependency_list/0", "idx"),
    (broken(english_answer_list=[["x"], [], [], []]), "/english_answer_list/0/0", "object, not text"),
    (
        broken(english_answer_list=[[answer(0, "x", [], "both")], [], [], []]),
        "/english_answer_list/0/0/action/arguments/answer_type",
        "tool or chat",
    ),
    (
        broken(english_answer_list=[[ask(0, "?", 3, [])], [], [], []]),  # type: ignore[arg-type]
        "/english_answer_list/0/0/user_input",
        "not a number",
    ),
    (
        broken(english_answer_list=[[node(0, "prepare_to_answer", {}, {"text": "x"}, [])], [], [], []]),
        "/english_answer_list/0/0/observation",
        "not an object",
    ),
    (broken(**{"@native": 1}), "/@native", "reserved for Assay"),
    (broken(english_answer_list=[[{}] * 501, [], [], []]), "/english_answer_list/0", "501 nodes. The limit is 500"),
]


@pytest.mark.parametrize(("record", "pointer", "words"), PROBLEMS, ids=[f"{p}-{w}" for _, p, w in PROBLEMS])
def test_faults_have_a_place_and_a_sentence(record: dict[str, Any], pointer: str, words: str) -> None:
    problems = problems_of("wild", record)
    assert words in problems[pointer]
    assert problems[pointer].endswith(".")


def test_all_faults_of_a_record_come_at_once_but_not_by_the_thousand() -> None:
    record = broken(english_env_info=1, english_task_types=["x", "x", "x", "x"], context=1)
    assert len(problems_of("wild", record)) == 6
    assert len(problems_of("wild", broken(english_tools=[1] * 9000))) == 50


@pytest.mark.parametrize("record", [None, [], "x", 3])
def test_a_record_must_be_an_object(record: Any) -> None:
    assert "must be an object" in problems_of("wild", record)[""]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"english_env_info": "a\0b"}, "NUL"),
        ({"english_env_info": "\ud800"}, "surrogate"),
        ({"generator": 10**1000}, "1,000 digits"),
        ({"generator": float("nan")}, "NaN"),
    ],
)
def test_what_cannot_be_stored_is_refused_at_its_place_in_the_record(change: dict[str, Any], words: str) -> None:
    (pointer,) = change
    assert words in problems_of("wild", broken(**change))[f"/{pointer}"]


@pytest.mark.parametrize("field", ["generator", "english_tools", "english_env_info", "english_answer_list"])
def test_deep_nesting_is_refused(field: str) -> None:
    """A line may be nested up to what the parser takes; what is stored may not."""
    deep: Any = "x"
    for _ in range(200):
        deep = {"a": deep}
    record = wild_record()
    if field == "english_tools":
        record[field] = [deep]
    elif field == "english_answer_list":
        record[field][0][0]["observation"] = deep
    else:
        record[field] = deep
    problems = problems_of("wild", record)
    # Tools are the toolset's to judge: they are no part of the document.
    assert bool(problems) == (field != "english_tools")
    assert all(len(message) < 200 for message in problems.values())
