"""Pages of statistics of what dialogues consist of: of the filtered list, and of a release."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import HttpResponseClientRefresh

from annotator.core.coverage import SIGN
from annotator.errors import Conflict, Hidden
from annotator.models import User
from annotator.presentation.components.labels import words_of
from annotator.services.dialogues.listing import NAMES, OUTDATED, PROBLEMS, STALE, Filters
from annotator.services.saved_views import clean_query
from annotator.views.pages import PageRequest, project_page, takes
from benchmark.models import ReleaseState
from benchmark.services.dataset_statistics import selections
from benchmark.services.dataset_statistics.releases import statistics_of
from benchmark.services.releases.requests import load_release
from benchmark.views import pyramid
from benchmark.views.dataset_tables import figures_of, parts_of
from benchmark.views.paging import watches
from reviews.services.protocols.readers import shown_stage_titles


@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes(*NAMES)
def dialogue_statistics(request: PageRequest) -> HttpResponse:
    """Show what the dialogues of the filtered list consist of; POST counts a long list in the background, or stops."""
    project, actor = request.project, request.user
    stages = shown_stage_titles(project)
    filters = Filters.of(request.GET, project=project, stages=lambda: stages)
    query = clean_query(request.GET, NAMES)
    if request.method == "POST":
        _change(request, filters)
        return redirect(f"{request.path}?{query}" if query else request.path)
    context: dict[str, Any] = {"project": project, "query": query, "here": request.get_full_path()}
    if watches(request, "statistics-state"):
        job = selections.last_job(actor=actor, project=project, filters=filters)
        if job is None or job.ended:
            return HttpResponseClientRefresh()
        return render(request, "benchmark/dialogue_statistics.html#state", context | {"job": job})
    state = selections.read_statistics(actor=actor, project=project, filters=filters)
    found = state.counted.statistics if state.counted else None
    context |= {
        "job": state.job,
        "counted": state.counted,
        "at_once": selections.AT_ONCE,
        "chosen": _chosen(filters, stages),
        "figures": figures_of(found) if found else [],
        "parts": parts_of(found) if found else [],
        "similar": selections.similar_groups(actor=actor, project=project, filters=filters),
        "trail": [
            (project.name, f"/p/{project.slug}/"),
            (_("Dialogues"), reverse("dialogue-list", args=[project.slug]) + (f"?{query}" if query else "")),
            (_("Dataset statistics"), ""),
        ],
    }
    return render(request, "benchmark/dialogue_statistics.html", context)


@project_page
@require_safe
def release_statistics(request: PageRequest, public_id: str) -> HttpResponse:
    """Show what the dialogues of a frozen release consist of."""
    project = request.project
    release = load_release(actor=request.user, project=project, public_id=public_id)
    if release.state != ReleaseState.FROZEN:
        raise Hidden(_("This release is not frozen, so it has no statistics yet."))
    found = statistics_of(release)
    releases = f"/p/{project.slug}/releases/"
    context = {
        "project": project,
        "release": release,
        "figures": figures_of(found) if found else [],
        "parts": parts_of(found) if found else [],
        "trail": [
            (project.name, f"/p/{project.slug}/"),
            (_("Releases"), releases),
            (release.version, f"{releases}{public_id}/"),
            (_("Dataset statistics"), ""),
        ],
    }
    return render(request, "benchmark/release_statistics.html", context)


def _change(request: PageRequest, filters: Filters) -> None:
    given: dict[str, Any] = {"actor": request.user, "project": request.project, "filters": filters}
    try:
        if request.POST.get("do") == "cancel":
            selections.cancel_counting(**given)
        else:
            selections.start_counting(**given)
    except Conflict as refusal:
        messages.error(request, refusal.sentence)


def _chosen(filters: Filters, stages: dict[str, str]) -> list[tuple[str, str]]:
    """Return the filters in use as (name, value) in words."""
    names = {
        "q": _("Search text or ID"), "status": _("Status"), "stage": _("Stage"), "policy": _("Policy"),
        "topology": _("Topology"), "information": _("Information"), "language": _("Language"), "owner": _("Owner"),
        "problems": _("Findings"), "check": _("Check"), "outdated": _("Guideline"), "field": _("Custom field"),
        "meta": _("Metadata"), "tag": _("Tag"), "sequence": _("Sequence"),
        "stale": _("Layers"),
    }  # fmt: skip
    coded = ("status", "policy", "topology", "information", "language")
    values = {name: words_of(name, value) if name in coded else value for name, value in filters.active.items()}
    for name, words in (("problems", PROBLEMS), ("outdated", OUTDATED), ("stale", STALE), ("stage", stages)):
        if name in values:
            values[name] = str(words.get(values[name], values[name]))
    if "sequence" in values:
        values["sequence"] = pyramid.names(tuple(values["sequence"].split(SIGN)))
    if "owner" in values:
        values["owner"] = str(User.objects.get(public_id=values["owner"]))
    return [(names[name], value) for name, value in values.items()]
