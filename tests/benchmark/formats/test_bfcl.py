"""BFCL's multi-turn tasks: with their possible answers and functions from an archive, as tasks or joined into one."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from annotator.core.schema import SchemaProblem, read_document
from annotator.core.schema.exact_json import same
from benchmark.core.files.reading import RawLine, RecordError, parse_line, read_lines
from benchmark.core.formats import FORMATS
from tests.benchmark.conftest import as_zip
from tests.benchmark.formats.format_records import bfcl_record

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
