"""convert_dialogues: the same format gives the same bytes, another one says what it has no place for."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmark.core.files.reading import RawLine
from benchmark.core.formats import FORMATS, WRITTEN
from benchmark.core.formats.chat import ChatFormat
from benchmark.core.formats.converting import Converter
from benchmark.core.formats.examples import example_records
from tests.benchmark.formats import cctu_records
from tests.benchmark.formats.format_records import (
    bfcl_record,
    bilingual_wild_record,
    c3_record,
    c3_records,
    flat_messages,
    nestful_record,
    openai_record,
    openai_records,
    read,
    single_record,
    wild_record,
    wild_records,
)

LENIENT = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
NEUTRAL = FORMATS["neutral"].write(read("wild", wild_record()))
RECORDS = {
    "wild": wild_record(),
    "c3": c3_record(),
    "mmtb": c3_record(),
    "neutral": NEUTRAL,
    "openai": openai_record(),
    "cctu": cctu_records.whole(),
    "async": single_record(),
    "bfcl": bfcl_record(),
    "nestful": nestful_record(),
    "bfcl_single": bfcl_record(),
    **{name: example_records(name)[0] for name, one in FORMATS.items() if isinstance(one, ChatFormat)},
}
#: As no program of ours writes them.
ODD = '"x_odd": {"b" : 1.50,"a":1E2, "z":-0.0, "w": 40.0, "n": 123456789012345678901, "s": "\\u00e9\\/"}'


class Done(NamedTuple):
    code: int
    out: str
    said: str

    @property
    def counts(self) -> tuple[int, ...]:
        row = json.loads(self.said.splitlines()[-1])
        assert list(row) == ["read", "written", "refused", "lossy"]
        return tuple(row.values())


def convert(file: Path, source: str, target: str, *options: object) -> Done:
    out, said, code = io.StringIO(), io.StringIO(), 0
    try:
        call_command("convert_dialogues", file, "--from", source, "--to", target, *options, stdout=out, stderr=said)
    except SystemExit as end:
        code = int(str(end.code))
    return Done(code, out.getvalue(), said.getvalue())


def oddly(record: dict[str, Any]) -> str:
    """The record on a line of its own style, its keys in no order, with odd numbers in a field beside."""
    backwards = dict(reversed(record.items()))
    return f"{json.dumps(backwards, separators=(' ,', ': '))[:-1]} , {ODD} }}"


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_format_converted_to_itself_is_the_same_bytes(tmp_path: Path, name: str, end: str) -> None:
    file, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    lines = [oddly(RECORDS[name] | {"id": str(n)}) for n in range(3)]
    file.write_bytes(("\n".join(lines) + end).encode())
    assert convert(file, name, name, "--out", out).counts == (3, 3, 0, 0)
    assert out.read_bytes() == file.read_bytes()
    done = convert(file, name, name)
    assert (done.code, done.out) == (0, file.read_bytes().decode())


def test_a_record_that_leaves_out_what_is_as_usual_comes_back_so(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    document = {"tasks": [{"user_message": "Hi", "id": "t1", "steps": []}], "kind": "multi_turn"}
    file.write_text(json.dumps({"document": document, "id": "a"}) + "\n")
    assert convert(file, "neutral", "neutral").out == file.read_text()


def line(text: str) -> RawLine:
    return RawLine(1, "", text.encode(), len(text), True)


@pytest.mark.parametrize(
    ("name", "records"),
    [("wild", wild_records()), ("c3", c3_records()), ("mmtb", c3_records()), ("openai", openai_records())],
)
@given(data=st.data())
@LENIENT
def test_any_record_in_any_style_comes_back_sign_for_sign(name: str, records: Any, data: st.DataObject) -> None:
    text = oddly(data.draw(records))
    done = Converter(name, name).convert(line(text))
    assert (done.lines, done.problems, done.losses) == ([text], [], [])


@pytest.mark.parametrize("source", list(FORMATS))
@pytest.mark.parametrize("target", WRITTEN)
def test_what_is_written_in_another_format_is_read_there(tmp_path: Path, source: str, target: str) -> None:
    file, out, losses = tmp_path / "in.jsonl", tmp_path / "out.jsonl", tmp_path / "losses.jsonl"
    file.write_text(json.dumps(RECORDS[source]) + "\n")
    done = convert(file, source, target, "--out", out, "--losses", losses)
    # These have kinds of dialogues of their own.
    kinds = {"cctu": "constrained", "async": "single_task", "bfcl_single": "single_task"}
    if kinds.get(source) != kinds.get(target) and target != "neutral":
        assert (done.code, done.counts) == (2, (1, 0, 1, 0))
        assert "cannot represent" in done.said
        return
    assert done.code == 0
    read_, written, refused, lossy = done.counts
    assert (read_, refused, bool(lossy)) == (1, 0, bool(losses.read_text()))
    rows = [json.loads(row) for row in losses.read_text().splitlines()]
    assert all(list(row) == ["line", "id", "pointer", "what"] and row["what"].endswith(".") for row in rows)
    if target in (source, "neutral"):
        assert [row["pointer"] for row in rows if row["pointer"] != "/variant_group"] == []
    records = [json.loads(row) for row in out.read_text().splitlines()]
    assert len(records) == written
    for record in records:
        FORMATS[target].read(record)


def test_what_a_format_has_no_place_for_is_told_with_its_place(tmp_path: Path) -> None:
    file, losses = tmp_path / "in.jsonl", tmp_path / "losses.jsonl"
    record = json.loads(json.dumps(NEUTRAL))
    steps = record["document"]["tasks"][1]["steps"]
    steps[2]["depends_on"][0]["kind"] = "logical"
    steps[0]["inferable"] = {"/city": "It is the capital."}
    file.write_text(json.dumps(record) + "\n")
    done = convert(file, "neutral", "wild", "--losses", losses)
    assert done.counts == (1, 1, 0, 1)
    rows = [json.loads(row) for row in losses.read_text().splitlines()]
    assert [(row["line"], row["id"], row["pointer"]) for row in rows] == [
        (1, "wild_tool_bench_7", "/tasks/t2/steps/s0/inferable/~1city"),
        (1, "wild_tool_bench_7", "/tasks/t2/steps/s2/depends_on"),
    ]
    done = convert(file, "neutral", "openai", "--losses", losses)
    pointers = {json.loads(row)["pointer"] for row in losses.read_text().splitlines()}
    assert {"/tasks/t1/policy", "/tasks/t2/information", "/tasks/t2/steps/s2/depends_on"} <= pointers


def test_what_stands_beside_the_steps_is_told_too(tmp_path: Path) -> None:
    losses = tmp_path / "losses.jsonl"
    calls = [{"id": n, "type": "function", "function": {"name": n, "arguments": "{}"}} for n in ("a", "b")]
    results = [{"role": "tool", "tool_call_id": n, "content": "done"} for n in ("a", "b")]
    said = {"role": "assistant", "content": "Both at once.", "tool_calls": calls}
    messages = [{"role": "user", "content": "Go."}, said, *results, {"role": "assistant", "refusal": "No."}]
    trace = tmp_path / "trace.jsonl"
    trace.write_text(json.dumps({"id": "t", "messages": messages, "tools": []}))
    assert convert(trace, "openai", "wild", "--losses", losses).counts == (1, 1, 0, 1)
    told = [json.loads(line) for line in losses.read_text().splitlines()]
    assert {(one["pointer"], one["what"].split("cannot represent ")[-1].rstrip(".")) for one in told} >= {
        ("/tasks/t1/steps/s0", "what the assistant said with the call"),
        ("/tasks/t1/steps/s2", "that the answer is a refusal"),
        ("/tasks/t1/steps", "which calls were made in parallel"),
    }
    assert convert(trace, "openai", "neutral").counts == (1, 1, 0, 0)
    # Dependencies of a task list say it, where calls could not be made in fewer turns.
    [dialogue] = FORMATS["openai"].read({"id": "t", "messages": messages, "tools": []})
    for needs, silent in (([], True), ([{"id": "s0", "kind": "parameter"}], False)):
        for step in dialogue.document["tasks"][0]["steps"]:
            step["depends_on"] = needs if step["id"] == "s1" else []
        neutral = tmp_path / "neutral.jsonl"
        neutral.write_text(json.dumps(FORMATS["neutral"].write([dialogue])))
        convert(neutral, "neutral", "wild", "--losses", losses)
        assert ("which calls were made in parallel" not in losses.read_text()) is silent
    # Nobody has drawn the graph that would say what the label says.
    record = wild_record()
    for node in record["english_answer_list"][0]:
        del node["dependency_list"]
    record["english_task_types"][0] = "Mixed Multi-Tool"
    wild = tmp_path / "wild.jsonl"
    wild.write_text(json.dumps(record))
    convert(wild, "wild", "c3", "--losses", losses)
    assert "c3 cannot represent the label Mixed Multi-Tool" in losses.read_text()


def test_numbers_go_from_format_to_format_as_they_are(tmp_path: Path) -> None:
    record = wild_record()
    arguments = {"hours": 40.0, "zero": -0.0, "id": 123456789012345678901, "days": 40}
    record["english_answer_list"][0][0]["action"]["arguments"] = arguments
    file = tmp_path / "wild.jsonl"
    file.write_text(json.dumps(record) + "\n")
    for source, target in (("wild", "neutral"), ("neutral", "openai"), ("openai", "c3"), ("c3", "wild")):
        out = tmp_path / f"{target}.jsonl"
        assert convert(file, source, target, "--out", out).code == 0
        (dialogue, *_) = FORMATS[target].read(json.loads(out.read_text().splitlines()[0]))
        found = dialogue.document["tasks"][0]["steps"][0]["arguments"]
        assert {key: repr(value) for key, value in found.items()} == {key: repr(arguments[key]) for key in arguments}
        file = out


def test_two_languages_become_two_records_where_one_holds_but_one(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text(json.dumps(bilingual_wild_record()) + "\n")
    done = convert(file, "wild", "openai")
    assert done.counts == (1, 2, 0, 1)
    assert [json.loads(row)["id"] for row in done.out.splitlines()] == ["wild_tool_bench_7", "wild_tool_bench_7:zh"]


def test_files_of_constraints_stand_beside_the_records_of_an_archive(tmp_path: Path) -> None:
    file, out = tmp_path / "in.zip", tmp_path / "out.zip"
    held = cctu_records.members(cctu_records.whole("7"), cctu_records.whole("8"))
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in held.items():
            archive.writestr(name, content)
    assert convert(file, "cctu", "cctu", "--out", out).counts == (2, 2, 0, 0)
    with zipfile.ZipFile(out) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == held
    within = convert(file, "cctu", "cctu").out
    assert [sorted(json.loads(row)["check_code"]) for row in within.splitlines()] == [sorted(cctu_records.files())] * 2


def test_a_bad_record_is_named_and_stops_no_other(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text(
        "\n".join([json.dumps(wild_record()), '{"id": "b", "english_tasks": []}', '{"id": 1, "id": 2}', ""])
    )
    done = convert(file, "wild", "wild")
    assert (done.code, done.counts) == (1, (3, 1, 2, 0))
    assert "line 2 (b): at /english_tasks: " in done.said
    assert "line 3: At /id: The key “id” appears twice" in done.said


def test_wrong_use_is_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text(json.dumps(wild_record()) + "\n")
    for wrong in (
        (tmp_path / "none.jsonl", "wild", "wild"),
        (tmp_path, "wild", "wild"),
        (file, "toolace", "wild"),
        (file, "wild", "toolace"),
        (file, "wild", "otlp"),
        (file, "wild", "wild", "--out", tmp_path),
        (file, "wild", "wild", "--losses", tmp_path / "no" / "where.jsonl"),
    ):
        with pytest.raises(CommandError) as caught:
            convert(*wrong)
        assert caught.value.returncode == 2
    (tmp_path / "empty.jsonl").write_text("\n")
    assert convert(tmp_path / "empty.jsonl", "wild", "wild").code == 2


def test_no_file_is_written_over_by_another_or_by_nothing(tmp_path: Path) -> None:
    file, kept = tmp_path / "in.jsonl", tmp_path / "kept.jsonl"
    for path in (file, kept):
        path.write_text(json.dumps(wild_record()) + "\n")
    before = file.read_bytes()
    link = tmp_path / "link.jsonl"
    link.symlink_to(file)
    for wrong in (("--out", file), ("--losses", link), ("--out", kept, "--losses", kept)):
        with pytest.raises(CommandError, match="is given twice"):
            convert(file, "wild", "c3", *wrong)
    for target in ("kept.jsonl", "kept.zip"):
        out = tmp_path / target
        out.write_bytes(before)
        done = convert(file, "wild", "cctu", "--out", out, "--losses", tmp_path / "losses.jsonl")
        assert (done.code, done.counts) == (2, (1, 0, 1, 0))
        assert out.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl", "kept.jsonl", "kept.zip", "link.jsonl"}
    assert file.read_bytes() == kept.read_bytes() == before


REAL = [("cctu", "cctu/native/input_data.jsonl"), ("wild", "wild/candidates.jsonl")] + [
    (name, "c3/paper_cases.jsonl") for name in ("c3", "mmtb", "wild")
]


@pytest.mark.parametrize(("name", "path"), REAL)
def test_real_files_come_back_as_they_are(shared_data: Path, tmp_path: Path, name: str, path: str) -> None:
    assert convert(shared_data / path, name, name, "--out", tmp_path / "out.jsonl").code == 0
    assert (tmp_path / "out.jsonl").read_bytes() == (shared_data / path).read_bytes()


def test_words_of_roles_in_messages_that_the_other_format_does_not_have_are_told() -> None:
    record = c3_record()
    record["english_messages"] = flat_messages(record["english_task"], "========", "User: ", "AI Agent: ")
    done = Converter("c3", "wild").convert(line(json.dumps(record)))
    assert "/messages" in [
        one.pointer for one in done.losses if "cannot represent how the field was written" in one.message
    ]
    assert Converter("c3", "neutral").convert(line(json.dumps(record))).losses == []


@pytest.mark.parametrize("ending", [".jsonl.gz", ".ndjson.zst", ".json", ".json.gz", ".csv", ".tsv.zst"])
def test_the_ending_decides_what_is_written(tmp_path: Path, ending: str) -> None:
    file, out = tmp_path / "in.jsonl", tmp_path / f"out{ending}"
    # A table has one form for a field that is null, empty or absent.
    line = json.dumps({name: value for name, value in RECORDS["wild"].items() if value not in (None, "")})
    file.write_text(f"{line}\n")
    assert convert(file, "wild", "wild", "--out", out).counts == (1, 1, 0, 0)
    assert json.loads(convert(out, "wild", "wild").out) == json.loads(line)


def test_a_parquet_file_has_a_column_for_each_field(tmp_path: Path) -> None:
    file, out = tmp_path / "in.jsonl", tmp_path / "out.parquet"
    file.write_text(json.dumps(RECORDS["openai"] | {"n": 1}) + "\n")
    assert convert(file, "openai", "openai", "--out", out).counts == (1, 1, 0, 0)
    table = pq.read_table(out)
    assert table.column("n").to_pylist() == [1]
    assert json.loads(table.column("messages").to_pylist()[0]) == RECORDS["openai"]["messages"]


def test_an_ending_that_says_nothing_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text("{}\n")
    with pytest.raises(CommandError, match=r"out.xlsx: use a file that ends in one of: .jsonl"):
        convert(file, "wild", "wild", "--out", tmp_path / "out.xlsx")
