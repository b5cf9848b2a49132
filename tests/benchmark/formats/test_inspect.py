"""inspect: samples of logs in every kind of file become dialogues; of events, only the tools are kept."""

import io
import json
import zipfile
from typing import Any

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotator.core.schema.exact_json import dumps
from benchmark.core.files.inspect_samples import trimmed
from benchmark.core.files.json_lists import ListError, fields
from benchmark.core.files.limits import Limits
from benchmark.core.files.reading import RawLine, RecordError, read_lines
from benchmark.core.formats import FORMATS
from benchmark.core.formats.converting import Converter
from benchmark.core.formats.detecting import detect
from benchmark.core.formats.examples import example_file, example_records
from benchmark.core.formats.native_remainder import native
from tests.benchmark.formats.format_records import JSON, problems_of
from tests.benchmark.formats.log_files import dialogues, is_refused_properly, nested, said, spoilt

SAMPLES = example_records("inspect")
ABOUT = {"task": "trains", "model": "example/example-1", "run_id": "r1", "config": {"epochs": 2}}
LOG = {"version": 2, "status": "success", "eval": ABOUT, "samples": SAMPLES, "reductions": []}

#: The id of a sample of a log: other tasks and models have samples of the same ids.
NAMED = "trains/{}@example/example-1"


def archive(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as packed:
        for name, content in members:
            packed.writestr(name, content)
    return out.getvalue()


def log_members(samples: list[Any]) -> list[tuple[str, bytes]]:
    named = [(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one, indent=2).encode()) for one in samples]
    return [("_journal/start.json", b"{}"), *named, ("header.json", json.dumps({"eval": ABOUT}).encode())]


def items(content: bytes, filename: str = "log.eval", **options: Any) -> list[RawLine | RecordError]:
    return list(read_lines(io.BytesIO(content), filename, format_name="inspect", **options))


def test_the_example_is_two_dialogues() -> None:
    found = dialogues(example_file("inspect"), "inspect")
    assert list(found) == ["trains-1", "greeting-2#2"]
    trains, greeting = found.values()
    ghent = {"origin": "Ghent", "destination": "Bruges"}
    assert said(trains) == [
        "When do the next trains from Ghent to Bruges and to Antwerp leave?",
        ("find_train", ghent, {"train": "IC 1513", "departure": "10:24"}),
        ("find_train", ghent | {"destination": "Antwerp"}, "The timetable of Antwerp is not available."),
        "To Bruges at 10:24. I can’t see the timetable of Antwerp.",
    ]
    steps = trains.document["tasks"][0]["steps"]
    assert [native(step).get("error") for step in steps] == [None, True, None]
    assert native(steps[0])["said"] == "I look up both."
    assert trains.document["env_info"].startswith("You help travellers in Belgium. You look up")
    assert [tool["function"]["name"] for tool in trains.tools] == ["find_train", "book_seat"]
    assert [(one.pointer, one.message) for one in trains.warnings] == [
        ("/events", "The events of the sample are not kept (1).")
    ]
    extra = trains.document["extra"]
    assert (extra["target"], extra["evaluation"]) == ("10:24", {"sample": "trains-1", "epoch": 1})
    assert not {"events", "attachments", "epoch"} & extra.keys()
    assert (said(greeting)[0], greeting.tools) == ("Good morning! Who are you?", [])
    assert (greeting.document["extra"]["choices"], greeting.warnings) == (["assistant", "passenger"], [])
    (message, *_) = FORMATS["openai"].write([trains])["messages"][2:]
    assert message["reasoning_content"] == [{"type": "reasoning", "reasoning": "Two searches are needed."}]


def zstd(content: bytes) -> bytes:
    """The archive with its members as Inspect compresses them by default, in frames of a few bytes."""
    codec = pyarrow.Codec("zstd")
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as before, zipfile.ZipFile(out, "w") as after:
        for info in before.infolist():
            plain = before.read(info)
            half = len(plain) // 2
            packed = b"".join(codec.compress(part, asbytes=True) for part in (plain[:half], plain[half:]))
            after.writestr(info.filename, packed)
            last = after.infolist()[-1]
            last.compress_type, last.file_size, last.CRC = 93, len(plain), info.CRC
    return out.getvalue()


