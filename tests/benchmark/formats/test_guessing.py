"""The wrong format chosen: one sentence that names the probable one."""

from pathlib import Path
from typing import Any

import pytest

from benchmark.core.formats import FORMATS, guess_format
from benchmark.core.formats.chat import ChatFormat
from benchmark.core.formats.examples import example_records
from tests.benchmark.formats.format_records import (
    bfcl_record,
    c3_record,
    json_lines,
    nestful_record,
    openai_record,
    problems_of,
    read,
    single_record,
    wild_record,
)

NEUTRAL = FORMATS["neutral"].write(read("wild", wild_record()))
ONLY_CHINESE_C3 = {key: value for key, value in c3_record().items() if not key.startswith("english_")}
CCTU = {"id": "1", "messages": [{"role": "user", "content": "x"}], "tools": "[]", "constraints_list": []}
RECORDS = {
    "wild": wild_record(), "c3": c3_record(), "neutral": NEUTRAL, "openai": openai_record(), "async": single_record(),
    "bfcl": bfcl_record(),
    "nestful": nestful_record(),
    **{name: example_records(name)[0] for name, one in FORMATS.items() if isinstance(one, ChatFormat)},
}  # fmt: skip


@pytest.mark.parametrize(
    ("record", "name"),
    [
        *[(record, name) for name, record in RECORDS.items()],
        (ONLY_CHINESE_C3, "c3"),
        (CCTU, "cctu"),
        ({"id": "1", "question": [[]], "function": []}, "bfcl"),
        ({"id": "1"}, None),
        ({}, None),
        ([], None),
        (None, None),
    ],
)
def test_a_record_is_recognised_by_its_fields(record: Any, name: str | None) -> None:
    assert guess_format(record) == name


@pytest.mark.parametrize("chosen", list(FORMATS))
@pytest.mark.parametrize("true", [*RECORDS, "cctu"])
def test_the_probable_format_is_named(chosen: str, true: str) -> None:
    record = CCTU if true == "cctu" else RECORDS[true]
    problems = problems_of(chosen, record)
    alike = ({"c3", "mmtb"}, {"bfcl", "bfcl_single"})
    if chosen == true or any({chosen, true} <= pair for pair in alike) or (chosen in ("c3", "mmtb") and true == "wild"):
        assert problems == {}
    else:
        assert list(problems) == [""]
        assert f"looks like {true}, not {chosen}" in problems[""]
        assert problems[""].endswith(f"Choose the format {true}.")


@pytest.mark.parametrize("chosen", list(FORMATS))
@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"id": "1", "ground_truth": [["f()"]]}, "a possible answer of BFCL (it has ground_truth)"),
        ({"name": "sum", "description": "Adds.", "parameters": {"type": "dict"}}, "the description of a function"),
    ],
)
def test_files_that_no_format_reads_are_sent_to_none_that_does_not_exist(chosen: str, record: Any, words: str) -> None:
    (message,) = problems_of(chosen, record).values()
    assert words in message
    assert "can’t read" in message
    assert {word for word in ("openai", "neutral") if word in message} <= FORMATS.keys() & FORMATS.keys()
    assert "Choose the format" not in message


@pytest.mark.parametrize("chosen", list(FORMATS))
def test_a_record_of_no_known_format_is_told_what_is_missing(chosen: str) -> None:
    (message,) = problems_of(chosen, {"id": "1", "text": "x"}).values()
    assert message.endswith(".")


def test_real_failures_and_constraints_are_no_dialogues(shared_data: Path) -> None:
    failure = json_lines(shared_data / "wild" / "model_failures.jsonl")[0]
    assert list(problems_of("wild", failure)) == ["/english_tasks"]
    constraint = json_lines(shared_data / "cctu" / "constraints.jsonl")[0]
    assert problems_of("wild", constraint) != {}
