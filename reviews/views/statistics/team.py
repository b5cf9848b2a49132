"""The day of a team: progress of each person, items that are held for long, and goals."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from annotator.errors import DomainError, Invalid
from annotator.models import Role, User
from annotator.services.access.permissions import require_administrator
from annotator.services.members import load_person
from annotator.views.pages import PageRequest, project_page, takes
from reviews.models.goals import MAX_GOAL
from reviews.services.assignments.team_day import Held, MemberDay, read_team_day, take_from
from reviews.services.queue.goals import read_number, set_goal, set_goals
from reviews.views.statistics.layout import Column, Table, duration
from reviews.views.statistics.pages import answer


@project_page
@require_safe
@takes("csv")
def team_day(request: PageRequest) -> HttpResponse:
    """Show who is active, what each person has done today and this week, and what they hold."""
    return _page(request)


def _page(request: PageRequest, refused: str = "", wrong: Mapping[str, str] | None = None) -> HttpResponse:
    """Render the page; after a refusal with the goals as typed, and why some are wrong."""
    days = read_team_day(actor=request.user, project=request.project, now=timezone.now())
    context = {
        "days": [(day, _goal_field(request, day, wrong or {})) for day in days],
        "held": [(day.person, _held_row(one)) for day in days for one in day.held],
        # What the page shows: goals that others change in the meantime stay if they are not changed here.
        "seen": request.POST.get("seen") or " ".join(f"{day.person.public_id}={day.goal or ''}" for day in days),
        "refused": refused,
        "active": sum(day.active for day in days),
        "done": sum(day.today for day in days),
        "may_need_help": sum(day.may_need_help for day in days),
        "is_admin": Role.ADMINISTRATOR in request.roles,
        "most": MAX_GOAL,
    }
    response = answer(request, "reviews/statistics/team.html", {"team": _table(days)}, context)
    if refused:
        response.status_code = 422
    return response


@project_page
@require_POST
def team_reassign(request: PageRequest) -> HttpResponse:
    """Take an item from its holder: assign it to somebody, or open it to everyone."""
    require_administrator(actor=request.user, project=request.project)
    posted, to = request.POST, None
    try:
        if not posted.get("to"):
            raise Invalid(_("Nothing was reassigned. Choose a person, or Everyone, before you press Reassign."))
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
        if to:
            sentence = _("%(dialogue)s is assigned to %(person)s. Assignments → Assigned lists it until they start it.")
        else:
            sentence = _("%(dialogue)s is open to everyone. Assignments → Unassigned lists it until somebody takes it.")
        messages.success(request, sentence % names)
    return redirect("statistics-team", slug=request.project.slug)


@project_page
@require_POST
def team_goals(request: PageRequest) -> HttpResponse:
    """Set the daily goals of the team (``goal:PERSON``), or none of them if one is wrong. ``seen``: what was shown."""
    project, posted = request.project, request.POST
    require_administrator(actor=request.user, project=project)
    seen = dict(one.partition("=")[::2] for one in posted.get("seen", "").split())
    typed = {name.removeprefix("goal:"): posted.get(name, "") for name in posted if name.startswith("goal:")}
    changed = {whose: text for whose, text in typed.items() if text.strip() != seen.get(whose)}
    try:
        goals = {_member(request, whose): read_number(text) for whose, text in changed.items()}
        set_goals(actor=request.user, project=project, goals=goals)
    except Invalid as error:
        return _page(request, error.sentence, error.details.get("wrong"))
    sentence = ngettext("%(count)s daily goal changed.", "%(count)s daily goals changed.", len(goals))
    messages.success(request, sentence % {"count": len(goals)})
    return redirect("statistics-team", slug=project.slug)


@project_page
@require_POST
def daily_goal(request: PageRequest) -> HttpResponse:
    """Set one's own daily goal."""
    try:
        goal = read_number(request.POST.get("goal", ""))
        set_goal(actor=request.user, project=request.project, person=request.user, reviews=goal)
    except DomainError as error:
        if error.status not in (409, 422):
            raise
        messages.error(request, error.sentence)
    else:
        messages.success(request, _("Saved.") if goal else _("Saved. There is no daily goal."))
    return redirect("home")


def _member(request: PageRequest, public_id: str) -> User:
    return load_person(project=request.project, public_id=public_id)


def _goal_field(request: PageRequest, day: MemberDay, wrong: Mapping[str, str]) -> dict[str, Any]:
    """Return the field of a person's goal: as stored, or as typed if it was refused."""
    whose = day.person.public_id
    typed = request.POST.get(f"goal:{whose}", "")[:20] if request.method == "POST" else day.goal or ""
    return {"name": f"goal:{whose}", "value": typed, "error": wrong.get(whose, "")}


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
