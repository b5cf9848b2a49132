"""The page on which trajectories are sampled for queries."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRefresh

from annotator.core.text import Message
from annotator.errors import DomainError
from annotator.models import Project
from annotator.services.access.permissions import require_administrator
from annotator.translation import translated
from annotator.views.pages import PageRequest, add_refusal, project_page, takes
from annotator.views.uploads import takes_files
from benchmark.core.sampling import MAX_FILE
from benchmark.models import QueryOutcome
from benchmark.services.generation.players import players_of
from benchmark.services.generation.recordings import MAX_FILE as MAX_RECORDS
from benchmark.services.generation.recordings import read_recording
from benchmark.services.inference.endpoints import list_endpoints
from benchmark.services.inference.requests import Budget
from benchmark.services.sampling.requests import (
    continue_sampling,
    counts_of,
    last_sampling,
    queries_of,
    queries_of_project,
    read_query_file,
    start_sampling,
    used_by,
)
from benchmark.views.paging import watches
from benchmark.views.sampling_forms import LimitsForm, SamplingForm

#: Queries that the page lists.
LISTED = 200


@takes_files
@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes()
def sample_trajectories(request: PageRequest) -> HttpResponse:
    """Show the last sampling; start one, or go on with it."""
    project = request.project
    require_administrator(actor=request.user, project=project)
    if watches(request, "sampling"):
        context = _last(project)
        if not context["busy"]:
            return HttpResponseClientRefresh()
        return render(request, "benchmark/sampling.html#sampling", {"project": project, **context})
    endpoints = list_endpoints(actor=request.user, project=project)
    goes_on = request.method == "POST" and "continue" in request.POST
    bound = request.method == "POST" and not goes_on
    form = SamplingForm(request.POST if bound else None, request.FILES if bound else None, endpoints=endpoints)
    limits = LimitsForm(request.POST if goes_on else None, prefix="more")
    for one, act in ((form, _start), (limits, _continue)):
        if one.is_bound and one.is_valid():
            try:
                act(request, one)
            except DomainError as refusal:
                add_refusal(one, refusal)
            else:
                return redirect("sample-trajectories", slug=project.slug)
    cases = (_("Construct cases"), reverse("construct-cases", args=[project.slug]))
    context = {
        "project": project, "form": form, "limits": limits,
        "trail": [(project.name, f"/p/{project.slug}/"), cases, (_("Sample trajectories"), "")], **_last(project),
    }  # fmt: skip
    wrong = form.errors or limits.errors
    return render(request, "benchmark/sampling.html", context, status=422 if wrong else 200)


def _start(request: PageRequest, form: Any) -> None:
    data, project = form.cleaned_data, request.project
    if data["queries"]:
        queries = read_query_file(project, data["queries"].read(MAX_FILE + 1))
    else:
        queries = queries_of_project(project, form.names)
    records = read_recording(data["records"].read(MAX_RECORDS + 1)) if data["records"] else []
    start_sampling(
        actor=request.user, project=project, queries=queries, attempts=data["attempts"], options=data["options"],
        players=players_of(records) if records else form.players, records=records, budget=form.budget,
        idempotent=data["idempotent"] or bool(records),
    )  # fmt: skip


def _continue(request: PageRequest, form: Any) -> None:
    sampling = last_sampling(request.project)
    if sampling is not None:
        given = form.budget
        budget = Budget(given.tokens or sampling.token_budget, given.cost or sampling.cost_budget)
        continue_sampling(actor=request.user, sampling=sampling, budget=None if given == Budget() else budget)


def _last(project: Project) -> dict[str, Any]:
    """Return the last sampling, its queries and what they have cost, for the page."""
    sampling = last_sampling(project)
    if sampling is None:
        return {"sampling": None, "busy": False}
    tokens, cost = used_by(sampling)
    queries, counts = queries_of(sampling, LISTED), counts_of(sampling)
    result = sampling.job.result if sampling.job else {}
    refusal = result.get("refusal")
    # People may have solved queries since the job has made cases.
    goes_on = bool(counts[QueryOutcome.OPEN] or refusal or counts[QueryOutcome.SOLVED] != result.get("solved"))
    return {
        "sampling": sampling, "job": sampling.job, "goes_on": goes_on,
        "busy": sampling.job is not None and not sampling.job.ended,
        "counts": counts, "queries": queries, "count": sum(counts.values()), "listed": LISTED,
        "tokens": tokens, "cost": cost, "refusal": translated(Message.from_json(refusal)) if refusal else "",
    }  # fmt: skip
