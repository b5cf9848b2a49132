"""The day of a team: progress of each person, items that are held for long, and goals."""

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotator.errors import DomainError, Invalid
from annotator.models import Role, User
from annotator.services.access.permissions import require_administrator
from annotator.services.members import load_person
from annotator.views.pages import PageRequest, project_page, takes
from reviews.models.goals import MAX_GOAL
from reviews.services.assignments.team_day import Held, MemberDay, read_team_day, take_from
from reviews.services.queue.goals import read_number, set_goal
from reviews.views.statistics.layout import Column, Table, duration
from reviews.views.statistics.pages import answer


@project_page
@require_safe
@takes("csv")
def team_day(request: PageRequest) -> HttpResponse:
    """Show who is active, what each person has done today and this week, and what they hold."""
    days = read_team_day(actor=request.user, project=request.project, now=timezone.now())
    context = {
        "days": [(day, [_held_row(one) for one in day.held]) for day in days],
        "members": [day.person for day in sorted(days, key=lambda day: str(day.person))],
        "any_held": any(day.held for day in days),
        "active": sum(day.active for day in days),
        "done": sum(day.today for day in days),
        "may_need_help": sum(day.may_need_help for day in days),
        "is_admin": Role.ADMINISTRATOR in request.roles,
        "most": MAX_GOAL,
    }
    return answer(request, "reviews/statistics/team.html", {"team": _table(days)}, context)


@project_page
@require_POST
def team_reassign(request: PageRequest) -> HttpResponse:
    """Take an item from its holder: assign it to somebody, or open it to everyone."""
    require_administrator(actor=request.user, project=request.project)
    posted, to = request.POST, None
    try:
        if not posted.get("to"):
            raise Invalid(_("Choose a person, or Everyone."))
        if posted["to"] != "everyone":
            to = _member(request, posted["to"])
        slot = take_from(
            actor=request.user,
            project=request.project,
            slot=posted.get("slot", ""),
            holder=posted.get("holder", ""),
            to=to,
        )
    except DomainError as error:
        if error.status not in (409, 422):
            raise
        messages.error(request, error.sentence)
    else:
        names = {"dialogue": slot.dialogue.external_id, "person": to}
        sentence = _("%(dialogue)s is assigned to %(person)s.") if to else _("%(dialogue)s is open to everyone.")
        messages.success(request, sentence % names)
    return redirect("statistics-team", slug=request.project.slug)


@project_page
@require_POST
def daily_goal(request: PageRequest) -> HttpResponse:
    """Set one's own daily goal, or (as an administrator, with ``person``) that of a member."""
    whose = request.POST.get("person", "")
    person = _member(request, whose) if whose else request.user
    try:
        goal = read_number(request.POST.get("goal", ""))
        set_goal(actor=request.user, project=request.project, person=person, reviews=goal)
    except DomainError as error:
        if error.status not in (409, 422):
            raise
        messages.error(request, error.sentence)
    else:
        messages.success(request, _("Saved.") if goal else _("Saved. There is no daily goal."))
    return redirect("statistics-team", slug=request.project.slug) if whose else redirect("home")


def _member(request: PageRequest, public_id: str) -> User:
    return load_person(project=request.project, public_id=public_id)


def _held_row(one: Held) -> dict[str, Any]:
    return {
        "held": one,
        "age": duration(one.age),
        "worked": duration(one.claim.active_seconds),
        "median": "" if one.median is None else duration(one.median),
    }


def _table(days: Sequence[MemberDay]) -> Table:
    return Table.listing(
        days,
        key="team",
        caption=_("Team today"),
        columns=[
            Column("person", _("Person")),
            Column("today", _("Done today"), "count"),
            Column("week", _("Done this week"), "count"),
            Column("goal", _("Daily goal"), "count"),
            Column("skipped", _("Skipped today"), "count"),
            Column("held", _("In progress"), "count", "load.held"),
        ],
    )
