"""The assignments page for administrators: load of people and stages, slots, and changes of assignments."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_POST, require_safe

from annotator.errors import Invalid
from annotator.models import Project, User
from annotator.services.access.permissions import require_administrator
from annotator.views.pages import PageRequest, project_page, takes
from reviews.models import ON_DIALOGUES, AssignmentRules, PlanAction, Priority, Slot
from reviews.services.assignments import lists, plans
from reviews.services.assignments.lists import FILTERS, STATES, Filters, PersonLoad
from reviews.services.assignments.undo import UNDO_DAYS
from reviews.services.protocols.versions import current_protocol, stage_titles
from reviews.services.queue import pauses
from reviews.views.assignment_plans import to_plan


@project_page
@require_safe
@takes(*FILTERS, "after")
def assignment_list(request: PageRequest) -> HttpResponse:
    """Show claims, waiting items of each stage, and each person's load."""
    require_administrator(actor=request.user, project=request.project)
    return _overview(request, {})


def _overview(request: PageRequest, wrong: dict[str, str], *, refused: str = "") -> HttpResponse:
    """Render the page. ``wrong``: field of the rules → its error, shown beside the field, which keeps its input.

    ``refused``: why a posted change was refused, shown above the form, which keeps its input.
    """
    project = request.project
    titles = stage_titles(project)
    chosen = request.POST if refused else QueryDict()
    filters = Filters.of(chosen or request.GET, project=project, stages=titles)
    stages = lists.read_stages(project)
    one_queue = filters.state == "waiting" and not filters.q
    if one_queue and not filters.stage:
        # One queue at a time, so that an index serves it: that of the first stage with waiting items.
        first = next((stage.key for stage in stages if stage.open), stages[0].key if stages else "")
        filters = replace(filters, stage=first)
    page = lists.list_slots(project=project, filters=filters, after=request.GET.get("after", ""))
    people = lists.read_people(project)
    query = urlencode(filters.query)
    rules = AssignmentRules.objects.filter(project=project).first()
    context = {
        "page": page,
        "rows": [(row, titles.get(row.slot.stage, row.slot.stage)) for row in page.rows],
        "following": f"?{query}&after={page.after}" if page.after else "",
        "previous": f"?{query}" if request.GET.get("after") else "",
        "filters": filters,
        "most_searched": page.cut and lists.MANY,
        "choices": [
            ("state", _("State"), [(key, _(label)) for key, label in STATES.items()], filters.state, ""),
            ("stage", _("Stage"), list(titles.items()), filters.stage, "" if one_queue else _("All stages")),
            (
                "person",
                _("Person"),
                [(one.person.public_id, str(one.person)) for one in people],
                filters.person,
                _("Anyone"),
            ),
            (
                "priority",
                _("Priority"),
                [(str(one.value), one.label) for one in Priority],
                filters.priority,
                _("Any priority"),
            ),
        ],
        "actions": [
            (one.value, one.label, one == chosen.get("action", PlanAction.values[0]))
            for one in PlanAction
            if one not in ON_DIALOGUES
        ],
        "recent": plans.recent_plans(project=project),
        "undo_days": UNDO_DAYS,
        "priorities": Priority.choices,
        "refused": refused,
        "chosen": {
            "slots": chosen.getlist("slot"),
            "to": chosen.getlist("to"),
            "anyway": "all_the_same" in chosen,
            "priority": chosen.get("to_priority", ""),
            "reason": chosen.get("reason", ""),
            "all": "all" in chosen,
        },
        "people": people,
        "assignees": _assignees(project, people, filters.stage),
        "stages": stages,
        "pause": lists.project_pause(project),
        "rules": _rule_fields(request, rules, wrong),
        "rules_open": bool(wrong) or rules is not None,
    }
    part = "#slots" if request.htmx and not wrong else ""
    return render(request, f"reviews/project/assignments.html{part}", context, status=422 if wrong or refused else 200)


def _assignees(project: Project, people: Sequence[PersonLoad], stage: str) -> list[tuple[str, str]]:
    """Return the people of the form that changes items, with why they can't review in ``stage`` (blank: in any)."""
    protocol = current_protocol(project)
    stages = protocol.stages if protocol else []
    able = {role for one in stages if one.key == stage or not stage for role in one.eligible.roles}
    title = next((one.title for one in stages if one.key == stage), "")
    out = []
    for one in people:
        name = str(one.person)
        if one.pause:
            name = _("%(name)s (paused)") % {"name": one.person}
        elif able.isdisjoint(one.roles) and title:
            name = _("%(name)s (their role can’t review in %(stage)s)") % {"name": one.person, "stage": title}
        elif able.isdisjoint(one.roles) and not stage:
            name = _("%(name)s (their role can’t review)") % {"name": one.person}
        out.append((one.person.public_id, name))
    return out


