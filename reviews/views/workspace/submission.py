"""From a draft to a verdict: the form of the review, the Review tab, and the merge with a newer revision."""

from typing import Any

import orjson
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotator.errors import Conflict, DomainError, Invalid
from annotator.presentation.changes import change_lines, value_as_text
from annotator.services.custom_fields import fields_of
from annotator.services.database.filters import one_of
from annotator.services.dialogues import drafts
from annotator.translation import place_name
from annotator.views.pages import PageRequest, takes
from reviews.core.protocols import StageKind
from reviews.models import Review, Verdict
from reviews.services.protocols.readers import in_reader_language
from reviews.services.queue import claims
from reviews.services.queue.claim_rows import stage_of
from reviews.services.queue.training_claims import is_training_slot
from reviews.services.submission import submit as submissions
from reviews.services.submission.answer_times import read_times
from reviews.services.submission.review_forms import store_form
from reviews.services.submission.take_back import can_take_back
from reviews.services.submission.workbench import Workbench, open_workbench, require_draft_version
from reviews.views.refused_claims import redirect_refused
from reviews.views.workspace.context import claim_to_submit, seen_version, workbench_context
from reviews.views.workspace.form_versions import ask, disputed, is_kept, require_shown, window_of
from reviews.views.workspace.leaving import undo_url
from reviews.views.workspace.page import update_page
from reviews.views.workspace.refused_fields import refused_fields, show_beside
from reviews.views.workspace.review_fields import checklist_of, filled_in
from reviews.views.workspace.review_tab import open_suggestions

#: Conflicts of a merge on one page: Django accepts a few thousand fields in a form.
CONFLICTS = 100
_SIDES = ("mine", "theirs")


@login_required
@require_POST
def review_form(request: PageRequest, slot: str) -> HttpResponse:
    """Save the form of the review (autosave)."""
    bench = open_workbench(actor=request.user, slot_id=slot)
    changes = filled_in(request)
    accepted = next((one for one in open_suggestions(bench) if one.key == request.POST.get("accept")), None)
    if accepted is not None:
        # Without scripts. The page itself adds a row to the form.
        named = {"kind": accepted.kind, "anchor": accepted.anchor, "note": ""}
        changes["named_errors"] = [*changes.get("named_errors", []), named]
    try:
        kept = store_form(actor=request.user, work=bench.work, changes=changes, window=window_of(request))
    except Conflict as conflict:
        return ask(request, bench, conflict, _submit_url(request, bench))
    if {"over", "more", "accept"} & request.POST.keys() and not request.htmx:
        return redirect(_submit_url(request, bench))
    return is_kept(HttpResponse(status=204), kept)


@login_required
@require_http_methods(["GET", "POST"])
@takes("verdict", "at")
def submit(request: PageRequest, slot: str) -> HttpResponse:
    """Show the workspace with the Review tab open and a verdict chosen, or submit the review."""
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
            _require_no_tag(bench, verdict, filled.get("named_errors", []))
            review = submissions.submit_review(
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
                answer_times=read_times(request.POST.get("answer_times", "")),
            )
        except DomainError as error:
            refused = error
            bench = open_workbench(actor=request.user, slot_id=slot)
        else:
            return after_submission(request, bench, review)
    keep_url = reverse("workspace-form", args=[slot])
    question = disputed(request, bench, refused, keep_url=keep_url, page_url=_submit_url(request, bench))
    at = (request.POST if request.method == "POST" else request.GET).get("at")
    context = workbench_context(request, bench, at=at, panel="review", verdict=verdict)
    if request.htmx:
        return update_page(request, bench, context, inspector=True)
    context["disputed"] = question
    if refused:
        show_beside(context, refused_fields(refused, bench, seen))
    return render(request, "reviews/workspace/page.html", context, status=refused.status if refused else 200)


def _require_no_tag(bench: Workbench, verdict: str, named_errors: list[dict[str, Any]]) -> None:
    """Refuse to approve the unchanged dialogue with a tagged error, such as one whose edit was undone."""
    if named_errors and verdict == Verdict.APPROVE and not bench.changed:
        sentence = _(
            "You tagged an error, but approve the dialogue unchanged. Remove the tag, correct the error, or choose "
            "another verdict."
        )
        raise Invalid(sentence, named_error=0)


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
                "place": place_name(bench.document, c.anchor, fields),
                "reason": c.reason,
                "mine": value_as_text(c.anchor, c.mine, fields),
                "theirs": value_as_text(c.anchor, c.theirs, fields),
                "choice": choices.get(c.anchor, ""),
            }
            for c in conflicts[:CONFLICTS]
        ],
        # The form carries the choices of the earlier pages.
        "decided": orjson.dumps(choices).decode(),
        "more": max(0, len(conflicts) - CONFLICTS),
        "theirs": change_lines(bench.draft.base.document(), onto.document(), fields),
        "mine": change_lines(bench.draft.base.document(), bench.document, fields),
    }
    return render(request, "reviews/workspace/merge.html", context, status=409 if request.method == "POST" else 200)


def _decided(text: str) -> dict[str, Any]:
    try:
        read = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        return {}
    return read if isinstance(read, dict) else {}


def after_submission(request: PageRequest, bench: Workbench, review: Review | None = None) -> HttpResponse:
    """Open the next item of the stage, or of another stage (not after expert work), or My work.

    The notice offers to take the ``review`` back while that is possible.
    """
    slot = bench.work.slot
    if is_training_slot(slot):
        # The comparison with the known answer says more than a message.
        return redirect("training-result", slug=slot.project.slug, result=slot.public_id)
    if review is not None and can_take_back(review):
        sentence, undo = _("%(dialogue)s submitted."), undo_url(slot.public_id, request.POST.get("at", ""))
    elif review is not None and review.verdict == Verdict.REJECT:
        sentence, undo = _("%(dialogue)s rejected. Its stage has ended, so this can’t be undone."), ""
    else:
        sentence, undo = _("%(dialogue)s submitted. Its stage has ended, so this can’t be undone."), ""
    messages.success(request, sentence % {"dialogue": slot.dialogue.external_id}, extra_tags=undo)
    if "stay" in request.POST:
        return redirect("home")
    try:
        claim = claims.claim_next(actor=request.user, project=slot.project, stage=slot.stage)
        if claim is None:
            sentence = _("You have finished all your items in this stage.")
            # Senior reviewers choose what they do between disputes.
            if bench.stage.kind is not StageKind.EXPERT:
                claim = claims.claim_next(actor=request.user, project=slot.project)
            if claim is not None:
                other = _("The next one is from “%(stage)s”. To give it back, release it.")
                title = in_reader_language(stage_of(claim.slot).title)
                sentence = f"{sentence} {other % {'stage': title}}"
            messages.info(request, sentence)
    except Conflict as error:
        return redirect_refused(request, slot.project, error)
    if claim is None:
        return redirect("home")
    return redirect("workspace", slot=claim.slot.public_id)
