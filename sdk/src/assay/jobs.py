"""Work that the server does in the background: imports, releases, scores."""

import time
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import httpx

from assay.errors import JobFailed, NoAnswer, WaitTimeout
from assay.http import Http, Row
from assay.lines import parse_lines

#: What a job leads to.
Made = TypeVar("Made")
_FIRST, _LONGEST = 0.2, 10.0


class Job(Generic[Made]):
    """Work of the server. ``row`` is its last known state; ``wait`` returns what it made."""

    def __init__(self, http: Http, path: str, row: Row, made: Callable[[Row], Made]) -> None:
        self._http, self._path, self._made = http, path, made
        self.row = row

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.row['public_id']}: {self.row['job']['state']}>"

    @property
    def state(self) -> Row:
        """The progress as it was last known: state, done, total and error."""
        found: Row = self.row["job"]
        return found

    def refresh(self) -> Row:
        """Return the present state."""
        self.row = self._http.get(self._path)
        return self.row

    def wait(self, progress: Callable[[Row], None] | None = None, timeout: float | None = None) -> Made:
        """Poll until the work has ended, and return what it made.

        ``progress`` is called with ``{"state", "done", "total", "error"}`` after each poll; ``total`` is None until it
        is known. Raises JobFailed, and WaitTimeout after ``timeout`` seconds.
        """
        end = None if timeout is None else time.monotonic() + timeout
        pause = _FIRST
        while True:
            job = self.state
            if progress is not None:
                progress(job)
            if job["state"] in ("failed", "cancelled"):
                raise JobFailed(job["error"] or f"The job was {job['state']}.", self.row)
            if job["state"] == "done":
                return self._made(self.row)
            if end is not None and time.monotonic() + pause > end:
                raise WaitTimeout("The job has not ended yet. It goes on; wait longer.")
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST)
            self.refresh()


class Import(Job[Row]):
    """An import, or the preview of one. ``wait`` returns its row, with the counts of its records."""

    def __init__(self, http: Http, path: str, row: Row) -> None:
        super().__init__(http, path, row, lambda ended: ended)

    def confirm(self, format: str | None = None, mapping: dict[str, str] | None = None, **options: Any) -> "Import":
        """Import the file of a preview, by default with the format and mapping that the preview found.

        Options: dry_run, revise, reopen, reopen_at, at_conflicts, suggest_dependencies, remember. Raises ValueError if
        the preview recognised no format and none is given.
        """
        found = self.row.get("found") or {}
        chosen = format or found.get("format")
        if not chosen:
            raise ValueError("The preview recognised no format, or has not ended. Wait for it, or pass the format.")
        if mapping is None:
            mapping = found.get("mapping") if chosen == found.get("format") else None
        body = {"format": chosen, "mapping": mapping or {}} | options
        row = self._http.post(f"{self._path}confirm/", body)
        return Import(self._http, f"{self._path.rpartition('imports/')[0]}imports/{row['public_id']}/", row)

    def cancel(self) -> None:
        """Stop the import and roll back what it has written."""
        self.row = self._http.send("POST", f"{self._path}cancel/")

    def report(self) -> Iterator[Row]:
        """Yield the lines of the report: line, id, pointer, check, severity, message."""
        return stream_lines(self._http, f"{self._path}report/")


def stream_lines(http: Http, path: str) -> Iterator[Row]:
    """Yield the objects of a file of JSON lines."""
    with http.stream("GET", path) as answer:
        try:
            yield from parse_lines(answer.iter_bytes(), "the answer")
        except httpx.TransportError:
            raise NoAnswer(0, "The answer broke off. Read it again.") from None
