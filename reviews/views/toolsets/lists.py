"""Pages of all toolsets: the list, statistics, and categories."""

from typing import Any
from urllib.parse import urlencode

from django.db.models import BooleanField, ExpressionWrapper, Q
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotator.core.roles import Role
from annotator.core.tools.categories import MAX_LENGTH
from annotator.core.tools.statistics import KINDS
from annotator.errors import DomainError, Invalid
from annotator.services.access.permissions import require_administrator
from annotator.services.database.keyset import read_page
from annotator.services.toolsets import categories
from annotator.services.toolsets.listing import (
    FILTERS,
    NO_CATEGORY,
    Filters,
    narrowed,
    project_tags,
    read_filters,
    statistics_of,
    tools_by_category,
)
from annotator.views.pages import PageRequest, project_page, takes
from reviews.services.toolset_review.states import standings_of
from reviews.views.toolsets.review import SHOWN

PAGE = 50
_WITH_CODE = '{"implementation":'


def _shared(request: PageRequest, filters: Filters) -> dict[str, object]:
    """Return what the list and the statistics show: filters, and the query that keeps them."""
    project = request.project
    names = project.toolset_categories.order_by("name").values_list("name", flat=True)
    chosen = {name: getattr(filters, name) for name in FILTERS if getattr(filters, name)}
    return {
        "project": project,
        "filters": filters,
        "categories": [(NO_CATEGORY, _("Without a category")), *((name, _(name)) for name in names)],
        "tags": [(tag, tag) for tag in project_tags(project)],
        "findings": [
            ("errors", _("With errors")), ("warnings", _("With warnings")), ("clean", _("Without errors and warnings")),
        ],
        "query": urlencode(chosen),
        "is_admin": Role.ADMINISTRATOR in request.roles,
    }  # fmt: skip


@project_page
@require_safe
@takes("before", "after", *FILTERS)
def toolset_list(request: PageRequest) -> HttpResponse:
    """List the project's toolsets, oldest first."""
    project = request.project
    filters = read_filters(request.GET, project)
    rows = narrowed(project, filters).select_related("head", "category").defer("head__content")
    # In canonical text, the implementation comes before the tools.
    with_code = ExpressionWrapper(Q(head__content__startswith=_WITH_CODE), BooleanField())
    page = read_page(
        rows.annotate(runs=with_code),
        after=request.GET.get("after"),
        before=request.GET.get("before"),
        size=PAGE,
    )
    for toolset in page.rows:
        facts = (toolset.head and toolset.head.facts) or {}
        toolset.found = facts.get("errors", 0) + facts.get("warnings", 0)  # type: ignore[attr-defined]
    standings = standings_of(actor=request.user, project=project, toolsets=page.rows)
    for toolset in page.rows:
        words, tone, icon = SHOWN[standings[toolset.pk].state] if standings else ("", "", "")
        toolset.standing = {"words": _(words), "tone": tone, "icon": icon} if words else None  # type: ignore[attr-defined]
    context = _shared(request, filters)
    context["reviewed"] = bool(standings)
    kept = f"{context['query']}&" if context["query"] else ""
    context |= {
        "rows": page.rows,
        "previous": f"?{kept}before={page.before}" if page.before else "",
        "following": f"?{kept}after={page.after}" if page.after else "",
        "trail": [(project.name, f"/p/{project.slug}/"), (_("Toolsets"), "")],
    }
    return render(request, "reviews/toolsets/list.html", context)


@project_page
@require_safe
@takes(*FILTERS)
def toolset_statistics(request: PageRequest) -> HttpResponse:
    """Count the tools of the toolsets, and their parameters by type and depth."""
    project = request.project
    filters = read_filters(request.GET, project)
    rows = narrowed(project, filters)
    found = statistics_of(rows)
    depths = list(found.by_depth)
    context = _shared(request, filters)
    context |= {
        "found": found,
        "depths": depths,
        "parameters": [
            (kind, [found.parameters[kind].get(depth, 0) for depth in depths], found.by_kind[kind])
            for kind in KINDS
            if kind in found.parameters
        ],
        "by_category": tools_by_category(rows),
        "widths": list(found.tools_by_parameters.items()),
        "trail": [
            (project.name, f"/p/{project.slug}/"),
            (_("Toolsets"), f"/p/{project.slug}/toolsets/"),
            (_("Statistics"), ""),
        ],
    }
    return render(request, "reviews/toolsets/statistics.html", context)


@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes()
def toolset_categories(request: PageRequest) -> HttpResponse:
    """Show the categories of the project's toolsets, and change them."""
    project = request.project
    require_administrator(actor=request.user, project=project)
    refused, status = "", 200
    if request.method == "POST":
        try:
            _change_categories(request)
            return redirect("toolset-categories", slug=project.slug)
        except DomainError as error:
            refused, status = error.sentence, error.status
    # What was refused stays in its field.
    key, typed = (request.POST.get(name, "") if refused else "" for name in ("key", "name"))
    rows: list[Any] = list(categories.categories_of(project))
    for one in rows:
        one.refused = str(one.pk) == key
        one.shown_name = typed if one.refused and typed else one.name
    context = {
        "project": project,
        "rows": rows,
        "refused": refused,
        "new_name": typed if not key else "",
        "most": MAX_LENGTH,
        "trail": [
            (project.name, f"/p/{project.slug}/"),
            (_("Toolsets"), f"/p/{project.slug}/toolsets/"),
            (_("Categories"), ""),
        ],
    }
    return render(request, "reviews/toolsets/categories.html", context, status=status)


def _change_categories(request: PageRequest) -> None:
    name, action, key = (request.POST.get(field, "") for field in ("name", "action", "key"))
    if action == "add":
        categories.add_category(actor=request.user, project=request.project, name=name)
        return
    if action not in ("rename", "delete") or not (key.isascii() and key.isdigit() and len(key) < 19):
        raise Invalid(_("Choose what to do with which category."))
    if action == "rename":
        categories.rename_category(actor=request.user, project=request.project, key=int(key), name=name)
    else:
        categories.delete_category(actor=request.user, project=request.project, key=int(key))
