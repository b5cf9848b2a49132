"""The workspace of one claimed slot: dialogue, editors, findings and verdict buttons.

Every edit is one POST that changes the stored draft. htmx receives the parts that changed; a browser without JavaScript
is redirected to the page.
"""

import json
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotator.core.comparison import lookup
from annotator.core.editing.scope import line_ends
from annotator.errors import Conflict, DomainError
from annotator.models import Draft
from annotator.presentation.dialogue import pretty
from annotator.presentation.findings import find_alike
from annotator.services.database.filters import one_of
from annotator.services.dialogues import drafts
from annotator.services.dialogues.suggestion_decisions import accept_suggestion, refuse_suggestion
from annotator.services.maintenance import works_in_maintenance
from annotator.translation import place_name
from annotator.views.pages import PageRequest, project_page, read_notices, takes
from reviews.services.feedback import comments
from reviews.services.queue import claims
from reviews.services.queue.slot_work import load_slot_work
from reviews.services.submission import waivers
from reviews.services.submission.workbench import Workbench
from reviews.views.comment_context import with_mention
from reviews.views.refused_claims import redirect_refused
from reviews.views.workspace.context import PANELS, active_seconds, seen_version, workbench_context
from reviews.views.workspace.graph import open_bench, refused_edge
from reviews.views.workspace.leaving import undo_url
from reviews.views.workspace.next_item import is_asked_for, next_item
from reviews.views.workspace.operations import operation_of
from reviews.views.workspace.shown_dialogue import name_shown, outdated_tasks
from reviews.views.workspace.toolset_editor import function_editor

#: Edits of one field; the inspector keeps its shape.
_TYPED = ("set", "set_arguments", "set_observation", "set_json", "set_code", "set_category")


@project_page
@require_POST
def work_next(request: PageRequest) -> HttpResponse:
    """Claim the next item, of one stage or the most urgent of all, and open it."""
    stage = request.POST.get("stage") or None
    try:
        claim = claims.claim_next(actor=request.user, project=request.project, stage=stage)
    except Conflict as error:
        return redirect_refused(request, request.project, error)
    if claim is None:
        messages.info(
            request,
            _("No items for you right now. New items appear as your colleagues finish theirs."),
        )
        return redirect("home")
    return redirect("workspace", slot=claim.slot.public_id)


@login_required
@never_cache
@require_safe
@takes("at", "panel", "example")
def workspace(request: PageRequest, slot: str) -> HttpResponse:
    """Show the workspace, or (to htmx) the inspector for another place. A dispute redirects to its own page."""
    bench = open_bench(request, slot)
    read_notices(request)
    if bench.disputed and not request.GET:
        return redirect("workspace-settle", slot=slot)
    context = workbench_context(request, bench, at=request.GET.get("at"), panel=one_of(request.GET, "panel", PANELS))
    if request.htmx and context["reference"]:
        return render(request, "reviews/workspace/reference/body.html", context)
    if request.htmx:
        return update_page(request, bench, context, inspector=True)
    if is_asked_for(request):
        return next_item(request, context)
    return render(request, "reviews/workspace/page.html", context)


@login_required
@require_POST
def edit(request: PageRequest, slot: str) -> HttpResponse:
    """Apply one edit to the draft."""
    bench = open_bench(request, slot)
    seen = seen_version(request, bench.draft)
    operation: dict[str, Any] = {}
    try:
        operation = operation_of(request.POST, bench.document, bench.toolset)
        edited = drafts.edit_draft(
            actor=request.user,
            draft=bench.draft,
            operation=operation,
            seen=seen,
            edit_id=request.POST.get("edit", ""),
        )
    except DomainError as error:
        return _refused(request, bench, error, operation)
    # The page already shows what was typed. The inspector is replaced only if the edit changes its shape, or if another
    # window has changed the draft in between.
    other_kind = request.POST.get("as") != request.POST.get("was")
    elsewhere = seen != bench.draft.version
    shape = operation["op"] not in _TYPED or "reshape" in request.POST or other_kind or elsewhere
    panel = request.POST.get("panel")
    at = edited.anchor if shape and not panel else request.POST.get("at")
    return _answer(request, bench, edited.draft, at=at, panel=panel, inspector=shape)


