"""Each request's id, its line in the log and its part of the metrics."""

import ipaddress
import logging
import time
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.functional import LazyObject, empty

from annotator.core import log_context
from annotator.models import User
from annotator.services.operations import request_metrics

HEADER = "X-Request-ID"
#: Probes and scrapes ask every few seconds.
_UNLOGGED = ("/livez", "/healthz", "/readyz", "/metrics")

_LOG = logging.getLogger("annotator.requests")


class RequestMiddleware:
    """Gives each request an id, which the response, its log lines and the jobs that it starts have too."""

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        begun = time.perf_counter()
        said = request.headers.get(HEADER, "")
        name = said if log_context.is_request_id(said) and _from_proxy(request) else log_context.new_request_id()
        with log_context.about(request_id=name, person="", project=""):
            response: HttpResponseBase = self.get_response(request)
            response.headers[HEADER] = name
            if request.path not in _UNLOGGED:
                _note(request, response, time.perf_counter() - begun)
        return response

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> None:
        """Name person and project in the log lines of the view."""
        log_context.person.set(_person(request))
        log_context.project.set(str(kwargs.get("slug", "")))


def _note(request: HttpRequest, response: HttpResponseBase, seconds: float) -> None:
    match = request.resolver_match
    view, method = (match.view_name if match else "") or "none", request.method or ""
    if settings.METRICS:
        request_metrics.note_request(view, method, response.status_code, seconds)
    if settings.REQUEST_LOG:
        log_context.person.set(_person(request))
        size = response.headers.get("Content-Length") or ("" if response.streaming else len(response.content))  # type: ignore[attr-defined]
        fields = {"view": view, "status": response.status_code, "ms": round(seconds * 1000), "bytes": size}
        _LOG.info("%s %s %s", method, view, response.status_code, extra=fields | {"method": method})


def _person(request: HttpRequest) -> str:
    """Return the public id of the person that a view or middleware has looked up; makes no query of its own."""
    user = getattr(request, "user", None)
    if isinstance(user, LazyObject) and user._wrapped is empty:
        return ""
    return user.public_id if isinstance(user, User) else ""


def _from_proxy(request: HttpRequest) -> bool:
    """Return whether a trusted proxy sends the request. Those on a Unix socket have no address."""
    address = request.META.get("REMOTE_ADDR", "")
    try:
        return not address or any(ipaddress.ip_address(address) in network for network in settings.TRUSTED_PROXIES)
    except ValueError:
        return False
