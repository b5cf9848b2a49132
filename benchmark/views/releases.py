"""Pages of releases: list, form, details, download."""

from dataclasses import asdict
from typing import Any

from django.contrib import messages
from django.http import FileResponse, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import HttpResponseClientRefresh

from annotator.errors import Conflict, DomainError, Invalid
from annotator.models import Role, User
from annotator.services.access.permissions import require_administrator
from annotator.services.database.keyset import BY_KEY
from annotator.views.pages import PageRequest, posted, project_page, takes
from benchmark.core.archives.description import author_lines
from benchmark.core.archives.errata import ERRATA
from benchmark.models import Release, ReportState
from benchmark.services.inference.baselines import list_open
from benchmark.services.releases import building, differences, errata, requests, settings
from benchmark.services.releases.preview import preview_release
from benchmark.views.forms import ReleaseForm, ReleaseSettingsForm
from benchmark.views.paging import page_of, watches
from reviews.services.feedback.accepted import accepted_unchanged

PAGE = 50
#: Disputes that the form for a release names.
NAMED = 20


@project_page
@require_http_methods(["GET", "POST"])
@takes("before", "after")
def release_list(request: PageRequest) -> HttpResponse:
    """Show the project's releases; for administrators also the form for the next one."""
    project = request.project
    is_admin = Role.ADMINISTRATOR in request.roles
    preview = preview_release(actor=request.user, project=project) if is_admin else None
    form = ReleaseForm(request.POST or None, preview=preview)
    if request.method == "POST":
        require_administrator(actor=request.user, project=project)
        if form.is_valid():
            try:
                release = requests.start_release(actor=request.user, project=project, **form.cleaned_data)
            except DomainError as refusal:
                form.add_error("version", refusal.sentence)
            else:
                return redirect("release-detail", slug=project.slug, public_id=release.public_id)
    oversees = requests.oversees(actor=request.user, project=project)
    accepted = list(accepted_unchanged(actor=request.user, project=project)[: NAMED + 1]) if is_admin else []
    rows = requests.list_releases(actor=request.user, project=project)
    page = page_of(errata.with_open_reports(rows) if oversees else rows, request, size=PAGE)
    context = {
        "project": project,
        "form": form,
        "preview": preview,
        "page": page,
        "unlicensed": is_admin and not settings.settings_of(project).licence,
        "is_admin": is_admin,
        "fitting": differences.suggest_next(actor=request.user, project=project) if is_admin else None,
        "baselines": list_open(person=request.user, project=project),
        "oversees": oversees,
        "accepted": accepted[:NAMED],
        "more_accepted": len(accepted) > NAMED,
        "trail": [(project.name, f"/p/{project.slug}/"), (_("Releases"), "")],
    }
    return render(request, "benchmark/release_list.html", context, status=422 if form.is_bound else 200)


@project_page
@require_http_methods(["GET", "POST"])
def release_settings(request: PageRequest) -> HttpResponse:
    """Show and change what the project says about its releases."""
    project = request.project
    require_administrator(actor=request.user, project=project)
    found, number = settings.read_settings(project=project)
    initial = asdict(found) | {"authors": author_lines(found.authors), "seen": number}
    form = ReleaseSettingsForm(posted(request), initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            settings.change_settings(actor=request.user, project=project, **form.cleaned_data)
        except Conflict as refusal:
            # The next save starts from the current settings.
            form = ReleaseSettingsForm(request.POST.dict() | {"seen": refusal.details["number"]})
            form.add_error(None, refusal.sentence)
        except Invalid as refusal:
            form.add_error(refusal.details.get("field"), refusal.sentence)
        else:
            messages.success(request, _("Saved. The next release has it."))
            return redirect("release-list", slug=project.slug)
    context = {
        "project": project,
        "form": form,
        "trail": [
            (project.name, f"/p/{project.slug}/"),
            (_("Releases"), f"/p/{project.slug}/releases/"),
            (_("Licence and texts"), ""),
        ],
    }
    return render(request, "benchmark/release_settings.html", context, status=422 if form.is_bound else 200)


@project_page
@require_safe
@takes("before", "after")
def release_detail(request: PageRequest, public_id: str) -> HttpResponse:
    """Show one release: its progress, its contents, the left-out dialogues, and how to verify it."""
    project = request.project
    release = requests.load_release(actor=request.user, project=project, public_id=public_id)
    if watches(request, "release-state"):
        if release.job.ended:
            return HttpResponseClientRefresh()
        return render(request, "benchmark/release_detail.html#state", {"release": release, "project": project})
    oversees = requests.oversees(actor=request.user, project=project)
    context = {
        "project": project,
        "release": release,
        "verify_line": f"manage.py verify_release {requests.archive_name(release)}",
        "verify_errata": f"manage.py verify_release {requests.archive_name(release)} --errata "
        f"{project.slug}-{release.version}-{ERRATA} --errata-head {release.errata_head}",
        "unlicensed": settings.lacks_licence(release),
        "is_admin": Role.ADMINISTRATOR in request.roles,
        "rebuilt": building.can_be_built(release),
        "runs": release.native_format == "async",
        "earlier": differences.find_earlier(actor=request.user, release=release),
        "counts": _counts(release, oversees),
        "oversees": oversees,
        "retired_gold": requests.count_retired_gold(release) if oversees else 0,
        "open_reports": errata.count_reports(release).get(ReportState.OPEN, 0) if oversees else 0,
        "left_out": page_of(
            requests.list_left_out(actor=request.user, release=release),
            request,
            size=PAGE,
            newest_first=False,
            by=BY_KEY,
        )
        if oversees
        else None,
        "trail": [
            (project.name, f"/p/{project.slug}/"),
            (_("Releases"), f"/p/{project.slug}/releases/"),
            (release.version, ""),
        ],
    }
    return render(request, "benchmark/release_detail.html", context)


@project_page
@require_safe
@takes("before", "after")
def release_items(request: PageRequest, public_id: str) -> HttpResponse:
    """List the dialogues of a frozen release, each as it is now."""
    project = request.project
    release = requests.load_release(actor=request.user, project=project, public_id=public_id)
    rows = requests.list_items(actor=request.user, release=release)
    context = {
        "project": project,
        "release": release,
        "page": page_of(rows, request, size=PAGE, newest_first=False, by=BY_KEY),
        "trail": [
            (project.name, f"/p/{project.slug}/"),
            (_("Releases"), f"/p/{project.slug}/releases/"),
            (release.version, f"/p/{project.slug}/releases/{public_id}/"),
            (_("Dialogues"), ""),
        ],
    }
    return render(request, "benchmark/release_items.html", context)


@project_page
@require_safe
def release_download(request: PageRequest, public_id: str) -> HttpResponseBase:
    """Download the archive."""
    release = requests.load_release(actor=request.user, project=request.project, public_id=public_id)
    return archive_response(request.user, release)


def archive_response(actor: User, release: Release) -> FileResponse:
    """Return the archive as a download, with its checksum as ETag."""
    path = requests.archive_path(release)
    response = FileResponse(
        path.open("rb"), as_attachment=True, filename=requests.archive_name(release), content_type="application/zip"
    )
    response["ETag"] = f'"{release.sha256}"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _counts(release: Release, oversees: bool) -> list[tuple[str, int]]:
    counts: dict[str, Any] = release.frozen.get("counts", {})
    names = ((_("Dialogues"), "dialogues"), (_("Entries"), "entries"), (_("Calls"), "calls"))
    found = [(label, counts[name]) for label, name in names if name in counts]
    return [*found, (_("Left out"), release.left_out_count)] if found and oversees else found
