"""What the command prints: JSON lines, or a table for people."""

import json
import sys
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Any

from assay.http import Row

#: Rows from which the widths of a table's columns are taken; later rows may be wider.
_MEASURED = 200
_WIDEST = 60


def print_rows(rows: Iterable[Row], columns: Sequence[str] = (), *, table: bool = False) -> None:
    """Print each row as a line of JSON, or these columns of it as a table."""
    if not table:
        for row in rows:
            print(json.dumps(row, ensure_ascii=False))
        return
    rest = iter(rows)
    first = list(islice(rest, _MEASURED))
    names = list(columns) or (list(first[0]) if first else [])
    lines = [[_cell(row, name) for name in names] for row in first]
    heads = [name.rpartition(".")[2] for name in names]
    widths = [max(len(line[place]) for line in [heads, *lines]) for place in range(len(names))]
    for line in chain([heads], lines, ([_cell(row, name) for name in names] for row in rest)):
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _cell(row: Row, name: str) -> str:
    """Return a value as the text of a cell; ``name`` may lead into objects: job.state."""
    value: Any = row
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    shown = "".join(one if one.isprintable() else " " for one in text)
    return shown if len(shown) <= _WIDEST else shown[: _WIDEST - 1] + "…"


class Progress:
    """Shows the progress of a job on standard error, if a person sees it."""

    def __init__(self, what: str) -> None:
        self.what, self.shown = what, sys.stderr.isatty()

    def __call__(self, job: Row) -> None:
        if self.shown:
            of = f" of {job['total']:,}" if job["total"] else ""
            end = "\n" if job["state"] in ("done", "failed", "cancelled") else ""
            print(f"\r{self.what}: {job['state']}, {job['done']:,}{of}\x1b[K", end=end, file=sys.stderr, flush=True)


def say(sentence: object) -> None:
    """Print a sentence on standard error."""
    print(sentence, file=sys.stderr)
