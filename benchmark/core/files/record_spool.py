"""Keep the records of a table in a temporary file until its columns are known."""

from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import Any

from annotator.core.schema.exact_json import loads
from benchmark.core.files.csv_records import MAX_COLUMNS
from benchmark.core.files.record_writer import WriteError


class RecordSpool:
    """Records of objects, and their fields in the order in which they were first seen."""

    def __init__(self) -> None:
        self.columns: dict[str, set[type]] = {}
        self._file = TemporaryFile()  # noqa: SIM115 - closed by close

    def add(self, line: bytes) -> dict[str, Any]:
        """Keep the JSON of an object, and return the object. Raises WriteError."""
        record: dict[str, Any] = loads(line)
        for name in record:
            self.columns.setdefault(name, set())
        if len(self.columns) > MAX_COLUMNS:
            raise WriteError(f"The records have more than {MAX_COLUMNS:,} different fields. Write .jsonl instead.")
        # In JSON, line breaks are only between values.
        self._file.write(line.replace(b"\n", b" ") + b"\n")
        return record

    def records(self) -> Iterator[tuple[dict[str, Any], int]]:
        """Yield each record and the length of its JSON in bytes."""
        self._file.seek(0)
        for line in self._file:
            yield loads(line), len(line)

    def close(self) -> None:
        """Delete the records."""
        self._file.close()
