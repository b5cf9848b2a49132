"""Who works on what, for administrators: the load of people and stages, the slots, and what can be changed of them."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotator.errors import Conflict, Invalid
from annotator.models import User
from annotator.services.access.permissions import require_administrator
from annotator.views.pages import PageRequest, project_page, takes
from reviews.models import AssignmentPlan, AssignmentRules, PlanAction, Priority, Slot
from reviews.services.assignments import lists, plans
from reviews.services.assignments.lists import FILTERS, STATES, Filters
from reviews.services.protocols.versions import stage_titles
from reviews.services.queue import pauses


@project_page
@require_safe
@takes(*FILTERS, "after")
def assignment_list(request: PageRequest) -> HttpResponse:
    """Who holds what, what waits in each stage, and each person's load."""
    require_administrator(actor=request.user, project=request.project)
    return _overview(request, {})


def _overview(request: PageRequest, wrong: dict[str, str], *, refused: str = "") -> HttpResponse:
    """``wrong``: field of the rules → why what was posted cannot be; said beside the field, which keeps it.

    ``refused``: why a change that was posted cannot be; said above it, and the form keeps what was chosen.
    """
    project = request.project
    titles = stage_titles(project)
    chosen = request.POST if refused else QueryDict()
    filters = Filters.of(chosen or request.GET, project=project, stages=titles)
    stages = lists.read_stages(project)
    one_queue = filters.state == "waiting" and not filters.q
    if one_queue and not filters.stage:
        # One queue at a time, so that an index serves it: that of the first stage in which something waits.
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
            ("state", "Show", list(STATES.items()), filters.state, ""),
            ("stage", "Stage", list(titles.items()), filters.stage, "" if one_queue else "any"),
            ("person", "Person", [(one.person.public_id, str(one.person)) for one in people], filters.person, "any"),
            (
                "priority",
                "Priority",
                [(str(one.value), one.label) for one in Priority],
                filters.priority,
                "any",
            ),
        ],
        "actions": [
            (value, label, value == chosen.get("action", PlanAction.values[0])) for value, label in PlanAction.choices
        ],
        "priorities": [(value, label, str(value) == chosen.get("to_priority")) for value, label in Priority.choices],
        "refused": refused,
        "chosen": {
            "slots": chosen.getlist("slot"),
            "to": chosen.getlist("to"),
            "reason": chosen.get("reason", ""),
            "all": "all" in chosen,
        },
        "people": people,
        "stages": stages,
        "pause": lists.project_pause(project),
        "rules": _rule_fields(request, rules, wrong),
        "rules_open": bool(wrong) or rules is not None,
    }
    part = "#slots" if request.htmx and not wrong else ""
    return render(request, f"reviews/project/assignments.html{part}", context, status=422 if wrong or refused else 200)


def _rule_fields(request: PageRequest, rules: AssignmentRules | None, wrong: dict[str, str]) -> list[dict[str, Any]]:
    """The fields of the rules: as they are in force, or as they were posted where something is wrong."""
    fields = []
    for name, (label, hint, most) in _RULES.items():
        stored = getattr(rules, name, None)
        typed = request.POST.get(name, "").strip()[:20] if wrong else stored
        # Where something is wrong, what the page showed at first is what the person began with.
        seen = request.POST.get(f"seen:{name}", "")[:20] if wrong else stored
        fields.append(
            {
                "name": name,
                "label": label,
                "hint": hint,
                "most": most,
                "value": "" if typed is None else typed,
                "seen": "" if seen is None else seen,
                # A browser shows nothing in a field for numbers that holds something else.
                "type": "number" if typed in (None, "") or str(typed).isdigit() else "text",
                "error": wrong.get(name, ""),
            }
        )
    return fields


#: Field of the rules → its label, its hint, the highest number.
_RULES = {
    "most_held": ("Items one person may hold at a time", "Empty: as many as they like.", 500),
    "absent_days": (
        "Days without a sign of life",
        "After so many what is reserved for somebody is opened to all. Empty: never.",
        365,
    ),
}


@project_page
@require_POST
def assignment_plan(request: PageRequest) -> HttpResponse:
    """Preview a change of the ticked items, or of all that the list shows; its page comes next."""
    project = request.project
    require_administrator(actor=request.user, project=project)
    posted = request.POST
    if posted.get("all"):
        filters = Filters.of(posted, project=project, stages=stage_titles(project))
        slots = lists.matching(project=project, filters=filters, limit=plans.MAX_SLOTS)
    else:
        ticked = posted.getlist("slot")[: plans.MAX_SLOTS + 1]
        slots = list(Slot.objects.filter(project=project, public_id__in=ticked).values_list("pk", flat=True))
    priority = posted.get("to_priority", "")
    try:
        plan = plans.make_plan(
            actor=request.user,
            project=project,
            action=posted.get("action", ""),
            slots=slots,
            to=[one for one in posted.getlist("to") if one],
            priority=int(priority) if priority in ("0", "1", "2") else None,
            reason=posted.get("reason", ""),
        )
    except Invalid as error:
        return _overview(request, {}, refused=error.sentence)
    return redirect("assignment-plan-detail", slug=project.slug, public_id=plan.public_id)


