"""The review of toolsets: where it takes place, how far it is, and sending toolsets to it."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext
from django.views.decorators.http import require_http_methods, require_POST

from annotator.errors import Conflict, DomainError, Invalid
from annotator.models import Project
from annotator.presentation.dialogue import pretty
from annotator.services.access.permissions import require_administrator
from annotator.services.toolsets.details import load_toolset
from annotator.views.pages import PageRequest, project_page, takes
from reviews.services.protocols.versions import current_protocol
from reviews.services.toolset_review.sending import MAX_SENT, Sent, send_to_review
from reviews.services.toolset_review.settings import (
    choose_toolset_review,
    possible_reviews,
    review_project,
    start_toolset_review,
)
from reviews.services.toolset_review.states import (
    ReviewState,
    Standing,
    counts_of,
    unsent,
    verified_content,
)
from reviews.services.transitions.verified_tools import waiting_for_tools

#: State → its words, the tone and the icon of its badge.
SHOWN = {
    ReviewState.NONE: (gettext_noop("Not sent"), "neutral", ""),
    ReviewState.IN_REVIEW: (gettext_noop("In review"), "info", ""),
    ReviewState.VERIFIED: (gettext_noop("Verified"), "good", "check"),
    ReviewState.DIFFERS: (gettext_noop("Verified differently"), "warn", "warning"),
    ReviewState.REJECTED: (gettext_noop("Rejected"), "bad", "cross"),
}


def shown_standing(standing: Standing | None) -> dict[str, Any] | None:
    """Return what templates show of a standing; None if toolsets aren't reviewed."""
    if standing is None:
        return None
    words, tone, icon = SHOWN[standing.state]
    verified = {}
    if standing.state is ReviewState.DIFFERS and standing.item is not None:
        content = verified_content(standing.item)
        code = content.get("implementation") or {}
        verified = {
            "tools": pretty(content["tools"]), "source": code.get("source", ""),
            "class_name": code.get("class") or "", "load": code.get("load") or "",
        }  # fmt: skip
    return {
        "state": standing.state, "words": _(words), "tone": tone, "icon": icon,
        "item": standing.item if standing.opens else None,
        "verified": verified,
    }  # fmt: skip


@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes()
def toolset_review(request: PageRequest) -> HttpResponse:
    """Show where and how far toolsets are reviewed; administrators set it up and send toolsets."""
    project = request.project
    require_administrator(actor=request.user, project=project)
    refused, status = "", 200
    if request.method == "POST":
        try:
            _act(request)
            return redirect("toolset-review", slug=project.slug)
        except DomainError as error:
            refused, status = error.sentence, error.status
    review, protocol = review_project(project), current_protocol(project)
    counts = counts_of(actor=request.user, project=project)
    context = {
        "project": project,
        "review": review,
        "is_member": review is not None and Project.objects.visible_to(request.user).filter(pk=review.pk).exists(),
        "itself": review is not None and review.pk == project.pk,
        "possible": possible_reviews(actor=request.user, project=project),
        "counts": [(_(SHOWN[state][0]), counts[state]) for state in ReviewState],
        "to_send": min(counts[ReviewState.NONE], MAX_SENT),
        "waiting": waiting_for_tools(project).count() if review else 0,
        "demanded": protocol is not None and protocol.verified_toolsets,
        "refused": refused,
        "trail": [
            (project.name, f"/p/{project.slug}/"),
            (_("Toolsets"), f"/p/{project.slug}/toolsets/"),
            (_("Review"), ""),
        ],
    }
    return render(request, "reviews/toolsets/review.html", context, status=status)


def _act(request: PageRequest) -> None:
    action = request.POST.get("action", "")
    actor, project = request.user, request.project
    if action == "start":
        review = start_toolset_review(actor=actor, project=project)
        messages.success(request, _("Toolsets are now reviewed in “%(project)s”.") % {"project": review.name})
    elif action == "choose":
        choose_toolset_review(actor=actor, project=project, slug=request.POST.get("review", ""))
        messages.success(request, _("The review of toolsets is saved."))
    elif action == "send":
        sent = send_to_review(actor=actor, project=project, toolsets=unsent(actor=actor, project=project)[:MAX_SENT])
        _report(request, sent)
    else:
        raise Invalid(_("Choose what to do."))


@project_page
@require_POST
def toolset_send(request: PageRequest, public_id: str) -> HttpResponse:
    """Send one toolset to review."""
    toolset = load_toolset(project=request.project, public_id=public_id)
    sent = send_to_review(actor=request.user, project=request.project, toolsets=[toolset])
    if sent.refused:
        raise Conflict(sent.refused[0])
    _report(request, sent)
    return redirect("toolset", slug=request.project.slug, public_id=public_id)


def _report(request: PageRequest, sent: Sent) -> None:
    count = len(sent.new) + len(sent.again)
    if count:
        words = ngettext("%(count)s toolset sent to review.", "%(count)s toolsets sent to review.", count)
        messages.success(request, words % {"count": f"{count:,}"})
    elif sent.there:
        messages.info(request, _("These functions are in review already, or were reviewed."))
    for reason in sent.refused[:5]:
        messages.error(request, reason)
    if len(sent.refused) > 5:
        messages.error(request, _("%(count)s more were refused.") % {"count": len(sent.refused) - 5})
