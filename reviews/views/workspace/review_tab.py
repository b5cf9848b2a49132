"""The Review tab of the workspace: what blocks, the changes, suggested errors, the checklist and the verdict."""

from typing import Any

from django.utils.translation import gettext as _

from annotator.core.comparison import diff
from annotator.presentation.changes import change_lines
from annotator.presentation.document import present
from annotator.services.custom_fields import fields_of
from annotator.translation import place_name
from reviews.core.protocols import questions_about
from reviews.core.protocols.error_suggestions import SuggestedError, suggest_errors
from reviews.models import Verdict
from reviews.services.protocols.readers import in_reader_language
from reviews.services.submission.workbench import Workbench
from reviews.views.workspace.form_versions import reason_label

#: Empty rows for errors; a button adds more.
ERROR_ROWS = 3


def review_context(bench: Workbench, verdict: str) -> dict[str, Any]:
    """Return the context of ``inspector/review.html``; ``verdict``: the chosen one, blank for none."""
    rows = checklist_rows(bench)
    blank = (item["id"] for row in rows for item in row["items"] if item["required"] and item["answer"] is None)
    return {
        "verdict": verdict,
        "changes": change_lines(
            bench.work.slot.revision.document(), bench.document, fields_of(bench.work.slot.project)
        ),
        "approving": verdict in (Verdict.APPROVE, Verdict.FIX, ""),
        "reason_label": reason_label(bench, verdict),
        "checklist": rows,
        "first_blank": next(blank, ""),
        "suggested_errors": _suggested_rows(bench),
        "refused": None,
        "reason_error": "",
        "verdict_error": "",
    } | named_error_rows(bench, is_open=verdict not in (Verdict.APPROVE, Verdict.FIX))


def checklist_rows(bench: Workbench) -> list[dict[str, Any]]:
    """Return the questions that the stage asks, as rows: for the dialogue, then for each task."""
    answers, notes = bench.form.get("checklist", {}), bench.form.get("notes", {})
    titles = {task.id: _("Task %(number)s") % {"number": task.number} for task in bench.view.tasks}
    rows: dict[str, dict[str, Any]] = {}
    for question in questions_about(bench.stage.checklist, bench.document):
        place, item = question.place, question.item
        row = rows.setdefault(place, {"key": place, "title": titles.get(place, _("The dialogue")), "items": []})
        row["items"].append(
            {
                "id": f"q-{place}-{item.key}",
                "key": item.key,
                "text": in_reader_language(item.text),
                "place": row["title"],
                "required": question.required,
                "answer": answers.get(place, {}).get(item.key),
                "note": notes.get(place, {}).get(item.key, ""),
                "error": "",
                "note_error": "",
            }
        )
    return list(rows.values())


def open_suggestions(bench: Workbench) -> list[SuggestedError]:
    """Return the errors that the person's edits suggest and that they have neither named nor dropped."""
    if not bench.changed:
        return []
    before, kinds = bench.work.slot.revision.document(), bench.work.protocol.error_type_keys()
    named = {(one["kind"], one["anchor"]) for one in bench.form.get("named_errors", [])}
    dropped = bench.form.get("dropped_errors", {})
    return [
        one
        for one in suggest_errors(diff(before, bench.document), before, bench.document, kinds)
        if (one.kind, one.anchor) not in named and one.key not in dropped
    ]


def _suggested_rows(bench: Workbench) -> list[dict[str, str]]:
    labels = {kind.key: kind.label for kind in bench.work.protocol.taxonomy}
    places = dict(_places(bench))
    return [
        {"key": one.key, "kind": one.kind, "anchor": one.anchor, "label": labels[one.kind], "place": places[one.anchor]}
        for one in open_suggestions(bench)
        if one.anchor in places
    ]


def named_error_rows(bench: Workbench, *, is_open: bool) -> dict[str, Any]:
    """Return the context of the rows of named errors; ``is_open`` shows them even if no error is named yet."""
    named = bench.form.get("named_errors", [])
    blank = [{"kind": "", "anchor": "", "note": ""}] * ERROR_ROWS
    return {
        "named_error_rows": [{**one, "error": ""} for one in [*named, *blank]],
        "named_errors_open": is_open or bool(named),
        "error_types": [(one.key, in_reader_language(one.label)) for one in bench.work.protocol.error_types_in_use()],
        "places": _places(bench),
    }


def _places(bench: Workbench) -> list[tuple[str, str]]:
    """Return (anchor, label) of every place for an error: the parts of the draft, then those the reviewer removed."""
    places = {part.anchor: place_name(bench.document, part.anchor) for part in bench.view.parts}
    if bench.changed:
        seen = bench.work.slot.revision.document()
        for part in present(seen, []).parts:
            removed = _("%(place)s (removed by you)") % {"place": place_name(seen, part.anchor)}
            places.setdefault(part.anchor, removed)
    return list(places.items())