FILES = {
    "log.eval": archive(*log_members(SAMPLES)),
    "zstd.eval": zstd(archive(*log_members(SAMPLES))),
    "log.json": json.dumps(LOG, indent=1).encode(),
    "line.json": json.dumps(LOG).encode(),
    "log.zip": archive(("a/log.json", json.dumps(LOG).encode())),
}


@pytest.mark.parametrize("name", list(FILES))
def test_every_kind_of_log_has_the_same_records(name: str) -> None:
    found = dialogues(FILES[name], "inspect", name)
    assert list(found) == [f"{NAMED.format('trains-1')}#1", f"{NAMED.format('greeting-2')}#2"]
    about = {"task": "trains", "model": "example/example-1", "run_id": "r1", "epochs": 2}
    assert found[f"{NAMED.format('trains-1')}#1"].document["extra"]["evaluation"] == about | {
        "sample": "trains-1",
        "epoch": 1,
    }
    plain = dialogues(example_file("inspect"), "inspect")
    assert [said(one) for one in found.values()] == [said(one) for one in plain.values()]
    assert [len(one.tools) for one in found.values()] == [2, 0]
    whole = items(FILES[name], name)
    for skip in range(4):
        assert items(FILES[name], name, skip=skip) == whole[skip:]
    # What is stored with a revision has no events either.
    assert not any(b'"event":' in one.content for one in whole if isinstance(one, RawLine))


def test_a_dialogue_of_one_epoch_has_the_id_of_its_sample() -> None:
    once = ABOUT | {"config": {"epochs": 1}}
    assert NAMED.format("trains-1") in dialogues(json.dumps(LOG | {"eval": once}).encode(), "inspect", "a.json")


def test_a_damaged_member_is_named() -> None:
    damaged = FILES["zstd.eval"].replace(b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\xfe")
    (error,) = items(damaged)
    assert isinstance(error, RecordError)
    assert error.fatal
    assert "damaged or cut off" in error.message


def test_samples_that_cannot_be_read_are_named_and_the_others_read() -> None:
    long = SAMPLES[0] | {"id": "long", "metadata": {"x": "x" * 9_000}}
    members = [*log_members([long, SAMPLES[1]]), ("samples/a_epoch_1/sample.json", b"{}"), ("samples/a/b.json", b"1")]
    found = items(archive(*members), limits=Limits(line=9_000))
    assert [(one.line, one.member) for one in found] == [
        (1, "samples/long_epoch_1.json"), (1, "samples/greeting-2_epoch_2.json"), (1, "samples/a_epoch_1/sample.json"),
    ]  # fmt: skip
    assert [one.message for one in found if isinstance(one, RecordError)] == [
        f"The line has {len(members[1][1]) / 1024:.3g} KiB. "
        "The limit of a record is 8.79 KiB, so the line was skipped.",
        "The sample is in parts, which Assay doesn’t read. Convert the log with: inspect log convert --to json.",
    ]
    (error,) = items(archive(("a.json", b"{}")))
    assert isinstance(error, RecordError)
    assert error.message == "The file is not a log of Inspect AI: it has no header.json."
    strange = items(archive(*log_members(SAMPLES), method=zipfile.ZIP_BZIP2))
    assert [one.message for one in strange if isinstance(one, RecordError)] == [
        "The file uses an unsupported compression method. Use deflate. "
        "Convert the log with: inspect log convert --to json."
    ]


def test_a_log_that_is_cut_off_or_in_one_line_of_many_is_a_sentence() -> None:
    *good, error = items(FILES["log.json"][:-900], "log.json")
    assert [type(one) for one in good] == [RawLine]
    assert isinstance(error, RecordError)
    assert error.fatal
    assert "it ends inside a record" in error.message or "cannot be read any further" in error.message
    assert "Import it as a .json file" in problems_of("inspect", LOG)["/samples"]
    assert problems_of("inspect", {"id": "1"}) == {
        "/epoch": "The record has no epoch (the number of the run of a sample)."
    }
    (alone,) = dialogues(json.dumps(SAMPLES[1], indent=1).encode(), "inspect", "one.json")
    assert alone == "greeting-2#2"


def test_a_log_without_samples_is_recognised_and_refused() -> None:
    log = {"version": 2, "status": "error", "eval": ABOUT, "error": {"message": "No key"}}
    assert detect(io.BytesIO(dumps(log)), "a.json").format == "inspect"
    assert problems_of("inspect", log)[""].startswith("The log has no samples")


def test_attachments_are_put_in_their_places_up_to_a_limit() -> None:
    names = ["attachment://a", "attachment://b", "attachment://a", "attachment://none"]
    sample = {"messages": [{"content": one} for one in names], "attachments": {"a": "x" * 40, "b": 7}}
    assert trimmed(sample, 80)["messages"] == [{"content": one} for one in ("x" * 40, names[1], "x" * 40, names[3])]
    assert trimmed(sample, 80)["left_out"] == {"attachments": 2}
    assert trimmed(sample, 79)["left_out"] == {"attachments": 3}
    twice = trimmed(sample, 80)
    assert trimmed(twice, 80) is twice


def test_a_call_that_could_not_be_parsed_has_no_arguments_but_keeps_what_was_said() -> None:
    call = {"id": "c", "function": "find", "arguments": {"raw": "{a"}, "type": "function", "parse_error": "No JSON."}
    result = {"role": "tool", "tool_call_id": "c", "function": "find", "content": "", "error": {"message": "No JSON."}}
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "", "tool_calls": [call]}, result]
    (dialogue,) = FORMATS["inspect"].read({"id": 7, "epoch": 1, "messages": messages, "output": {}})
    assert (dialogue.external_id, said(dialogue)) == ("7", ["Hi", ("find", {}, "No JSON.")])
    (written,) = FORMATS["openai"].write([dialogue])["messages"][1]["tool_calls"]
    assert (written["parse_error"], written["unread_arguments"]) == ("No JSON.", {"raw": "{a"})
    assert "No event of a model lists tools." in dialogue.warnings[0].message


