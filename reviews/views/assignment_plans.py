"""The page of one change of many items: its preview, its result, and its undo."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from annotator.errors import Conflict
from annotator.models import Dialogue, User
from annotator.services.database.filters import UnknownFilter, one_of, refuse_unknown_names
from annotator.services.dialogues import listing
from annotator.services.dialogues.sorting import sort_of
from annotator.services.saved_views import SAVED, clean_query
from annotator.views.pages import PageRequest, project_page, takes
from reviews.models import ON_DIALOGUES, AssignmentPlan, PlanAction, Priority, Slot
from reviews.services.assignments import plans
from reviews.services.assignments.lists import FILTERS, Filters
from reviews.services.assignments.undo import UNDO_DAYS, forecast_undo, why_not_undone
from reviews.services.protocols.versions import stage_titles

#: Names looked up, and names shown of each person or reason.
_LOOKED_UP, _SHOWN = 300, 8
#: Lists that a change can come from whatever its action.
_LISTS = ("dialogues",)


@project_page
@require_http_methods(["GET", "POST"])
@takes("back", "list")
def assignment_plan_detail(request: PageRequest, public_id: str) -> HttpResponse:
    """Show what a change will do and, once confirmed, what it did. 409: something changed since the preview.

    ``back``: the query string of the list that the person comes from; ``list``: see ``to_plan``.
    """
    project = request.project
    plan = plans.load_plan(actor=request.user, project=project, public_id=public_id)
    changed: list[str] = []
    refused = ""
    if request.method == "POST":
        if "again" in request.POST:
            return to_plan(_again(request, plan), **_where_from(request))
        try:
            plan = plans.confirm_plan(actor=request.user, project=project, public_id=public_id)
        except Conflict as error:
            refused, changed = error.sentence, error.details.get("changed", [])
        else:
            if plan.job is None:
                sentence = ngettext("%(count)s item changed.", "%(count)s items changed.", len(plan.items))
                messages.success(request, sentence % {"count": len(plan.items)})
            return to_plan(plan, **_where_from(request))
    context = _plan_context(request, plan) | {"refused_now": refused, "changed": changed}
    return render(request, "reviews/project/assignment_plan.html", context, status=409 if refused else 200)


@project_page
@require_POST
def assignment_plan_undo(request: PageRequest, public_id: str) -> HttpResponse:
    """Preview the undo of a change."""
    plan = plans.make_undo(actor=request.user, project=request.project, public_id=public_id)
    return to_plan(plan, **_where_from(request))


def to_plan(plan: AssignmentPlan, *, back: str, listed: str = "") -> HttpResponse:
    """Go to the page of a change. ``back``: the query string of the list, to which the page leads back.

    ``listed``: “dialogues” if that is the list of dialogues; blank: that depends on the action.
    """
    address = reverse("assignment-plan-detail", args=[plan.project.slug, plan.public_id])
    return redirect(f"{address}{_query_of(back, listed)}")


def _query_of(back: str, listed: str) -> str:
    kept = {name: value for name, value in (("back", back), ("list", listed)) if value}
    return f"?{urlencode(kept)}" if kept else ""


def _where_from(request: PageRequest) -> dict[str, str]:
    """Return the list that the person comes from, as ``to_plan`` takes it. Raises UnknownFilter."""
    return {"back": request.GET.get("back", ""), "listed": one_of(request.GET, "list", _LISTS)}


def _list_address(request: PageRequest, plan: AssignmentPlan) -> str:
    """Return the address of the list that the person comes from, as filtered then. Raises UnknownFilter.

    Only the query string is taken from the request, so that the address is always that of the list.
    """
    project, query = request.project, QueryDict(request.GET.get("back", ""))
    titles = stage_titles(project)
    of_dialogues = plan.action in ON_DIALOGUES or bool(one_of(request.GET, "list", _LISTS))
    try:
        if of_dialogues:
            address, known = reverse("dialogue-list", args=[project.slug]), SAVED
            refuse_unknown_names(query, known)
            listing.Filters.of(query, project=project, stages=lambda: titles)
            sort_of(query)
        else:
            address, known = reverse("assignment-list", args=[project.slug]), FILTERS
            refuse_unknown_names(query, known)
            Filters.of(query, project=project, stages=titles)
    except UnknownFilter as error:
        raise UnknownFilter(error.sentence, ["back"]) from None
    kept = clean_query(query, known)
    return f"{address}?{kept}" if kept else address


def _again(request: PageRequest, plan: AssignmentPlan) -> AssignmentPlan:
    """Preview the same change again, as things are now."""
    if plan.undoes is not None:
        return plans.make_undo(actor=request.user, project=request.project, public_id=plan.undoes.public_id)
    asked, keys = plan.parameters, [row[0] for row in plan.items]
    return plans.make_plan(
        actor=request.user,
        project=request.project,
        action=plan.action,
        slots=[] if plan.action in ON_DIALOGUES else keys,
        dialogues=keys if plan.action in ON_DIALOGUES else [],
        to=asked["to"],
        priority=asked["priority"],
        stage=asked.get("stage", ""),
        tags=asked.get("tags", []),
        reason=asked["reason"],
        all_the_same=asked.get("all_the_same", False),
    )


def _plan_context(request: PageRequest, plan: AssignmentPlan) -> dict[str, Any]:
    """Return items by assignee, with the first few names, and refusals by reason."""
    keys = [row[0] for row in plan.items[:_LOOKED_UP]]
    if plan.action in ON_DIALOGUES:
        names = dict(Dialogue.objects.filter(pk__in=keys).values_list("pk", "external_id"))
    else:
        names = dict(Slot.objects.filter(pk__in=keys).values_list("pk", "dialogue__external_id"))
    people = User.objects.in_bulk({row[1] for row in plan.items if row[1]})
    by_person: dict[int | None, list[Any]] = {}
    for row in plan.items:
        by_person.setdefault(row[1], []).append(row[0])
    reasons: dict[str, list[str]] = {}
    for name, why in plan.refused:
        reasons.setdefault(why, []).append(name)
    action = PlanAction(plan.action).label
    undo = plan.undos.filter(confirmed_at__isnull=False).select_related("confirmed_by").first()
    return {
        "plan": plan,
        "action": _("Undo: %(action)s") % {"action": action} if plan.undoes else action,
        "details": _details(request, plan),
        "people_get_items": any(by_person),
        "groups": [
            (
                people.get(key) if key else None,
                len(found),
                [names[one] for one in found[:_SHOWN] if one in names],
                len(found) > _SHOWN,
            )
            for key, found in by_person.items()
        ],
        "reasons": [(why, len(found), found[:_SHOWN], len(found) > _SHOWN) for why, found in reasons.items()],
        "at_once": len(plan.items) <= plans.AT_ONCE,
        "undone_by": undo,
        "may_undo": not why_not_undone(plan),
        "undo_days": UNDO_DAYS,
        "back": _list_address(request, plan),
        "query": _query_of(**_where_from(request)),
    }


def _details(request: PageRequest, plan: AssignmentPlan) -> list[str]:
    """Return what the change sets, as sentences; an undo restores what each item had."""
    if plan.undoes is not None:
        return []
    asked, out = plan.parameters, []
    if asked.get("priority") is not None:
        out.append(_("Priority: %(priority)s.") % {"priority": Priority(asked["priority"]).label})
    if asked.get("all_the_same"):
        out.append(_("People also get what doesn’t fit their languages and skills."))
    if asked.get("stage"):
        title = stage_titles(request.project).get(asked["stage"], asked["stage"])
        out.append(_("Stage: %(stage)s. Reviews of the current cycle are kept but set aside.") % {"stage": title})
    if asked.get("tags"):
        out.append(_("Tags: %(tags)s.") % {"tags": ", ".join(asked["tags"])})
    if asked["reason"]:
        out.append(_("Reason: %(reason)s") % {"reason": asked["reason"]})
    return [*out, *_undo_words(plan)]


def _undo_words(plan: AssignmentPlan) -> list[str]:
    """Return what an undo could do and what it couldn't, before dialogues are sent back."""
    forecast = forecast_undo(plan)
    if forecast is None:
        return []
    sentence = ngettext(
        "For %(count)s item, this can be undone for %(days)s days, as long as nobody works on it.",
        "For %(count)s items, this can be undone for %(days)s days, as long as nobody works on them.",
        forecast.undoable,
    )
    out = [sentence % {"count": f"{forecast.undoable:,}", "days": UNDO_DAYS}]
    if forecast.revealed:
        sentence = ngettext(
            "For %(count)s item, this can’t be undone: the reviews in its blind stage become visible.",
            "For %(count)s items, this can’t be undone: the reviews in their blind stage become visible.",
            forecast.revealed,
        )
        out.append(sentence % {"count": f"{forecast.revealed:,}"})
    if forecast.answers:
        sentence = ngettext(
            "%(count)s item is the known answer of a gold item. The gold item is retired, also after an undo.",
            "%(count)s items are the known answers of gold items. The gold items are retired, also after an undo.",
            forecast.answers,
        )
        out.append(sentence % {"count": f"{forecast.answers:,}"})
    return out
