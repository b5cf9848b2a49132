"""The history page of a project."""

from collections.abc import Iterator
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import HttpResponseClientRedirect

from annotator.models import Project, Role, User
from annotator.services.database.keyset import KeyPage
from annotator.services.integrity.history_checks import last_check, start_check
from annotator.views.pages import PageRequest, project_page, takes
from reviews.services.history import project_history as history


@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes(*history.FILTERS, "before", "after")
def history_list(request: PageRequest) -> HttpResponse:
    """Show events, newest first. Filter errors are shown beside their fields, and then nothing is listed.

    POST starts a check that nothing was removed or changed.
    """
    project = request.project
    if request.method == "POST":
        start_check(actor=request.user, project=project)
        messages.success(request, _("Integrity check started. The result appears on this page."))
        return redirect("history-list", slug=project.slug)
    # People who may not read the history at all get that refusal first.
    history.visible_events(actor=request.user, project=project)
    filters, wrong = history.check_filters(request.GET, project=project)
    if wrong and request.htmx:
        # The fields are not in the requested part of the page.
        return HttpResponseClientRedirect(request.get_full_path())
    page: KeyPage[history.Line] = (
        KeyPage([], None, None)
        if wrong
        else history.list_events(
            actor=request.user,
            project=project,
            filters=filters,
            before=request.GET.get("before"),
            after=request.GET.get("after"),
        )
    )
    is_admin = Role.ADMINISTRATOR in request.roles
    query = urlencode({"kind" if name == "family" else name: value for name, value in filters.active.items()})
    context = {
        "lines": page.rows,
        "older": _link(query, "after", page.after),
        "newer": _link(query, "before", page.before),
        "filters": filters,
        "days": [
            (name, label, request.GET.get(name, "").strip()[:40], wrong.get(name, ""))
            for name, label in (("since", _("From")), ("until", _("To")))
        ],
        "wrong": wrong,
        "query": query,
        "people": _people(project),
        "families": [
            (title, [(key, _(label)) for key, label in family.items()])
            for title, family in ((_("Settings"), history.SETTINGS), (_("Dialogues"), history.ITEMS))
            if is_admin or family is history.ITEMS
        ],
        "is_admin": is_admin,
        "check": last_check(project) if is_admin and not request.htmx else None,
    }
    template = "reviews/project/history.html#results" if request.htmx else "reviews/project/history.html"
    return render(request, template, context, status=422 if wrong else 200)


@project_page
@require_safe
@takes(*history.FILTERS)
def history_export(request: PageRequest) -> HttpResponseBase:
    """Stream the same events as JSON Lines."""
    lines = history.export_events(
        actor=request.user, project=request.project, filters=history.read_filters(request.GET, project=request.project)
    )
    response = StreamingHttpResponse(lines, content_type="application/jsonl")
    response["Content-Disposition"] = f'attachment; filename="history-{request.project.slug}.jsonl"'
    return response


def _people(project: Project) -> Iterator[tuple[str, str]]:
    """Yield (key, name) of everybody whose events can be chosen."""
    yield "program", "Assay"
    for person in User.objects.filter(memberships__project=project).distinct().order_by("display_name", "username"):
        yield person.public_id, str(person)


def _link(query: str, name: str, cursor: str | None) -> str | None:
    return None if cursor is None else f"?{query}{'&' if query else ''}{name}={cursor}"
