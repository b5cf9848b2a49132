"""A record imported again over the work of people: what they entered stays wherever the record did not change."""

import copy
from typing import Any

import pytest

from annotator.core.comparison import diff, same_content
from annotator.core.comparison.revising import aligned_record, merge_record
from annotator.core.schema import read_document


def call(name: str, id: str, **arguments: Any) -> dict[str, Any]:
    return {
        "type": "call",
        "id": id,
        "name": name,
        "arguments": arguments,
        "observation": {"ok": 1},
        "depends_on": None,
    }


def answer(id: str, text: str) -> dict[str, Any]:
    return {"type": "answer", "id": id, "text": text, "answer_type": "tool", "depends_on": None}


def document(*tasks: tuple[str, list[dict[str, Any]]]) -> dict[str, Any]:
    return read_document(
        {
            "kind": "multi_turn",
            "tasks": [
                {"id": f"t{n}", "user_message": said, "steps": steps} for n, (said, steps) in enumerate(tasks, 1)
            ],
        }
    )


def last() -> dict[str, Any]:
    return document(
        ("Weather in Ghent?", [call("weather", "s0", city="Ghnt"), answer("s1", "Sunny.")]),
        ("And in Bruges?", [call("weather", "s0", city="Bruges"), answer("s1", "Rain.")]),
    )


def worked_on() -> dict[str, Any]:
    """People labelled the tasks, set dependencies, and corrected the city."""
    head = copy.deepcopy(last())
    for task in head["tasks"]:
        task["policy"] = "single_tool"
        task["steps"][0]["depends_on"] = []
        task["steps"][1]["depends_on"] = [{"id": "s0", "kind": "parameter"}]
    head["tasks"][0]["steps"][0]["arguments"]["city"] = "Ghent"
    return head


def merged(head: dict[str, Any], record: dict[str, Any], at_conflicts: str = "") -> Any:
    return merge_record(last(), head, aligned_record(last(), head, record), at_conflicts=at_conflicts)


def test_an_equal_record_changes_nothing() -> None:
    result = merged(worked_on(), last())
    assert (result.document, result.conflicts) == (worked_on(), [])


def test_what_the_record_changed_is_taken_and_the_rest_stays() -> None:
    record = last()
    record["tasks"][1]["steps"][1]["text"] = "Rain until noon."
    result = merged(worked_on(), record)
    assert result.conflicts == []
    assert [(one.anchor, one.after) for one in diff(worked_on(), result.document)] == [
        ("/tasks/t2/steps/s1/text", "Rain until noon.")
    ]


def test_a_task_put_before_the_others_does_not_take_their_labels() -> None:
    tasks = [(task["user_message"], task["steps"]) for task in last()["tasks"]]
    record = document(("Hello!", [answer("s0", "Hello.")]), *tasks)
    result = merged(worked_on(), record)
    assert result.conflicts == []
    assert [(one["id"], one["user_message"], one["policy"]) for one in result.document["tasks"]] == [
        ("t3", "Hello!", None),
        ("t1", "Weather in Ghent?", "single_tool"),
        ("t2", "And in Bruges?", "single_tool"),
    ]
    assert result.document["tasks"][1]["steps"][0]["arguments"] == {"city": "Ghent"}


def test_a_call_put_first_and_a_call_that_people_added_are_both_kept() -> None:
    head = worked_on()
    head["tasks"][0]["steps"].insert(1, call("wind", "s2", city="Ghent"))
    record = last()
    steps = record["tasks"][0]["steps"]
    record["tasks"][0]["steps"] = [
        call("place", "s0", of="Ghent"),
        steps[0] | {"id": "s1"},
        steps[1] | {"id": "s2"},
    ]
    result = merged(head, record)
    assert result.conflicts == []
    steps = result.document["tasks"][0]["steps"]
    assert [(step["type"], step.get("name")) for step in steps] == [
        ("call", "place"),
        ("call", "weather"),
        ("call", "wind"),
        ("answer", None),
    ]
    assert len({step["id"] for step in steps}) == 4
    # The dependency still means the call that it meant.
    assert steps[3]["depends_on"] == [{"id": steps[1]["id"], "kind": "parameter"}]


