"""Records in every kind of file and packing: what is written, and what is read again."""

import csv
import gzip
import io
import json
import zipfile
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotator.core.schema.exact_json import dumps, loads, same
from benchmark.core.files.csv_records import escape_formula, unescape_formula
from benchmark.core.files.csv_rows import Cells, RowReader
from benchmark.core.files.extensions import KINDS, PACKINGS, WRITTEN_EXTENSIONS
from benchmark.core.files.reading import Limits, RawRecord, RecordError
from benchmark.core.files.writing import WriteError, open_writer
from tests.benchmark.files.test_files import Dribble, data, errors, read, zipped
from tests.benchmark.formats.format_records import JSON

TABLES = (".csv", ".tsv")


def written(records: list[dict[str, Any]], name: str) -> bytes:
    out = io.BytesIO()
    with open_writer(out, name) as writer:
        for record in records:
            writer.add(dumps(record))
    return out.getvalue()


def in_table(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a CSV file keeps of records."""

    def cell(value: Any) -> Any:
        if not isinstance(value, str):
            return value if isinstance(value, dict | list) else dumps(value).decode()
        try:
            return loads(value) if value[0] in "{[" else value
        except ValueError:
            return value

    kept = [{name: cell(value) for name, value in one.items() if value not in (None, "")} for one in records]
    return [one for one in kept if one]


def in_parquet(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a Parquet file keeps of records."""
    kinds: dict[str, set[Any]] = {}
    for record in records:
        for name, value in record.items():
            is_large = type(value) is int and not -(2**63) <= value < 2**63
            kinds.setdefault(name, set()).update([] if value is None else ["large" if is_large else type(value)])
    plain = {name for name, found in kinds.items() if found in ({int}, {float}, {bool}, {str})}

    def cell(name: str, value: Any) -> Any:
        text = value if name in plain or isinstance(value, str) else dumps(value).decode()
        try:
            return loads(text) if isinstance(text, str) and text[:1] in ("{", "[") else text
        except ValueError:
            return text

    return [{name: cell(name, value) for name, value in one.items() if value is not None} for one in records]


AWKWARD: list[dict[str, Any]] = [
    {"id": "a", "text": 'Say "hi",\r\nthen\tgo; 你好 🎉\u2028', "n": 1, "f": -0.0, "b": True, "big": 2**70},
    {"id": "=1+1", "text": "'=x", "n": -3, "f": 1.5, "b": False, "@new": [1, [2.0, None], {"a": "=b"}]},
    {"id": "b;c", "text": "[not JSON", "n": None, "f": 1e300, "big": "text", "o": {"k": {"deep": [{}]}}, "é,\n": " "},
]


@pytest.mark.parametrize("name", [f"a{ending}" for ending in WRITTEN_EXTENSIONS if ending != ".zip"])
def test_records_are_written_and_read_again(name: str) -> None:
    content = written(AWKWARD, name)
    assert content == written(AWKWARD, name), "the same records give the same bytes"
    kind = next(kind for kind in reversed(KINDS) if kind in name)
    expected = in_parquet(AWKWARD) if kind == ".parquet" else in_table(AWKWARD) if kind in TABLES else AWKWARD
    assert same(data(read(content, name)), expected)
    packed = read(zipped({f"in/{name}": content}), "a.zip")
    assert same(data(packed), expected)
    assert {item.member for item in packed} == {f"in/{name}"}
    assert read(content, name, skip=1) == read(content, name)[1:]


@given(
    st.lists(st.dictionaries(st.text(min_size=1, max_size=4).filter(str.strip), JSON, max_size=4), max_size=4),
    st.sampled_from([kind for kind in KINDS if kind != ".parquet"]),
    st.sampled_from(["", *PACKINGS]),
)
def test_any_records_come_back_from_text(records: list[dict[str, Any]], kind: str, packing: str) -> None:
    content = written(records, f"a{kind}{packing}")
    found = [item.data for item in read(content, f"a{kind}{packing}") if isinstance(item, RawRecord)]
    assert same(found, in_table(records) if kind in TABLES else records)


@settings(max_examples=8)
@given(st.lists(st.dictionaries(st.text(max_size=4), JSON, min_size=1, max_size=4), min_size=1, max_size=8))
def test_any_records_come_back_from_parquet(records: list[dict[str, Any]]) -> None:
    assert same(data(read(written(records, "a.parquet"), "a.parquet")), in_parquet(records))


def test_what_a_table_looks_like() -> None:
    records = [{"id": "=1", "n": -1.50, "t": "a;b"}, {"t": "", "o": {"k": [1, None]}, "x;y": "'x"}, {"id": None}]
    assert written(records, "a.csv") == (
        b'id,n,t,o,"x;y"\n'
        b"'=1,-1.5,\"a;b\",,\n"
        b',,,"{""k"":[1,null]}",\'x\n'
        b",,,,\n"
    )  # fmt: skip
    assert written([{"a": "x\ty", "b": "-"}], "a.tsv") == b'a\tb\n"x\ty"\t\'-\n'
    assert written([{"a": 1}, {"a": 2}], "a.json") == b'[\n{"a":1},\n{"a":2}\n]\n'
    assert [written([], f"a{kind}") for kind in (".jsonl", ".json", ".csv")] == [b"", b"[]\n", b""]


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1", "'=1"),
        ("'=1", "''=1"),
        ("+", "'+"),
        ("\tx", "'\tx"),
        ("''@", "'''@"),
        ("'x", "'x"),
        ("a=", "a="),
        ("", ""),
    ],
)
def test_a_spreadsheet_runs_no_cell(text: str, cell: str) -> None:
    assert (escape_formula(text), unescape_formula(cell)) == (cell, text)


