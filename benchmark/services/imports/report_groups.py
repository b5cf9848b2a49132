"""The report of an import by check: errors first, with examples, so that a few errors are found among many notes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from annotator.core.checks import all_checks, is_missing_label
from benchmark.models import ImportBatch, ImportNote
from benchmark.services.imports.report import MISSING_LABELS, OUTCOMES

SEVERITIES = ("error", "warning", "info")
#: A check with more notes of one severity is shown with its first ones only.
GROUPED = 50
EXAMPLES = 3
#: Notes that a page shows in full groups; further groups are shown with their first notes only.
ON_PAGE = 300


@dataclass(frozen=True, slots=True)
class CheckCount:
    """How many notes of one severity a check has, and in how many dialogues; 0 if they are about no dialogue.

    ``check`` is MISSING_LABELS for all missing labels together; then ``parts`` has the count of each check.
    """

    severity: str
    check: str
    notes: int
    dialogues: int
    parts: tuple["CheckCount", ...] = ()


@dataclass(frozen=True, slots=True)
class NoteGroup:
    """The notes of one check: all, or the first ones."""

    count: CheckCount
    notes: Sequence[ImportNote]


def count_by_check(counts: Mapping[str, Any]) -> list[CheckCount]:
    """Return the notes by check, from the counters of the report: errors first, then the most frequent.

    Empty if the report was written before its notes were counted by check.
    """
    stored = counts.get("checks", {})
    found = [
        CheckCount(severity, check, notes, dialogues)
        for severity in SEVERITIES
        for check, (notes, dialogues) in stored.get(severity, {}).items()
        if check != MISSING_LABELS
    ]
    return sorted(found, key=lambda one: (SEVERITIES.index(one.severity), -one.notes, one.check))


def with_labels_together(counts: Mapping[str, Any]) -> list[CheckCount]:
    """Return the same with all missing labels as one, last of their severity."""
    found = count_by_check(counts)
    out = []
    for severity in SEVERITIES:
        of = [one for one in found if one.severity == severity]
        labels = tuple(one for one in of if is_missing_label(one.check))
        out += [one for one in of if one not in labels]
        if labels:
            notes, dialogues = counts["checks"][severity][MISSING_LABELS]
            out.append(CheckCount(severity, MISSING_LABELS, notes, dialogues, labels))
    return out


def group_notes(batch: ImportBatch, found: Iterable[CheckCount]) -> list[NoteGroup]:
    """Return the notes of each check, in file order, in one query: the first ones of a check with many, and none of
    missing labels, which say the same of every task.
    """
    counts = list(found)
    left, whole = ON_PAGE, Q()
    for one in counts:
        if one.check != MISSING_LABELS and one.notes <= min(left, GROUPED):
            left -= one.notes
            whole |= Q(severity=one.severity, check_id=one.check)
    rank = Window(RowNumber(), partition_by=[F("severity"), F("check_id")], order_by="pk")
    rows = ImportNote.objects.filter(batch=batch, severity__in={one.severity for one in counts}).annotate(rank=rank)
    shown = Q(rank__lte=EXAMPLES) | (Q(rank__lte=GROUPED) & whole if whole else Q(rank=0))
    by_check: dict[tuple[str, str], list[ImportNote]] = {}
    for row in rows.filter(shown).order_by("pk"):
        by_check.setdefault((row.severity, row.check_id), []).append(row)
    return [NoteGroup(one, by_check.get((one.severity, one.check), [])) for one in counts]


def notes_of(batch: ImportBatch, *, severity: str = "", outcome: str = "", check: str = "") -> QuerySet[ImportNote]:
    """Return the rows of the report, all, of one severity, of one outcome (``OUTCOMES``) or of one check, which may be
    MISSING_LABELS; their keys are in file order.
    """
    rows = ImportNote.objects.filter(batch=batch)
    if outcome:
        rows = rows.filter(check_id=OUTCOMES[outcome])
    if check:
        rows = rows.filter(check_id__in=_missing_labels() if check == MISSING_LABELS else [check])
    return rows.filter(severity=severity) if severity in SEVERITIES else rows


def _missing_labels() -> list[str]:
    return [check.id for check in all_checks() if is_missing_label(check.id)]
