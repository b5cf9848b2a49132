"""The posted fields of a review's form."""

import json
import re
from collections.abc import Mapping
from typing import Any

from django.http import QueryDict

from annotator.views.pages import PageRequest
from reviews.services.submission.checklists import only_on_no

_KEY_OF_SUGGESTION = re.compile(r"[0-9a-f]{16}")


def checklist_of(filled: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checklist answers to submit, with the notes that the page shows: those on a “No”.

    The note of a “No” that became a “Yes” stays in the form, in case it becomes a “No” again.
    """
    checklist = filled.get("checklist", {})
    return {"checklist": checklist, "notes": only_on_no(checklist, filled.get("notes", {}))}


def filled_in(request: PageRequest) -> dict[str, Any]:
    """Return the posted fields of the review: reason, checklist, named errors, rulings; only those that were sent."""
    posted = request.POST
    out: dict[str, Any] = {}
    if "reason" in posted:
        out["reason"] = posted["reason"].replace("\r\n", "\n").strip()
    checklist: dict[str, dict[str, bool | None]] = {}
    notes: dict[str, dict[str, str]] = {}
    for key in posted:
        # The id of a task may hold colons.
        what, _separator, rest = key.partition(":")
        task, colon, item = rest.rpartition(":")
        if what == "check" and colon:
            checklist.setdefault(task, {})[item] = {"yes": True, "no": False}.get(posted[key])
        elif what == "check-note" and colon:
            notes.setdefault(task, {})[item] = posted[key].strip()
    if checklist:
        out["checklist"] = checklist
    if notes:
        out["notes"] = notes
    if "error-type" in posted:
        rows = zip(
            posted.getlist("error-type"),
            posted.getlist("error-anchor"),
            posted.getlist("error-note"),
            strict=False,
        )
        # An error without a type cannot be submitted yet, but its note is kept.
        out["named_errors"] = [
            {"kind": kind, "anchor": anchor, "note": note} for kind, anchor, note in rows if kind or note.strip()
        ]
    dropped = [key.removeprefix("drop:") for key in posted if key.startswith("drop:")]
    dropped = [key for key in dropped if _KEY_OF_SUGGESTION.fullmatch(key)]
    if dropped:
        # A box that is not ticked is not sent: a suggestion that was dropped stays dropped.
        out["dropped_errors"] = dict.fromkeys(dropped, True)
    rulings = {}
    for key in posted:
        if key.startswith("why:"):
            # The choice may come last; what was typed before it is kept.
            anchor = key.removeprefix("why:")
            rulings[anchor] = {
                "choice": posted.get(f"ruling:{anchor}", ""),
                "value": _third(posted, anchor),
                "reason_kind": posted.get(f"why:{anchor}", ""),
                "reason": posted.get(f"note:{anchor}", "").strip(),
                "follow": f"follow:{anchor}" in posted,
            }
    if rulings:
        out["rulings"] = rulings
    session = posted.get("review-session", "")
    if session.isascii() and session.isdigit() and len(session) < 19:
        out["review_session"] = {
            "session": int(session),
            "people": posted.getlist("present"),
            "note": posted.get("session-note", "").replace("\r\n", "\n").strip(),
        }
    return out


def _third(posted: QueryDict, anchor: str) -> str:
    """Return a third version as typed; for dependencies the selected list as JSON."""
    if f"deps:{anchor}" not in posted:
        return posted.get(f"third:{anchor}", "").replace("\r\n", "\n")
    chosen = [text.rpartition(" ") for text in posted.getlist(f"dep:{anchor}") if " " in text]
    return json.dumps([{"id": step, "kind": kind} for step, _, kind in chosen])
