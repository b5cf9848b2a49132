"""The page of a project's jobs."""

from typing import Any

from django.contrib import messages
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRefresh

from annotator.models import Dialogue, Job, Project, Replay, User
from annotator.services.dialogues.trials import KIND as TRIALS
from annotator.services.jobs.jobs import cancel_job
from annotator.services.jobs.reading import jobs_of, load_job
from annotator.views.pages import PageRequest, project_page, takes
from benchmark.models import ImportBatch, Inference, PredictionFile, Release
from benchmark.services.dataset_statistics.selections import KIND as DATASET_STATISTICS
from benchmark.views.paging import page_of, watches

PAGE = 30


@project_page
@require_http_methods(["GET", "POST"])
@takes("before", "after")
def job_list(request: PageRequest) -> HttpResponse:
    """Show the project's jobs, newest first; for administrators."""
    project = request.project
    rows = jobs_of(actor=request.user, project=project)
    if request.method == "POST":
        job = load_job(actor=request.user, project=project, public_id=request.POST.get("job", ""))
        cancel_job(actor=request.user, job=job)
        messages.info(request, _("The job stops at its next step."))
        return redirect("job-list", slug=project.slug)
    page = page_of(rows, request, size=PAGE)
    busy = any(not job.ended for job in page.rows)
    if watches(request, "jobs"):
        if not busy:
            return HttpResponseClientRefresh()
        return render(request, "benchmark/job_list.html#jobs", _context(request, page, busy))
    context = _context(request, page, busy) | {"trail": [(project.name, f"/p/{project.slug}/"), (_("Jobs"), "")]}
    return render(request, "benchmark/job_list.html", context)


def _context(request: PageRequest, page: Any, busy: bool) -> dict[str, Any]:
    project = request.project
    links = _links(project, page.rows) | _links_of_code(request.user, project, page.rows)
    return {
        "project": project,
        "page": page,
        "busy": busy,
        "jobs": [(job, *links.get(job.pk, ("", ""))) for job in page.rows],
    }


def _links(project: Project, jobs: list[Job]) -> dict[int, tuple[str, str]]:
    """Return, by job, the name of its subject and the page that shows it."""
    # Jobs that an import started, or that started one, name it.
    named = {job.pk: job.parameters.get("import") or job.result.get("import") for job in jobs}
    following = {job: name for job, name in named.items() if name}
    out = {}
    batches = ImportBatch.objects.filter(Q(job__in=jobs) | Q(public_id__in=following.values()), project=project)
    for batch in batches:
        link = (batch.filename, reverse("import-detail", args=[project.slug, batch.public_id]))
        out[batch.job_id] = link
        out |= {job: link for job, name in following.items() if name == batch.public_id}
    for release in Release.objects.filter(job__in=jobs).defer("frozen"):
        out[release.job_id] = (
            _("Release %(version)s") % {"version": release.version},
            reverse("release-detail", args=[project.slug, release.public_id]),
        )
    for file in PredictionFile.objects.filter(job__in=jobs).defer("notes"):
        out[file.job_id] = (file.filename, reverse("prediction-file", args=[project.slug, file.public_id]))
    out |= {
        job.pk: (
            _("Dialogues"), f"{reverse('dialogue-statistics', args=[project.slug])}?{job.parameters['filters']}"
        )
        for job in jobs
        if job.kind == DATASET_STATISTICS
    }  # fmt: skip
    # An inference that was continued has had several jobs.
    asked = {job.pk: job.parameters["inference"] for job in jobs if "inference" in job.parameters}
    inferences = {one.public_id: one for one in Inference.objects.filter(public_id__in=asked.values())}
    for key, name in asked.items():
        if name in inferences:
            out[key] = (inferences[name].name, reverse("inference", args=[project.slug, name]))
    return out


def _links_of_code(user: User, project: Project, jobs: list[Job]) -> dict[int, tuple[str, str]]:
    """Return the same for replays and trials. Runs of a draft are private, so they link to the dialogue only."""
    out = {}
    replays = Replay.objects.filter(job__in=jobs).select_related("dialogue").defer("record", "trajectory")
    shown = set(Replay.objects.visible_to(user).filter(job__in=jobs).values_list("pk", flat=True))
    for replay in replays:
        where = [project.slug, replay.dialogue.public_id]
        url = (
            reverse("replay", args=[*where, replay.public_id])
            if replay.pk in shown
            else reverse("dialogue", args=where)
        )
        out[replay.job_id] = (replay.dialogue.external_id, url)
    trials = {job: job.parameters["dialogue"] for job in jobs if job.kind == TRIALS and job.parameters.get("dialogue")}
    rows = Dialogue.objects.visible_to(user).filter(project=project, public_id__in=trials.values())
    dialogues = {one.public_id: one for one in rows.select_related("head")}
    for job, name in trials.items():
        if (dialogue := dialogues.get(name)) is not None:
            out[job.pk] = (dialogue.external_id, _page_of_trial(project, dialogue, job))
    return out


def _page_of_trial(project: Project, dialogue: Dialogue, job: Job) -> str:
    """Return the workbench of the validator that was tried; the dialogue if there were several or it is gone."""
    tried = {subject["constraint"] for subject in job.parameters["subjects"]}
    held = {one["id"] for one in dialogue.head.document().get("constraints", ())} if dialogue.head else set()
    if len(tried) == 1 and tried <= held:
        return reverse("validator", args=[project.slug, dialogue.public_id, *tried]) + f"?job={job.public_id}"
    return reverse("dialogue", args=[project.slug, dialogue.public_id])
