"""The security log, for operators."""

from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotator.services import security_log
from annotator.services.accounts.devices import device_name
from annotator.views.pages import PageRequest, takes


@login_required
@require_safe
@takes(*security_log.FILTERS, "before", "after")
def security_log_page(request: PageRequest) -> HttpResponse:
    """Show the security log, newest first."""
    filters = security_log.read_filters(request.GET)
    page = security_log.list_events(
        actor=request.user, filters=filters, before=request.GET.get("before"), after=request.GET.get("after")
    )
    query = urlencode(filters.active)
    context = {
        "events": [(one, device_name(one.device) if one.device else "") for one in page.rows],
        "older": _link(query, "after", page.after),
        "newer": _link(query, "before", page.before),
        "filters": filters,
        "since": filters.active.get("since", ""),
        "until": filters.active.get("until", ""),
        "query": query,
        "kinds": [(kind, _(words)) for kind, words in security_log.KINDS.items()],
    }
    template = "annotator/security_log.html#results" if request.htmx else "annotator/security_log.html"
    return render(request, template, context)


@login_required
@require_safe
@takes(*security_log.FILTERS)
def security_log_file(request: PageRequest) -> HttpResponseBase:
    """Stream the same events as JSON lines."""
    lines = security_log.export_events(actor=request.user, filters=security_log.read_filters(request.GET))
    response = StreamingHttpResponse(lines, content_type="application/jsonl")
    response["Content-Disposition"] = 'attachment; filename="security-log.jsonl"'
    return response


def _link(query: str, name: str, cursor: str | None) -> str | None:
    return None if cursor is None else f"?{query}{'&' if query else ''}{name}={cursor}"
