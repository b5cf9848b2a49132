"""My work, the project's page and its draws."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from annotator.core.wording import counted
from annotator.models import Project, Role
from annotator.models.content import DialogueStatus
from annotator.services.access.permissions import require_administrator
from annotator.services.notices.notices import unread_notices
from annotator.services.projects import may_create_projects
from annotator.views.pages import PageRequest, project_page
from reviews.core.protocols import EntryMode
from reviews.core.protocols.random_draws import ROUNDS
from reviews.models import Draw
from reviews.services.queue import progress
from reviews.services.sampling import draws
from reviews.services.statistics.access import oversees

#: Unread notices on one's own page; the others are one click away.
_MAX_NOTICES = 10
_TONES = {
    "candidate": "neutral",
    "in_review": "info",
    "escalated": "warn",
    "pooled": "special",
    "verified": "good",
    "rejected": "bad",
}


@login_required
@require_safe
def home(request: PageRequest) -> HttpResponse:
    """What waits for me, in every project of mine: what I hold, what I may take, what came back."""
    rows = [
        progress.read_my_work(actor=request.user, project=project)
        for project in Project.objects.visible_to(request.user).filter(archived_at=None).order_by("name")
    ]
    waiting = unread_notices(actor=request.user, limit=_MAX_NOTICES)
    # What somebody holds comes before anything new.
    resume = next((claim for row in rows for claim in row.claims), None)
    first = None if resume else next((row for row in rows if row.total), None)
    context = {
        "rows": rows,
        "notices": waiting,
        "resume": resume,
        "first": first,
        "may_create": not rows and may_create_projects(request.user),
    }
    return render(request, "reviews/project/home.html", context)


@project_page
@require_safe
def project(request: PageRequest) -> HttpResponse:
    """How many items stand where."""
    stands = progress.read_progress(project=request.project, roles=request.roles, viewer=request.user)
    context = {
        "progress": stands,
        "stages": _pipeline(request, stands),
        "shares": [(DialogueStatus(key).label, count, _TONES[key]) for key, count in stands.statuses.items() if count],
        "mine": progress.read_my_work(actor=request.user, project=request.project),
        "drawing": _drawing(stands),
        "draws": Draw.objects.filter(project=request.project).select_related("actor").order_by("-id")[:10],
        "is_admin": Role.ADMINISTRATOR in request.roles,
        "overseer": oversees(request.roles),
    }
    template = "reviews/project/page.html#figures" if request.htmx else "reviews/project/page.html"
    return render(request, template, context)


def _drawing(stands: progress.Progress) -> str:
    """How items are drawn: in "rounds", for an "audit", or (blank) not at all under the protocol in force."""
    modes = {stage.stage.entry.mode for stage in stands.stages if stage.stage.entry.fraction}
    if EntryMode.ROUNDS in modes:
        return "rounds"
    return "audit" if modes & {EntryMode.FRACTION, EntryMode.ESCALATED_AND_FRACTION} else ""


def _pipeline(request: PageRequest, stands: progress.Progress) -> list[dict[str, Any]]:
    """The reviews that each stage still takes, in order; each leads to the dialogues that stand there.

    A dialogue takes several in some stages, so what is verified, counted in dialogues, has no place beside them.
    """
    listing = reverse("dialogue-list", args=[request.project.slug])
    return [
        {
            "name": stage.title,
            "count": stage.open + stage.claimed,
            "note": f"{counted(stage.pooled, 'dialogue')} in the pool" if stage.pooled else "",
            "tone": "warn" if stage.alarm else "neutral",
            "href": f"{listing}?stage={stage.key}",
        }
        for stage in stands.stages
    ]


@project_page
@require_POST
def draw(request: PageRequest) -> HttpResponse:
    """Close the population that waits for a draw and draw: the audit sample, or the next round."""
    require_administrator(actor=request.user, project=request.project)
    drawn = draws.close_population_and_draw(actor=request.user, project=request.project)
    if drawn is None:
        messages.info(request, "Nothing is waiting for a draw.")
    elif drawn.closing:
        messages.success(
            request, f"The rounds are over: what was in the pool goes on ({counted(drawn.population_size, 'item')})."
        )
    elif drawn.algorithm == ROUNDS:
        messages.success(
            request,
            f"Round {drawn.number}: {drawn.sample_size} of {drawn.population_size} are drawn, for {len(drawn.pairs)} "
            f"pair{'' if len(drawn.pairs) == 1 else 's'} of reviewers.",
        )
    else:
        messages.success(
            request,
            f"Drawn: {drawn.sample_size} of {drawn.population_size} go to the expert; the others are verified.",
        )
    return redirect("project", slug=request.project.slug)