def test_packed_files_have_no_time() -> None:
    content = written([{"a": 1}], "a.jsonl.gz")
    assert (content[4:8], gzip.decompress(content)) == (b"\0" * 4, b'{"a":1}\n')


@pytest.mark.parametrize(
    ("record", "name", "words"),
    [
        ({" ": 1}, "a.csv", "without a name"),
        ({str(number): 1 for number in range(10_001)}, "a.tsv", "more than 10,000"),
        ({}, "a.parquet", "needs a column"),
        ({}, "a.zip", "Use one of these endings: .jsonl"),
        ({}, "a.xlsx", "Use one of these endings: .jsonl"),
    ],
)
def test_records_that_make_no_such_file(record: dict[str, Any], name: str, words: str) -> None:
    with pytest.raises(WriteError, match=words):
        written([record], name)


def test_tables_of_other_programs() -> None:
    """A byte order mark, Windows line ends, line breaks in cells, blank lines, short rows and semicolons."""
    content = b'\xef\xbb\xbfid;"te xt";n\r\n1;"a\r\nb ""c""";\r\n\r\n;;\r\n2\r\n3;x"y;"[1, 2]"'
    items = read(content, "a.csv")
    assert data(items) == [{"id": "1", "te xt": 'a\r\nb "c"'}, {"id": "2"}, {"id": "3", "te xt": 'x"y', "n": [1, 2]}]
    assert [item.line for item in items] == [2, 6, 7]
    assert data(read(b'a;b\tc\n1;2\t{"x": 1.50}\n', "a.tsv")) == [{"a;b": "1;2", "c": {"x": 1.5}}]
    assert data(read(b'"a,b";c\n1;2\n', "a.csv")) == [{"a,b": "1", "c": "2"}]


@given(
    st.lists(st.lists(st.text('ab",;\r\n\té', max_size=5), min_size=2, max_size=2), max_size=5),
    st.lists(st.integers(1, 5), max_size=60),
    st.sampled_from(",;\t"),
)
def test_rows_are_the_same_in_whatever_pieces_they_come(rows: list[list[str]], sizes: list[int], mark: str) -> None:
    """Compared with the standard library."""
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=mark).writerows(rows)
    content = out.getvalue().encode()
    cells = Cells(mark, 2)
    reader = RowReader(Dribble(content, sizes), mark.encode(), 1000)
    found = [cells.of((row.content or b"").decode()) for row in reader.rows()]
    assert found == rows


