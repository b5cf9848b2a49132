"""Reading and writing again: what nobody touched comes back equal, whatever the record looks like."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from annotator.core.schema import canonical, content_hash, read_document
from benchmark.core.formats import FORMATS
from tests.benchmark.formats.format_records import (
    bilingual_wild_record,
    c3_record,
    c3_records,
    json_lines,
    openai_record,
    openai_records,
    read,
    rewrite,
    same,
    wild_record,
    wild_records,
)

LENIENT = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)

REAL_FILES = [
    ("wild", "wild/candidates.jsonl", 27),
    ("wild", "c3/paper_cases.jsonl", 7),
    ("c3", "c3/paper_cases.jsonl", 7),
    ("mmtb", "c3/paper_cases.jsonl", 7),
]


@pytest.mark.parametrize(("name", "path", "count"), REAL_FILES)
def test_real_records_come_back_equal(shared_data: Path, name: str, path: str, count: int) -> None:
    records = json_lines(shared_data / path)
    assert len(records) == count
    for record in records:
        assert same(rewrite(name, record), record), record["id"]


@pytest.mark.parametrize(("name", "path", "count"), REAL_FILES[:2])
def test_real_records_need_no_notes_of_how_they_were_written(
    shared_data: Path, name: str, path: str, count: int
) -> None:
    """So that a released record, read again, is the same content and not only the same meaning."""
    for record in json_lines(shared_data / path):
        (dialogue,) = read(name, record)
        assert dialogue.document["extra"] == {}
        steps = [step for task in dialogue.document["tasks"] for step in task["steps"]]
        assert all("@native" not in step["extra"] for step in steps)


def test_a_released_record_is_the_same_content_as_before(shared_data: Path) -> None:
    """Imported again, a full record has the hash of the revision it was written from."""
    for record in [*json_lines(shared_data / "c3" / "paper_cases.jsonl"), wild_record()]:
        (dialogue,) = read("wild", record)
        written = FORMATS["wild"].write([dialogue], full=True, canary="assay-canary")
        assert same({key: value for key, value in written.items() if key != "canary"}, record)
        (again,) = FORMATS["wild"].read(written)
        assert content_hash(again.text) == content_hash(dialogue.text)


@pytest.mark.parametrize("make", [wild_record, bilingual_wild_record])
def test_a_wild_record_comes_back_equal(make: Any) -> None:
    assert same(rewrite("wild", make()), make())


@pytest.mark.parametrize("name", ["c3", "mmtb"])
def test_a_c3_record_comes_back_equal(name: str) -> None:
    assert same(rewrite(name, c3_record()), c3_record())


def test_a_trace_comes_back_equal() -> None:
    assert same(rewrite("openai", openai_record()), openai_record())


def check_round_trip(name: str, record: dict[str, Any]) -> None:
    first = read(name, record)
    written = FORMATS[name].write(first)
    assert same(written, record)
    again = FORMATS[name].read(written)
    assert again == first
    for dialogue in first:
        assert read_document(dialogue.document) == dialogue.document
        assert canonical(dialogue.document) == dialogue.text


@given(wild_records())
@LENIENT
def test_any_wild_record_comes_back_equal(record: dict[str, Any]) -> None:
    check_round_trip("wild", record)


@given(c3_records())
@LENIENT
def test_any_c3_record_comes_back_equal(record: dict[str, Any]) -> None:
    check_round_trip("c3", record)


@given(wild_records())
@LENIENT
def test_any_wild_record_comes_back_equal_through_the_c3_format(record: dict[str, Any]) -> None:
    check_round_trip("c3", record)


@given(openai_records())
@LENIENT
def test_any_trace_comes_back_equal(record: dict[str, Any]) -> None:
    check_round_trip("openai", record)


@given(wild_records())
@LENIENT
def test_a_neutral_record_keeps_the_content_hash(record: dict[str, Any]) -> None:
    for dialogue in read("wild", record):
        written = FORMATS["neutral"].write([dialogue])
        (again,) = FORMATS["neutral"].read(written)
        assert content_hash(again.text) == content_hash(dialogue.text)
        assert same(FORMATS["neutral"].write([again]), written)


@given(wild_records())
@LENIENT
def test_a_full_export_reads_back_to_the_same_steps(record: dict[str, Any]) -> None:
    """A full record is written without the original's peculiarities; what it means stays."""
    for name in ("wild", "c3"):
        first = read("wild", record)
        again = FORMATS[name].read(FORMATS[name].write(first, full=True))
        assert [meaning(item.document) for item in again] == [meaning(item.document) for item in first]


def meaning(document: dict[str, Any]) -> Any:
    """Messages and steps without labels, step numbers and notes."""
    tasks = []
    for task in document["tasks"]:
        position = {step["id"]: index for index, step in enumerate(task["steps"])}
        steps = []
        for step in task["steps"]:
            plain = {key: value for key, value in step.items() if key not in ("id", "extra", "depends_on")}
            needs = step["depends_on"]
            plain["needs"] = needs and [position.get(item["id"], "dangling") for item in needs]
            steps.append(plain)
        tasks.append((task["user_message"], steps))
    return tasks