@login_required
@require_POST
def history(request: PageRequest, slot: str, action: str) -> HttpResponse:
    """Undo, redo or reset."""
    bench = open_bench(request, slot)
    at, sentence = request.POST.get("at"), ""
    try:
        if action == "reset":
            draft = drafts.reset_draft(actor=request.user, draft=bench.draft)
        else:
            edited, sentence = _undo_or_redo(request, bench, action)
            # A comment that is being written stays about its place.
            stays = request.POST.get("panel") == "comments"
            draft, at = edited.draft, at if stays else edited.anchor or at
    except DomainError as error:
        return _refused(request, bench, error)
    response = _answer(request, bench, draft, at=at, panel=request.POST.get("panel"), inspector=True)
    if sentence:
        place = place_name(draft.document(), edited.anchor)
        response["HX-Trigger"] = json.dumps({"assay:toast": {"text": sentence % {"place": place}}})
    return response


def _undo_or_redo(request: PageRequest, bench: Workbench, action: str) -> tuple[drafts.Edited, str]:
    """Return the draft, and what to say if the place that has changed may be out of sight."""
    step: dict[str, Any] = {"actor": request.user, "draft": bench.draft, "edit_id": request.POST.get("edit", "")}
    if action == "redo":
        edited, sentence = drafts.redo(**step), _("Redone: a change at %(place)s.")
    else:
        waived = waivers.undo_waivers(work=bench.work, **step)
        if waived is not None:
            return waived, _("Undone: the waiver at %(place)s. The warning counts again.")
        edited, sentence = drafts.undo(**step), _("Undone: a change at %(place)s.")
    return edited, "" if edited.anchor.startswith(request.POST.get("at") or "/") else sentence


@works_in_maintenance
@login_required
@require_POST
def heartbeat(request: PageRequest, slot: str) -> HttpResponse:
    """Extend the claim; say so if it was lost, unless the page is being closed."""
    try:
        work = load_slot_work(actor=request.user, public_id=slot)
        claims.heartbeat(actor=request.user, token=work.claim.token, active_seconds=active_seconds(request))
    except DomainError:
        if "leaving" not in request.POST:
            raise
    return HttpResponse(status=204)


@login_required
@require_POST
def leave(request: PageRequest, slot: str, action: str) -> HttpResponse:
    """Release the item, or skip it for now. The draft is kept."""
    work = load_slot_work(actor=request.user, public_id=slot)
    project = work.slot.project
    undo = undo_url(slot, request.POST.get("at", ""))
    if action == "skip":
        claims.skip(actor=request.user, token=work.claim.token)
        try:
            claim = claims.claim_next(actor=request.user, project=project, stage=work.slot.stage)
        except Conflict as error:
            return redirect_refused(request, project, error, before=_("Skipped. Your draft is kept."), undo=undo)
        if claim is not None and claim.slot.stage_run_id != work.slot.stage_run_id:
            messages.info(request, _("Skipped. Your draft is kept. This is the next item."), extra_tags=undo)
            return redirect("workspace", slot=claim.slot.public_id)
        if claim is not None:
            claims.release(actor=request.user, token=claim.token)
        sentence = _("Skipped. Your draft is kept. This stage has no other item for you right now.")
        messages.info(request, sentence, extra_tags=undo)
    else:
        claims.release(actor=request.user, token=work.claim.token)
        sentence = _("Released. Your draft is kept in case you claim the item again.")
        messages.info(request, sentence, extra_tags=undo)
    return redirect("home")


@login_required
@require_POST
def waive(request: PageRequest, slot: str) -> HttpResponse:
    """Waive a warning with a reason, or all of one check."""
    bench = open_bench(request, slot)
    key = (request.POST.get("check", ""), request.POST.get("anchor", ""), request.POST.get("value_hash", ""))
    finding = next((f for f in bench.view.warnings if (f.check, f.anchor, f.value_hash) == key), None)
    try:
        if "waive-key:shown" in request.POST:
            waivers.waive_alike(
                actor=request.user,
                work=bench.work,
                keys=find_alike(bench.view.findings, key[0]),
                shown=request.POST["waive-key:shown"],
                reason=request.POST.get("reason", ""),
            )
            return _answer(request, bench, bench.draft, at=request.POST.get("at"), panel="findings", inspector=True)
        if finding is None:
            raise Conflict(_("This warning no longer exists because its value has changed."))
        waivers.waive(
            actor=request.user,
            work=bench.work,
            check=finding.check,
            anchor=finding.anchor,
            value_hash=finding.value_hash,
            reason=request.POST.get("reason", ""),
        )
    except DomainError as error:
        return _refused(request, bench, error)
    at, panel = request.POST.get("at"), request.POST.get("panel")
    return _answer(request, bench, bench.draft, at=at, panel=panel, inspector=True)


