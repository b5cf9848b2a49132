"""Pages of a release's errata for members: report an error, see reports, decide them, download the log."""

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotator.errors import Conflict, DomainError, Invalid
from annotator.models import Role
from annotator.presentation.document import present
from annotator.services.access.permissions import require_administrator
from annotator.services.custom_fields import fields_of
from annotator.services.database.filters import one_of
from annotator.views.pages import PageRequest, posted, project_page, takes
from benchmark.core.archives.errata import ERRATA
from benchmark.models import Erratum, ErratumReport, Release, ReportState
from benchmark.services.releases import errata as reports
from benchmark.services.releases.requests import load_release
from benchmark.services.runs import boards, suspects
from benchmark.services.runs import errata as decisions
from benchmark.services.runs.evidence import fill_from_entry
from benchmark.views.errata_forms import DeclineForm, ErratumForm, ErrorReportForm
from benchmark.views.paging import page_of

PAGE = 50


@project_page
@require_safe
@takes("state", "before", "after")
def errata_list(request: PageRequest, public_id: str) -> HttpResponse:
    """Show the reports of a release, its confirmed errata, and for administrators the public link."""
    release = load_release(actor=request.user, project=request.project, public_id=public_id)
    state = one_of(request.GET, "state", ReportState.values)
    rows = reports.list_reports(actor=request.user, release=release, state=state)
    page = page_of(rows, request, size=PAGE)
    counts = reports.count_reports(release)
    kept = f"&{urlencode({'state': state})}" if state else ""
    is_admin = Role.ADMINISTRATOR in request.roles
    context = {
        "project": request.project,
        "release": release,
        "rows": page.rows,
        "previous": f"{page.previous}{kept}" if page.previous else "",
        "following": f"{page.following}{kept}" if page.following else "",
        "state": state,
        "states": [(value, label, counts.get(value, 0)) for value, label in ReportState.choices],
        "total": sum(counts.values()),
        "is_admin": is_admin,
        "link": reports.find_link(actor=request.user, release=release) if is_admin else None,
        "trail": errata_trail(request, release),
    }
    return render(request, "benchmark/errata_list.html", context)


@project_page
@require_http_methods(["GET", "HEAD", "POST"])
def error_report(request: PageRequest, public_id: str) -> HttpResponse:
    """Show the form with which members report an error; POST stores it and shows what was received."""
    release = load_release(actor=request.user, project=request.project, public_id=public_id)
    reports.require_frozen(release)
    form = ErrorReportForm(posted(request))
    received = receive(form, release, request)
    context = {
        "project": request.project,
        "release": release,
        "name": request.project.name,
        "form": form,
        "received": received,
        "trail": [*errata_trail(request, release)[:-1], (_("Report an error"), "")],
    }
    status = 422 if form.is_bound and received is None else 200
    return render(request, "benchmark/error_report.html", context, status=status)


def receive(form: ErrorReportForm, release: Release, request: PageRequest | None = None) -> ErratumReport | None:
    """Store the report of a valid form, of a member or (without a request) of the public; otherwise the form has the
    errors.
    """
    if not form.is_valid():
        return None
    try:
        return reports.report_item(actor=request.user if request else None, release=release, **form.cleaned_data)
    except (Conflict, Invalid) as refusal:
        form.add_error(refusal.details.get("field"), refusal.sentence)
        return None


