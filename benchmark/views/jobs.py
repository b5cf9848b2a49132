"""The page of a project's background work."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRefresh

from annotator.errors import Hidden
from annotator.models import Job, Project
from annotator.services.access import require_administrator
from annotator.services.jobs import cancel_job
from annotator.views.pages import PageRequest, project_page
from benchmark.models import ImportBatch, Release
from benchmark.views.paging import page_of, place_of, watches

PAGE = 30


@project_page
@require_http_methods(["GET", "POST"])
def job_list(request: PageRequest) -> HttpResponse:
    """The project's jobs, newest first; for administrators."""
    project = request.project
    require_administrator(actor=request.user, project=project)
    rows = Job.objects.filter(project=project).select_related("requester")
    if request.method == "POST":
        job = rows.filter(public_id=request.POST.get("job", "")).first()
        if job is None:
            raise Hidden("There is no such job in this project.")
        cancel_job(actor=request.user, job=job)
        messages.info(request, "The job stops at its next step.")
        return redirect("job-list", slug=project.slug)
    page = page_of(rows, place_of(request), size=PAGE)
    busy = any(not job.ended for job in page.rows)
    if watches(request, "jobs"):
        if not busy:
            return HttpResponseClientRefresh()
        return render(request, "benchmark/job_list.html#jobs", _context(project, page, busy))
    context = _context(project, page, busy) | {"trail": [(project.name, f"/p/{project.slug}/"), ("Jobs", "")]}
    return render(request, "benchmark/job_list.html", context)


def _context(project: Project, page: Any, busy: bool) -> dict[str, Any]:
    links = _links(project, page.rows)
    return {
        "project": project,
        "page": page,
        "busy": busy,
        "jobs": [(job, *links.get(job.pk, ("", ""))) for job in page.rows],
    }


def _links(project: Project, jobs: list[Job]) -> dict[int, tuple[str, str]]:
    """What each job was about: a word for it and the page that shows it."""
    out = {
        batch.job_id: (batch.filename, reverse("import-detail", args=[project.slug, batch.public_id]))
        for batch in ImportBatch.objects.filter(job__in=jobs)
    }
    for release in Release.objects.filter(job__in=jobs).defer("frozen"):
        out[release.job_id] = (
            f"release {release.version}",
            reverse("release-detail", args=[project.slug, release.public_id]),
        )
    return out