def test_a_sample_becomes_a_record_of_another_format_that_is_not_taken_for_a_sample() -> None:
    for item in items(FILES["log.eval"]):
        assert isinstance(item, RawLine)
        done = Converter("inspect", "openai").convert(item)
        assert (done.problems, len(done.lines)) == ([], 1)
        assert FORMATS["openai"].read(json.loads(done.lines[0]))[0].external_id == done.external_id


@given(record=st.sampled_from(SAMPLES).flatmap(spoilt))
@settings(deadline=None, max_examples=300)
def test_any_record_is_read_or_refused(record: Any) -> None:
    assert is_refused_properly("inspect", record)
    for item in items(dumps(record), "log.jsonl"):
        assert isinstance(item, RawLine) or item.message.endswith(".")


def test_values_that_are_nested_too_deeply_are_refused() -> None:
    assert problems_of("inspect", SAMPLES[0] | {"metadata": nested(100)}) != {}
    assert problems_of("inspect", SAMPLES[0] | {"messages": nested(100)}) != {}


LIST = st.lists(JSON, max_size=3)


@given(
    value=st.dictionaries(st.sampled_from(["a", "é\n", "eval", "list"]), JSON | LIST, max_size=4),
    indent=st.sampled_from([None, 1]),
    cut=st.integers(0, 40),
)
@settings(deadline=None)
def test_an_object_is_read_field_by_field(value: dict[str, Any], indent: int | None, cut: int) -> None:
    text = json.dumps(value, indent=indent)
    expected = []
    for name, content in value.items():
        is_list = name == "list" and type(content) is list
        expected += [(name, json.dumps(one)) for one in (content if is_list else [content])]
    found = [(name, json.dumps(json.loads(text[a:b]))) for name, a, b in fields(text, 1 << 20, "list")]
    assert found == expected
    cut = min(cut, len(text) - 2)
    if cut:
        with pytest.raises(ListError):
            list(fields(text[:-cut], 1 << 20, "list"))
    with pytest.raises(ListError, match="after the end"):
        list(fields(f"{text} 1", 1 << 20, "list"))