@project_page
@require_http_methods(["GET", "HEAD", "POST"])
def erratum_decide(request: PageRequest, public_id: str, report: str) -> HttpResponse:
    """Show a report beside the released item; POST confirms or declines it."""
    release = load_release(actor=request.user, project=request.project, public_id=public_id)
    found = reports.load_report(actor=request.user, release=release, public_id=report)
    is_admin = Role.ADMINISTRATOR in request.roles
    declines = "decline" in request.POST
    if request.method == "POST":
        require_administrator(actor=request.user, project=request.project)
    sent = posted(request)
    form = ErratumForm(None if declines else sent, initial={"place": found.place, "reason": found.text})
    decline = DeclineForm(sent if declines else None, prefix="no")
    chosen: ErratumForm | DeclineForm = decline if declines else form
    if request.method == "POST" and chosen.is_valid():
        try:
            if declines:
                decisions.decline_report(actor=request.user, report=found, **chosen.cleaned_data)
                messages.success(request, _("The report was declined."))
            else:
                _say(request, decisions.confirm_report(actor=request.user, report=found, **chosen.cleaned_data))
        except (Conflict, Invalid) as refusal:
            chosen.add_error(refusal.details.get("field"), refusal.sentence)
        else:
            return redirect("erratum-decide", slug=request.project.slug, public_id=public_id, report=report)
    erratum = found.erratum if found.state == ReportState.CONFIRMED else None
    context = {
        "project": request.project,
        "release": release,
        "report": found,
        "dialogue": found.item.dialogue,
        "revision": found.item.revision,
        "view": present(found.item.revision.document(), [], fields=fields_of(request.project)),
        "record": erratum.record if erratum else None,
        "may_decide": is_admin and found.state == ReportState.OPEN,
        "form": form,
        "decline": decline,
        "trail": [*errata_trail(request, release, link=True), (found.item.dialogue.external_id, "")],
    }
    return render(request, "benchmark/erratum_decide.html", context, status=422 if request.method == "POST" else 200)


@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes("entry", "score")
def erratum_add(request: PageRequest, public_id: str) -> HttpResponse:
    """Show the form that confirms an erratum without a report; POST confirms it.

    ``entry`` fills it from an entry, and ``score`` with what one run answered to that.
    """
    project = request.project
    require_administrator(actor=request.user, project=project)
    release = boards.load_overseen(actor=request.user, project=project, public_id=public_id)
    reports.require_frozen(release)
    key, score = request.GET.get("entry", ""), request.GET.get("score", "")
    statistic = suspects.load_statistic(release, key) if key or score else None
    form = ErratumForm(posted(request), initial=fill_from_entry(statistic, score), with_item=True)
    if request.method == "POST" and form.is_valid():
        try:
            erratum = decisions.add_erratum(
                actor=request.user, release=release, statistic=statistic, **form.cleaned_data
            )
        except DomainError as refusal:
            form.add_error(refusal.details.get("field"), refusal.sentence)
        else:
            _say(request, erratum)
            report = erratum.report.public_id
            return redirect("erratum-decide", slug=project.slug, public_id=public_id, report=report)
    context = {
        "project": project,
        "release": release,
        "statistic": statistic,
        "form": form,
        "trail": [*errata_trail(request, release, link=True), (_("Add an erratum"), "")],
    }
    return render(request, "benchmark/erratum_add.html", context, status=422 if form.is_bound else 200)


@project_page
@require_safe
def errata_download(request: PageRequest, public_id: str) -> StreamingHttpResponse:
    """Download the errata log."""
    release = load_release(actor=request.user, project=request.project, public_id=public_id)
    lines = reports.read_log(actor=request.user, release=release)
    response = StreamingHttpResponse(lines, content_type="application/jsonl")
    name = f"{request.project.slug}-{release.version}-{ERRATA}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def errata_trail(request: PageRequest, release: Release, *, link: bool = False) -> list[tuple[str, str]]:
    """Return the breadcrumbs to the errata of a release. ``link``: a page below them follows."""
    slug = request.project.slug
    return [
        (request.project.name, f"/p/{slug}/"),
        (_("Releases"), reverse("release-list", args=[slug])),
        (release.version, reverse("release-detail", args=[slug, release.public_id])),
        (_("Errata"), reverse("errata-list", args=[slug, release.public_id]) if link else ""),
    ]


def _say(request: PageRequest, erratum: Erratum) -> None:
    report = erratum.report
    if report.reopened:
        sentence = _("Erratum %(number)s was added to the log, and %(item)s is in review again.")
    else:
        sentence = _("Erratum %(number)s was added to the log. %(item)s was not sent back to review: %(why)s")
    values = {"number": erratum.number, "item": report.item.dialogue.external_id, "why": report.why_not_reopened}
    messages.success(request, sentence % values)
