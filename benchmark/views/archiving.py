"""The page on which a project is exported, archived, restored and deleted."""

from django.contrib import messages
from django.http import FileResponse, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import HttpResponseClientRefresh

from annotator.errors import Conflict, Invalid
from annotator.models import ArchivedProject, Project, Role, User
from annotator.services import archiving
from annotator.services.access.permissions import OVERSEERS, require_administrator, require_role
from annotator.templatetags.components import job_progress
from annotator.views.pages import PageRequest, in_archive, project_page
from benchmark.services.project_data.deletion import (
    GRACE_DAYS,
    cancel_deletion,
    open_links,
    plan_deletion,
    planned_deletion,
)
from benchmark.services.project_data.export import (
    complete_export,
    export_since_archived,
    last_export,
    load_export,
    start_export,
)


@project_page
@in_archive
@require_http_methods(["GET", "POST"])
def project_archive(request: PageRequest) -> HttpResponse:
    """Show the state of a project to its overseers; administrators export, archive, restore and delete it."""
    project, refused, status = request.project, "", 200
    require_role(actor=request.user, project=project, roles=OVERSEERS)
    if request.method == "POST":
        require_administrator(actor=request.user, project=project)
        try:
            messages.success(request, _carry_out(request))
            return redirect("project-archive", slug=project.slug)
        except (Conflict, Invalid) as error:
            refused, status = error.sentence, error.status
    job = last_export(project)
    if job is not None and (request.htmx.target or "").endswith(f"job-{job.public_id}"):
        if job.ended:
            return HttpResponseClientRefresh()
        return render(request, "components/job.html", job_progress(job, request.path))
    context = {
        "project": project,
        "job": job,
        "job_url": request.path if job is not None and not job.ended else "",
        "export": complete_export(project),
        "is_complete": export_since_archived(project) is not None,
        "links": open_links(project),
        "deletion": planned_deletion(project),
        "days": GRACE_DAYS,
        "refused": refused,
        "is_admin": Role.ADMINISTRATOR in request.roles,
        "claims": archiving.count_open_work(project),
        "archived": ArchivedProject.objects.filter(project=project).select_related("person").first(),
        "trail": [(project.name, f"/p/{project.slug}/"), (_("Export, archive, delete"), "")],
    }
    return render(request, "benchmark/project_archive.html", context, status=status)


def _carry_out(request: PageRequest) -> str:
    """Do what was asked for; return a sentence that says so."""
    actor, project = request.user, request.project
    match request.POST.get("do", ""):
        case "export":
            start_export(actor=actor, project=project)
            return _("The export has started.")
        case "archive":
            archiving.archive_project(actor=actor, project=project)
            return _("Archived %(project)s.") % {"project": project.name}
        case "restore":
            archiving.restore_project(actor=actor, project=project)
            return _("Restored %(project)s.") % {"project": project.name}
        case "delete":
            plan_deletion(actor=actor, project=project, name=request.POST.get("name", ""))
            return _("The deletion is planned. It can be cancelled until it starts.")
        case "keep":
            cancel_deletion(actor=actor, project=project)
            return _("The deletion was cancelled.")
    raise Invalid(_("Choose what to do with the project."))


@project_page
@require_safe
def project_export(request: PageRequest) -> FileResponse:
    """Download the newest export."""
    return export_response(request.user, request.project)


def export_response(actor: User, project: Project) -> FileResponse:
    """Return the newest export as a download, with its checksum as ETag."""
    path, name, sha256 = load_export(actor=actor, project=project)
    response = FileResponse(path.open("rb"), as_attachment=True, filename=name, content_type="application/zip")
    response["ETag"] = f'"{sha256}"'
    response["X-Content-Type-Options"] = "nosniff"
    return response
