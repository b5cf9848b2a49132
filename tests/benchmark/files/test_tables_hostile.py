"""Tables and packed files from strangers: each ends in a sentence, within its limits."""

import io
import os
import signal
import subprocess
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.core.files import parquet_files
from benchmark.core.files.reading import Limits, RawLine, RawRecord, RecordError, read_lines
from tests.benchmark.files.test_containers import parquet, written
from tests.benchmark.files.test_files import data, errors, read
from tests.benchmark.files.test_files_hostile import only

GENEROUS = Limits(ratio=10**9)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,b,a\n1,2,3\n", "Two columns have the name “a”. Rename one."),
        (b"a,,b\n1,2,3\n", "Column 2 has no name. The first row must name every column."),
        (b"a,b\r1,2\r3,4", "carriage return"),
        (b'a,"b"c\n', "The header cannot be read. In cell 2, there is text after the quote"),
        (b"a,\xe9\n1,2\n", "The header is not UTF-8: byte 3 is 0xE9, as in Latin-1. Save the file as UTF-8."),
        (b'"a,b\n1,2\n', "The row that begins on line 1 has a quote that is never closed"),
        (b"x," * 20_000 + b"y\n", "more than 10,000 cells"),
        (b'[{"a": 1}]', "Rename it to .jsonl if it has one object per line, otherwise to .json."),
        (b"PAR1\x15\x04", "a Parquet file, but its name ends in .csv. Rename it to .parquet."),
        (b"\x28\xb5\x2f\xfd\0", "compressed with zstd, but its name ends in .csv. Rename it to .csv.zst."),
    ],
)
def test_a_table_that_cannot_be_read(content: bytes, words: str) -> None:
    error = only(content, "a.csv")
    assert error.fatal
    assert words in error.message


def test_a_column_may_have_the_name_of_a_kind_of_file() -> None:
    assert data(read(b"PAR1,PARENT\nx,y\n", "a.csv")) == [{"PAR1": "x", "PARENT": "y"}]


def test_bad_rows_do_not_stop_the_good_ones() -> None:
    items = read(b'a,b\n1,2,3\n"x"y,1\n\xff,1\n"{""k"": 1, ""k"": 2}",\n1,2\n', "a.csv")
    assert [(one.line, one.fatal) for one in errors(items)] == [(2, False), (3, False), (4, False), (5, False)]
    assert [one.message.partition(":")[0].partition(",")[0] for one in errors(items)] == [
        "The row has more than 2 cells",
        "In cell 1",
        "The row is not UTF-8",
        "At /a/k",
    ]
    assert [item.line for item in items if isinstance(item, RawRecord)] == [6]


class Endless:
    """A stream of the same piece, which is nowhere in memory as a whole."""

    def __init__(self, head: bytes, piece: bytes, count: int) -> None:
        self.head, self.piece, self.left = head, piece, count

    def read(self, size: int = -1, /) -> bytes:
        if self.head:
            head, self.head = self.head, b""
            return head
        self.left -= 1
        return self.piece if self.left >= 0 else b""


@pytest.mark.parametrize(
    ("head", "piece", "words"),
    [
        (b'a,b\n1,2\n3,"', b"x\n" * (1 << 16), "The row that begins on line 3 has a quote that is never closed"),
        (b"a,b\n1,2\n3,", b"x" * (1 << 17), "The limit of a record is 1 MiB, so the row was skipped."),
        (b"a,b\n1,2\n3,", b'"' * (1 << 17), "The limit of a record is 1 MiB, so the row was skipped."),
        (b"a,b\n1,2\n3,x", b'"' * (1 << 17), "The limit of a record is 1 MiB, so the row was skipped."),
        (b"a,b\n1,2\n3,", b"," * (1 << 17), "The limit of a record is 1 MiB, so the row was skipped."),
    ],
    ids=["unclosed quote", "long cell", "quotes", "quotes in a cell", "cells"],
)
def test_a_row_without_an_end_takes_no_memory(head: bytes, piece: bytes, words: str) -> None:
    tracemalloc.start()
    try:
        stream: Any = Endless(head, piece, 256)  # 32 MiB
        first, last = read_lines(stream, "a.csv", limits=Limits(line=1 << 20))
        assert tracemalloc.get_traced_memory()[1] < 6 << 20
    finally:
        tracemalloc.stop()
    assert isinstance(first, RawLine)
    assert isinstance(last, RecordError)
    assert words in last.message


def zstd(content: bytes) -> bytes:
    return written([{"t": content.decode()}], "a.jsonl.zst")


