"""Write records as a table in text, CSV or TSV (RFC 4180, UTF-8, lines end in LF)."""

import re
from typing import Any

from annotator.core.schema.exact_json import dumps
from benchmark.core.files.csv_records import escape_formula
from benchmark.core.files.record_spool import RecordSpool
from benchmark.core.files.record_writer import RecordWriter, Sink, WriteError


class CsvWriter(RecordWriter):
    """A table with a column for each field that a record has.

    Objects and lists are JSON in their cell, and so are numbers and booleans. Null, an absent field and an empty text
    are all an empty cell. Spreadsheets do not run any text as a formula.
    """

    def __init__(self, sink: Sink, delimiter: str) -> None:
        self._sink = sink
        self._delimiter = delimiter
        # In a header, a semicolon could be mistaken for the delimiter; a byte order mark is no part of the text.
        self._needs_quotes = re.compile(f'[{delimiter};"\\r\\n\\ufeff]')
        self._spool = RecordSpool()

    def add(self, line: bytes, *, ended: bool = True) -> None:
        record = self._spool.add(line)
        if not all(name.strip() for name in record):
            raise WriteError("A record has a field without a name, and a column needs one. Write .jsonl instead.")

    def finish(self) -> None:
        names = list(self._spool.columns)
        if names:
            self._write(names)
        for record, _ in self._spool.records():
            self._write([record.get(name) for name in names])

    def close(self) -> None:
        self._spool.close()

    def _write(self, values: list[Any]) -> None:
        self._sink.write((self._delimiter.join(map(self._cell, values)) + "\n").encode())

    def _cell(self, value: Any) -> str:
        if value is None:
            return ""
        text = escape_formula(value) if isinstance(value, str) else dumps(value).decode()
        if not self._needs_quotes.search(text):
            return text
        quoted = text.replace('"', '""')
        return f'"{quoted}"'
