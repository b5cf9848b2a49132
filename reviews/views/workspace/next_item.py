"""The next item in the page of the last one (``static/app/next-item.js``): its parts, instead of a whole page."""

import json
from copy import copy
from typing import Any

from django.contrib.staticfiles.storage import staticfiles_storage
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import Resolver404, ResolverMatch, resolve

from annotator.errors import DomainError
from annotator.services.notices.notices import unread_count
from annotator.views.pages import PageRequest

#: Sent with the form that ends the work on an item. A browser sends it again to where the answer leads.
HEADER = "X-Next-Item"
#: Sent with it: the key of the guideline that the page shows, blank if it shows none.
GUIDELINE = "X-Guideline"
#: Sent with it: how many unread notices the bar at the top shows.
UNREAD = "X-Unread"
#: The name of the address of an item.
_WORKSPACE = "workspace"
#: Leads the browser to a page that has to be loaded.
LEADS_TO = "X-Leads-To"


class NextItemMiddleware:
    """Answers a form that leads to the next item with the item itself, so that the page waits for one answer, not two.

    Other pages are left to the browser: reading them here would use up their messages.
    """

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response: HttpResponseBase = self.get_response(request)
        if HEADER not in request.headers or request.method != "POST" or response.status_code != 302:
            return response
        path, _, query = response["Location"].partition("?")
        try:
            match = resolve(path)
            if match.url_name != _WORKSPACE:
                return response
            shown: HttpResponseBase = match.func(_reading(request, path, query, match), *match.args, **match.kwargs)
        except (Resolver404, DomainError):
            # The browser goes there, and is told why.
            return response
        return shown

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        match = request.resolver_match
        if HEADER not in request.headers or request.method != "GET" or (match and match.url_name == _WORKSPACE):
            return None
        # No form leads there.
        if request.path_info.startswith("/api/"):
            return None
        return _load(request)


def _reading(request: HttpRequest, path: str, query: str, match: ResolverMatch) -> HttpRequest:
    """Return the request that a browser would send to where the answer to this one leads it."""
    reading: Any = copy(request)
    reading.method, reading.path, reading.path_info = "GET", path, path
    reading.META = request.META | {"REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": query}
    reading.GET, reading.POST = QueryDict(query), QueryDict()
    reading.resolver_match = match
    return reading


def assets_version() -> str:
    """Return the version of the static files, which a page is loaded with; empty without hashed names."""
    return str(getattr(staticfiles_storage, "manifest_hash", ""))


def is_asked_for(request: HttpRequest) -> bool:
    """Return whether a page asks for the next item."""
    return HEADER in request.headers


def next_item(request: PageRequest, context: dict[str, Any]) -> HttpResponse:
    """Return the parts of the workspace, or lead to its page if that needs newer scripts or begins with the tour."""
    if request.headers[HEADER] != assets_version() or not request.user.toured_at or context["bench"].disputed:
        return _load(request)
    guideline = context["guideline"]
    context["shows_guideline"] = guideline is not None and request.headers.get(GUIDELINE) == str(guideline.pk)
    context["shows_topbar"] = request.headers.get(UNREAD) == str(unread_count(request.user))
    response = render(request, "reviews/workspace/next_item.html", context)
    draft = context["draft"]
    response["X-Item"] = json.dumps(
        {
            "url": request.get_full_path(),
            "data": {
                "draft": draft.public_id,
                "seen": str(draft.version),
                "lookUrl": context["look_url"],
                "work": context["work_url"],
            },
        }
    )
    return response


def _load(request: HttpRequest) -> HttpResponse:
    return HttpResponse(status=204, headers={LEADS_TO: request.get_full_path()})
