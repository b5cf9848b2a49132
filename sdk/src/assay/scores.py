"""Runs of models over a release, and what their entries earned."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Any, cast

from assay.http import Http, Row

#: Bytes of records that are kept in memory; more are written to a temporary file.
_IN_MEMORY = 8 << 20


class Run:
    """A run of a model over a release. ``row`` has model, mode, entries, right, missing and more."""

    def __init__(self, http: Http, path: str, row: Row) -> None:
        self._http, self._path = http, path
        self.row = row

    def __repr__(self) -> str:
        return f"<Run {self.row['public_id']} of {self.row['model']}: {self.row['right']} of {self.row['entries']}>"

    @property
    def figures(self) -> list[Row]:
        """The figures: name, cell (“all” for the whole), n, value, and the interval from low to high.

        A run of a list has those of the leaderboard, one that was scored or read has all.
        """
        return cast(list[Row], self.row["figures"])

    def figure(self, name: str, cell: str = "all") -> Row | None:
        """Return one figure, None if the run does not have it."""
        return next((one for one in self.figures if (one["name"], one["cell"]) == (name, cell)), None)

    def entries(self, *, outcome: str | None = None, error: str | None = None) -> Iterator[Row]:
        """Yield what each entry earned: key, entry, right, error. ``outcome``: wrong or right."""
        return self._http.pages(f"{self._path}entries/", outcome=outcome, error=error)

    def entry(self, key: str) -> Row:
        """Return an entry with ``prediction``, what the model said, and ``detail``, why it is right or wrong."""
        found: Row = self._http.get(f"{self._path}entries/{key}/")
        return found


@contextmanager
def prediction_file(predictions: str | Path | Iterable[Row]) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the name and the content of predictions: a file, or records that become JSON lines."""
    if isinstance(predictions, str | Path):
        with Path(predictions).open("rb") as file:
            yield Path(predictions).name, file
        return
    with SpooledTemporaryFile(_IN_MEMORY) as spooled:
        written = cast(IO[bytes], spooled)
        for record in predictions:
            written.write(_line(record))
        yield "predictions.jsonl", written


def _line(record: Any) -> bytes:
    return json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n"
