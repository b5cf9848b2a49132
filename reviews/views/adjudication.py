"""The page on which a dispute is settled: place by place, with what the rulings make of the dialogue."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotator.comparison import describe
from annotator.errors import Conflict, DomainError
from annotator.views.pages import PageRequest
from reviews.models import Verdict
from reviews.services import submissions, waivers
from reviews.services.adjudication import Dispute, Side, load_dispute
from reviews.services.checklists import answer_rows
from reviews.services.disputes import Sheet, effective_rulings, read_sheet
from reviews.services.protocols import parse
from reviews.services.workbench import Workbench, keep_form, open_workbench, require_draft_version
from reviews.views.context import seen_version, workbench_context
from reviews.views.graph import open_bench
from reviews.views.submission import after_submission, checklist_rows, filled_in


@login_required
@never_cache
@require_http_methods(["GET", "POST"])
def settle(request: PageRequest, slot: str) -> HttpResponse:
    """Both sides of a dispute, a ruling at every place on which they differ, and the decision."""
    bench = open_workbench(actor=request.user, slot_id=slot)
    dispute = load_dispute(bench.work.slot)
    if dispute is None:
        return redirect("workspace", slot=slot)
    refused: DomainError | None = None
    if request.method == "POST":
        try:
            filled = keep_form(actor=request.user, work=bench.work, changes=filled_in(request))
            require_draft_version(bench.draft, seen_version(request, bench.draft))
            verdict = Verdict.REJECT if request.POST.get("verdict") == Verdict.REJECT else ""
            submissions.submit_review(
                actor=request.user,
                slot=bench.work.slot,
                token=bench.work.claim.token,
                verdict=verdict,
                draft=bench.draft,
                checklist=filled.get("checklist", {}),
                notes=filled.get("notes", {}),
                reason=filled.get("reason", ""),
                rulings={} if verdict else effective_rulings(dispute, filled.get("rulings", {})),
            )
        except DomainError as error:
            refused = error
            bench = open_workbench(actor=request.user, slot_id=slot)
        else:
            return after_submission(request, bench)
    context = _context(request, bench, dispute)
    context |= {
        "refused": refused.sentence if refused else "",
        "refused_places": _refused_places(context["sheet"], bench, refused) if refused else [],
    }
    return render(request, "reviews/adjudicate.html", context, status=refused.status if refused else 200)


@login_required
@require_POST
def keep(request: PageRequest, slot: str) -> HttpResponse:
    """Keep what has been filled in, and say how far one has got; waive a warning about what the rulings make."""
    bench = open_bench(request, slot)
    dispute = load_dispute(bench.work.slot)
    if dispute is None:
        raise Conflict("Nothing is disputed here; edit the dialogue itself.")
    keep_form(actor=request.user, work=bench.work, changes=filled_in(request))
    sheet = _sheet(request, bench, dispute, whole=False)
    if "waive" in request.POST:
        _waive(request, bench, sheet)
        sheet = _sheet(request, bench, dispute, whole=False)
    if not request.htmx:
        messages.success(request, "Kept. You can leave and come back.")
        return redirect("workspace-settle", slot=slot)
    return render(
        request, "reviews/adjudicate/kept.html", _links(bench) | {"sheet": sheet, "outcome_rows": _found(sheet, bench)}
    )


def _waive(request: PageRequest, bench: Workbench, sheet: Sheet) -> None:
    number, reason = request.POST["waive"], request.POST.get(f"waive-reason:{request.POST['waive']}", "")
    known = dict(enumerate(sheet.outcome.warnings))
    found = known.get(int(number)) if number.isascii() and number.isdigit() and len(number) < 6 else None
    key = request.POST.get(f"waive-key:{number}", "")
    if found is None or key != f"{found.check} {found.value_hash} {found.anchor}":
        raise Conflict("This warning is gone: the value it was about has changed.")
    waivers.waive(
        actor=request.user, work=bench.work, check=found.check, anchor=found.anchor, value_hash=found.value_hash,
        reason=reason,
    )  # fmt: skip


def _sheet(request: PageRequest, bench: Workbench, dispute: Dispute, *, whole: bool) -> Sheet:
    bench.__dict__.pop("form", None)
    return read_sheet(
        actor=request.user,
        slot=bench.work.slot,
        dispute=dispute,
        draft=bench.draft,
        protocol=bench.work.protocol,
        given=bench.form.get("rulings", {}),
        whole=whole,
    )


def _links(bench: Workbench) -> dict[str, Any]:
    slot = bench.work.slot.public_id
    kinds = {kind.key: kind.label for kind in bench.work.protocol.taxonomy}
    return {"keep_url": reverse("workspace-settle-keep", args=[slot]), "kind_labels": kinds}


def _context(request: PageRequest, bench: Workbench, dispute: Dispute) -> dict[str, Any]:
    sheet = _sheet(request, bench, dispute, whole=True)
    sides = [dispute.left, dispute.right, *dispute.more]
    return (
        workbench_context(request, bench)
        | _links(bench)
        | {
            "sheet": sheet,
            "outcome_rows": _found(sheet, bench),
            "taxonomy": bench.work.protocol.taxonomy,
            "summaries": [_summary(side, bench) for side in sides],
            "left_title": dispute.left.title,
            "right_title": dispute.right.title,
            "checklist": checklist_rows(bench),
        }
    )


def _summary(side: Side, bench: Workbench) -> dict[str, Any]:
    """What a reviewer said besides the content: verdict, reason, faults, checklist."""
    review = side.review
    if review is None:
        return {"side": side}
    protocol = parse(bench.work.slot.protocol)
    kinds = {kind.key: kind.label for kind in protocol.taxonomy}
    answers = answer_rows(protocol.stage(review.slot.stage), side.document, review.checklist, review.checklist_notes)
    return {
        "side": side,
        "faults": [
            (kinds.get(one.kind, one.kind), one.anchor and describe(side.document, one.anchor), one.note)
            for one in review.findings.all()
        ],
        "answers": answers,
        "noes": sum(row.answer is False for row in answers),
    }


def _found(sheet: Sheet, bench: Workbench) -> list[dict[str, Any]]:
    """What the checks object to in what the rulings make, each with the way to its place."""
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


def _refused_places(sheet: Sheet, bench: Workbench, refused: DomainError) -> list[tuple[str, str]]:
    """(words, link) of every place that a refusal speaks of."""
    details = refused.details
    anchors = [*details.get("anchors", []), *filter(None, [details.get("anchor")])]
    out = [(sheet_words(sheet, anchor), _way_to(sheet, bench, anchor)) for anchor in anchors]
    out += [(one["message"], _way_to(sheet, bench, one["anchor"])) for one in details.get("findings", [])]
    return list(dict.fromkeys(out))


def sheet_words(sheet: Sheet, anchor: str) -> str:
    """A place as the page calls it: by its number, where it is disputed."""
    row = sheet.row_at(anchor)
    return f"Place {row.number}: {row.place}" if row else anchor or "the dialogue"


def _way_to(sheet: Sheet, bench: Workbench, anchor: str) -> str:
    """Where an anchor is settled: its ruling on this page, else its editor in the workspace."""
    row = sheet.row_at(anchor) if anchor else None
    if row is not None:
        return f"#place-{row.number}"
    return f"{reverse('workspace', args=[bench.work.slot.public_id])}?{urlencode({'at': anchor or '/'})}"
