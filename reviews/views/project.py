"""My work, the project page and its draws."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from annotator.models import Project, Role, User
from annotator.models.content import DialogueStatus
from annotator.services.access.permissions import require_administrator
from annotator.services.notices.notices import unread_notices
from annotator.services.projects import may_create_projects
from annotator.views.pages import PageRequest, project_page, read_notices, takes
from reviews.core.protocols import EntryMode
from reviews.core.protocols.differences import percent
from reviews.core.protocols.random_draws import ROUNDS
from reviews.models import Draw
from reviews.models.goals import MAX_GOAL
from reviews.services.protocols.readers import in_reader_language
from reviews.services.queue import progress
from reviews.services.queue.goals import read_own_goals
from reviews.services.queue.pauses import pauses_for
from reviews.services.queue.skipped import list_skipped
from reviews.services.queue.training_claims import failed_words
from reviews.services.sampling import draws
from reviews.services.sampling.samples import list_pools
from reviews.services.statistics.access import oversees
from reviews.services.statistics.my_day import read_my_day
from reviews.views.statistics.layout import duration


@dataclass(frozen=True)
class MoreWork:
    """Work of another kind in a project: how much waits, ``more`` if not all is counted, the address that claims the
    next (POST), what the person has claimed, as (name, address), and whether a pause keeps them from claiming more.
    """

    title: str
    count: int
    more: bool
    action: str
    held: list[tuple[str, str]]
    paused: bool = False


#: Each finds work of another kind for a person with these roles: (person, project, roles).
MORE_WORK: list[Callable[[User, Project, frozenset[Role]], MoreWork | None]] = []
#: Unread notices on My work.
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
@takes("after", "before")
def home(request: PageRequest) -> HttpResponse:
    """Show the user's day, claims, waiting items and notices, in every project."""
    rows = [
        progress.read_my_work(actor=request.user, project=project)
        for project in Project.objects.visible_to(request.user).filter(archived_at=None).order_by("name")
    ]
    goals = read_own_goals(person=request.user, projects=[row.project for row in rows])
    held = [claim for row in rows for claim in row.claims]
    day = read_my_day(person=request.user, now=timezone.now(), goals=goals, held=held)
    waiting = unread_notices(actor=request.user, limit=_MAX_NOTICES)
    # They are on this page, so those that lead here count as read.
    read_notices(request)
    # Claimed items come before new ones.
    resume = next(iter(held), None)
    ready = [row for row in rows if row.total] + [row for row in rows if row.can_start]
    first = next((row for row in rows if row.claims), None) or next(iter(ready), None)
    skipped = list_skipped(
        actor=request.user,
        projects=[row.project for row in rows if row.waiting],
        after=request.GET.get("after"),
        before=request.GET.get("before"),
    )
    context = {
        "rows": [_row(request, row, goals.get(row.project.pk), day.by_project.get(row.project.pk, 0)) for row in rows],
        "works": any(row.claims or row.waiting for row in rows) or any(one.done for one in day.days),
        "skipped": skipped,
        "newer": f"?before={skipped.before}" if skipped.before else "",
        "older": f"?after={skipped.after}" if skipped.after else "",
        "day": day,
        "times": [(one, duration(one.seconds)) for one in reversed(day.days)],
        "median": duration(day.median) if day.median else "",
        "remaining": sum(row.total for row in rows),
        "more": any(stage.more for row in rows for stage in row.waiting),
        "most": MAX_GOAL,
        "notices": waiting,
        "resume": resume,
        "first": first,
        "start": first.project.slug if first else "",
        "may_create": not rows and may_create_projects(request.user),
    }
    return render(request, "reviews/project/home.html", context)


def _row(request: PageRequest, row: progress.MyWork, goal: int | None, done: int) -> dict[str, Any]:
    """Return what My work shows of a project; of one that the person only oversees, its state."""
    only_oversees = oversees(row.roles) and not row.waiting and not row.claims
    current = (
        progress.read_progress(project=row.project, roles=row.roles, viewer=request.user) if only_oversees else None
    )
    return {
        "work": row,
        "more": _more_work(request.user, row),
        "goal": goal,
        "done": done,
        "failed_words": failed_words(row.training) if row.training else "",
        "progress": current,
        "stages": _pipeline(row.project, current) if current else [],
        "shares": _shares(current) if current else [],
    }


def _more_work(person: User, row: progress.MyWork) -> list[MoreWork]:
    found = [work for find in MORE_WORK if (work := find(person, row.project, row.roles)) is not None]
    # Pauses of stages don't concern it.
    if any(work.count for work in found) and pauses_for(actor=person, project=row.project, stages=()):
        return [replace(work, paused=True) for work in found]
    return found