PARQUET: list[tuple[pa.DataType, Any, Any]] = [
    (pa.struct([("a", pa.int8()), ("b", pa.string())]), {"a": None, "b": "x"}, {"b": "x"}),
    (pa.list_(pa.struct([("a", pa.int64())])), [{"a": 1}, None, {"a": None}], [{"a": 1}, None, {}]),
    (pa.map_(pa.string(), pa.int64()), [("k", 1), ("l", None)], {"k": 1, "l": None}),
    (pa.list_(pa.int64(), 2), [1, None], [1, None]),
    (pa.uint64(), 2**64 - 1, 2**64 - 1),
    (pa.float32(), -0.0, -0.0),
    (pa.decimal128(5, 2), "1.50", 1.5),
    (pa.decimal128(38, 0), "12345678901234567890123", 12345678901234567890123),
    (pa.decimal128(38, 20), "0.12345678901234567891", "0.12345678901234567891"),
    (pa.timestamp("us", tz="Europe/Oslo"), 1_500_000, "1970-01-01T00:00:01.5Z"),
    (pa.timestamp("ns"), 1, "1970-01-01T00:00:00.000000001"),
    (pa.timestamp("s"), 86_400, "1970-01-02T00:00:00"),
    (pa.date32(), 19_000, "2022-01-08"),
    (pa.time64("us"), 3_661_000_000, "01:01:01"),
    (pa.binary(), "é".encode(), "é"),
    (pa.dictionary(pa.int8(), pa.string()), "x", "x"),
    (pa.bool_(), False, False),
    (pa.null(), None, None),
]


def parquet(columns: dict[str, pa.Array], **options: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, **options)
    return out.getvalue()


def test_values_of_parquet() -> None:
    columns, expected = {}, {}
    for number, (kind, value, result) in enumerate(PARQUET):
        value = Decimal(value) if pa.types.is_decimal(kind) else value
        columns[str(number)] = pa.array([value, None], kind)
        expected |= {} if result is None else {str(number): result}
    items = read(parquet(columns), "a.parquet")
    assert [item.line for item in items] == [1, 2]
    assert same(data(items), [expected, {}])


def test_values_of_parquet_that_json_does_not_have() -> None:
    nested = pa.array(
        [{"x": [1.0, float("inf")]}, {"x": [2.0, float("nan")]}], pa.struct([("x", pa.list_(pa.float64()))])
    )
    items = read(parquet({"a/b": nested, "c": pa.array([b"ok", b"\xff"])}), "a.parquet")
    assert [(error.line, error.pointer, error.fatal) for error in errors(items)] == [
        (1, "/a~1b/x/1", False),
        (2, "/c", False),
    ]
    assert [error.message.partition(".")[0] for error in errors(items)] == [
        "Infinity is not JSON",
        "The bytes are not UTF-8 (byte 1)",
    ]
    late = pa.array([2**62], pa.timestamp("ms"))
    assert "outside of the years" in errors(read(parquet({"t": late}), "a.parquet"))[0].message


@pytest.mark.parametrize(("name", "lines"), [("a.csv", [2, 3, 4, 1505]), ("a.parquet", [1, 2, 3, 4])])
def test_a_large_row_is_one_fault(name: str, lines: list[int]) -> None:
    rows = [{"id": "a"}, {"id": "x" * 3000}, {"id": "y\n" * 1500}, {"id": "b"}]
    items = read(written(rows, name), name, limits=Limits(line=1000))
    assert [type(item) for item in items] == [RawRecord, RecordError, RecordError, RawRecord]
    assert [item.line for item in items] == lines
    assert all("The limit of a record is 1000 bytes, so the row was skipped." in one.message for one in errors(items))


def test_members_of_an_archive_are_of_every_kind() -> None:
    endings = enumerate(WRITTEN_EXTENSIONS[:-1])
    members = {f"{number}{ending}": written([{"id": str(number)}], ending) for number, ending in endings}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    assert data(read(out.getvalue(), "a.zip")) == [{"id": str(number)} for number in range(len(members))]


def test_lines_keep_their_text() -> None:
    out = io.BytesIO()
    lines = [b'{ "a" : 1.50}', json.dumps({"é": "\u2028"}).encode()]
    with open_writer(out, "a.ndjson") as writer:
        writer.add(lines[0])
        writer.add(lines[1], ended=False)
    assert out.getvalue() == b"\n".join(lines)