_ZSTD = zstd(b"".join(b"%d" % number for number in range(20_000)))
_FRAME = b"\x28\xb5\x2f\xfd"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b'{"a": 1}\n', "not compressed, but its name ends in .zst. Rename it to .jsonl."),
        (b"\x1f\x8b\x08", "compressed with gzip, but its name ends in .jsonl.zst. Rename it to .jsonl.gz."),
        (_ZSTD[:-20], "cut off in the middle"),
        (_ZSTD[:6] + b"\xff" * 9 + _ZSTD[15:], "damaged"),
        (_ZSTD + b"garbage", "damaged"),
        # A window of 2 GiB, alone and after another frame; one segment of a TiB.
        (_FRAME + bytes([0, 21 << 3]) + b"\x01\0\0", "window of more than 128 MiB"),
        (_ZSTD + _FRAME + bytes([0, 21 << 3]) + b"\x01\0\0", "window of more than 128 MiB"),
        (_FRAME + b"\xe0" + (1 << 40).to_bytes(8, "little") + b"\x01\0\0", "window of more than 128 MiB"),
        (zstd(b"0" * (30 << 20)), "zip bomb"),
    ],
    ids=["empty", "plain", "gzip", "cut off", "damaged", "garbage", "window", "later window", "segment", "bomb"],
)
def test_zstd_that_cannot_be_read(content: bytes, words: str) -> None:
    error = read(content, "a.jsonl.zst", limits=Limits(line=64 << 20))[-1]
    assert isinstance(error, RecordError)
    assert error.fatal
    assert words in error.message


def test_zstd_of_several_frames() -> None:
    skipped = b"\x50\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"abc"
    one, two = written([{"a": 1}], "a.jsonl.zst"), written([{"a": 2}], "a.jsonl.zst")
    assert data(read(skipped + one + skipped + two, "a.jsonl.zst")) == [{"a": 1}, {"a": 2}]


class Cancelled(Exception):
    """What the owner of a stream may raise."""


class Ended(io.BytesIO):
    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell():
            raise Cancelled
        return super().read(8)


def test_the_owner_of_a_packed_stream_ends_the_reading_with_its_own_exception() -> None:
    with pytest.raises(Cancelled):
        list(read_lines(Ended(_ZSTD), "a.jsonl.zst"))


def varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def fields(*values: Any) -> bytes:
    """A structure of Thrift's compact protocol; its fields are numbered from 1, and None leaves one out."""
    out, last = b"", 0
    for number, value in enumerate(values, 1):
        if value is None:
            continue
        head = (number - last) << 4
        if isinstance(value, int):
            out += bytes([head | 6]) + varint(value << 1)
        elif isinstance(value, list):
            size = bytes([0xFC]) + varint(len(value)) if len(value) > 14 else bytes([len(value) << 4 | 12])
            out += bytes([head | 9]) + size + b"".join(value)
        elif isinstance(value, str):
            out += bytes([head | 8]) + varint(len(value)) + value.encode()
        last = number
    return out + b"\0"


def footer(schema: list[bytes], rows: int, groups: list[bytes]) -> bytes:
    """A Parquet file of a directory alone."""
    content = fields(1, schema, rows, groups)
    # Version and numbers of children are 32-bit integers, which have another type code.
    content = bytes([0x15]) + content[1:]
    return b"PAR1" + content + len(content).to_bytes(4, "little") + b"PAR1"


def group(name: str, children: int) -> bytes:
    """An element of a schema with other elements in it."""
    return bytes([0x35, 0, 0x18]) + varint(len(name)) + name.encode() + bytes([0x15]) + varint(children << 1) + b"\0"


def leaf(name: str) -> bytes:
    """A column of 64-bit integers."""
    return bytes([0x15, 4, 0x25, 2, 0x18]) + varint(len(name)) + name.encode() + b"\0"


def root(children: int) -> bytes:
    return bytes([0x48, 1]) + b"r" + bytes([0x15]) + varint(children << 1) + b"\0"


def repeated(text: str, count: int) -> bytes:
    """A column of the same text, which the file has once."""
    return parquet({"t": pa.DictionaryArray.from_arrays(pa.array([0] * count), pa.array([text]))})


