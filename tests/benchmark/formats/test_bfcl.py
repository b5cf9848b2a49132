"""BFCL's tasks: with their possible answers and functions from an archive, as tasks or joined into one."""

import copy
import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from annotator.core.schema import SchemaProblem, read_document
from annotator.core.schema.exact_json import same
from benchmark.core.files.reading import RawLine, RecordError, parse_line, read_lines
from benchmark.core.formats import FORMATS
from benchmark.core.formats.outdated_remainder import forget_outdated
from tests.benchmark.conftest import as_zip
from tests.benchmark.formats.format_records import bfcl_record, problems_of

BESIDE = ("ground_truth", "tools")


def records(content: bytes, name: str) -> list[Any]:
    """The records of an archive, and errors."""
    items = read_lines(BytesIO(content), "bfcl.zip", format_name=name)
    return [parse_line(item) if isinstance(item, RawLine) else item for item in items]


def apart(**changes: Any) -> dict[str, bytes]:
    """The files of a published task."""
    record = bfcl_record() | changes
    task = {key: value for key, value in record.items() if key not in BESIDE}
    answer = {key: record[key] for key in ("id", "ground_truth")}
    return {
        "data/multi_turn.json": json.dumps(task).encode(),
        "data/possible_answer/multi_turn.json": json.dumps(answer).encode(),
        "data/multi_turn_func_doc/gorilla_file_system.json": json.dumps(record["tools"][0]).encode(),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["bfcl", "bfcl_single"])
def test_an_archive_puts_calls_and_functions_into_the_records(name: str) -> None:
    (item,) = records(as_zip(apart()), name)
    assert item.data == bfcl_record()
    (dialogue,) = FORMATS[name].read(item.data)
    assert read_document(dialogue.document) == dialogue.document
    assert same(FORMATS[name].write([dialogue]), item.data)


def test_turns_become_tasks_or_one_task() -> None:
    document = FORMATS["bfcl"].read(bfcl_record())[0].document
    steps = [[(step["id"], step["name"], step["arguments"]) for step in task["steps"]] for task in document["tasks"]]
    assert steps == [[("s1", "cd", {"folder": "papers"})], [("s1", "cd", {"folder": ".."})]]
    joined = FORMATS["bfcl_single"].read(bfcl_record())[0].document
    assert joined["kind"] == "single_task"
    assert joined["initial_state"] == {"root": {}}
    (task,) = joined["tasks"]
    assert task["user_message"] == "Go to the folder papers.\nAnd back."
    assert [step["id"] for step in task["steps"]] == ["s1", "s2"]
    two = {"involved_classes": ["A", "B"], "initial_config": {"A": {}, "B": {}}}
    assert FORMATS["bfcl_single"].read(bfcl_record() | two)[0].document["initial_state"] == {"A": {}, "B": {}}


def test_an_edited_state_is_written_and_the_old_one_is_gone() -> None:
    (dialogue,) = FORMATS["bfcl_single"].read(bfcl_record())
    dialogue.document["initial_state"] = {"root": {"a": 1}}
    written = FORMATS["bfcl_single"].write([dialogue])
    assert written == bfcl_record() | {"initial_config": {"GorillaFileSystem": {"root": {"a": 1}}}}


BAD = {
    "no calls for a turn": ({"ground_truth": [[]]}, "/ground_truth", "for each of the 2 turns"),
    "no literal": ({"ground_truth": [["cd(x)"], []]}, "/ground_truth/0/0", "is not a literal"),
    "a call that is no text": ({"ground_truth": [[1], []]}, "/ground_truth/0/0", "must be text"),
    "another role": ({"question": [[{"role": "system", "content": "x"}]] * 2}, "/question/0/0", "messages of the user"),
    "no turns": ({"question": [], "ground_truth": []}, "/question", "A task has 1 to 64"),
}


@pytest.mark.parametrize(("changes", "pointer", "words"), BAD.values(), ids=BAD)
@pytest.mark.parametrize("name", ["bfcl", "bfcl_single"])
def test_what_cannot_be_read_is_told_with_its_place(
    name: str, changes: dict[str, Any], pointer: str, words: str
) -> None:
    with pytest.raises(SchemaProblem) as refused:
        FORMATS[name].read(bfcl_record() | changes)
    assert refused.value.problems[0].pointer == pointer
    assert words in refused.value.problems[0].message


