"""The report on the page of an import: by check, or as a list of the notes of one check or outcome."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from annotator.models import Dialogue
from annotator.presentation.components.anchors import visible_dom_id
from annotator.services.database.filters import one_of
from annotator.services.database.keyset import BY_KEY
from annotator.views.pages import PageRequest
from benchmark.models import ImportBatch, ImportNote
from benchmark.services.imports.report import MISSING_LABELS, OUTCOMES, ROWS, ROWS_OF_CHECK
from benchmark.services.imports.report_groups import (
    SEVERITIES,
    CheckCount,
    group_notes,
    notes_of,
    with_labels_together,
)
from benchmark.views.import_words import OUTCOME_WORDS, missing_labels, note_titles
from benchmark.views.paging import page_of

#: Notes on a page of one check.
PAGE = 50


@dataclass(frozen=True)
class NoteRow:
    """A note, and the address of its place in the dialogue; blank if the dialogue is not in the project."""

    note: ImportNote
    url: str


@dataclass(frozen=True)
class Group:
    """The notes of one check. ``id`` is its heading's; ``rows`` are all, or the first ones; ``query`` lists all."""

    id: str
    count: CheckCount
    title: str
    rows: list[NoteRow]
    query: str

    @property
    def whole(self) -> bool:
        """Whether all notes are shown."""
        return len(self.rows) == self.count.notes


def report_words(request: PageRequest, batch: ImportBatch) -> dict[str, Any]:
    """Return what the page says of the report, by the filters of its address. Raises UnknownFilter."""
    counts = batch.job.checkpoint.get("notes", {})
    found = with_labels_together(counts)
    severity = one_of(request.GET, "severity", SEVERITIES)
    outcome = one_of(request.GET, "outcome", OUTCOMES)
    check = one_of(request.GET, "check", lambda: {one.check for one in found})
    chosen = {"severity": severity, "outcome": outcome, "check": check}
    titles = note_titles()

    def title(one: CheckCount) -> str:
        if one.check == MISSING_LABELS:
            return missing_labels(one, counts["dialogues"])
        return titles.get(one.check, one.check)

    context: dict[str, Any] = {
        **chosen,
        "filter": "".join(f"&{urlencode({name: one})}" for name, one in chosen.items() if one),
        "outcomes": [(name, OUTCOME_WORDS[name], counts[note]) for name, note in OUTCOMES.items() if counts.get(note)],
        "severities": [(name, counts.get(name, 0)) for name in SEVERITIES],
        "total": sum(counts.get(name, 0) for name in SEVERITIES),
        "more_in_file": counts.get("lines", 0) > counts.get("rows", 0),
        "rows_kept": ROWS,
        "rows_of_check": ROWS_OF_CHECK,
        "groups": [],
        "listed": [],
        "notes": None,
        "rows": [],
    }
    shown = [one for one in found if severity in ("", one.severity) and check in ("", one.check)]
    if check:
        context["listed"] = [(one, title(one)) for one in shown]
    if outcome or check or not found:
        notes = notes_of(batch, severity=severity, outcome=outcome, check=check)
        page = page_of(notes, request, size=PAGE, newest_first=False, by=BY_KEY)
        return context | {"notes": page, "rows": _with_addresses(request, batch, page.rows)}
    groups = group_notes(batch, shown)
    rows = iter(_with_addresses(request, batch, [note for group in groups for note in group.notes]))
    return context | {
        "groups": [
            Group(
                f"group-{number}", group.count, title(group.count), [next(rows) for _ in group.notes],
                urlencode({"severity": group.count.severity, "check": group.count.check}),
            )
            for number, group in enumerate(groups, 1)
        ]
    }  # fmt: skip


def _with_addresses(request: PageRequest, batch: ImportBatch, notes: Iterable[ImportNote]) -> list[NoteRow]:
    """Return the notes with the address of each dialogue, found in one query."""
    rows = list(notes)
    wanted = {note.external_id for note in rows} - {""}
    known = Dialogue.objects.visible_to(request.user).filter(project=batch.project_id, external_id__in=wanted).counted()
    pages = {
        name: reverse("dialogue", args=[batch.project.slug, public_id])
        for name, public_id in known.values_list("external_id", "public_id")
    }
    return [
        NoteRow(note, _address(pages[note.external_id], note) if note.external_id in pages else "") for note in rows
    ]


def _address(page: str, note: ImportNote) -> str:
    """Return the address of a finding's place; notes of the import itself point into the record."""
    return page if note.check_id.startswith("import.") else f"{page}#{visible_dom_id(note.pointer)}"
