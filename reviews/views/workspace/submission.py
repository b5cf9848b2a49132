"""From a draft to a verdict: the form of the review, the submit page, and the merge with a newer revision."""

import json
from collections.abc import Mapping
from typing import Any

import orjson
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotator.core.comparison import describe, value_text
from annotator.core.comparison.field_titles import describe_changes_titled, titled
from annotator.errors import Conflict, DomainError
from annotator.presentation.document import present
from annotator.services.custom_fields import fields_of
from annotator.services.database.filters import one_of
from annotator.services.dialogues import drafts
from annotator.views.pages import PageRequest, takes
from reviews.models import Verdict
from reviews.services.queue import claims
from reviews.services.queue.training_claims import is_training_slot
from reviews.services.submission import submit as submissions
from reviews.services.submission.checklists import without_yes
from reviews.services.submission.review_forms import store_form
from reviews.services.submission.workbench import Workbench, open_workbench, require_draft_version
from reviews.views.refused_claims import redirect_refused
from reviews.views.workspace.context import claim_to_submit, seen_version, workbench_context
from reviews.views.workspace.form_versions import (
    ask,
    disputed,
    is_kept,
    reason_label,
    refusal_words,
    require_shown,
    window_of,
)

#: Empty rows for errors; a button adds more.
ERROR_ROWS = 3
#: Conflicts of a merge on one page: Django accepts a few thousand fields in a form.
CONFLICTS = 100
_SIDES = ("mine", "theirs")


@login_required
@require_POST
def review_form(request: PageRequest, slot: str) -> HttpResponse:
    """Save the form of the review (autosave)."""
    bench = open_workbench(actor=request.user, slot_id=slot)
    try:
        kept = store_form(actor=request.user, work=bench.work, changes=filled_in(request), window=window_of(request))
    except Conflict as conflict:
        return ask(request, bench, conflict, _submit_url(request, bench))
    if {"over", "more"} & request.POST.keys() and not request.htmx:
        return redirect(_submit_url(request, bench))
    return is_kept(HttpResponse(status=204), kept)


@login_required
@require_http_methods(["GET", "POST"])
@takes("verdict")
def submit(request: PageRequest, slot: str) -> HttpResponse:
    """Show the submit page (changes, findings, checklist, reason), or submit the review."""
    bench = open_workbench(actor=request.user, slot_id=slot)
    if bench.disputed:
        # Only the page of the dispute has the rulings and the people present in a review session.
        return redirect("workspace-settle", slot=slot)
    refused: DomainError | None = None
    seen = seen_version(request, bench.draft)
    window = window_of(request)
    verdict = request.POST.get("verdict") or one_of(request.GET, "verdict", [*Verdict])
    if verdict not in set(Verdict):
        verdict = ""
    if request.method == "POST":
        claim = claim_to_submit(request, bench)
        try:
            kept = store_form(actor=request.user, work=bench.work, changes=filled_in(request), window=window)
            require_shown(kept)
            filled = kept.form
            require_draft_version(bench.draft, seen)
            submissions.submit_review(
                actor=request.user,
                slot=bench.work.slot,
                token=bench.work.claim.token,
                claim=claim,
                verdict=verdict,
                draft=bench.draft,
                **checklist_of(filled),
                named_errors=filled.get("named_errors", []),
                reason=filled.get("reason", ""),
                rulings=filled.get("rulings", {}),
            )
        except DomainError as error:
            refused = error
            bench = open_workbench(actor=request.user, slot_id=slot)
        else:
            return after_submission(request, bench)
    keep_url = reverse("workspace-form", args=[slot])
    question = disputed(request, bench, refused, keep_url=keep_url, page_url=_submit_url(request, bench))
    context = workbench_context(request, bench)
    context |= {
        "verdict": verdict,
        "disputed": question,
        "refused": refusal_words(refused, bench, seen) if refused else "",
        "changes": describe_changes_titled(
            bench.work.slot.revision.document(), bench.document, fields_of(bench.work.slot.project)
        ),
        "chosen": next((one for one in context["verdicts"] if one["value"] == verdict), None),
        "approving": verdict in (Verdict.APPROVE, Verdict.FIX),
        "reason_label": reason_label(bench, verdict),
        "checklist": checklist_rows(bench),
    } | named_error_rows(bench, is_open=verdict != Verdict.APPROVE)
    return render(request, "reviews/workspace/submit.html", context, status=refused.status if refused else 200)


def _submit_url(request: PageRequest, bench: Workbench) -> str:
    verdict = request.POST.get("verdict", "")
    chosen = f"?verdict={verdict}" if verdict in set(Verdict) else ""
    return reverse("workspace-submit", args=[bench.work.slot.public_id]) + chosen