_SMALL = parquet({"a": pa.array([1, 2, 3]), "t": pa.array(["x", "y", "z"])})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (footer([root(1), leaf("a")], 10**12, []), "has 1,000,000,000,000 rows. The limit is 5,000,000. Split it."),
        (footer([root(1), leaf("a")], 3, [fields([], 100, 3)]), "damaged or not valid"),
        (footer([root(0)], 3, []), "no columns"),
        (footer([root(2), leaf("a"), leaf("a")], 0, []), "Two columns have the name “a”. Rename one."),
        (footer([root(1), *[group("g", 1)] * 80, leaf("a")], 0, []), "nested too deeply"),
        (footer([root(1), *[group("g", 1)] * 10_000, leaf("a")], 0, []), "Download or copy the file again."),
        (footer([root(10_001), *[leaf(str(number)) for number in range(10_001)]], 0, []), "The limit is 10,000."),
        (_SMALL[:-20], "damaged or not valid"),
        (_SMALL[: len(_SMALL) // 2], "damaged or not valid"),
        (_SMALL[:-8] + (2**31).to_bytes(4, "little") + b"PAR1", "damaged or not valid"),
        (b"PAR1", "damaged or not valid"),
        (b"PARE" + _SMALL[4:-4] + b"PARE", "encrypted"),
        (b"id,text\n1,2\n", "not a Parquet file, but its name ends in .parquet"),
        (b"", "empty"),
        (parquet({"m": pa.array([[(1, 2)]], pa.map_(pa.int64(), pa.int64()))}), "a map whose keys are not text"),
        (repeated("x" * (10 << 20), 1000), "more than 400 MiB of memory"),
        (repeated("x" * (1 << 20), 1000), "zip bomb"),
    ],
    ids=[
        "rows", "rows in a group", "no columns", "names", "80 levels", "10,000 levels", "columns", "cut off",
        "half", "long directory", "mark", "encrypted", "CSV", "empty", "map", "memory", "bomb",
    ],
)  # fmt: skip
def test_parquet_that_cannot_be_read(content: bytes, words: str) -> None:
    error = read(content, "a.parquet")[-1]
    assert isinstance(error, RecordError)
    assert error.fatal
    assert words in error.message
    assert error.message.endswith(".")


@settings(max_examples=12)
@given(st.integers(4, len(_SMALL) - 9), st.binary(min_size=1, max_size=6))
def test_parquet_with_any_bytes_changed_is_read_or_refused(at: int, changed: bytes) -> None:
    for item in read(_SMALL[:at] + changed + _SMALL[at + len(changed) :], "a.parquet"):
        assert isinstance(item, RawRecord) or item.message.endswith((".", "!"))


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that read Parquet, as they are started."""
    started: list[subprocess.Popen[bytes]] = []

    class Kept(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self)

    monkeypatch.setattr(parquet_files.subprocess, "Popen", Kept)
    return started


_MANY = parquet({"b": pa.array([True] * 3_000_000)})


def test_reading_that_ends_early_ends_the_process(processes: list[subprocess.Popen[bytes]]) -> None:
    items = read_lines(io.BytesIO(_MANY), "a.parquet", limits=GENEROUS)
    assert isinstance(next(items), RawLine)
    (process,) = processes
    assert process.poll() is None
    items.close()  # type: ignore[attr-defined]
    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("number", "words"),
    [(signal.SIGKILL, "was stopped after row"), (signal.SIGSEGV, "crashed after row")],
)
def test_a_process_that_is_killed(processes: list[subprocess.Popen[bytes]], number: int, words: str) -> None:
    items = read_lines(io.BytesIO(_MANY), "a.parquet", limits=GENEROUS)
    next(items)
    os.kill(processes[0].pid, number)
    last = list(items)[-1]
    assert isinstance(last, RecordError)
    assert (last.fatal, words in last.message) == (True, True)


def test_a_process_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_files, "_SECONDS", 1)
    monkeypatch.setattr(parquet_files, "_SECONDS_PER_MIB", 0)
    *_, last = read_lines(io.BytesIO(_MANY), "a.parquet", limits=GENEROUS)
    assert isinstance(last, RecordError)
    assert "minutes of computing. Split it" in last.message


def test_the_owner_of_a_file_is_asked_while_there_is_nothing_to_read(
    processes: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A file on disk is given to the process as it is, and read here for its first bytes only."""
    monkeypatch.setattr(parquet_files, "_WAIT", 0)
    path = tmp_path / "a.parquet"
    path.write_bytes(_SMALL)

    class Asked(io.FileIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if size == 0:
                raise Cancelled
            assert not self.tell()
            return super().read(size) or b""

    stream: Any = Asked(path)
    with stream, pytest.raises(Cancelled):
        list(read_lines(stream, "a.parquet"))
    assert processes[0].returncode == -signal.SIGKILL
