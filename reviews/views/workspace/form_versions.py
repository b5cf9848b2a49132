"""The form of one review in two windows: versions, conflicts, and the question of which one to keep."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotator.errors import Conflict, DomainError
from annotator.translation import place_name
from annotator.views.pages import PageRequest
from reviews.models import Review, ReviewDraft, Verdict
from reviews.services.adjudication import review_sessions
from reviews.services.submission.review_forms import FieldPath, FormWindow, StoredForm
from reviews.services.submission.workbench import DraftChanged, Workbench

#: The choices of a ruling.
RULING_CHOICES = {
    "left": gettext_lazy("Left version"),
    "right": gettext_lazy("Right version"),
    "third": gettext_lazy("A third version"),
    "none": gettext_lazy("Neither"),
}
#: Saves that may be in flight at once.
_EDITS = 50


def window_of(request: PageRequest) -> FormWindow | None:
    """Return which version of the form the sending window shows; None if it does not say."""
    seen = _number(request.POST.get("kept", ""))
    if seen is None:
        return None
    edits = [one for one in request.POST.get("edits", "").split() if one.isascii() and one.isalnum() and len(one) < 40]
    over = _number(request.POST.get("over", ""))
    return FormWindow(seen, tuple(edits[-_EDITS:]), -1 if over is None else over)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def is_kept(response: HttpResponse, kept: StoredForm) -> HttpResponse:
    """Add the stored version to the response if the window shows what is stored."""
    if kept.shown:
        response["X-Form-Version"] = str(kept.version)
    return response


def require_shown(kept: StoredForm) -> None:
    """Refuse a form that holds changes of another window. Raises Conflict."""
    if not kept.shown:
        raise Conflict(
            _("This form was changed in another window. It now shows both versions. Check it, then submit again.")
        )


def refusal_words(error: DomainError, bench: Workbench, seen: int) -> str:
    """Return why the review was refused, and whether the draft has changed as well."""
    if bench.draft.version == seen or isinstance(error, DraftChanged):
        return error.sentence
    return error.sentence + " " + _("The draft was also changed in another window. Check it, too.")


def ask(request: PageRequest, bench: Workbench, conflict: Conflict, page_url: str) -> HttpResponse:
    """Ask which version to keep, in response to a form that saves itself."""
    context = {"disputed": disputed(request, bench, conflict, keep_url=request.path, page_url=page_url)}
    return render(request, "reviews/workspace/form_conflict.html", context, status=conflict.status)


def disputed(
    request: PageRequest, bench: Workbench, refused: DomainError | None, *, keep_url: str, page_url: str
) -> dict[str, Any] | None:
    """Return the context of ``form_conflict.html``, and set the bench's form to what was typed."""
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
    """Return the label of the reason field."""
    disputed_run = bench.work.slot.stage_run.disputed_run
    if disputed_run:
        number = Review.objects.filter(stage_run=disputed_run, sealed=False).count()
        if number == 2:
            return _("Note to both reviewers")
        return _("Note to the reviewer") if number < 2 else _("Note to all reviewers")
    refuses = verdict in (Verdict.REJECT, Verdict.ESCALATE)
    return _("Reason") if refuses else _("Note to the others (optional)")


def _words(bench: Workbench, place: FieldPath, verdict: str) -> str:
    name, *keys = place
    if name in ("checklist", "notes"):
        items = {item.key: item.text for item in bench.stage.checklist.items}
        numbers = {task.id: _("task %(number)s") % {"number": task.number} for task in bench.view.tasks}
        text = _("Note on “%(question)s”, %(place)s") if name == "notes" else _("“%(question)s”, %(place)s")
        return text % {
            "question": items.get(keys[-1], keys[-1]),
            "place": numbers.get(keys[0], _("the whole dialogue")),
        }
    if name == "rulings":
        return _("Decision on %(place)s") % {"place": place_name(bench.document, keys[0])}
    if name == "review_session":
        return {"people": _("Decided together"), "note": _("Note for the record")}.get(keys[0], _("Review session"))
    return _("Errors found") if name in ("named_errors", "dropped_errors") else reason_label(bench, verdict)


def _value(bench: Workbench, place: FieldPath, value: Any) -> str:
    kinds = {kind.key: kind.label for kind in bench.work.protocol.taxonomy}
    if value is None:
        return ""
    if place[0] == "checklist":
        return _("Yes") if value else _("No")
    if place[0] == "named_errors":
        return "\n".join(
            f"{kinds.get(one['kind'], _('no error type'))}, "
            f"{place_name(bench.document, one['anchor']) if one['anchor'] else _('the whole dialogue')}: {one['note']}"
            for one in value
        )
    if place[0] == "rulings":
        third = value["value"] if value["choice"] in ("", "third") else ""
        parts = [
            str(RULING_CHOICES.get(value["choice"], _("No choice"))),
            third,
            kinds.get(value["reason_kind"], ""),
            value["reason"],
        ]
        return "\n".join(filter(None, [*parts, _("Same reason for all that follow") if value["follow"] else ""]))
    if place == ("review_session", "people"):
        return ", ".join(
            str(one) for one in review_sessions.members_of(bench.dialogue.project) if one.public_id in value
        )
    return str(value)