def _rule_fields(request: PageRequest, rules: AssignmentRules | None, wrong: dict[str, str]) -> list[dict[str, Any]]:
    """Return the fields of the rules: as stored, or as posted if there are errors."""
    fields = []
    for name, (label, hint, most) in _RULES.items():
        stored = getattr(rules, name, None)
        typed = request.POST.get(name, "").strip()[:20] if wrong else stored
        # With errors, the stored values that the page first showed are kept.
        seen = request.POST.get(f"seen:{name}", "")[:20] if wrong else stored
        fields.append(
            {
                "name": name,
                "label": label,
                "hint": hint,
                "most": most,
                "value": "" if typed is None else typed,
                "seen": "" if seen is None else seen,
                # A number field shows nothing if its value is not a number.
                "type": "number" if typed in (None, "") or str(typed).isdigit() else "text",
                "error": wrong.get(name, ""),
            }
        )
    return fields


#: Field of the rules → its label, its hint, the maximum.
_RULES = {
    "most_held": (gettext_lazy("Maximum claims per person"), gettext_lazy("Leave empty for no limit."), 500),
    "absent_days": (
        gettext_lazy("Days of inactivity"),
        gettext_lazy(
            "After this many days, items assigned to a person are opened to everyone. Leave empty to turn this off."
        ),
        365,
    ),
}


@project_page
@require_POST
def assignment_plan(request: PageRequest) -> HttpResponse:
    """Preview a change of the selected items, or of all items that match the filters."""
    project = request.project
    require_administrator(actor=request.user, project=project)
    posted = request.POST
    filters = Filters.of(posted, project=project, stages=stage_titles(project))
    priority = posted.get("to_priority", "")
    try:
        if posted.get("all"):
            slots = lists.matching(project=project, filters=filters, limit=plans.MAX_SLOTS)
        else:
            ticked = posted.getlist("slot")[: plans.MAX_SLOTS + 1]
            slots = list(Slot.objects.filter(project=project, public_id__in=ticked).values_list("pk", flat=True))
        plan = plans.make_plan(
            actor=request.user,
            project=project,
            action=posted.get("action", ""),
            slots=slots,
            to=[one for one in posted.getlist("to") if one],
            priority=int(priority) if priority in ("0", "1", "2") else None,
            reason=posted.get("reason", ""),
            all_the_same="all_the_same" in posted,
        )
    except Invalid as error:
        return _overview(request, {}, refused=error.sentence)
    return to_plan(plan, back=urlencode(filters.query))


@project_page
@require_POST
def assignment_pause(request: PageRequest) -> HttpResponse:
    """Pause the project, a stage or a person."""
    project = request.project
    require_administrator(actor=request.user, project=project)
    wanted, stage = request.POST.get("person", ""), request.POST.get("stage", "")
    person = None
    if wanted:
        person = User.objects.filter(public_id=wanted, memberships__project=project).distinct().first()
        if person is None:
            raise Invalid(_("This person isn’t a member of this project."))
    __, freed = pauses.pause(
        actor=request.user, project=project, person=person, stage=stage, reason=request.POST.get("reason", "")
    )
    what = str(person) if person else stage_titles(project)[stage] if stage else project.name
    sentence = _("%(name)s is paused. No new items can be claimed; items in progress can still be submitted.")
    sentence %= {"name": what}
    if freed:
        opened = ngettext(
            "%(count)s assigned item is now open to everyone.",
            "%(count)s assigned items are now open to everyone.",
            freed,
        )
        sentence = f"{sentence} {opened % {'count': freed}}"
    messages.success(request, sentence)
    return redirect("assignment-list", slug=project.slug)


@project_page
@require_POST
def assignment_resume(request: PageRequest, public_id: str) -> HttpResponse:
    """End a pause."""
    pauses.resume(actor=request.user, project=request.project, public_id=public_id)
    messages.success(request, _("Resumed. Items can be claimed again."))
    return redirect("assignment-list", slug=request.project.slug)


@project_page
@require_POST
def assignment_rules(request: PageRequest) -> HttpResponse:
    """Save the assignment rules: the maximum number of claims, and when somebody counts as away."""
    require_administrator(actor=request.user, project=request.project)
    numbers: dict[str, int | None] = {}
    wrong = {}
    for name in _RULES:
        text = request.POST.get(name, "").strip()
        if text and not (text.isascii() and text.isdigit() and len(text) < 6):
            wrong[name] = _("Enter a whole number, or leave the field empty.")
        numbers[name] = int(text) if text and name not in wrong else None
    # A setting left unchanged on the page stays as it is, even if somebody else has changed it since.
    keep = [name for name in _RULES if request.POST.get(f"seen:{name}") == request.POST.get(name, "").strip()]
    if not wrong:
        try:
            pauses.set_rules(actor=request.user, project=request.project, keep=keep, **numbers)
        except Invalid as error:
            wrong[error.details["field"]] = error.sentence
    if wrong:
        return _overview(request, wrong)
    messages.success(request, _("Saved."))
    return redirect("assignment-list", slug=request.project.slug)
