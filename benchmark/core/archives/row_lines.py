"""The rows of a release's tables, as its other files are compared: a number and a record each."""

from collections.abc import Iterable
from typing import Any

from benchmark.core.archives.consistency import Lines, Say
from benchmark.core.archives.table import columns_of, parsed
from benchmark.core.files.limits import SourceError
from benchmark.core.formats import CANARY


def parsed_lines(lines: Lines) -> Lines:
    """Yield the rows of ``table.jsonl`` with the values of their JSON texts."""
    for number, record in lines:
        yield number, None if record is None else parsed(record)


def row_lines(config: str, rows: Iterable[dict[str, Any]], where: str, canary: str, say: Say) -> Lines:
    """Yield number and record of every row of a table; None for a row without a valid record.

    Says what is wrong with a row, and with a table that cannot be read any further; then raises SourceError.
    """
    try:
        for number, row in enumerate(rows, 1):
            if CANARY in columns_of(config):
                if row[CANARY] != canary:
                    say(f"{where}, row {number}: the row does not contain the release's canary.")
                yield number, parsed(row)
                continue
            record = parsed(row)["record"]
            if type(record) is not dict or str(record.get("id")) != row["id"]:
                say(f"{where}, row {number}: its text is not the record with its id.")
                record = None
            elif record.get(CANARY) != canary:
                say(f"{where}, row {number}: the record does not contain the release's canary.")
            yield number, record
    except SourceError as error:
        say(f"{where}: {error}")
        raise
