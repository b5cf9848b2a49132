"""The page of a dispute: both sides, a ruling for each place, and the resulting dialogue."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotator.errors import Conflict, DomainError
from annotator.views.pages import PageRequest, takes
from reviews.models import ReviewSession, Slot, Verdict
from reviews.services.adjudication import review_sessions
from reviews.services.adjudication.dispute_rows import unwritten
from reviews.services.adjudication.disputes import ROWS_PER_PAGE, RulingSheet, effective_rulings, read_ruling_sheet
from reviews.services.protocols.versions import parse
from reviews.services.submission import submit, waivers
from reviews.services.submission.refusals import refusals_of
from reviews.services.submission.review_forms import StoredForm, store_form
from reviews.services.submission.rulings import Dispute, load_dispute, unsettled
from reviews.services.submission.workbench import Workbench, open_workbench, require_draft_version
from reviews.views.adjudication.sides import found_errors, own_changes, summaries, what_differs
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
from reviews.views.workspace.graph import open_bench
from reviews.views.workspace.review_fields import checklist_of, filled_in
from reviews.views.workspace.review_tab import checklist_rows, named_error_rows
from reviews.views.workspace.submission import after_submission


@login_required
@never_cache
@require_http_methods(["GET", "POST"])
@takes("from")
def settle(request: PageRequest, slot: str) -> HttpResponse:
    """Show both sides of a dispute with a ruling for every place that differs, or submit the decision."""
    bench = open_workbench(actor=request.user, slot_id=slot)
    dispute = load_dispute(bench.work.slot)
    if dispute is None:
        return redirect("workspace", slot=slot)
    refused: DomainError | None = None
    seen = seen_version(request, bench.draft)
    if request.method == "POST":
        claim = claim_to_submit(request, bench)
        try:
            kept = _keep(request, bench, dispute)
            require_shown(kept)
            filled = kept.form
            require_draft_version(bench.draft, seen)
            verdict = Verdict.REJECT if request.POST.get("verdict") == Verdict.REJECT else ""
            submission = {
                "slot": bench.work.slot,
                "token": bench.work.claim.token,
                "claim": claim,
                "verdict": verdict,
                "draft": bench.draft,
                **checklist_of(filled),
                "named_errors": filled.get("named_errors", []),
                "reason": filled.get("reason", ""),
                "rulings": {} if verdict else effective_rulings(dispute, filled.get("rulings", {})),
            }
            summary, review = _review_session(request, bench), None
            if summary is None:
                review = submit.submit_review(actor=request.user, **submission)
            else:
                review_sessions.decide_together(
                    actor=request.user,
                    session=summary["session"],
                    people=filled["review_session"].get("people", summary["usual"]),
                    note=filled["review_session"].get("note", ""),
                    submission=submission,
                )
        except DomainError as error:
            refused = error
            bench = open_workbench(actor=request.user, slot_id=slot)
        else:
            if summary is None:
                return after_submission(request, bench, review)
            return _next_in_session(request, bench, summary)
    urls = {"keep_url": reverse("workspace-settle-keep", args=[slot]), "page_url": _page_url(request, bench)}
    question = disputed(request, bench, refused, **urls)
    context = _context(request, bench, dispute)
    context |= {
        "disputed": question,
        "reason_label": reason_label(bench, ""),
        "refused": refusal_words(refused, bench, seen) if refused else "",
        "refused_places": _refused_places(context["sheet"], bench, dispute, refused) if refused else [],
        "has_open_places": refused and bool(refused.details.get("anchors")),
        "refused_reason": refused and any(one["details"].get("field") == "reason" for one in refusals_of(refused)),
    }
    return render(request, "reviews/adjudication/page.html", context, status=refused.status if refused else 200)


@login_required
@require_POST
def keep(request: PageRequest, slot: str) -> HttpResponse:
    """Save the form and return the progress; waive a warning about the result."""
    bench = open_bench(request, slot)
    dispute = load_dispute(bench.work.slot)
    if dispute is None:
        raise Conflict(_("This dialogue isn’t in dispute. Edit it in the workspace."))
    try:
        kept = _keep(request, bench, dispute)
    except Conflict as conflict:
        return ask(request, bench, conflict, _page_url(request, bench))
    if "leaving" in request.POST:
        return HttpResponse(status=204)
    sheet = _sheet(request, bench, dispute, whole=False)
    if "waive" in request.POST:
        _waive(request, bench, sheet)
        sheet = _sheet(request, bench, dispute, whole=False)
    if not request.htmx:
        if "waive" not in request.POST and any(
            key.startswith("waive-reason:") and request.POST[key].strip() for key in request.POST
        ):
            messages.warning(request, _("Saved. To waive the warning, press “Waive” next to the reason."))
        else:
            messages.success(request, _("Saved. You can continue later."))
        return redirect(f"{reverse('workspace-settle', args=[slot])}?from={sheet.start}")
    context = _links(bench) | {"sheet": sheet, "outcome_rows": _found(sheet, bench)}
    if "open-places" in request.POST:
        still_open = [row.anchor for row in sheet.rows if not row.settled]
        refusal = unsettled(dispute, still_open) if still_open else None
        context |= {
            "was_refused": True,
            "refused": refusal.sentence if refusal else "",
            "refused_places": _refused_places(sheet, bench, dispute, refusal) if refusal else [],
        }
    return is_kept(render(request, "reviews/adjudication/saved.html", context), kept)


def _keep(request: PageRequest, bench: Workbench, dispute: Dispute) -> StoredForm:
    """Save the form. A third version that still shows its initial text counts as empty."""
    filled, draft = filled_in(request), bench.draft.document()
    for anchor, row in filled.get("rulings", {}).items():
        written = row["choice"] or row["reason_kind"] or row["reason"] or row["follow"]
        # The page may show the initial text of an older draft.
        if not written and row["value"] in (unwritten(dispute, anchor), unwritten(dispute, anchor, draft)):
            filled["rulings"][anchor] = None
    if "review_session" in filled:
        session = review_sessions.session_of(slot=bench.work.slot, session=filled["review_session"]["session"])
        if session and {one.public_id for one in session.participants.all()} == set(filled["review_session"]["people"]):
            filled["review_session"]["people"] = None
        filled["review_session"]["claim"] = bench.work.claim.pk
    return store_form(actor=request.user, work=bench.work, changes=filled, window=window_of(request))


def _page_url(request: PageRequest, bench: Workbench) -> str:
    return f"{reverse('workspace-settle', args=[bench.work.slot.public_id])}?from={_start(request)}"


def _waive(request: PageRequest, bench: Workbench, sheet: RulingSheet) -> None:
    number = request.POST["waive"]
    known = dict(enumerate(sheet.outcome.warnings))
    found = known.get(int(number)) if number.isascii() and number.isdigit() and len(number) < 6 else None
    key = request.POST.get(f"waive-key:{number}", "")
    reason = request.POST.get(f"waive-reason:{key}", "")
    if found is None or key != f"{found.check} {found.value_hash} {found.anchor}":
        raise Conflict(_("This warning no longer exists because its value has changed."))
    waivers.waive(
        actor=request.user, work=bench.work, check=found.check, anchor=found.anchor, value_hash=found.value_hash,
        reason=reason,
    )  # fmt: skip


def _sheet(request: PageRequest, bench: Workbench, dispute: Dispute, *, whole: bool) -> RulingSheet:
    return read_ruling_sheet(
        actor=request.user,
        slot=bench.work.slot,
        dispute=dispute,
        draft=bench.draft,
        protocol=bench.work.protocol,
        given=bench.form.get("rulings", {}),
        whole=whole,
        start=_start(request),
    )


def _start(request: PageRequest) -> int:
    """Return the number of places before the page that is shown or was sent."""
    number = request.GET.get("from") or request.POST.get("from") or "0"
    return int(number) if number.isascii() and number.isdigit() and len(number) < 9 else 0


def _links(bench: Workbench) -> dict[str, Any]:
    slot = bench.work.slot.public_id
    kinds = {kind.key: kind.label for kind in bench.work.protocol.taxonomy}
    return {"keep_url": reverse("workspace-settle-keep", args=[slot]), "kind_labels": kinds}


def _context(request: PageRequest, bench: Workbench, dispute: Dispute) -> dict[str, Any]:
    sheet = _sheet(request, bench, dispute, whole=True)
    protocol = parse(bench.work.slot.protocol)
    named_errors, own = named_error_rows(bench, is_open=False), own_changes(bench)
    return (
        workbench_context(request, bench)
        | _links(bench)
        | named_errors
        | {
            "sheet": sheet,
            "outcome_rows": _found(sheet, bench),
            "own_changes": own,
            # The dependencies of one step are one place, with a line for each that differs.
            "own_places": len({line.anchor for line in own}),
            "taxonomy": bench.work.protocol.taxonomy,
            "what_differs": what_differs(dispute),
            "overrules": dispute.is_about_a_rejection,
            "summaries": summaries(dispute, protocol),
            "found_errors": found_errors(dispute, protocol),
            "left_title": dispute.left.title,
            "right_title": dispute.right.title,
            "checklist": checklist_rows(bench),
            "review_session": _review_session(request, bench),
        }
    )


def _review_session(request: PageRequest, bench: Workbench) -> dict[str, Any] | None:
    """Return the review session in which the dispute was opened, and its position; None outside of a session.

    A dispute that was released there and claimed alone later has another claim.
    """
    kept = bench.form.get("review_session") or {}
    here = kept.get("claim") == bench.work.claim.pk
    session = review_sessions.session_of(slot=bench.work.slot, session=kept.get("session")) if here else None
    if session is None:
        return None
    project = bench.work.slot.project
    where = review_sessions.find_round(actor=request.user, project=project, address=f"{session.stage}-{session.round}")
    summary = review_sessions.read_session_summary(actor=request.user, project=project, round=where)
    able = summary.free_for(request.user)
    place = next((i for i, one in enumerate(able) if one.dialogue.pk == bench.dialogue.pk), 0)
    usual = [one.public_id for one in summary.present]
    people = set(kept.get("people", usual))
    return {
        "session": session,
        "round": where,
        "url": reverse("review-session", args=[project.slug, where.address]),
        "decided": summary.decided,
        "total": summary.total,
        "previous": able[place - 1] if place else None,
        "following": able[place + 1] if place + 1 < len(able) else None,
        "usual": usual,
        "members": [(one, one.public_id in people) for one in review_sessions.members_of(project)],
        "note": kept.get("note", ""),
    }


def _next_in_session(request: PageRequest, bench: Workbench, summary: dict[str, Any]) -> HttpResponse:
    """Open the next dispute, or return to the session if there is none."""
    messages.success(request, _("%(dialogue)s was decided together.") % {"dialogue": bench.dialogue.external_id})
    following = summary["following"]
    if following is None or "stay" in request.POST:
        return redirect(summary["url"])
    try:
        project = bench.work.slot.project
        slot = review_sessions.open_dispute(
            actor=request.user, project=project, round=summary["round"], dialogue_id=following.dialogue.public_id
        )
    except DomainError as error:
        messages.info(request, error.sentence)
        return redirect(summary["url"])
    return open_in_session(request, slot, summary["session"])


def open_in_session(request: PageRequest, slot: Slot, session: ReviewSession) -> HttpResponse:
    """Redirect to the page of a dispute that was claimed in a session."""
    review_sessions.enter_session(actor=request.user, slot=slot, session=session)
    return redirect("workspace-settle", slot=slot.public_id)


def _found(sheet: RulingSheet, bench: Workbench) -> list[dict[str, Any]]:
    """Return the findings in the result of the rulings, each with the URL of its place."""
    outcome = sheet.outcome
    return [
        {
            "found": one,
            "href": _way_to(sheet, bench, one.anchor),
            "number": number if one.severity == "warning" else None,
            "key": f"{one.check} {one.value_hash} {one.anchor}",
        }
        for group in (outcome.errors, outcome.warnings)
        for number, one in enumerate(group)
    ]


def _refused_places(
    sheet: RulingSheet, bench: Workbench, dispute: Dispute, refused: DomainError
) -> list[tuple[str, str]]:
    """Return (label, URL) of every place that a refusal names."""
    details = refused.details
    anchors = [*details.get("anchors", []), *filter(None, [details.get("anchor")])]
    out = [(capfirst(sheet_words(sheet, dispute, anchor)), _way_to(sheet, bench, anchor)) for anchor in anchors]
    # Without places, the findings are listed with the decision, and can be waived there.
    ways = [_way_to(sheet, bench, one["anchor"]) if sheet.rows else "#dec" for one in details.get("findings", [])]
    out += [(one["message"], way) for one, way in zip(details.get("findings", []), ways, strict=True)]
    return list(dict.fromkeys(out))


def sheet_words(sheet: RulingSheet, dispute: Dispute, anchor: str) -> str:
    """Return the label of a place: with its number if it is disputed."""
    row = sheet.row_at(anchor)
    if row is None:
        return dispute.words(anchor)
    if row.optional:
        return row.place
    return _("Place %(number)s: %(place)s") % {"number": row.number, "place": row.place}


def _way_to(sheet: RulingSheet, bench: Workbench, anchor: str) -> str:
    """Return the URL of an anchor: its ruling on this page, or its editor in the workspace."""
    row = sheet.row_at(anchor) if anchor else None
    if row is not None:
        start = (row.number - 1) // ROWS_PER_PAGE * ROWS_PER_PAGE
        return f"{'' if start == sheet.start else f'?from={start}'}#place-{row.number}"
    return f"{reverse('workspace', args=[bench.work.slot.public_id])}?{urlencode({'at': anchor or '/'})}"