@login_required
@require_POST
def unwaive(request: PageRequest, slot: str) -> HttpResponse:
    """Take back the waiver of a warning."""
    bench = open_bench(request, slot)
    try:
        waivers.unwaive(
            actor=request.user,
            work=bench.work,
            check=request.POST.get("check", ""),
            anchor=request.POST.get("anchor", ""),
            value_hash=request.POST.get("value_hash", ""),
        )
    except DomainError as error:
        return _refused(request, bench, error)
    at, panel = request.POST.get("at"), request.POST.get("panel")
    return _answer(request, bench, bench.draft, at=at, panel=panel, inspector=True)


@login_required
@require_POST
def comment(request: PageRequest, slot: str) -> HttpResponse:
    """Comment on the selected place. The same text sent twice after a lost response makes one comment."""
    bench = open_bench(request, slot)
    comment = {
        "anchor": request.POST.get("anchor", ""),
        "text": with_mention(request.POST.get("text", ""), request.POST.get("mention", "")),
        "reply_to": request.POST.get("reply_to", ""),
    }
    try:
        comments.add_comment_once(actor=request.user, work=bench.work, **comment)
    except DomainError as error:
        return _refused(request, bench, error)
    return _answer(request, bench, bench.draft, at=request.POST.get("at"), panel="comments", inspector=True)


@login_required
@require_POST
def comment_change(request: PageRequest, slot: str, public_id: str) -> HttpResponse:
    """Resolve a comment; with ``reopen``, open it again; with ``text``, change one's own."""
    bench = open_bench(request, slot)
    which: dict[str, Any] = {"actor": request.user, "public_id": public_id, "dialogue": bench.dialogue}
    try:
        if "text" in request.POST:
            comments.edit_comment(**which, text=line_ends(request.POST["text"]))
        else:
            comments.resolve_comment(**which, reopen="reopen" in request.POST)
    except DomainError as error:
        return _refused(request, bench, error)
    return _answer(request, bench, bench.draft, at=request.POST.get("at"), panel="comments", inspector=True)


@login_required
@require_POST
def suggestion(request: PageRequest, slot: str, public_id: str, action: str) -> HttpResponse:
    """Accept a suggestion, which makes its value the person's own, or refuse it."""
    bench = open_bench(request, slot)
    draft, at = bench.draft, request.POST.get("at")
    try:
        if action == "accept":
            draft = accept_suggestion(
                actor=request.user,
                draft=draft,
                public_id=public_id,
                seen=seen_version(request, draft),
                edit_id=request.POST.get("edit", ""),
            ).draft
        else:
            refuse_suggestion(actor=request.user, draft=draft, public_id=public_id)
    except DomainError as error:
        return _refused(request, bench, error)
    return _answer(request, bench, draft, at=at, panel=request.POST.get("panel"), inspector=True)


def _answer(
    request: PageRequest,
    bench: Workbench,
    draft: Draft,
    *,
    at: str | None,
    panel: str | None = None,
    inspector: bool = False,
) -> HttpResponse:
    if not request.htmx:
        # No anchor is this long, and no URL may be.
        query = urlencode({key: value for key, value in (("at", at), ("panel", panel)) if value and len(value) < 2_000})
        return HttpResponseRedirect(f"{reverse('workspace', args=[bench.work.slot.public_id])}?{query}")
    bench = Workbench(actor=request.user, work=bench.work, draft=draft)
    return update_page(request, bench, workbench_context(request, bench, at=at, panel=panel), inspector=inspector)


def update_page(request: PageRequest, bench: Workbench, context: dict[str, Any], *, inspector: bool) -> HttpResponse:
    """Return the parts of the workspace that htmx replaces: dialogue, tool bar and, with ``inspector``, the editor."""
    # While the place stays the same, its editor is morphed, so that focus and open details stay.
    posted = request.POST
    stays = context["panel"] == "edit" and posted.get("at") == context["at"] and posted.get("as") == posted.get("was")
    context |= {
        "with_inspector": inspector,
        "settled": request.method == "POST",
        "morphed": request.method == "POST" and (stays or context["panel"] in ("graph", "findings")),
        "outdated_tasks": outdated_tasks(request, bench.view, context["dialogue_version"]),
    }
    response = render(request, "reviews/workspace/update.html", context)
    if context["outdated_tasks"] is not None:
        name_shown(response, context["dialogue_version"], context["selected"])
    response["X-Draft-Version"] = str(bench.draft.version)
    return response


