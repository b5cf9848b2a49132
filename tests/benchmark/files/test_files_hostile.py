"""Files from strangers: damaged, mislabelled, or meant to harm. Each gives a sentence, none a traceback."""

import gzip
import io
import json
import struct
import subprocess
import sys
import tracemalloc
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.core.files import reading as files
from benchmark.core.files import record_lines as format_lines
from benchmark.core.files import release_files
from benchmark.core.files.reading import Limits, RawRecord, RecordError
from benchmark.core.files.record_lines import LineError, parse_record
from tests.benchmark.files.test_files import errors, lines, read, zipped
from tests.benchmark.formats.format_records import read_records

MIB = 1 << 20


def only(content: bytes, name: str = "a.jsonl", **options: Any) -> RecordError:
    """The one item a file gives."""
    (item,) = read(content, name, **options)
    assert isinstance(item, RecordError)
    assert item.message.endswith((".", ". Download or copy the file again."))
    return item


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"", "a.jsonl", "empty"),
        (b"", "a.jsonl.gz", "empty"),
        (b"", "a.zip", "empty"),
        (b"", "a.json", "empty"),
        (gzip.compress(b"{}", mtime=0), "a.jsonl", "compressed with gzip"),
        (gzip.compress(b"{}", mtime=0), "a.zip", "compressed with gzip"),
        (zipped({"a.jsonl": b"{}"}), "a.jsonl", "zip archive"),
        (zipped({"a.jsonl": b"{}"}), "a.jsonl.gz", "zip archive"),
        (zipped({"[Content_Types].xml": b"", "xl/workbook.xml": b""}), "a.jsonl", "Excel"),
        (zipped({"[Content_Types].xml": b"", "xl/workbook.xml": b""}), "a.zip", "Excel"),
        (zipped({"[Content_Types].xml": b"", "word/document.xml": b""}), "a.zip", "Office"),
        (zipped({"mimetype": b"", "META-INF/manifest.xml": b""}), "a.zip", "OpenDocument"),
        (b"%PDF-1.7 ...", "a.jsonl", "PDF"),
        (b"%PDF-1.7 ...", "a.zip", "PDF"),
        (b"\xd0\xcf\x11\xe0" + b"\0" * 99, "a.jsonl", "Office"),
        (b"PAR1" + b"\0" * 99, "a.json", "Parquet"),
        (b"x" * 257 + b"ustar\0", "a.jsonl", "tar"),
        (b"<!DOCTYPE html><html></html>", "a.jsonl", "web page"),
        (b"\n <HTML>", "a.jsonl", "web page"),
        (b"<?xml version='1.0'?>", "a.jsonl", "XML"),
        (b'{"a": 1}\n', "a.jsonl.gz", "Rename it to .jsonl"),
        (b'{"a": 1}\n', "a.zip", "not a zip archive"),
        (b'{"a": 1}\n', "a.txt", "Assay can’t read a.txt. Use a file that ends in one of: .jsonl"),
        (b'{"a": 1}\n', "", "can’t read"),
        ('{"a": 1}\n'.encode("utf-16"), "a.jsonl", "UTF-16 (seen at line 1, byte 1)"),
        ('{"a": 1}\n'.encode("utf-16-le"), "a.jsonl", "UTF-16"),
        ('{"a": 1}\n'.encode("utf-16-be"), "a.jsonl", "UTF-16"),
        ('{"a": 1}\n'.encode("utf-32"), "a.jsonl", "UTF-32"),
        (b'[\n{"a": 1}\n]', "a.jsonl", "one JSON list"),
        (b'{\n  "a": 1\n}', "a.jsonl", "several lines"),
        (b'"text"', "a.json", "must have a list"),
        (b'[{"a": 1}, {"a": ]', "a.json", "cannot be read any further"),
        (b'[{"a": 1}]\n[{"a": 2}]', "a.json", "Line 2: there is text after the end of the list"),
        (b"[] [1]", "a.json", "Line 1: there is text after the end of the list"),
    ],
)
def test_content_that_is_not_what_its_name_says(content: bytes, name: str, words: str) -> None:
    error = read(content, name)[-1]
    assert isinstance(error, RecordError)
    assert error.fatal
    assert words in error.message


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"a": "é"}'.encode("latin-1"), "byte 8 is 0xE9, as in Latin-1"),
        (b'{"a": "\0"}', "NUL at byte 8"),
        (b'{"a": 1, "b": {"c": 1, "d": 2, "c": 3}}', "At /b/c: The key “c” appears twice"),
        (b'{"a" : 1, "a" : 2}', "At /a: The key “a” appears twice"),
        (b'{"a":1,"a":2,"t":"\\"\\u003a"}', "At /a: The key “a” appears twice"),
        (b'{"a":1,"a":2,"t":"\\u0022:"}', "At /a: The key “a” appears twice"),
        (b'{"a\\u0062":1,"ab":2}', "“ab” appears twice"),
        (b'{"a": [1' + b"0" * 1000 + b"]}", "At /a/0: The number has more than 1,000 digits"),
        (b'{"a": 1' + b"0" * 5000 + b"}", "more than 1,000 digits"),
        (b'{"a": 1e999}', "too large"),
        (b'{"a": NaN}', "NaN and Infinity"),
        (b'{"a": "\\ud800"}', "At /a: The text contains half of"),
        (b'{"a": 1,}', "trailing comma"),
        (b"{'a': 1}", "character 2"),
        (b'{"a": 1} {"b": 2}', "character 10"),
        (b"7", "this is a number"),
        (b"null", "this is null"),
        (b"true", "this is true or false"),
        (b'"x"', "this is text"),
        (b'{"a":' * 300 + b"1" + b"}" * 300, "The limit is 60 levels"),
        (b'{"a":' * 90_000 + b"1" + b"}" * 90_000, "The limit is 60 levels"),
        (b'{"a":' + b"[" * 100_000, "The limit is 60 levels"),
    ],
    ids=range(22),
)
def test_lines_that_are_no_records(line: bytes, words: str) -> None:
    first, error, last = read(b'{"a": 1}\n' + line + b'\n{"a": 2}\n')
    assert isinstance(first, RawRecord)
    assert isinstance(last, RawRecord)
    assert isinstance(error, RecordError)
    assert (error.line, error.fatal) == (2, False)
    assert words in error.message


