"""Pages of operators: the projects of this installation, what they store, and their quotas."""

from allauth.account.decorators import reauthentication_required
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotator.errors import Conflict, Invalid
from annotator.services import quotas
from annotator.services.access.operators import require_operator
from annotator.services.database.keyset import read_page
from annotator.services.hand_over import appoint_administrator
from annotator.views.pages import PageRequest, takes

#: Projects on a page.
_SIZE = 25


@login_required
@require_safe
@takes("before", "after")
def project_list(request: PageRequest) -> HttpResponse:
    """Show all projects, the oldest first."""
    return _page(request)


@login_required
@require_POST
@takes("before", "after")
def project_quota(request: PageRequest, slug: str) -> HttpResponse:
    """Set the quota of a project."""
    try:
        project = quotas.set_quota(actor=request.user, slug=slug, megabytes=request.POST.get("quota_mb", ""))
    except Invalid as refusal:
        return _page(request, refused=refusal.sentence, slug=slug, field="quota_mb")
    messages.success(request, _("Saved the quota of %(project)s.") % {"project": project})
    return redirect("operator-project-list")


@login_required
@require_POST
@takes("before", "after")
def project_appoint(request: PageRequest, slug: str) -> HttpResponse:
    """Appoint an administrator of a project that has none."""
    require_operator(request.user)
    return _appoint(request, slug)


@reauthentication_required
def _appoint(request: PageRequest, slug: str) -> HttpResponse:
    """Do it. An operator who has not confirmed a sign-in for a few minutes confirms it first, and then goes on."""
    username = request.POST.get("username", "")
    try:
        project, person = appoint_administrator(actor=request.user, slug=slug, username=username)
    except (Conflict, Invalid) as refusal:
        return _page(request, refused=refusal.sentence, slug=slug, field="username")
    messages.success(request, _("%(person)s administers %(project)s now.") % {"person": person, "project": project})
    return redirect("operator-project-list")


def _page(request: PageRequest, refused: str = "", slug: str = "", field: str = "") -> HttpResponse:
    page = read_page(
        quotas.list_projects(actor=request.user),
        size=_SIZE,
        before=request.GET.get("before"),
        after=request.GET.get("after"),
    )
    keys = [project.pk for project in page.rows]
    used, dialogues, people = quotas.stored_bytes(keys), quotas.dialogues_of(keys), quotas.administrators_of(keys)
    rows = []
    for project in page.rows:
        storage = quotas.Storage(used[project.pk], quotas.quota_of(project))
        rows.append(
            {
                "project": project,
                "administrators": people.get(project.pk, []),
                "dialogues": dialogues.get(project.pk, 0),
                "storage": storage,
                "full": not storage.fits(0),
                "entered": request.POST.get("quota_mb", project.quota_mb) if project.slug == slug else project.quota_mb,
                "username": request.POST.get("username", "") if project.slug == slug else "",
            }
        )
    list_url = reverse("operator-project-list")
    context = {
        "rows": rows,
        "newer": f"{list_url}?before={page.before}" if page.before else "",
        "older": f"{list_url}?after={page.after}" if page.after else "",
        "default": settings.PROJECT_QUOTA_MB * quotas.MEGABYTE,
        "refused": refused,
        "slug": slug,
        "field": field,
        # A refusal is shown on the page of the list from which the form was sent.
        "place": f"?{request.GET.urlencode()}" if request.GET else "",
    }
    return render(request, "annotator/operator_projects.html", context, status=422 if refused else 200)