#: Edits of one part of a step.
_HELD_BELOW = {
    "set_observation": "/observation",
    "set_arguments": "/arguments",
    "set_argument_form": "/arguments",
    "set_dependencies": "/depends_on",
}
_NOTHING = object()
#: Edits that carry typed text.
_HOLDING = {
    *_TYPED,
    *("set_argument_form", "set_label", "set_inferable", "set_parameters", "set_expected", "add_candidate"),
    "set_function",
}
#: Fields of an edit that nobody typed.
_PASSING = {
    *("csrfmiddlewaretoken", "op", "anchor", "at", "panel", "as", "was", "seen", "edit", "reshape", "annotated", "of")
}
#: Fields of a refused edit that are not repeated in the second try.
_NOT_REPEATED = ("seen", "csrfmiddlewaretoken")


def _is_gone(bench: Workbench, anchor: str) -> bool:
    """Return whether the step, task or other part that an edit is about no longer exists in the draft."""
    if not anchor.startswith("/") or lookup(bench.document, anchor, _NOTHING) is not _NOTHING:
        return False
    holder = lookup(bench.document, anchor.rpartition("/")[0], _NOTHING)
    return holder is _NOTHING or isinstance(holder, list)


def _typed(request: PageRequest) -> str:
    """Return what was typed into the form of an edit; several fields with their names."""
    typed = [
        (key, value) for key in request.POST for value in request.POST.getlist(key) if key not in _PASSING and value
    ]
    if len(typed) == 1:
        return typed[0][1]
    return "\n".join(f"{key.rpartition(':')[2].removeprefix('/')}: {value}" for key, value in typed)


def _refused_form(request: PageRequest, bench: Workbench, error: DomainError) -> dict[str, Any]:
    """Return the context of the form of a function with the sentence at its field; empty for other edits."""
    field, selected = error.details.get("field", ""), None
    if request.POST.get("op") == "set_function" and field:
        selected, __ = bench.view.select(request.POST.get("anchor"))
    if selected is None:
        return {}
    shown = {"selected": selected, "at": selected.anchor, "edit_url": request.path}
    return shown | function_editor(selected, request.POST, (field, error.sentence))


def _refused(
    request: PageRequest, bench: Workbench, error: DomainError, operation: dict[str, Any] | None = None
) -> HttpResponse:
    """Answer with the refusal beside what was typed, so that nothing is lost.

    Without JavaScript the whole page is rendered again, with the refusal and the refused text.
    """
    operation = operation or {}
    anchor = request.POST.get("anchor", "")
    place = anchor + _HELD_BELOW.get(operation.get("op", ""), "")
    mine = operation.get("text", operation.get("value", request.POST.get("text")))
    stored = lookup(bench.document, place, _NOTHING) if place.startswith("/") else _NOTHING
    beside = mine is not None and stored is not _NOTHING
    gone = _typed(request) if request.POST.get("op") in _HOLDING and _is_gone(bench, anchor) else ""
    if gone:
        error = Conflict(
            _(
                "The place you edited was deleted in the meantime, so your text couldn’t be saved. Copy it before you "
                "go on. Undo restores the place."
            )
        )
    named = error.details.get("anchor") or (place if beside else "")
    refusal = {
        "sentence": error.sentence,
        "conflict": error.status == Conflict.status,
        "gone": gone,
        "action": request.path,
        "place": place_name(bench.document, named) if named else "",
        "stored": "" if not beside or stored is None else pretty(stored),
        "mine": "" if mine is None else pretty(mine),
        "posted": [
            (key, value) for key in request.POST for value in request.POST.getlist(key) if key not in _NOT_REPEATED
        ],
    }
    panel = request.POST.get("panel")
    at = request.POST.get("at") or anchor
    edge, circle = refused_edge(operation, error)
    form = _refused_form(request, bench, error)
    if request.htmx:
        context = {"refusal": refusal, "draft": bench.draft, "graph": None} | form
        if panel == "graph" and circle:
            shown = workbench_context(request, bench, at=at, panel=panel, refused=(edge, circle))
            context = shown | {"refusal": refusal}
        response = render(request, "reviews/workspace/refusal.html", context, status=error.status)
    else:
        context = workbench_context(request, bench, at=at, panel=panel, refused=(edge, circle)) | form
        response = render(request, "reviews/workspace/page.html", context | {"refusal": refusal}, status=error.status)
    response["X-Draft-Version"] = str(bench.draft.version)
    return response
