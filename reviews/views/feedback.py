"""Feedback: errors that later stages found in a person's work, threads about it, and counts of error types."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotator.errors import Conflict, DomainError, Hidden, Invalid
from annotator.models import Role, User
from annotator.services.access.permissions import OVERSEERS
from annotator.views.pages import PageRequest, project_page, takes
from reviews.models import Feedback
from reviews.models.disputed_feedback import MAX_TEXT
from reviews.services.adjudication.decisions import read_decision
from reviews.services.feedback import reading, threads
from reviews.services.gold.results import count_own_results


@project_page
@require_safe
@takes("of", "before", "after")
def feedback_list(request: PageRequest) -> HttpResponse:
    """Show one's own feedback; overseers can see others' with ``?of=all`` or ``?of=`` a person.

    ``?of=decided`` shows threads about one's own decisions.
    """
    project, wanted = request.project, request.GET.get("of", "")
    oversees = bool(request.roles & OVERSEERS)
    everybody, decided, person = wanted == "all", wanted == "decided", None
    if wanted and not everybody and not decided:
        reading.require_overseer(actor=request.user, project=project)
        person = User.objects.filter(public_id=wanted, memberships__project=project).distinct().first()
        if person is None:
            raise Hidden(_("This person isn’t a member of this project."))
    page = reading.list_feedback(
        actor=request.user,
        project=project,
        person=person,
        everybody=everybody,
        decided=decided,
        before=request.GET.get("before"),
        after=request.GET.get("after"),
    )
    if request.method == "GET" and wanted in ("", "decided"):
        reading.mark_feedback_read(actor=request.user, rows=page.rows)
    of = f"&of={wanted}" if wanted else ""
    context: dict[str, Any] = {
        "rows": page.rows,
        "older": f"?after={page.after}{of}" if page.after else None,
        "newer": f"?before={page.before}{of}" if page.before else None,
        "kinds": reading.count_kinds(project=project, person=None if everybody else person or request.user),
        "people": reading.count_people(actor=request.user, project=project) if everybody else [],
        "everybody": everybody,
        "decided": decided,
        "decides": decided or threads.decided_by(actor=request.user, project=project).exists(),
        "most": MAX_TEXT,
        "refused": {},
        "decision": None,
        "person": person,
        "oversees": oversees,
        "known_answers": count_own_results(actor=request.user, project=project, roles=request.roles),
    }
    return render(request, "reviews/project/feedback.html", context)


@project_page
@require_safe
def feedback(request: PageRequest, public_id: str) -> HttpResponse:
    """Show one feedback and its thread to its two ends and administrators."""
    row = reading.read_feedback(actor=request.user, project=request.project, public_id=public_id)
    if request.method == "GET":
        reading.mark_feedback_read(actor=request.user, rows=[row])
    return _page(request, row)


@project_page
@require_POST
def feedback_reply(request: PageRequest, public_id: str) -> HttpResponse:
    """Add a reply."""

    def act(row: Feedback, text: str) -> str:
        threads.reply_to_feedback(actor=request.user, feedback=row, text=text)
        return _("Reply sent.")

    return _change(request, public_id, "reply", act)


@project_page
@require_POST
def feedback_dispute(request: PageRequest, public_id: str) -> HttpResponse:
    """Dispute the decision."""

    def act(row: Feedback, text: str) -> str:
        threads.dispute_feedback(actor=request.user, feedback=row, reason=text)
        return _("Disputed. The person who decided gets a notice.")

    return _change(request, public_id, "dispute", act)


@project_page
@require_POST
def feedback_answer(request: PageRequest, public_id: str) -> HttpResponse:
    """Accept the dispute, or keep the decision."""
    verdict = request.POST.get("verdict", "")

    def act(row: Feedback, text: str) -> str:
        if verdict not in ("accept", "keep"):
            raise Invalid(_("Accept the dispute, or keep the decision."), field="text")
        threads.answer_dispute(actor=request.user, feedback=row, accept=verdict == "accept", text=text)
        if verdict == "keep":
            return _("Answered. The decision stays.")
        if Role.ADMINISTRATOR in request.roles:
            return _("Dispute accepted. The dialogue is unchanged. Send it back if it needs another review.")
        return _("Dispute accepted. The dialogue is unchanged. Administrators got a notice and can send it back.")

    return _change(request, public_id, "answer", act)


def _change(request: PageRequest, public_id: str, form: str, act: Callable[[Feedback, str], str]) -> HttpResponse:
    """Change the thread. A form that is refused is shown again with what was typed."""
    row = threads.load_feedback(actor=request.user, project=request.project, public_id=public_id)
    text = request.POST.get("text", "")
    try:
        messages.success(request, act(row, text))
    except DomainError as error:
        if error.status not in (Invalid.status, Conflict.status):
            raise
        shown = reading.read_feedback(actor=request.user, project=request.project, public_id=public_id)
        return _page(
            request, shown, refused={"form": form, "text": text, "sentence": error.sentence}, status=error.status
        )
    return redirect("feedback", slug=request.project.slug, public_id=public_id)


def _page(
    request: PageRequest, row: reading.FeedbackRow, *, refused: dict[str, str] | None = None, status: int = 200
) -> HttpResponse:
    others = row.feedback.person_id != request.user.pk
    # The person reads the reasons alone; a nameless feedback is about a dialogue that the reader may review blind.
    decision = read_decision(row.feedback) if others and not row.nameless else None
    if decision is not None:
        named = [replace(one, choice=decision.choices.get(one.anchor, "")) for one in row.named_errors]
        row = replace(row, named_errors=named)
    context = {
        "told": row,
        "decision": decision,
        "refused": refused or {},
        "most": MAX_TEXT,
        "everybody": others,
    }
    return render(request, "reviews/project/feedback_detail.html", context, status=status)
