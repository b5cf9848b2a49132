"""The form of a review in two windows: what a window says of what it shows, and the question which version stays."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from annotator.core.comparison import describe
from annotator.errors import Conflict, DomainError
from annotator.views.pages import PageRequest
from reviews.models import ReviewDraft, Verdict
from reviews.services.adjudication import review_sessions
from reviews.services.submission.review_forms import Kept, Place, Window
from reviews.services.submission.workbench import Workbench

_CHOICES = {"left": "Left", "right": "Right", "third": "A third version", "none": "Neither"}
#: Saves that may be on their way at once; more have certainly arrived or never will.
_EDITS = 50


def window_of(request: PageRequest) -> Window | None:
    """What the window that has sent a form knows; None for one that says nothing of it."""
    seen = _number(request.POST.get("kept", ""))
    if seen is None:
        return None
    edits = [one for one in request.POST.get("edits", "").split() if one.isascii() and one.isalnum() and len(one) < 40]
    over = _number(request.POST.get("over", ""))
    return Window(seen, tuple(edits[-_EDITS:]), -1 if over is None else over)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def is_kept(response: HttpResponse, kept: Kept) -> HttpResponse:
    """The answer to a window whose form is stored: with its version, if the window shows what is stored."""
    if kept.shown:
        response["X-Form-Version"] = str(kept.version)
    return response


def require_shown(kept: Kept) -> None:
    """Nobody hands in what they have not seen. Raises Conflict."""
    if not kept.shown:
        raise Conflict(
            "What you filled in was changed in another window since this page was loaded. It stands below as it is "
            "now, with what you changed here; look at it, then submit."
        )


def refusal_words(error: DomainError, bench: Workbench, seen: int) -> str:
    """Why what was handed in is refused; also that the draft has moved, as the page that comes back shows it."""
    if bench.draft.version == seen or error.sentence.startswith("The draft was changed"):
        return error.sentence
    return f"{error.sentence} The draft was changed in another window as well; look at it, too."


def ask(request: PageRequest, bench: Workbench, conflict: Conflict, page_url: str) -> HttpResponse:
    """To a form that saves itself: what differs, and which version is to stay."""
    context = {"disputed": disputed(request, bench, conflict, keep_url=request.path, page_url=page_url)}
    return render(request, "reviews/workspace/form_conflict.html", context, status=conflict.status)


def disputed(
    request: PageRequest, bench: Workbench, refused: DomainError | None, *, keep_url: str, page_url: str
) -> dict[str, Any] | None:
    """What ``form_conflict.html`` asks with; the bench's form is then what was typed, not what is stored."""
    window = window_of(request)
    if refused is None or window is None or "places" not in refused.details:
        return None
    details = refused.details
    bench.kept = ReviewDraft(form=details["form"], version=window.seen)
    verdict = request.POST.get("verdict", "")
    rows = [
        {
            "place": _words(bench, place, verdict),
            "stored": _value(bench, place, stored),
            "mine": _value(bench, place, mine),
        }
        for place, stored, mine in details["places"]
    ]
    return {
        "rows": rows,
        "version": details["version"],
        "sentence": refused.sentence,
        "keep_url": keep_url,
        "page_url": page_url,
    }


def reason_label(bench: Workbench, verdict: str) -> str:
    """What the form of a review, or of a settlement, calls the field of its reason."""
    if bench.work.slot.stage_run.disputed_run:
        return "In a sentence: what the two should know"
    refuses = verdict in (Verdict.REJECT, Verdict.ESCALATE)
    return "Why?" if refuses else "Anything the others should know"


def _words(bench: Workbench, place: Place, verdict: str) -> str:
    name, *keys = place
    if name in ("checklist", "notes"):
        items = {item.key: item.text for item in bench.stage.checklist.items}
        numbers = {task.id: f"task {task.number}" for task in bench.view.tasks}
        note = "Note on " if name == "notes" else ""
        return f"{note}“{items.get(keys[-1], keys[-1])}”, {numbers.get(keys[0], 'the dialogue')}"
    if name == "rulings":
        return f"Ruling on {describe(bench.document, keys[0])}"
    if name == "review_session":
        return {"people": "Decided together", "note": "Note for the record"}.get(keys[0], "Review session")
    return "What was wrong" if name == "named_errors" else reason_label(bench, verdict)


def _value(bench: Workbench, place: Place, value: Any) -> str:
    kinds = {kind.key: kind.label for kind in bench.work.protocol.taxonomy}
    if value is None:
        return ""
    if place[0] == "checklist":
        return "yes" if value else "no"
    if place[0] == "named_errors":
        return "\n".join(
            f"{kinds.get(one['kind'], 'no kind')}, "
            f"{describe(bench.document, one['anchor']) if one['anchor'] else 'the whole dialogue'}: {one['note']}"
            for one in value
        )
    if place[0] == "rulings":
        third = value["value"] if value["choice"] in ("", "third") else ""
        parts = [
            _CHOICES.get(value["choice"], "No choice"),
            third,
            kinds.get(value["reason_kind"], ""),
            value["reason"],
        ]
        return "\n".join(filter(None, [*parts, "The same reason for all that follow" if value["follow"] else ""]))
    if place == ("review_session", "people"):
        return ", ".join(
            str(one) for one in review_sessions.members_of(bench.dialogue.project) if one.public_id in value
        )
    return str(value)
