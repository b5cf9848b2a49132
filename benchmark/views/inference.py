"""Pages of endpoints and inferences; for administrators."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRefresh

from annotator.errors import DomainError
from annotator.services.jobs.jobs import cancel_job
from annotator.views.pages import PageRequest, posted, project_page, takes
from benchmark.models import Inference
from benchmark.services.inference import endpoints, requests
from benchmark.services.inference.options import Options
from benchmark.services.runs import boards
from benchmark.services.runs.uploads import families_of
from benchmark.views.inference_forms import BudgetForm, EndpointForm, InferenceForm, describe_options
from benchmark.views.paging import watches
from benchmark.views.runs import release_trail


@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes()
def endpoint_list(request: PageRequest) -> HttpResponse:
    """Show the project's endpoints, and add one."""
    project = request.project
    rows = endpoints.list_endpoints(actor=request.user, project=project)
    form = EndpointForm(posted(request))
    if request.method == "POST" and form.is_valid():
        try:
            endpoints.add_endpoint(actor=request.user, project=project, **form.cleaned_data)
        except DomainError as refusal:
            form.add_error(None, refusal.sentence)
        else:
            return redirect("endpoint-list", slug=project.slug)
    context = {
        "project": project,
        "form": form,
        "rows": rows.select_related("requester"),
        "trail": [
            (project.name, f"/p/{project.slug}/"), (_("Releases"), reverse("release-list", args=[project.slug])),
            (_("Endpoints"), ""),
        ],
    }  # fmt: skip
    return render(request, "benchmark/endpoint_list.html", context, status=422 if form.is_bound else 200)


@project_page
@require_POST
def endpoint_change(request: PageRequest, public_id: str) -> HttpResponse:
    """Replace an endpoint's key, or remove the endpoint."""
    project = request.project
    endpoint = endpoints.load_endpoint(actor=request.user, project=project, public_id=public_id)
    if "remove" in request.POST:
        endpoints.remove_endpoint(actor=request.user, endpoint=endpoint)
        messages.info(request, _("%(name)s was removed, with its key.") % {"name": endpoint.name})
    elif not request.POST.get("key", "").strip():
        messages.error(request, _("Enter the new key of %(name)s.") % {"name": endpoint.name})
    else:
        endpoints.replace_key(actor=request.user, endpoint=endpoint, key=request.POST["key"])
        messages.info(request, _("The key of %(name)s was replaced.") % {"name": endpoint.name})
    return redirect("endpoint-list", slug=project.slug)


@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes()
def inference_start(request: PageRequest, public_id: str) -> HttpResponse:
    """Start to ask a model about a release."""
    project = request.project
    known = endpoints.list_endpoints(actor=request.user, project=project)
    release = boards.load_overseen(actor=request.user, project=project, public_id=public_id)
    form = InferenceForm(posted(request), families=families_of(release), endpoints=known)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        given = {name: data[name] for name in ("model", "name", "family")}
        prices = {name: data[name] for name in ("input_price", "output_price") if data[name] is not None}
        try:
            inference = requests.start_inference(
                actor=request.user, release=release, endpoint=data["endpoint"], options=form.options,
                mode=form.mode, budget=form.budget, **given, **prices,
            )  # fmt: skip
        except DomainError as refusal:
            form.add_error(None, refusal.sentence)
        else:
            return redirect("inference", slug=project.slug, public_id=inference.public_id)
    context = {
        "project": project,
        "release": release,
        "form": form,
        "endpoints": known.exists(),
        "trail": release_trail(request, release, (_("Run a model"), "")),
    }
    return render(request, "benchmark/inference_start.html", context, status=422 if form.is_bound else 200)


@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes()
def inference_detail(request: PageRequest, public_id: str) -> HttpResponse:
    """Show an inference: its progress and cost; cancel it, or continue it when it has stopped."""
    project = request.project
    inference = requests.load_inference(actor=request.user, project=project, public_id=public_id)
    limits = {"token_budget": inference.token_budget, "cost_budget": inference.cost_budget}
    form = BudgetForm(posted(request) if "continue" in request.POST else None, initial=limits)
    if "cancel" in request.POST:
        cancel_job(actor=request.user, job=inference.job)
        return redirect("inference", slug=project.slug, public_id=public_id)
    if form.is_bound and form.is_valid():
        try:
            requests.continue_inference(actor=request.user, inference=inference, budget=form.budget)
        except DomainError as refusal:
            form.add_error(None, refusal.sentence)
        else:
            return redirect("inference", slug=project.slug, public_id=public_id)
    jobs = requests.jobs_of(inference)
    ended = all(job.ended for job in jobs) and not inference.waits
    context = {
        "project": project, "inference": inference, "jobs": jobs, "ended": ended, "figures": _figures(inference),
        "waits": inference.waits,
    }  # fmt: skip
    if watches(request, "inference-state"):
        if ended:
            return HttpResponseClientRefresh()
        return render(request, "benchmark/inference.html#state", context)
    more: dict[str, Any] = {
        "form": form,
        "runs": inference.predictions.runs.filter(complete=True) if inference.predictions else (),
        "refused": requests.list_refused(inference),
        "settings": describe_options(Options.of(inference.settings), inference.family, model=inference.person is None),
        "trail": release_trail(request, inference.release, (inference.name, "")),
    }
    return render(request, "benchmark/inference.html", context | more, status=422 if form.errors else 200)


def _figures(inference: Inference) -> list[tuple[str, str]]:
    """Return what has been asked and used so far."""
    if inference.person is not None:
        return [
            (_("Entries answered"), f"{inference.done:,} / {inference.total:,}"),
            (_("Replies"), f"{inference.requests:,}"),
        ]
    figures = [
        (_("Replies"), f"{inference.requests:,}"),
        (_("Requests refused"), f"{inference.refused:,}"),
        (_("Input tokens"), _of(inference.input_tokens, None)),
        (_("Output tokens"), _of(inference.output_tokens, None)),
        (_("Tokens"), _of(inference.tokens, inference.token_budget)),
    ]
    if inference.priced:
        limit = None if inference.cost_budget is None else f"{inference.cost_budget.normalize():f}"
        figures.append((_("Cost"), f"{inference.cost:.4f}" + (f" / {limit}" if limit else "")))
    return figures


def _of(number: int, limit: int | None) -> str:
    return f"{number:,}" if limit is None else f"{number:,} / {limit:,}"
