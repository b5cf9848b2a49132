"""Preparing records on several cores: the same answers in the same order, and no one left behind."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import pytest

from annotator.core.checks import run_checks
from annotator.core.schema.reading import load_text
from benchmark.core.files.reading import RawLine, RecordError
from benchmark.services.imports import preparing
from benchmark.services.imports.preparing import Chunk, Prepared, PreparedRecord, Preparer, Setup
from benchmark.services.imports.processes import Preparers
from tests.benchmark.conftest import as_lines, candidate, candidates
from tests.factories import broken, make_document

SETUP = Setup("neutral")


def raw(content: bytes) -> Chunk:
    return Chunk([RawLine(n, "", line, len(line), True) for n, line in enumerate(content.splitlines(), 1)])


def readable(prepared: Prepared) -> list[PreparedRecord]:
    return [record for record in prepared.records if isinstance(record, PreparedRecord)]


def chunks(count: int) -> list[Chunk]:
    lines = [*candidates(8), "{", candidate("bad", document=broken(make_document())), {"id": 7, "document": {}}]
    return [raw(as_lines(lines[n % 4 :])) for n in range(count)]


@pytest.mark.servers
def test_processes_answer_as_one_would_and_in_order() -> None:
    parts = chunks(9)
    alone = [Preparer(SETUP).prepare(part).records for part in parts]
    with Preparers(SETUP, count=3) as preparers:
        answers = list(preparers.prepare(iter(parts)))
        children = [child.process for child in preparers._children]
    assert [answer.records for answer in answers] == alone
    assert len(children) == 2, "this process is one of the three"
    assert all(child.poll() is not None for child in children)
    told: set[str] = set()
    for answer in answers:
        told |= answer.toolsets.keys()
        wanted = {dialogue.toolset for record in readable(answer) for dialogue in record.dialogues}
        assert wanted <= told, "a toolset is told no later than it is used"


def test_few_chunks_start_no_process() -> None:
    with Preparers(SETUP, count=3) as preparers:
        assert len(list(preparers.prepare(iter(chunks(Preparers.ALONE))))) == Preparers.ALONE
        assert preparers._children == []


def test_a_record_that_takes_too_long_is_rejected_and_the_others_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(document: dict[str, Any], *rest: Any, **options: Any) -> Any:
        while document["tasks"][0]["user_message"] == "endless":
            try:
                re.fullmatch("(a+)+", "a" * 30 + "!")
            except Exception:  # noqa: S112 - what swallows every fault does not swallow the end of its time
                continue
        return run_checks(document, *rest, **options)

    monkeypatch.setattr(preparing, "run_checks", check)
    endless = make_document()
    endless["tasks"][0]["user_message"] = "endless"
    lines = raw(as_lines([candidate("before"), candidate("endless", document=endless), candidate("after")]))
    prepared = Preparer(SETUP, seconds=0.3).prepare(lines)
    before, stopped, after = readable(prepared)
    assert [(one.external_id, len(one.dialogues)) for one in (before, stopped, after)] == [
        ("before", 1), ("endless", 0), ("after", 1),
    ]  # fmt: skip
    (problem,) = stopped.problems
    assert problem.pointer == ""
    assert problem.message.startswith("This record takes more than 0.3 seconds to read and check")
    assert {before.dialogues[0].toolset, after.dialogues[0].toolset} <= prepared.toolsets.keys()


@pytest.mark.servers
@pytest.mark.parametrize("count", [1, Preparers.ALONE + 4])
def test_what_was_read_before_a_fault_is_answered_first(count: int) -> None:
    def breaking_off() -> Iterator[Chunk]:
        yield from chunks(count)
        raise ValueError("the rest cannot be read")

    with Preparers(SETUP, count=2) as preparers:
        answers = preparers.prepare(breaking_off())
        assert len(list(islice(answers, count))) == count
        with pytest.raises(ValueError, match="cannot be read"):
            next(answers)


@pytest.mark.servers
def test_a_process_that_dies_is_an_error_not_a_hang() -> None:
    def dying(parts: Sequence[Chunk]) -> object:
        for number, part in enumerate(parts):
            if number == Preparers.ALONE + 2:
                for child in preparers._children:
                    child.process.kill()
            yield part

    with (
        Preparers(SETUP, count=2) as preparers,
        pytest.raises(RuntimeError, match="ended with code -9"),
    ):
        list(preparers.prepare(dying(chunks(12))))  # type: ignore[arg-type]
    assert all(child.process.poll() is not None for child in preparers._children)


def test_what_is_told_of_a_record() -> None:
    prepared = Preparer(SETUP).prepare(raw(as_lines([candidate("a"), {"id": "b", "tasks": []}, "{"])))
    good, bad = readable(prepared)
    assert (good.external_id, good.problems, len(good.dialogues)) == ("a", [], 1)
    assert good.dialogues[0].policies == ",single_tool,"
    assert (bad.external_id, bad.dialogues) == ("b", [])
    assert bad.problems[0].pointer == "/document"
    error = prepared.records[2]
    assert isinstance(error, RecordError)
    assert (error.line, error.fatal) == (3, False)


@pytest.mark.parametrize("number", [10**999, -(10**400), 123456789012345678901, 1e308, -0.0, 40.0, 5e-324])
def test_numbers_of_any_size_and_kind_go_through_every_check(number: float) -> None:
    """Each check meets everything that a file may contain: in arguments, observations and the tools' own schemas."""
    arguments = {"city": number, "lat": number, "date": str(number)[:200], "rows": [number]}
    document = make_document()
    call = document["tasks"][0]["steps"][0]
    call |= {"arguments": arguments, "observation": {"degrees": number, "rows": [number, {"text": str(number)[:200]}]}}
    tool = {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "integer", "minimum": number, "enum": [number, 1], "default": number},
                "lat": {"type": "float", "maximum": number},
                "date": {"type": "string"},
                "rows": {"type": "array"},
            },
        },
    }
    lines = raw(as_lines([candidate("a", document=document) | {"tools": [tool]}]))
    (record,) = readable(Preparer(SETUP).prepare(lines))
    (dialogue,) = record.dialogues
    assert repr(load_text(dialogue.content)["tasks"][0]["steps"][0]["arguments"]) == repr(
        dict(sorted(arguments.items()))
    )