@pytest.mark.parametrize(("at_conflicts", "city"), [("mine", "Ghent"), ("theirs", "Gent")])
def test_a_place_that_both_changed_is_a_conflict(at_conflicts: str, city: str) -> None:
    record = last()
    record["tasks"][0]["steps"][0]["arguments"]["city"] = "Gent"
    (conflict,) = merged(worked_on(), record).conflicts
    assert (conflict.anchor, conflict.mine, conflict.theirs) == ("/tasks/t1/steps/s0/arguments/city", "Ghent", "Gent")
    result = merged(worked_on(), record, at_conflicts)
    assert result.conflicts == []
    assert result.document["tasks"][0]["steps"][0]["arguments"]["city"] == city
    assert result.document["tasks"][0]["policy"] == "single_tool"


def test_fields_of_the_record_follow_their_part() -> None:
    first, head, record = last(), worked_on(), last()
    first["tasks"][0]["steps"][0]["extra"] = {"error": "no city Ghnt"}
    record["tasks"][0]["steps"][0]["extra"] = {"error": "no city Ghnt (404)"}
    record["tasks"][1]["steps"][0]["extra"] = {"source": "b"}
    result = merge_record(first, head, record)
    assert result.conflicts == []
    assert result.document["tasks"][0]["steps"][0]["extra"] == {}
    assert same_content(result.document, head)


def labelled(*tasks: tuple[str, str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A dialogue of tasks (message, answer, policy) as it was imported, and as people labelled it."""
    imported = document(*((said, [answer("s0", text)]) for said, text, _ in tasks))
    head = copy.deepcopy(imported)
    for task, (_, _, policy) in zip(head["tasks"], tasks, strict=True):
        task["policy"] = policy
    return imported, head


def policies(first: dict[str, Any], head: dict[str, Any], record: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The policy of each answer after the merge, and the places of conflicts."""
    result = merge_record(first, head, aligned_record(first, head, record))
    found = {task["steps"][-1]["text"]: task["policy"] for task in result.document["tasks"]}
    return found, [conflict.anchor for conflict in result.conflicts]


@pytest.mark.parametrize(
    ("tasks", "record", "expected", "conflicts"),
    [
        # Tasks with the same message are told apart by their steps.
        (
            [("ok", "a", "chat"), ("ok", "b", "single_tool")],
            [("ok", "new"), ("ok", "a"), ("ok", "b")],
            {"new": None, "a": "chat", "b": "single_tool"},
            [],
        ),
        # A message was edited, and a task put before it.
        (
            [("A", "a", "chat"), ("B", "b", "single_tool")],
            [("X", "x"), ("A?", "a"), ("B", "b")],
            {"x": None, "a": "chat", "b": "single_tool"},
            [],
        ),
        # An answer was edited, and a task put before it.
        (
            [("A", "a", "chat"), ("B", "b", "single_tool")],
            [("X", "x"), ("A", "a!"), ("B", "b")],
            {"x": None, "a!": "chat", "b": "single_tool"},
            [],
        ),
        # Nothing says that these are the labelled task, so its removal is a conflict.
        ([("A", "a", "chat"), ("B", "b", "chat")], [("C", "c"), ("B", "b")], None, ["/tasks/t1"]),
        ([("ok", "a", "chat"), ("B", "b", "chat")], [("ok", "x"), ("ok", "y"), ("B", "b")], None, ["/tasks/t1"]),
    ],
)
def test_labels_follow_the_content_of_their_task_and_never_its_position(
    tasks: Any, record: Any, expected: Any, conflicts: list[str]
) -> None:
    first, head = labelled(*tasks)
    found, places = policies(first, head, document(*((said, [answer("s0", text)]) for said, text in record)))
    assert places == conflicts
    if expected is not None:
        assert found == expected