def test_a_task_without_its_answer_has_no_calls_and_it_says_so() -> None:
    record = bfcl_record()
    del record["ground_truth"]
    (dialogue,) = FORMATS["bfcl"].read(record)
    assert [warning.pointer for warning in dialogue.warnings] == ["/ground_truth"]
    assert [task["steps"] for task in dialogue.document["tasks"]] == [[], []]


def test_missing_or_broken_files_are_told() -> None:
    files = apart()
    del files["data/multi_turn_func_doc/gorilla_file_system.json"]
    (error,) = records(as_zip(files), "bfcl")
    assert isinstance(error, RecordError)
    assert error.message == "The archive has no file with the functions of GorillaFileSystem."
    files = apart() | {"data/possible_answer/multi_turn.json": b"{"}
    (error,) = records(as_zip(files), "bfcl")
    assert error.fatal
    assert "multi_turn.json, line 1 is not JSON" in error.message


@pytest.mark.parametrize("name", ["bfcl", "bfcl_single"])
def test_all_published_tasks_are_read_and_come_back_as_they_were(name: str, shared_data: Path) -> None:
    folder = shared_data / "bfcl"
    content = as_zip({f"bfcl/{path.name}": path.read_bytes() for path in folder.glob("*.json")})
    found = records(content, name)
    calls = 0
    for item in found:
        (dialogue,) = FORMATS[name].read(item.data)
        assert same(FORMATS[name].write([dialogue]), item.data), item.data["id"]
        calls += sum(len(task["steps"]) for task in dialogue.document["tasks"])
    assert (len(found), calls) == (200, 1142)


def single_turn(**changes: Any) -> dict[str, Any]:
    """A single-turn task with two calls at once."""
    schema = {"type": "dict", "required": ["walk"], "properties": {"walk": {"type": "string"}, "km": {"type": "float"}}}
    record = {
        "id": "parallel_7",
        "question": [[{"role": "system", "content": "You plan walks."}, {"role": "user", "content": "Two walks."}]],
        "function": [{"name": "plan.walk", "description": "Plan a walk.", "parameters": schema}],
        "ground_truth": [
            {
                "plan.walk": {
                    "walk": ["Lake", "the lake"],
                    "km": ["", 5.0],
                    "days": [""],
                    "party": [{"a": [2], "b": [""]}],
                }
            },
            {"plan.walk": {"walk": ["Mill"], "km": [4.0, ""], "stops": [[{"at": ["hut", "inn"]}], []], "x": []}},
        ],
    }
    return record | changes


def test_the_first_acceptable_value_is_the_argument_of_a_single_turn_task() -> None:
    (dialogue,) = FORMATS["bfcl"].read(single_turn())
    assert read_document(dialogue.document) == dialogue.document
    (task,) = dialogue.document["tasks"]
    assert (dialogue.document["env_info"], task["user_message"]) == ("You plan walks.", "Two walks.")
    assert [(step["id"], step["name"], step["arguments"], step["depends_on"]) for step in task["steps"]] == [
        ("s1", "plan.walk", {"walk": "Lake", "party": {"a": 2}}, []),
        ("s2", "plan.walk", {"walk": "Mill", "km": 4.0, "stops": [{"at": "hut"}]}, []),
    ]
    assert dialogue.tools == single_turn()["function"]
    (call,) = (one for one in FORMATS["openai"].write([dialogue])["messages"] if "tool_calls" in one)
    assert len(call["tool_calls"]) == 2


def test_an_edited_argument_leaves_the_acceptable_values_of_the_others() -> None:
    (dialogue,) = FORMATS["bfcl"].read(single_turn())
    document = copy.deepcopy(dialogue.document)
    document["tasks"][0]["steps"][0]["arguments"] = {"walk": "River", "party": {"a": 2}, "km": 5.0}
    document["env_info"] = None
    dialogue.document = forget_outdated(document, dialogue.document)
    expected = single_turn(question=[[{"role": "user", "content": "Two walks."}]])
    first = {"walk": ["River"], "km": [5.0], "days": [""], "party": [{"a": [2], "b": [""]}]}
    expected["ground_truth"][0]["plan.walk"] = first
    assert same(FORMATS["bfcl"].write([dialogue]), expected)
    assert "the lake" not in json.dumps(FORMATS["neutral"].write([dialogue]))


