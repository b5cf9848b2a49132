"""The report of an import: a file with one note per line next to the upload, and the first notes as rows for the page.

Notes are written inside the chunk's fenced transaction, so only by the job's current worker. The next attempt cuts off
what the previous one wrote after its last commit.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from annotator.core.checks import is_missing_label
from annotator.services.database.bulk_insert import insert_rows
from benchmark.models import ImportBatch, ImportNote
from benchmark.services.stored_files import full_path

#: Rows stored for the page: of all notes, and of one check with one severity, so that a check that finds something
#: everywhere leaves room for the others. The file has all notes.
ROWS = 20_000
ROWS_OF_CHECK = 2_000
#: Extra rows for reasons of rejection and for reopened dialogues, when the others are used up.
REJECTION_ROWS = 20_000
#: Lines of the file: after the first limit, only rejections and reopened dialogues are kept; after the second, nothing.
LINES = 1_000_000
REJECTION_LINES = 5_000_000
#: Notes of one record; if there are more, they have one cause.
NOTES_PER_RECORD = 200

#: A dialogue that people have worked on was not changed, or was reopened.
WORKED_ON, REOPENED = "import.worked_on", "import.reopened"
#: Results of merging a record with what people have entered: nothing to change, merged, or both changed one place.
KEPT, MERGED, CONFLICT = "import.kept", "import.merged", "import.merge_conflict"
#: No one has worked on a dialogue, so the record replaces it; its last record was of another format.
REPLACED, OTHER_FORMAT = "import.replaced", "import.other_format"
#: A suggestion of a record that was left out.
SUGGESTION = "import.suggestion"
#: The notes that say what becomes of a known dialogue, by a name for lists.
OUTCOMES = {
    "kept": KEPT, "replaced": REPLACED, "merged": MERGED, "reopened": REOPENED, "asks": WORKED_ON, "conflict": CONFLICT,
}  # fmt: skip
_COUNTED = frozenset(OUTCOMES.values())
#: All checks that find a missing label, counted together as well: how many dialogues lack one.
MISSING_LABELS = "label.missing"

_COPIED = 1 << 16


@dataclass(slots=True)
class Note:
    """One line of the report. ``pointer`` is a JSON pointer into the record, or the anchor of a check's finding."""

    line: int
    member: str
    external_id: str
    pointer: str
    check: str
    severity: str
    message: str
    #: Whether this is why the record was rejected.
    rejects: bool = False

    def as_line(self) -> bytes:
        """Return the note as a line of the report."""
        entry: dict[str, Any] = {
            "line": self.line,
            "id": self.external_id,
            "pointer": self.pointer,
            "check": self.check,
            "severity": self.severity,
            "message": self.message,
        }
        if self.member:
            entry["file"] = self.member
        return orjson.dumps(entry, option=orjson.OPT_APPEND_NEWLINE)


@dataclass
class Report:
    """Writes notes, and counts them. The counters are stored in the job's checkpoint, so that the next attempt goes on
    from them.

    ``counts`` has the number of notes by severity and by outcome, of bytes, lines and rows written, of ``dialogues``
    that were checked, and ``checks``: severity → check → [notes, dialogues with such notes].
    """

    batch: ImportBatch
    counts: dict[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return report_path(self.batch)

    def add(self, notes: Sequence[Note], *, dialogues: int = 0) -> dict[str, Any]:
        """Write notes in the caller's fenced transaction; return the counters that are true once it commits.

        ``dialogues`` were checked to find them. The notes of a dialogue come in one go, one after the other.
        """
        counts = {"bytes": 0, "lines": 0, "rows": 0, "dropped": 0, "dialogues": 0} | self.counts
        counts["dialogues"] += dialogues
        # Only the transaction's end makes the counters valid, so those before it stay as they are.
        checks: dict[str, dict[str, list[int]]] = {
            severity: {check: list(pair) for check, pair in of.items()}
            for severity, of in counts.get("checks", {}).items()
        }
        latest: dict[tuple[str, str], tuple[Any, ...]] = {}
        rows, lines = [], []
        for note in notes:
            counts[note.severity] = counts.get(note.severity, 0) + 1
            if note.check in _COUNTED:
                counts[note.check] = counts.get(note.check, 0) + 1
            _count(note, checks.setdefault(note.severity, {}), latest)
            # An import reopens only what a dry run has listed, so these notes are always kept.
            needed = note.rejects or note.check in _COUNTED
            if counts["lines"] >= (REJECTION_LINES if needed else LINES):
                counts["dropped"] += 1
                continue
            counts["lines"] += 1
            lines.append(note.as_line())
            if needed:
                kept = counts["rows"] < ROWS + REJECTION_ROWS
            else:
                kept = counts["rows"] < ROWS and checks[note.severity][note.check][0] <= ROWS_OF_CHECK
            if kept:
                counts["rows"] += 1
                rows.append(_row(note))
        # An import that an earlier version has begun has no such counts, so its report stays a list.
        if not self.counts or "checks" in self.counts:
            counts["checks"] = checks
        if lines:
            counts["bytes"] = self._append(b"".join(lines), counts["bytes"])
        insert_rows(ImportNote, _NAMES, rows, constants={"batch_id": self.batch.pk})
        return counts

    def committed(self, counts: dict[str, Any]) -> None:
        """Take over the counters of ``add`` after its transaction has committed."""
        self.counts = counts

    def _append(self, data: bytes, at: int) -> int:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self.path.open("r+b" if self.path.exists() else "wb") as file:
                file.truncate(at)
                file.seek(at)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                return file.tell()
        except OSError:
            # The disk may be full: do not leave an empty report.
            if not at:
                self.path.unlink(missing_ok=True)
            raise


def _count(note: Note, pairs: dict[str, list[int]], latest: dict[tuple[str, str], tuple[Any, ...]]) -> None:
    """Count a note, and its dialogue unless the latest note of the same check and severity was about it, too."""
    about = (note.line, note.member, note.external_id)
    for name in (note.check, MISSING_LABELS) if is_missing_label(note.check) else (note.check,):
        pair = pairs.setdefault(name, [0, 0])
        pair[0] += 1
        pair[1] += bool(note.external_id) and latest.get((note.severity, name)) != about
        latest[note.severity, name] = about


def report_path(batch: ImportBatch) -> Path:
    """Return the path of an import's report."""
    return full_path(f"imports/{batch.public_id}.report.jsonl")


def read_report(batch: ImportBatch) -> Iterator[bytes]:
    """Yield the report in its current state, in pieces. Leaves out lines that are still being written."""
    path = report_path(batch)
    left = batch.job.checkpoint.get("notes", {}).get("bytes", 0)
    if not left or not path.exists():
        return
    with path.open("rb") as file:
        while left and (piece := file.read(min(_COPIED, left))):
            left -= len(piece)
            yield piece


_NAMES = ("line", "member", "external_id", "pointer", "check_id", "severity", "message", "rejects")


def _row(note: Note) -> tuple[Any, ...]:
    return (
        note.line, note.member[:255], _storable(note.external_id)[:200], _storable(note.pointer)[:600],
        note.check[:60], note.severity, _storable(note.message)[:1000], note.rejects,
    )  # fmt: skip


def _storable(text: str) -> str:
    """Replace NUL, which PostgreSQL cannot store in text; the report's file has it."""
    return text.replace("\0", "␀")
