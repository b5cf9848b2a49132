"""The review session: the disputes of a round, one after the other, and the decisions."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotator.errors import DomainError
from annotator.views.pages import PageRequest, project_page, takes
from reviews.services.adjudication import review_sessions
from reviews.services.protocols.versions import current_protocol
from reviews.views.adjudication.disputes import open_in_session
from reviews.views.workspace.form_versions import RULING_CHOICES


@project_page
@require_safe
def review_session_list(request: PageRequest) -> HttpResponse:
    """List the rounds with open disputes."""
    rounds = review_sessions.rounds_in_dispute(actor=request.user, project=request.project)
    return render(request, "reviews/adjudication/review_session_list.html", {"rounds": rounds})


@project_page
@require_http_methods(["GET", "POST"])
@takes("from")
def session(request: PageRequest, round: str) -> HttpResponse:
    """Show who is present, the open disputes and the decisions; POST records who is present, or opens a dispute."""
    project = request.project
    where = review_sessions.find_round(actor=request.user, project=project, address=round)
    refused: DomainError | None = None
    if request.method == "POST":
        try:
            if "dialogue" in request.POST:
                return _open_dispute(request, where, request.POST["dialogue"])
            review_sessions.start_session(
                actor=request.user, project=project, round=where, people=request.POST.getlist("present")
            )
        except DomainError as error:
            refused = error
        else:
            messages.success(request, _("Attendance saved."))
            return redirect("review-session", slug=project.slug, round=where.address)
    start = request.GET.get("from", "")
    known = int(start) if start.isascii() and start.isdigit() and len(start) < 9 else 0
    summary = review_sessions.read_session_summary(actor=request.user, project=project, round=where, start=known)
    until = summary.start + len(summary.decisions)
    protocol = current_protocol(project)
    kinds = {kind.key: kind.label for kind in protocol.taxonomy} if protocol else {}
    ticked = {one.pk for one in summary.present}
    context = {
        "summary": summary,
        "refused": refused.sentence if refused else "",
        "members": [(one, one.pk in ticked) for one in review_sessions.members_of(project)],
        "first": next(iter(summary.free_for(request.user)), None),
        "progress": _("%(decided)s of %(total)s") % {"decided": summary.decided, "total": summary.total},
        "until": until,
        "earlier": f"?from={summary.start - review_sessions.PAGE_SIZE}" if summary.start else None,
        "later": f"?from={until}" if until < summary.decided else None,
        "choices": [(RULING_CHOICES[key], count) for key, count in summary.choices],
        "reasons": [(kinds.get(key, key), count) for key, count in summary.reasons],
    }
    return render(
        request, "reviews/adjudication/review_session.html", context, status=refused.status if refused else 200
    )


def _open_dispute(request: PageRequest, where: review_sessions.Round, dialogue_id: str) -> HttpResponse:
    slot = review_sessions.open_dispute(
        actor=request.user, project=request.project, round=where, dialogue_id=dialogue_id
    )
    review_session = review_sessions.session_for(project=request.project, round=where)
    assert review_session is not None  # noqa: S101 - a dispute is opened in a session
    return open_in_session(request, slot, review_session)