@pytest.mark.parametrize(
    "line",
    [
        b'{"a": 18446744073709551615, "b": -9223372036854775808}',
        b'{"a": "11111111111111111111111111111111"}',
        b'{"a": 0.1000000000000000055511}',
        b'{"a": "\\"b\\":", "b": "\\\\"}',
        b'{"a": "\\u00e9\\u0022:"}',
        b'{"a": {"b": 1}, "b": {"a": 1}}',
        b'{"Prix : 3": "oui : non", "a":"\\u003a"}',
        b'{"a":' * 100 + b"1" + b"}" * 100,
    ],
)
def test_what_only_looks_suspicious_is_read(line: bytes) -> None:
    assert parse_record(line) == json.loads(line)


def _has_duplicates(line: bytes) -> bool:
    found = False

    def look(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal found
        found = found or len(dict(pairs)) < len(pairs)
        return dict(pairs)

    json.loads(line, object_pairs_hook=look)
    return found


_TEXT = st.text(st.sampled_from(["a", "b", '"', ":", "\\", " ", "é", "\n", "\t", "/"]), max_size=4)
_SPELLED = st.tuples(_TEXT, st.booleans()).map(
    lambda pair: "".join(f"\\u{ord(c):04x}" for c in pair[0]) if pair[1] else json.dumps(pair[0])[1:-1]
)
_BLANK = st.sampled_from(["", "", " ", "\t", "  "])


def _object(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    entry = st.tuples(_SPELLED, _BLANK, _BLANK, inner).map(lambda p: f'"{p[0]}"{p[1]}:{p[2]}{p[3]}')
    return st.lists(entry, max_size=3).map(lambda entries: "{" + ",".join(entries) + "}")


@given(_object(st.recursive(_SPELLED.map(lambda text: f'"{text}"'), _object, max_leaves=4)))
def test_keys_that_stand_twice_are_found_however_they_are_spelled(text: str) -> None:
    line = text.encode()
    if _has_duplicates(line):
        with pytest.raises(LineError, match="twice"):
            parse_record(line)
    else:
        assert parse_record(line) == json.loads(line)


@pytest.mark.parametrize("cut", [1, 3, 10])
def test_a_file_cut_off_in_a_line_is_fatal(cut: int) -> None:
    last = read(lines(3).rstrip()[:-cut])[-1]
    assert isinstance(last, RecordError)
    assert (last.line, last.fatal) == (3, True)
    assert "cut off in line 3" in last.message


def test_a_file_cut_off_inside_a_character_is_fatal() -> None:
    items = read('{"a": 1}\n{"a": "é'.encode()[:-1])
    assert "cut off in line 2" in items[1].message  # type: ignore[union-attr]


def test_an_incomplete_line_with_a_line_break_is_only_that_line() -> None:
    first, second = read(b'{"a": \n{"a": 1}\n')
    assert isinstance(first, RecordError)
    assert not first.fatal
    assert isinstance(second, RawRecord)


def test_a_list_cut_off_is_fatal() -> None:
    items = read(b'[{"a": 1},\n{"a"', "a.json")
    assert isinstance(items[0], RawRecord)
    assert items[1] == RecordError(
        2, "", "The list is not JSON at line 2: it cannot be read any further. Download or copy the file again.", True
    )


def test_a_list_that_is_not_utf8() -> None:
    assert "line 2, byte 3" in only(b'[{"a": 1},\n "\xe9"]', "a.json").message


@pytest.mark.parametrize("cut", [1, 9, 200])
def test_a_gzip_cut_off_is_fatal(cut: int) -> None:
    packed = gzip.compress(
        b"".join(json.dumps({"n": zlib.crc32(str(n).encode())}).encode() + b"\n" for n in range(999))
    )
    items = read(packed[:-cut], "a.jsonl.gz")
    assert isinstance(items[0], RawRecord)
    assert items[-1] == RecordError(
        0, "", "The gzip file is cut off in the middle of its content. Download or copy the file again.", True
    )


def test_a_damaged_gzip_is_fatal() -> None:
    packed = bytearray(gzip.compress(lines(2000)))
    packed[len(packed) // 2] ^= 0xFF
    last = read(bytes(packed), "a.jsonl.gz")[-1]
    assert isinstance(last, RecordError)
    assert last.fatal
    assert "gzip content is damaged" in last.message
    trailing = read(gzip.compress(lines(2)) + b"garbage", "a.jsonl.gz")
    assert "damaged" in errors(trailing)[0].message


@pytest.mark.parametrize("cut", [1, 30, 120])
def test_a_zip_cut_off_is_fatal(cut: int) -> None:
    error = only(zipped({"a.jsonl": lines(50), "b.jsonl": lines(50)})[:-cut], "a.zip")
    assert error.fatal
    assert "cut off" in error.message


def test_a_member_that_does_not_match_its_sum_is_fatal() -> None:
    content = bytearray(zipped({"a.jsonl": lines(500)}))
    content[200] ^= 0xFF
    last = read(bytes(content), "a.zip")[-1]
    assert isinstance(last, RecordError)
    assert (last.member, last.fatal) == ("a.jsonl", True)


def test_members_that_are_not_opened() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("inner.zip", zipped({"a.jsonl": lines(1)}))
        archive.writestr("strange.jsonl", lines(1), compress_type=zipfile.ZIP_LZMA)
        archive.writestr("good.jsonl", lines(1))
        archive.writestr("folder/", b"")
    items = read(out.getvalue(), "a.zip")
    messages = {error.member: error.message for error in errors(items)}
    assert "archives inside archives" in messages["inner.zip"]
    assert "unsupported compression method" in messages["strange.jsonl"]
    assert set(messages) == {"inner.zip", "strange.jsonl"}
    assert sum(isinstance(item, RawRecord) for item in items) == 1


def test_an_encrypted_member_is_not_opened() -> None:
    content = bytearray(zipped({"a.jsonl": lines(1)}))
    content[content.rfind(b"PK\x01\x02") + 8] |= 1
    items = read(bytes(content), "a.zip")
    assert "encrypted" in errors(items)[0].message
    assert "no .jsonl" in errors(items)[1].message


def test_an_archive_without_records() -> None:
    items = read(zipped({"a.txt": b"x"}), "a.zip")
    assert [error.fatal for error in errors(items)] == [False, True]


def test_too_many_members() -> None:
    content = zipped({f"{number}.jsonl": b"" for number in range(30)})
    assert "30 files. The limit is 20" in only(content, "a.zip", limits=Limits(members=20)).message


def test_files_beside_records_are_counted_apart() -> None:
    """Each record of the format cctu has several; nothing else may come in such numbers."""
    beside = {f"check_code/{number}/check_constraint_0.json": b"{}" for number in range(30)}
    content = zipped({"input_data.jsonl": lines(1), **beside})
    error = only(content, "a.zip", limits=Limits(members=20, beside=29))
    assert (error.fatal, "30 files besides its records. The limit is 29" in error.message) == (True, True)
    assert any(isinstance(item, RawRecord) for item in read(content, "a.zip", limits=Limits(members=1, beside=30)))
    items = read(zipped({**beside, "a.jsonl": lines(1)}), "a.zip", format_name="cctu")
    assert len(errors(items)) == 29
    many = {f"check_code/{number}/check_constraint_0.json": b"{}" for number in range(1_200)}
    told = errors(read(zipped({**many, "a.jsonl": lines(1)}), "a.zip", format_name="cctu"))
    assert (len(told), told[-1].message[:28]) == (101, "Ignored, like 1,099 more fol")
    strange = zipped({f"check_code/{number}/other.json": b"{}" for number in range(30)})
    assert "30 files. The limit is 20" in only(strange, "a.zip", limits=Limits(members=20)).message


def test_a_directory_that_claims_too_much_is_not_read() -> None:
    content = bytearray(zipped({"a.jsonl": lines(1)}))
    end = content.rfind(b"PK\x05\x06")
    struct.pack_into("<2H", content, end + 8, 60_000, 60_000)
    assert "60,000 files" in only(bytes(content), "a.zip", limits=Limits(beside=40_000)).message
    struct.pack_into("<2HL", content, end + 8, 1, 1, 0x7FFFFFFF)
    assert "too large for its entries" in only(bytes(content), "a.zip").message


def test_a_directory_that_holds_more_than_its_end_says_is_read_to_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end says one file; each entry that is read takes half a kilobyte of memory."""
    content = bytearray(zipped({f"{number}.jsonl": b"" for number in range(300)}))
    struct.pack_into("<2H", content, content.rfind(b"PK\x05\x06") + 8, 1, 1)
    made = 0

    class Counted(zipfile.ZipInfo):
        def __init__(self, *arguments: Any) -> None:
            nonlocal made
            made += 1
            super().__init__(*arguments)

    monkeypatch.setattr(zipfile, "ZipInfo", Counted)
    error = only(bytes(content), "a.zip", limits=Limits(members=20, beside=5))
    assert "too many files. The limit is 25" in error.message
    assert made == 26


def test_of_many_manifests_few_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each may unpack to 64 MiB, whatever else is in the archive; that of a release is at the top."""
    opened: list[str] = []
    take = files.open_member

    def counted(archive: Any, info: zipfile.ZipInfo, budget: Any) -> Any:
        opened.append(info.filename)
        return take(archive, info, budget)

    for module in (files, release_files):
        monkeypatch.setattr(module, "open_member", counted)
    manifest = json.dumps({"assay_release": 1, "files": [{"path": "a.jsonl", "format": "neutral"}]}).encode()
    deep = {f"r/{number}/manifest.json": b"{}" for number in range(50)}
    items = read(zipped({**deep, "r/manifest.json": manifest, "r/a.jsonl": lines(1)}), "a.zip", format_name="neutral")
    assert (len(opened), opened[0], opened[-1]) == (4, "r/manifest.json", "r/a.jsonl")
    assert sum(isinstance(item, RawRecord) for item in items) == 1


def test_names_are_shown_and_never_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = ["../../evil.jsonl", "/etc/evil.jsonl", "C:\\evil.jsonl", "a\x1b[31m.jsonl", "x" * 400 + ".jsonl"]
    items = read(zipped(dict.fromkeys(names, lines(1))), "a.zip")
    shown = [item.member for item in items if isinstance(item, RawRecord)]
    assert shown[:3] == names[:3]
    assert shown[3] == "a\ufffd[31m.jsonl"
    assert len(shown[4]) == 200
    assert list(tmp_path.iterdir()) == []


def bomb(size: int) -> bytes:
    """Lines that compress a thousandfold."""
    line = b'{"a": "' + b"0" * 60_000 + b'"}\n'
    return line * (size // len(line) + 1)


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.zip", "inside.zip"])
def test_bombs_are_stopped_by_their_ratio(name: str) -> None:
    content = bomb(13 * MIB)
    packed = {
        "a.jsonl.gz": gzip.compress(content),
        "a.zip": zipped({"a.jsonl": content}),
        "inside.zip": zipped({"a.jsonl.gz": gzip.compress(content)}),
    }[name]
    items = read(packed, name)
    last = items[-1]
    assert isinstance(last, RecordError)
    assert last.fatal
    assert "zip bomb" in last.message
    assert 100 < len(items) < 200


def test_the_total_is_counted_across_members() -> None:
    content = zipped({f"{number}.jsonl": bomb(MIB) for number in range(8)})
    last = read(content, "a.zip", limits=Limits(total=4 * MIB))[-1]
    assert isinstance(last, RecordError)
    assert "larger than 4 MiB after decompression" in last.message
    assert "larger than 1 MiB" in read(bomb(2 * MIB), limits=Limits(total=MIB))[-1].message  # type: ignore[union-attr]


def test_sizes_in_headers_are_not_believed() -> None:
    """The member says it unpacks to 10 bytes; what comes out is counted instead."""
    content = bytearray(zipped({"a.jsonl": bomb(12 * MIB)}))
    struct.pack_into("<L", content, content.rfind(b"PK\x01\x02") + 24, 10)
    last = read(bytes(content), "a.zip")[-1]
    assert isinstance(last, RecordError)
    assert last.fatal


def test_a_json_list_must_be_small() -> None:
    error = only(b"[" + b" " * 3000 + b"]", "a.json", limits=Limits(whole=1000))
    assert "at most 1000 bytes, because it is read as a whole" in error.message


def test_of_a_json_file_no_more_is_parsed_at_once_than_a_record_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = Limits(line=800)
    small, large, huge = (json.dumps({"a": "é" * size, "b": [1, 2.50, "]"]}).encode() for size in (50, 130, 900))
    parsed: list[int] = []

    class Decoder(json.JSONDecoder):
        def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
            parsed.append(len(s))
            return super().raw_decode(s, idx)

    monkeypatch.setattr(json, "JSONDecoder", Decoder)
    error = only(huge, "a.json", limits=bounds)
    assert "The file has 5.3 KiB and is read as one record" in error.message
    assert "A record may have at most 800 bytes" in error.message
    assert "JSON lines" in error.message
    # Many records in one list, or on lines, are read as ever; one that is too long alone is left out.
    many = read(b"[" + b", ".join([small] * 40 + [large] + [small] * 40) + b"]", "a.json", limits=bounds)
    assert [type(one) for one in many] == [RawRecord] * 40 + [RecordError] + [RawRecord] * 40
    assert "The limit of a record is 800 bytes, so the line was skipped." in errors(many)[0].message
    assert len(read(b"\n".join([small] * 40), "a.json", limits=bounds)) == 40
    for one in (huge, b"1" * 2_000, b'"' + b"x" * 2_000 + b'"'):
        first, second = read(b"[" + small + b",\n" + one + b", " + small + b"]", "a.json", limits=bounds)
        assert isinstance(first, RawRecord)
        assert isinstance(second, RecordError)
        assert second.fatal
        assert "The record at line 2 has more than 800 bytes" in second.message
    assert "it cannot be read" in read(b"[" + small * 40 + b"]", "a.json", limits=bounds)[-1].message  # type: ignore[union-attr]
    assert max(parsed) < 1_000


@pytest.mark.parametrize("piece", ["[],", "{},", "1,", "[" * 40 + "]" * 40 + ","])
def test_a_record_of_too_many_values_is_a_fault_before_it_is_parsed(
    piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(format_lines, "MAX_VALUES", 1_000)
    few, many = (
        json.dumps({"a": "x" * 1_500, "b": json.loads(f"[{piece * count}1]")}).encode() for count in (10, 1_001)
    )
    first, second, third = read(few + b"\n" + many + b"\n" + few)
    assert isinstance(first, RawRecord)
    assert isinstance(second, RecordError)
    assert "more than 1,000 values. Split it" in second.message
    assert isinstance(third, RawRecord)
    long = json.dumps({"a": "x" * 5_000, "b": [1, 2]}).encode()
    assert isinstance(read(long)[0], RawRecord)


def test_a_json_file_of_too_many_values_is_refused_before_it_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(format_lines, "MAX_VALUES", 1_000)
    parsed: list[int] = []
    decode = json.JSONDecoder.raw_decode

    def spy(decoder: json.JSONDecoder, text: str, at: int) -> Any:
        parsed.append(sum(map(text.count, ",[{")))
        return decode(decoder, text, at)

    few, most, many = (json.dumps({"a": [[]] * count}).encode() for count in (10, 498, 5_000))
    (one,) = read(many, "a.json")
    assert isinstance(one, RecordError)
    assert "more than 1,000 values. Split it" in one.message
    assert len(read(b"\n".join([few] * 200), "a.json")) == 200
    monkeypatch.setattr(json.JSONDecoder, "raw_decode", spy)
    *read_first, last = read(b"[" + b",\n".join([few] * 60 + [most, most, few, many, few]) + b"]", "a.json")
    assert [isinstance(item, RawRecord) for item in read_first] == [True] * 63
    assert isinstance(last, RecordError)
    assert last.fatal
    assert "The record at line 64 has more than 1,000 values" in last.message
    assert max(parsed) <= 1_001


class Endless:
    """A source of ``count`` pieces that nobody ever holds at once."""

    def __init__(self, before: bytes, piece: bytes, count: int, after: bytes) -> None:
        self.pieces: Iterator[bytes] = iter([before, *[piece] * count, after])

    def read(self, size: int = -1, /) -> bytes:
        return next(self.pieces, b"")


def test_a_line_of_100_mb_is_skipped_without_being_held() -> None:
    source: Any = Endless(b'{"a": 1}\n{"a": "', b"x" * MIB, 100, b'"}\n{"a": 2}\n')
    stream: BinaryIO = source
    tracemalloc.start()
    try:
        items = list(read_records(stream, "a.jsonl"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [type(item) for item in items] == [RawRecord, RecordError, RawRecord]
    assert "100 MiB" in errors(items)[0].message
    # The limit of one line, its pieces, and little else.
    assert peak < 24 * MIB


_MEASURED = """
import resource, sys
from benchmark.core.files.reading import RawLine, parse_line, read_lines
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = 0
with open(sys.argv[1], "rb") as stream:
    for item in read_lines(stream, sys.argv[1]):
        count += 1
        parsed = parse_line(item) if isinstance(item, RawLine) else item
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """60 MB of records, then one line of 100 MB, in a process of their own: its resident memory is what counts."""
    path = tmp_path / "large.jsonl"
    with path.open("wb") as out:
        line = json.dumps({"text": "x" * 8000}).encode() + b"\n"
        for _ in range(75):
            out.write(line * 100)
        out.write(b'{"a": "' + b"x" * (100 * MIB) + b'"}\n')
    root = Path(__file__).resolve().parents[3]
    result = subprocess.run(
        [sys.executable, "-c", _MEASURED, str(path)], capture_output=True, text=True, check=True, cwd=root
    )
    count, kilobytes = map(int, result.stdout.split())
    assert count == 7501
    assert kilobytes < 64 * 1024


@given(st.binary(max_size=200), st.sampled_from(["a.jsonl", "a.jsonl.gz", "a.zip", "a.json"]))
def test_any_bytes_give_items_not_errors(content: bytes, name: str) -> None:
    read(content, name)


@given(st.integers(0, 400), st.binary(min_size=1, max_size=6), st.sampled_from(["a.zip", "a.jsonl.gz"]))
def test_any_damage_gives_items_not_errors(at: int, damage: bytes, name: str) -> None:
    content = bytearray(zipped({"a.jsonl": lines(3), "b.json": b"[]"}) if name == "a.zip" else gzip.compress(lines(3)))
    at %= len(content)
    content[at : at + len(damage)] = damage
    read(bytes(content), name)
