"""What is answered or refused before any view runs, and domain errors of pages, mapped to responses once."""

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any, ClassVar
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import BadRequest
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.functional import LazyObject, empty

from annotator.errors import Busy, DomainError
from annotator.models import User
from annotator.services.database.filters import UnknownFilter, refuse_unknown_names
from annotator.views.errors import came_from, not_allowed, refuse, refuse_for_now
from annotator.views.site import healthz, readyz
from annotator.views.slow import note_computing, take_a_place, take_a_place_for_the_answer, take_a_turn
from annotator.views.uploads import may_send_files

GetResponse = Callable[[HttpRequest], HttpResponse]


class HealthMiddleware:
    """Answers ``/healthz`` and ``/readyz`` first of all: who asks calls this machine by its address, unknown."""

    _VIEWS: ClassVar = {"/healthz": healthz, "/readyz": readyz}

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._VIEWS.get(request.path, self.get_response)(request)


class CacheMiddleware:
    """Lets no browser or proxy keep an answer: after signing out, the way back shows nothing."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.setdefault("Cache-Control", "private, no-store")
        return response


class SizeMiddleware:
    """Refuses requests that are too large before it reads them, except from people who may send files. Without a proxy,
    and where the proxy leaves it to us. People who are not signed in have to sign in first; the API knows who sends a
    request before it reads it.

    Removes what came of an upload that broke off. Large uploads and answers need a place (annotator.views.slow).
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with ExitStack() as place:
            request.place = place  # type: ignore[attr-defined]
            response = self.get_response(request)
        # By a full disk or a cut connection. Django closes those that came whole; these would stay, on the disk and
        # open, until Python looks for what refers to itself: in this server (annotator.config.wsgi) hours later.
        for handler in request._upload_handlers:  # type: ignore[attr-defined]
            if hasattr(handler, "file"):
                with suppress(OSError):
                    handler.file.close()
        if request.method == "HEAD":
            return response
        try:
            take_a_place_for_the_answer(request, response)
        except Busy as busy:
            return refuse_for_now(request, busy)
        return response

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        length = request.META.get("CONTENT_LENGTH") or "0"
        if request.path_info.startswith("/api/") or not length.isdecimal():
            return None
        if int(length) <= settings.MOST_SENT:
            if int(length) > settings.MOST_SENT_BY_STRANGERS and not request.user.is_authenticated:
                # As whoever was signed out meanwhile is answered anywhere.
                return redirect_to_login(request.get_full_path())
            return None
        if may_send_files(request):
            try:
                request.place.enter_context(take_a_place(request))  # type: ignore[attr-defined]
            except Busy as busy:
                return refuse_for_now(request, busy)
            return None
        most = settings.MOST_SENT // 10**6
        sentence = (
            f"That is more than {most} MB, which is taken in imports only, from administrators. Send less at once."
        )
        return refuse(request, 413, sentence, "too_large")


class PersonMiddleware:
    """Tells the pages of a browser who is signed in there now, by a cookie that scripts read: a page that somebody else
    has left open sends nothing in their name (``static/app/app.js``).
    """

    COOKIE = "assay_person"

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.path_info.startswith("/api/"):
            return response
        person = _known_person(request)
        if person is not None and request.COOKIES.get(self.COOKIE) != person.public_id:
            response.set_cookie(self.COOKIE, person.public_id, secure=settings.SESSION_COOKIE_SECURE, samesite="Lax")
        return response


def _known_person(request: HttpRequest) -> User | None:
    """Return who is signed in if the view has looked it up already; this makes no query of its own."""
    user = request.user
    known = not isinstance(user, LazyObject) or user._wrapped is not empty
    return user if known and isinstance(user, User) else None


class TurnsMiddleware:
    """Lets nobody fill all threads with requests that compute, or wait for each other (``annotator.views.slow``).

    (Whose token it is, the API finds out by itself: ``annotator.api.authentication``.)
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        begun = time.thread_time()
        try:
            if isinstance(user := request.user, User):
                take_a_turn(request, user)
        except Busy as busy:
            return refuse_for_now(request, busy)
        response = self.get_response(request)
        person = _known_person(request)
        if person is not None:
            note_computing(person, time.thread_time() - begun)
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


class FilterMiddleware:
    """Refuses what a page's query string asks for and does not exist (400): says it on the page, without that filter.

    A page takes the parameters that its view names with ``takes``. The API has its own door: ``annotator.api.filters``.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponseBase | None:
        # Whoever is not signed in is asked to do that first; what comes with the framework reads its own parameters.
        ours = view.__module__.startswith(("annotator.", "reviews.", "benchmark.")) and not hasattr(view, "cls")
        if not ours or request.method not in ("GET", "HEAD") or not request.user.is_authenticated:
            return None
        try:
            refuse_unknown_names(request.GET, getattr(view, "takes", frozenset()))
        except UnknownFilter as error:
            return _without(request, error)
        return None

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponseBase | None:
        if not isinstance(exception, UnknownFilter) or request.method not in ("GET", "HEAD"):
            return None
        return _without(request, exception)


def _without(request: HttpRequest, error: UnknownFilter) -> HttpResponseBase:
    """The page as it is without the parameters that are wrong, and what is wrong with them above it."""
    refusal = refuse(request, error.status, error.sentence, error.code, error.details)
    if getattr(request, "htmx", False) or request.resolver_match is None:
        return refusal
    query = request.GET.copy()
    for name in error.names:
        query.pop(name, None)
    request.GET = query  # type: ignore[assignment]  # as read-only as it was: nobody else holds it
    request.META["QUERY_STRING"] = query.urlencode()
    request.unknown_filters = [*getattr(request, "unknown_filters", []), error.sentence]  # type: ignore[attr-defined]
    match = request.resolver_match
    try:
        page: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
    except UnknownFilter as another:
        return _without(request, another)
    except DomainError as other:
        return refuse(request, other.status, other.sentence, other.code, other.details)
    if page.status_code != 200:
        return page
    if not page.headers.get("Content-Type", "").startswith("text/html"):
        # A file cannot say that it holds more than was asked for.
        if isinstance(page, FileResponse) and page.file_to_stream is not None:
            page.file_to_stream.close()
        return refusal
    page.status_code = error.status
    return page


class FormAddressMiddleware:
    """Leads nobody to an address that only takes forms: signing in, or another theme, led back to such a one."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if getattr(request, "htmx", False) or request.path_info.startswith("/api/"):
            return response
        page = came_from(request)
        if response.status_code == 405 and request.method == "GET" and page:
            # A page of ours led here, with ``next`` say. Back to it, but not in a circle, nor to sign in once more.
            nowhere = urlsplit(page).path in (request.path, reverse(settings.LOGIN_URL))
            return HttpResponseRedirect(reverse(settings.LOGIN_REDIRECT_URL) if nowhere else page)
        # What ``login_required`` answers; a page that asks for signing in says itself where that leads.
        asked = redirect_to_login(request.get_full_path()).url if request.method == "POST" else ""
        if asked and response.headers.get("Location") == asked:
            messages.warning(request, "You were signed out, so nothing was changed. Sign in, then send the form again.")
            query = f"?{urlencode({REDIRECT_FIELD_NAME: page})}" if page else ""
            response["Location"] = reverse(settings.LOGIN_URL) + query
        return response


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
