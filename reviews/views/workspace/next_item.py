"""The next item in the page of the last one (``static/app/next-item.js``): its parts, instead of a whole page."""

import json
from typing import Any

from django.contrib.staticfiles.storage import staticfiles_storage
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from annotator.views.pages import PageRequest

#: Sent with the form that ends the work on an item. A browser sends it again to where the answer leads.
HEADER = "X-Next-Item"
#: Leads the browser to a page that has to be loaded.
LEADS_TO = "X-Leads-To"


class NextItemMiddleware:
    """Lets the browser load every page that is not the next item: reading it here would use up its messages."""

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response: HttpResponseBase = self.get_response(request)
        return response

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        match = request.resolver_match
        if HEADER not in request.headers or request.method != "GET" or (match and match.url_name == "workspace"):
            return None
        return _load(request)


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
