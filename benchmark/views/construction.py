"""The page on which constrained cases are made from others."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRefresh

from annotator.errors import DomainError
from annotator.models import Project
from annotator.services.access.permissions import require_administrator
from annotator.views.pages import PageRequest, add_refusal, project_page, takes
from benchmark.services.constructing.requests import Preview, last_job, preview, start_constructing
from benchmark.services.constructing.sources import list_sources
from benchmark.services.inference.endpoints import list_endpoints
from benchmark.views.construction_forms import ConstructForm
from benchmark.views.paging import watches

#: Source cases that the page lists.
LISTED = 100


@project_page
@require_http_methods(["GET", "POST"])
@takes()
def construct_cases(request: PageRequest) -> HttpResponse:
    """Show the source cases and the last job; make cases, or show one that would be made."""
    project = request.project
    require_administrator(actor=request.user, project=project)
    if watches(request, "construction"):
        context = _job(project)
        if not context["busy"]:
            return HttpResponseClientRefresh()
        return render(request, "benchmark/construct_cases.html#construction", {"project": project, **context})
    endpoints = list_endpoints(actor=request.user, project=project)
    form = ConstructForm(request.POST or None, endpoints=endpoints)
    shown = None
    if request.method == "POST" and form.is_valid():
        asked = form.cleaned_data["request"]
        try:
            if "make" in request.POST:
                start_constructing(actor=request.user, project=project, request=asked, rewriting=form.rewriting)
                return redirect("construct-cases", slug=project.slug)
            shown = preview(actor=request.user, project=project, request=asked)
        except DomainError as refusal:
            add_refusal(form, refusal)
    sources = list_sources(project, only_verified=False)
    context = {
        "project": project,
        "form": form,
        "preview": shown,
        "constraints": _constraints(shown),
        "sources": list(sources.defer("search_text")[:LISTED]),
        "count": sources.count(),
        "listed": LISTED,
        "trail": [(project.name, f"/p/{project.slug}/"), (_("Construct cases"), "")],
        **_job(project),
    }
    return render(request, "benchmark/construct_cases.html", context, status=422 if form.errors else 200)


def _job(project: Project) -> dict[str, Any]:
    job = last_job(project)
    result = job.result if job is not None else {}
    return {
        "job": job,
        "busy": job is not None and not job.ended,
        "result": result,
        "reasons": result.get("reasons", []),
        "import_id": result.get("import", ""),
        "generation_id": result.get("generation", ""),
    }


def _constraints(shown: Preview | None) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return the category, the sentence and the parameters of each constraint of a preview."""
    if shown is None or shown.example is None:
        return []
    rows = []
    for each in shown.example.case.document["constraints"]:
        validator = each["validator"]
        given = each["parameters"] if validator is None else {"validator": validator["form"], **validator["parameters"]}
        rows.append((each["category"], each["text"], [(name, _shown(value)) for name, value in given.items()]))
    return rows


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_shown(one)}" for name, one in value.items())
    if isinstance(value, list):
        return "; ".join(", ".join(one) if isinstance(one, list) else str(one) for one in value)
    return str(value)
