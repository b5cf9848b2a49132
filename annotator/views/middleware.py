"""What is answered or refused before any view runs, and domain errors of pages, mapped to responses once."""

from collections.abc import Callable
from typing import Any

from csp.constants import HEADER
from csp.utils import build_policy
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed

from annotator.errors import DomainError
from annotator.views.errors import not_allowed, refuse
from annotator.views.site import healthz

GetResponse = Callable[[HttpRequest], HttpResponse]


class HealthMiddleware:
    """Answers ``/healthz`` first of all: who asks for it calls this machine by its address, and has no session."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return healthz(request) if request.path == "/healthz" else self.get_response(request)


class PolicyMiddleware:
    """Puts the content security policy of the settings on every answer: one text, put together once.

    (The middleware of django-csp, whose settings and words these are, does that for each answer, since a page of its
    may have a policy of its own; here none has.)
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self._policy = build_policy()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response[HEADER] = self._policy
        return response


class NulMiddleware:
    """Refuses NUL characters at the door: no text holds one, and the database takes none.

    (Bodies sent to the API have a door of their own.)
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if "\x00" in request.path_info:
            raise Http404
        if "%00" in request.META.get("QUERY_STRING", ""):
            raise BadRequest("The address holds a NUL character.")
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        # The API is left alone: it must not read an upload before it knows who sends it.
        if request.method != "POST" or request.path_info.startswith("/api/"):
            return None
        if not any("\x00" in text for _, texts in request.POST.lists() for text in texts):
            return None
        sentence = "The form holds a NUL character, which cannot be stored; remove it and send it again."
        return refuse(request, 422, sentence, "invalid")


class DomainErrorMiddleware:
    """Renders a DomainError that a view let through: its sentence, its status, and a way back."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if isinstance(response, HttpResponseNotAllowed) and not response.content:
            # Django's own has no body: in a browser, a blank page.
            page = not_allowed(request)
            page["Allow"] = response["Allow"]
            return page
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not isinstance(exception, DomainError):
            return None
        return refuse(request, exception.status, exception.sentence, exception.code, exception.details)