@project_page
@require_http_methods(["GET", "POST"])
def assignment_plan_detail(request: PageRequest, public_id: str) -> HttpResponse:
    """What a change will do, and, once somebody said yes, what it did. What has moved since is told (409)."""
    project = request.project
    plan = plans.load_plan(actor=request.user, project=project, public_id=public_id)
    changed: list[str] = []
    refused = ""
    if request.method == "POST":
        if "again" in request.POST:
            plan = _again(request, plan)
            return redirect("assignment-plan-detail", slug=project.slug, public_id=plan.public_id)
        try:
            plan = plans.confirm_plan(actor=request.user, project=project, public_id=public_id)
        except Conflict as error:
            refused, changed = error.sentence, error.details.get("changed", [])
        else:
            if plan.job is None:
                messages.success(request, f"Done: {len(plan.items)} changed.")
            return redirect("assignment-plan-detail", slug=project.slug, public_id=public_id)
    context = _plan_context(request, plan) | {"refused_now": refused, "changed": changed}
    return render(request, "reviews/project/assignment_plan.html", context, status=409 if refused else 200)


def _again(request: PageRequest, plan: AssignmentPlan) -> AssignmentPlan:
    asked = plan.parameters
    return plans.make_plan(
        actor=request.user,
        project=request.project,
        action=plan.action,
        slots=[row[0] for row in plan.items],
        to=asked["to"],
        priority=asked["priority"],
        reason=asked["reason"],
    )


def _plan_context(request: PageRequest, plan: AssignmentPlan) -> dict[str, Any]:
    """Items by the person who gets them, the first of each by name; refusals by their reason."""
    names = dict(
        Slot.objects.filter(pk__in=[row[0] for row in plan.items[:300]]).values_list("pk", "dialogue__external_id")
    )
    people = User.objects.in_bulk({row[1] for row in plan.items if row[1]})
    by_person: dict[int | None, list[Any]] = {}
    for row in plan.items:
        by_person.setdefault(row[1], []).append(row[0])
    reasons: dict[str, list[str]] = {}
    for name, why in plan.refused:
        reasons.setdefault(why, []).append(name)
    priority = plan.parameters.get("priority")
    return {
        "plan": plan,
        "verb": _VERBS[PlanAction(plan.action)],
        "priority": Priority(priority).label.lower() if priority is not None else "",
        "groups": [
            (
                people.get(key) if key else None,
                len(slots),
                [names[one] for one in slots[:8] if one in names],
                len(slots) > 8,
            )
            for key, slots in by_person.items()
        ],
        "reasons": [(why, len(found), found[:8], len(found) > 8) for why, found in reasons.items()],
        "at_once": len(plan.items) <= plans.AT_ONCE,
        "back": reverse("assignment-list", args=[request.project.slug]),
    }


_VERBS = {
    PlanAction.REASSIGN: "reassign",
    PlanAction.FREE: "open to everybody",
    PlanAction.PRIORITISE: "change the priority of",
    PlanAction.HAND_OVER: "hand over",
}


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
            raise Invalid("There is no such person in this project.")
    _, freed = pauses.pause(
        actor=request.user, project=project, person=person, stage=stage, reason=request.POST.get("reason", "")
    )
    what = str(person) if person else stage_titles(project)[stage] if stage else project.name
    opened = f" {freed} reserved {'item is' if freed == 1 else 'items are'} open to everybody now." if freed else ""
    messages.success(request, f"{what} is paused: nothing new is given out, what is held can be handed in.{opened}")
    return redirect("assignment-list", slug=project.slug)


@project_page
@require_POST
def assignment_resume(request: PageRequest, public_id: str) -> HttpResponse:
    """End a pause."""
    pauses.resume(actor=request.user, project=request.project, public_id=public_id)
    messages.success(request, "The pause has ended; work is given out again.")
    return redirect("assignment-list", slug=request.project.slug)


@project_page
@require_POST
def assignment_rules(request: PageRequest) -> HttpResponse:
    """How much one person may hold, and when somebody counts as away."""
    require_administrator(actor=request.user, project=request.project)
    numbers: dict[str, int | None] = {}
    wrong = {}
    for name in _RULES:
        text = request.POST.get(name, "").strip()
        if text and not (text.isascii() and text.isdigit() and len(text) < 6):
            wrong[name] = "Write a whole number, or leave it empty."
        numbers[name] = int(text) if text and name not in wrong else None
    # What was left as the page showed it stays as it is, also where somebody else has changed it since.
    keep = [name for name in _RULES if request.POST.get(f"seen:{name}") == request.POST.get(name, "").strip()]
    if not wrong:
        try:
            pauses.set_rules(actor=request.user, project=request.project, keep=keep, **numbers)
        except Invalid as error:
            wrong[error.details["field"]] = error.sentence
    if wrong:
        return _overview(request, wrong)
    messages.success(request, "Saved.")
    return redirect("assignment-list", slug=request.project.slug)
