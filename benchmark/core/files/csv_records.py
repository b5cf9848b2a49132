"""Read the rows of a CSV or TSV file as records, and the rules by which a value is written into a cell and read.

Each column is a field of that name, and an empty cell a field that is absent. A cell with a JSON object or list has
that value; all others are text.
"""

import re
from collections.abc import Generator

import orjson

from benchmark.core.files.csv_rows import CellError, Cells, Row, RowReader
from benchmark.core.files.limits import SourceError
from benchmark.core.files.packing import Readable
from benchmark.core.files.record_lines import BOM, Found, has_too_many_values, is_json_cell, no_utf8, too_long

MAX_COLUMNS = 10_000
#: Cells that spreadsheets would run as formulas, and such cells escaped.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_ESCAPED = re.compile(r"'+[=+\-@\t\r]")
_IN_QUOTES = re.compile(r'"[^"]*+"')


def escape_formula(text: str) -> str:
    """Return a text as a cell that no spreadsheet runs."""
    return f"'{text}" if _FORMULA.match(text) else text


def unescape_formula(cell: str) -> str:
    """Return the text of a cell."""
    return cell[1:] if _ESCAPED.match(cell) else cell


def read_table(source: Readable, kind: str, limit: int) -> Generator[Found]:
    """Yield the rows of a table that are not empty, as the JSON of objects. ``kind``: .csv or .tsv.

    ``limit``: bytes of a row and of a record. Raises SourceError if the header cannot be used, or for a quote that is
    never closed.
    """
    reader = RowReader(source, b"\t" if kind == ".tsv" else b",;", limit)
    names: list[bytes] = []
    cells = None
    for row in reader.rows():
        if cells is None:
            text = _header_text(row, limit)
            delimiter = "\t" if kind == ".tsv" else _delimiter(text)
            reader.use(delimiter.encode())
            header = _header(text, delimiter, row.line)
            names = [orjson.dumps(name) + b":" for name in header]
            cells = Cells(delimiter, len(names))
            continue
        found = _record(row, cells, names, limit)
        if found.content != b"{}":
            yield found


def _record(row: Row, cells: Cells, names: list[bytes], limit: int) -> Found:
    if row.content is None:
        return Found(row.line, None, row.bytes, problem=too_long(row.bytes, limit, "row"))
    try:
        text = row.content.decode()
        values = cells.of(text)
    except UnicodeDecodeError as error:
        return Found(row.line, None, row.bytes, problem=no_utf8("row", error))
    except CellError as error:
        return Found(row.line, None, row.bytes, problem=str(error))
    # Such a record is refused when it is parsed, so its cells are not.
    may_parse = not has_too_many_values(row.content)
    fields = [name + _value(cell, may_parse=may_parse) for name, cell in zip(names, values, strict=False) if cell]
    content = b"{" + b",".join(fields) + b"}"
    if len(content) > limit:
        return Found(row.line, None, row.bytes, problem=too_long(len(content), limit, "row"))
    return Found(row.line, content, row.bytes)


def _value(cell: str, *, may_parse: bool) -> bytes:
    if may_parse and is_json_cell(cell):
        return cell.encode()
    return orjson.dumps(unescape_formula(cell))


def _header_text(row: Row, limit: int) -> str:
    if row.content is None:
        raise SourceError(f"The header: {too_long(row.bytes, limit, 'row')}", line=row.line)
    content = row.content.removeprefix(BOM)
    if content.lstrip()[:1] in (b"{", b"["):
        raise SourceError(
            "The file has JSON, not a table. Rename it to .jsonl if it has one object per line, otherwise to .json."
        )
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise SourceError(no_utf8("header", error), line=row.line) from None


def _delimiter(header: str) -> str:
    bare = _IN_QUOTES.sub("", header)
    return ";" if ";" in bare and "," not in bare else ","


def _header(text: str, delimiter: str, line: int) -> list[str]:
    if "\r" in _IN_QUOTES.sub("", text):
        raise SourceError("The header contains a carriage return. Save the file with LF or CR LF at the end of lines.")
    try:
        names = [unescape_formula(name) for name in Cells(delimiter, MAX_COLUMNS).of(text)]
    except CellError as error:
        raise SourceError(f"The header cannot be read. {error}", line=line) from None
    seen: set[str] = set()
    for number, name in enumerate(names, 1):
        if not name.strip():
            raise SourceError(f"Column {number} has no name. The first row must name every column.", line=line)
        if name in seen:
            raise SourceError(f"Two columns have the name “{name[:80]}”. Rename one.", line=line)
        seen.add(name)
    return names
