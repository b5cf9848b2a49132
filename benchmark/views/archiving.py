"""The page on which a project is exported, archived, restored and deleted."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotator.errors import Invalid
from annotator.models import ArchivedProject, Role
from annotator.services import archiving
from annotator.services.access.permissions import OVERSEERS, require_administrator, require_role
from annotator.views.pages import PageRequest, in_archive, project_page


@project_page
@in_archive
@require_http_methods(["GET", "POST"])
def project_archive(request: PageRequest) -> HttpResponse:
    """Show the state of a project to its overseers; administrators archive and restore it."""
    project = request.project
    require_role(actor=request.user, project=project, roles=OVERSEERS)
    if request.method == "POST":
        require_administrator(actor=request.user, project=project)
        match request.POST.get("do", ""):
            case "archive":
                archiving.archive_project(actor=request.user, project=project)
                messages.success(request, _("Archived %(project)s.") % {"project": project.name})
            case "restore":
                archiving.restore_project(actor=request.user, project=project)
                messages.success(request, _("Restored %(project)s.") % {"project": project.name})
            case _unknown:
                raise Invalid(_("Choose what to do with the project."))
        return redirect("project-archive", slug=project.slug)
    context = {
        "project": project,
        "is_admin": Role.ADMINISTRATOR in request.roles,
        "claims": archiving.count_open_work(project),
        "archived": ArchivedProject.objects.filter(project=project).select_related("person").first(),
        "trail": [(project.name, f"/p/{project.slug}/"), (_("Archive"), "")],
    }
    return render(request, "benchmark/project_archive.html", context)