@login_required
@require_http_methods(["GET", "POST"])
def merge(request: PageRequest, slot: str) -> HttpResponse:
    """Merge the draft with a newer revision of its dialogue."""
    bench = open_workbench(actor=request.user, slot_id=slot)
    if not bench.outdated:
        return redirect("workspace", slot=slot)
    onto = bench.onto
    here = {key.removeprefix("choice:"): side for key, side in request.POST.items() if key.startswith("choice:")}
    decided = _decided(request.POST.get("decided", "")) | here
    choices = {anchor: str(side) for anchor, side in decided.items() if side in _SIDES}
    # Choices about a version that the person has not seen do not count.
    onto_changed = request.POST.get("onto", onto.public_id) != onto.public_id
    if onto_changed:
        choices = {}
    if request.method == "POST" and not onto_changed:
        rest = request.POST.get("rest", "")
        _draft, conflicts = drafts.rebase_draft(
            actor=request.user, draft=bench.draft, onto=onto, choices=choices, otherwise=rest if rest in _SIDES else ""
        )
        if not conflicts:
            messages.success(request, _("Merged. Check the result before you go on."))
            return redirect("workspace", slot=slot)
    else:
        conflicts = drafts.preview_rebase(draft=bench.draft, onto=onto)
    fields = fields_of(bench.work.slot.project)
    context = workbench_context(request, bench)
    context |= {
        "onto": onto,
        "onto_changed": onto_changed,
        "conflicts": [
            {
                "anchor": c.anchor,
                "place": titled(describe(bench.document, c.anchor), c.anchor, fields),
                "reason": c.reason,
                "mine": value_text(c.mine),
                "theirs": value_text(c.theirs),
                "choice": choices.get(c.anchor, ""),
            }
            for c in conflicts[:CONFLICTS]
        ],
        # The form carries the choices of the earlier pages.
        "decided": orjson.dumps(choices).decode(),
        "more": max(0, len(conflicts) - CONFLICTS),
        "theirs": describe_changes_titled(bench.draft.base.document(), onto.document(), fields),
        "mine": describe_changes_titled(bench.draft.base.document(), bench.document, fields),
    }
    return render(request, "reviews/workspace/merge.html", context, status=409 if request.method == "POST" else 200)


def _decided(text: str) -> dict[str, Any]:
    try:
        read = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        return {}
    return read if isinstance(read, dict) else {}


def after_submission(request: PageRequest, bench: Workbench) -> HttpResponse:
    slot = bench.work.slot
    if is_training_slot(slot):
        # The comparison with the known answer says more than a message.
        return redirect("training-result", slug=slot.project.slug, result=slot.public_id)
    messages.success(request, _("%(dialogue)s submitted.") % {"dialogue": slot.dialogue.external_id})
    if "stay" in request.POST:
        return redirect("home")
    try:
        claim = claims.claim_next(actor=request.user, project=slot.project, stage=slot.stage)
    except Conflict as error:
        return redirect_refused(request, slot.project, error)
    if claim is None:
        messages.info(request, _("You have finished all your items in this stage."))
        return redirect("home")
    return redirect("workspace", slot=claim.slot.public_id)


def checklist_of(filled: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checklist answers to submit. The note of a “No” that became a “Yes” stays in the form only."""
    checklist = filled.get("checklist", {})
    return {"checklist": checklist, "notes": without_yes(checklist, filled.get("notes", {}))}


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


def checklist_rows(bench: Workbench) -> list[dict[str, Any]]:
    """Return the stage's checklist as rows of questions: for the dialogue, then for each task."""
    answers, notes = bench.form.get("checklist", {}), bench.form.get("notes", {})
    places = [("dialogue", _("The dialogue"), False)]
    places += [(task.id, _("Task %(number)s") % {"number": task.number}, True) for task in bench.view.tasks]
    rows = []
    for key, title, per_task in places:
        items = [
            {
                "key": item.key,
                "text": item.text,
                "answer": answers.get(key, {}).get(item.key),
                "note": notes.get(key, {}).get(item.key, ""),
            }
            for item in bench.stage.checklist.items
            if item.per_task is per_task
        ]
        if items:
            rows.append({"key": key, "title": title, "items": items})
    return rows


def named_error_rows(bench: Workbench, *, is_open: bool) -> dict[str, Any]:
    """Return the context of the rows of named errors; ``is_open`` shows them even if no error is named yet."""
    named = bench.form.get("named_errors", [])
    return {
        "named_error_rows": [*named, *({"kind": "", "anchor": "", "note": ""} for _ in range(ERROR_ROWS))],
        "named_errors_open": is_open or bool(named),
        "taxonomy": bench.work.protocol.error_types_in_use(),
        "places": _places(bench),
    }


def _places(bench: Workbench) -> list[tuple[str, str]]:
    """Return (anchor, label) of every place for an error: the parts of the draft, then those the reviewer removed."""
    places = {part.anchor: describe(bench.document, part.anchor) for part in bench.view.parts}
    if bench.changed:
        seen = bench.work.slot.revision.document()
        for part in present(seen, []).parts:
            removed = _("%(place)s (removed by you)") % {"place": describe(seen, part.anchor)}
            places.setdefault(part.anchor, removed)
    return list(places.items())