@project_page
@require_safe
def project(request: PageRequest) -> HttpResponse:
    """Show the progress of a project."""
    current = progress.read_progress(project=request.project, roles=request.roles, viewer=request.user)
    context = {
        "progress": current,
        "stages": _pipeline(request.project, current),
        "shares": _shares(current),
        "mine": progress.read_my_work(actor=request.user, project=request.project),
        "drawing": _drawing(current),
        "pool": _pool(request) if Role.ADMINISTRATOR in request.roles and current.pooled else None,
        "draws": Draw.objects.filter(project=request.project).select_related("actor").order_by("-id")[:10],
        "is_admin": Role.ADMINISTRATOR in request.roles,
        "overseer": oversees(request.roles),
    }
    template = "reviews/project/page.html#figures" if request.htmx else "reviews/project/page.html"
    return render(request, template, context)


def _pool(request: PageRequest) -> dict[str, Any] | None:
    """Return stage, share and size of the pool from which the next draw is made; None if nothing waits."""
    pools = list_pools(actor=request.user, project=request.project)
    found = next((one for one in pools if one.waiting), None)
    if found is None:
        return None
    return {"stage": found.stage, "share": percent(found.stage.entry.fraction), "waiting": found.waiting}


def _drawing(current: progress.Progress) -> str:
    """Return how the current protocol draws items, or blank if it doesn't.

    That is in "rounds" of pairs, in "single" rounds (with one reviewer for each item), or for an "audit".
    """
    modes = {stage.stage.entry.mode: stage.stage.reviewers for stage in current.stages if stage.stage.entry.fraction}
    if EntryMode.ROUNDS in modes:
        return "rounds" if modes[EntryMode.ROUNDS] > 1 else "single"
    return "audit" if modes.keys() & {EntryMode.FRACTION, EntryMode.ESCALATED_AND_FRACTION} else ""


def _shares(current: progress.Progress) -> list[tuple[Any, int, str]]:
    return [(DialogueStatus(key).label, count, _TONES[key]) for key, count in current.statuses.items() if count]


def _pipeline(project: Project, current: progress.Progress) -> list[dict[str, Any]]:
    """Return the remaining reviews of each stage, in order, with links to its dialogues.

    Some stages need several reviews of a dialogue, so verified dialogues are not comparable and not shown.
    """
    listing = reverse("dialogue-list", args=[project.slug])
    return [
        {
            "name": in_reader_language(stage.title),
            "count": stage.open + stage.claimed,
            "note": _in_pool(stage.pooled) if stage.pooled else "",
            "tone": "warn" if stage.alarm else "neutral",
            "href": f"{listing}?stage={stage.key}",
        }
        for stage in current.stages
    ]


@project_page
@require_POST
def draw(request: PageRequest) -> HttpResponse:
    """Close the population and draw the audit sample or the next round."""
    require_administrator(actor=request.user, project=request.project)
    drawn = draws.close_population_and_draw(actor=request.user, project=request.project)
    if drawn is None:
        messages.info(request, _("No items are waiting for a draw."))
    elif drawn.closing:
        sentence = ngettext(
            "The rounds are complete. %(count)s item leaves the pool.",
            "The rounds are complete. %(count)s items leave the pool.",
            drawn.population_size,
        )
        messages.success(request, sentence % {"count": f"{drawn.population_size:,}"})
    elif drawn.algorithm == ROUNDS and not drawn.pairs:
        sentence = _("Round %(number)s: %(sample)s of %(population)s items drawn.")
        messages.success(request, sentence % _sizes(drawn))
    elif drawn.algorithm == ROUNDS:
        sentence = ngettext(
            "Round %(number)s: %(sample)s of %(population)s items drawn for %(pairs)s pair of reviewers.",
            "Round %(number)s: %(sample)s of %(population)s items drawn for %(pairs)s pairs of reviewers.",
            len(drawn.pairs),
        )
        messages.success(request, sentence % _sizes(drawn))
    else:
        sentence = _("%(sample)s of %(population)s items drawn for the expert stage. The others are verified.")
        messages.success(request, sentence % _sizes(drawn))
    return redirect("project", slug=request.project.slug)


def _in_pool(count: int) -> str:
    sentence = ngettext("%(count)s dialogue in the pool", "%(count)s dialogues in the pool", count)
    return sentence % {"count": f"{count:,}"}


def _sizes(drawn: Draw) -> dict[str, int]:
    return {
        "number": drawn.number,
        "sample": drawn.sample_size,
        "population": drawn.population_size,
        "pairs": len(drawn.pairs),
    }
