"""Reading files of records: what is in them, and in which order."""

import gzip
import io
import json
import zipfile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.core.files.reading import Limits, RawRecord, RecordError
from benchmark.core.files.record_lines import split_lines
from tests.benchmark.formats.format_records import read_records


def read(content: bytes, name: str = "a.jsonl", **options: Any) -> list[RawRecord | RecordError]:
    return list(read_records(io.BytesIO(content), name, **options))


def data(items: list[RawRecord | RecordError]) -> list[dict[str, Any]]:
    assert all(isinstance(item, RawRecord) for item in items), items
    return [item.data for item in items if isinstance(item, RawRecord)]


def errors(items: list[RawRecord | RecordError]) -> list[RecordError]:
    return [item for item in items if isinstance(item, RecordError)]


def lines(count: int) -> bytes:
    return b"".join(json.dumps({"id": str(number)}).encode() + b"\n" for number in range(count))


def zipped(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def test_json_lines() -> None:
    items = read(b'{"a": 1}\n\n  \n{"a": "\xc3\xa9"}')
    assert data(items) == [{"a": 1}, {"a": "é"}]
    assert [(item.line, item.member) for item in items] == [(1, ""), (4, "")]
    assert [item.bytes for item in items if isinstance(item, RawRecord)] == [8, 11]


@pytest.mark.parametrize(
    "content",
    [
        b'\xef\xbb\xbf{"a": 1}\n{"a": 2}\n',
        b'{"a": 1}\r\n\r\n{"a": 2}\r\n',
        b'{"a": 1}\n\xef\xbb\xbf{"a": 2}',
        b' {"a" : 1} \n\t{"a":2}\n',
    ],
    ids=["mark", "carriage returns", "mark within", "blanks"],
)
def test_harmless_oddities(content: bytes) -> None:
    assert data(read(content)) == [{"a": 1}, {"a": 2}]


def test_packed_json_lines() -> None:
    assert len(data(read(gzip.compress(lines(5000)), "a.JSONL.GZ"))) == 5000


def test_several_packed_parts_one_after_the_other() -> None:
    content = gzip.compress(lines(3)) + gzip.compress(b"") + gzip.compress(lines(2)) + b"\0" * 512
    assert len(data(read(content, "a.jsonl.gz"))) == 5


def test_packed_content_of_any_ratio_is_whole() -> None:
    """Below the limits a stream that unpacks a thousandfold comes out complete, whatever the pieces."""
    line = b'{"a": "' + b"0" * 60_000 + b'"}\n'
    assert len(data(read(gzip.compress(line * 150), "a.jsonl.gz"))) == 150


def test_an_archive_of_files() -> None:
    content = zipped(
        {
            "b/two.jsonl": lines(2),
            "one.jsonl.gz": gzip.compress(lines(1)),
            "list.json": b'[{"id": "x"},\n {"id": "y"}]',
            "empty.jsonl": b"",
            "README.txt": b"hello",
        }
    )
    items = read(content, "a.zip")
    records = [(item.member, item.line) for item in items if isinstance(item, RawRecord)]
    assert records == [
        ("b/two.jsonl", 1),
        ("b/two.jsonl", 2),
        ("one.jsonl.gz", 1),
        ("list.json", 1),
        ("list.json", 2),
    ]
    (ignored,) = errors(items)
    assert (ignored.line, ignored.member, ignored.fatal) == (0, "README.txt", False)
    assert ignored.message.startswith("Ignored.")


def test_what_a_mac_packs_beside_a_file_is_passed_over() -> None:
    note = b"\0\x05\x16\x07\0\x02\0\0Mac OS X        "
    ignored, record = read(zipped({"__MACOSX/._a.jsonl": note, "a.jsonl": b'{"a": 1}\n'}), "a.zip")
    assert isinstance(ignored, RecordError)
    assert (ignored.fatal, ignored.message) == (
        False,
        "Ignored. This is a macOS metadata file without records.",
    )
    assert isinstance(record, RawRecord)


def test_a_list_in_a_json_file() -> None:
    items = read(b'[{"a": 1},\n\n {"a": 2} ,{"a": [3, "]"]}]\n', "a.json")
    assert data(items) == [{"a": 1}, {"a": 2}, {"a": [3, "]"]}]
    assert [item.line for item in items] == [1, 3, 3]
    assert read(b"[]", "a.json") == []


def test_one_object_in_a_json_file() -> None:
    assert data(read(b'{\n  "a": 1\n}\n', "a.json")) == [{"a": 1}]


def test_json_lines_in_a_json_file() -> None:
    """Some benchmarks name their JSON lines .json."""
    items = read(b'{"a": 1}\n{"a": 2}\nx\n', "a.json")
    assert [type(item) for item in items] == [RawRecord, RawRecord, RecordError]
    assert [item.line for item in items] == [1, 2, 3]


def test_elements_of_a_list_that_are_no_objects() -> None:
    items = read(b'[{"a": 1}, 2, {"a": 1, "a": 2}]', "a.json")
    assert [type(item) for item in items] == [RawRecord, RecordError, RecordError]
    assert "this is a number" in errors(items)[0].message
    assert "twice" in errors(items)[1].message


def test_bad_lines_do_not_stop_the_good_ones() -> None:
    items = read(b'{"a": 1}\n{"a": }\n[1]\n{"a": 2}\n')
    assert [type(item) for item in items] == [RawRecord, RecordError, RecordError, RawRecord]
    first, second = errors(items)
    assert (first.line, first.fatal) == (2, False)
    assert "character 7" in first.message
    assert second.message == "A record must be a JSON object, but this is a list."


MIXED = b'{"a": 1}\n\nx\n{"a": 2}\n[]\n{"a": 3}\n'


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.zip"])
@pytest.mark.parametrize("skip", range(7))
def test_what_was_seen_is_passed_over(name: str, skip: int) -> None:
    """An import that was killed goes on where its last chunk ended."""
    content = {"a.jsonl": MIXED, "a.jsonl.gz": gzip.compress(MIXED)}.get(name) or zipped(
        {"x.txt": b"", "m.jsonl": MIXED, "n.json": b'[{"a": 4}, 5]'}
    )
    everything = read(content, name)
    assert read(content, name, skip=skip) == everything[skip:]


def test_lines_that_are_passed_over_are_not_parsed() -> None:
    assert data(read(b"x\n" * 3 + b'{"a": 1}\n', skip=3)) == [{"a": 1}]


def test_a_long_line_is_one_fault() -> None:
    long = b'{"a": "' + b"x" * 5000 + b'"}\n'
    items = read(b'{"a": 1}\n' + long + b'{"a": 2}\n' + long.rstrip(), limits=Limits(line=1000))
    assert [type(item) for item in items] == [RawRecord, RecordError, RawRecord, RecordError]
    assert errors(items)[0] == RecordError(
        2, "", "The line has 4.89 KiB. The limit of a record is 1000 bytes, so the line was skipped.", False
    )


def test_too_many_records() -> None:
    items = read(lines(5), limits=Limits(records=3))
    assert [item.line for item in items] == [1, 2, 3, 0]
    assert items[3] == RecordError(0, "", "The file has more than 3 records. Split it.", True)


class Dribble:
    """A source that gives its content in pieces of any size."""

    def __init__(self, content: bytes, sizes: list[int]) -> None:
        self.content = io.BytesIO(content)
        self.sizes = sizes

    def read(self, size: int = -1, /) -> bytes:
        return self.content.read(self.sizes.pop() if self.sizes else size)


@given(
    st.lists(st.binary(max_size=30)).map(b"\n".join),
    st.lists(st.integers(1, 9), max_size=40),
    st.integers(1, 40),
)
def test_lines_are_the_same_in_whatever_pieces_they_come(content: bytes, sizes: list[int], limit: int) -> None:
    parts = content.split(b"\n")
    expected = [(part if len(part) <= limit else None, len(part), True) for part in parts[:-1]]
    if parts[-1]:
        expected.append((parts[-1] if len(parts[-1]) <= limit else None, len(parts[-1]), False))
    assert list(split_lines(Dribble(content, sizes), limit)) == expected


def release(root: str = "") -> bytes:
    files = [
        {"path": "wild.jsonl", "format": "wild"},
        {"path": "dialogues.jsonl", "format": "neutral"},
        {"path": "items.jsonl"},
    ]
    manifest = json.dumps({"assay_release": 1, "files": files}).encode()
    return zipped(
        {
            f"{root}manifest.json": manifest,
            f"{root}wild.jsonl": lines(2),
            f"{root}dialogues.jsonl": lines(3),
            f"{root}items.jsonl": lines(4),
            f"{root}README.md": b"x",
        }
    )


@pytest.mark.parametrize("root", ["", "release-1.0/"])
def test_of_a_release_only_the_chosen_format_is_read(root: str) -> None:
    content = release(root)
    assert len([item for item in read(content, "a.zip") if isinstance(item, RawRecord)]) == 5
    items = read(content, "a.zip", format_name="wild")
    assert {item.member for item in items if isinstance(item, RawRecord)} == {f"{root}wild.jsonl"}
    messages = {error.member.removeprefix(root): error.message for error in errors(items)}
    assert messages["dialogues.jsonl"] == "Ignored. It has the same dialogues in the format neutral."
    assert set(messages) == {"dialogues.jsonl", "manifest.json", "items.jsonl", "README.md"}