def test_a_single_turn_task_with_a_second_task_is_written_as_turns() -> None:
    # The calls of turns are Python text, in which names have no dots.
    (dialogue,) = FORMATS["bfcl"].read(json.loads(json.dumps(single_turn()).replace("plan.walk", "walk")))
    document = copy.deepcopy(dialogue.document)
    document["tasks"].append(document["tasks"][0] | {"id": "t2", "user_message": "Another.", "steps": []})
    dialogue.document = forget_outdated(document, dialogue.document)
    written = FORMATS["bfcl"].write([dialogue])
    assert [turn[0]["content"] for turn in written["question"]] == ["Two walks.", "Another."]
    FORMATS["bfcl"].read(written)


def test_messages_before_the_last_are_the_dialogue_so_far() -> None:
    said = [{"role": role, "content": role[0]} for role in ("user", "assistant", "user")]
    (dialogue,) = FORMATS["bfcl"].read(single_turn(question=[said]))
    assert dialogue.document["context"] == said[:2]
    assert same(FORMATS["bfcl"].write([dialogue]), single_turn(question=[said]))
    (dialogue,) = FORMATS["bfcl"].read(single_turn(question="How far?"))
    assert dialogue.document["tasks"][0]["user_message"] == "How far?"
    assert same(FORMATS["bfcl"].write([dialogue]), single_turn(question="How far?"))


@pytest.mark.parametrize(("name", "warned"), [("live_irrelevance_1-0-0", []), ("live_relevance_1", ["/ground_truth"])])
def test_only_an_irrelevant_task_needs_no_answer(name: str, warned: list[str]) -> None:
    record = {key: value for key, value in single_turn(id=name).items() if key != "ground_truth"}
    (dialogue,) = FORMATS["bfcl"].read(record)
    assert dialogue.document["tasks"][0]["steps"] == []
    assert [warning.pointer for warning in dialogue.warnings] == warned
    assert same(FORMATS["bfcl"].write([dialogue]), record)


def test_an_archive_puts_answers_into_single_turn_tasks() -> None:
    record = single_turn()
    task = {key: value for key, value in record.items() if key != "ground_truth"}
    answer = {"id": record["id"], "ground_truth": record["ground_truth"]}
    files = {
        "data/BFCL_v4_parallel.json": task, "data/possible_answer/BFCL_v4_parallel.json": answer,
        "data/BFCL_v4_irrelevance.json": task | {"id": "irrelevance_0"},
    }  # fmt: skip
    found = records(as_zip({name: json.dumps(one).encode() for name, one in files.items()}), "bfcl")
    assert [item.data for item in found] == [record, task | {"id": "irrelevance_0"}]


BAD_SINGLE_TURN = {
    "two turns": ({"question": [[], []]}, "/question", "one list of messages"),
    "the assistant last": (
        {"question": [[{"role": "assistant", "content": ""}]]}, "/question/0", "last message must be the user’s",
    ),
    "another role": ({"question": [[{"role": "tool", "content": "x"}]]}, "/question/0/0", "one of: system"),
    "no functions": ({"function": {}}, "/function", "must be a list of functions"),
    "text as a call": ({"ground_truth": ["go(1)"]}, "/ground_truth/0", "must be an object such as"),
    "values that are no list": ({"ground_truth": [{"go": {"a": 1}}]}, "/ground_truth/0", "must be an object such as"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "pointer", "words"), BAD_SINGLE_TURN.values(), ids=BAD_SINGLE_TURN)
def test_what_cannot_be_read_of_a_single_turn_task_is_told(changes: dict[str, Any], pointer: str, words: str) -> None:
    problems = problems_of("bfcl", single_turn(**changes))
    assert words in problems[pointer]


def test_a_single_task_is_not_made_of_a_single_turn_task() -> None:
    assert "Choose the format bfcl" in problems_of("bfcl_single", single_turn())["/question"]
