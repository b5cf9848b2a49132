"""What is answered or refused before a view runs, and the mapping of domain errors to responses."""

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import cached_property
from typing import Any, ClassVar
from urllib.parse import urlencode, urlsplit

from csp.constants import HEADER
from csp.middleware import CSPMiddleware
from csp.utils import build_policy
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import BadRequest
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.functional import LazyObject, empty
from django.utils.translation import gettext as _

from annotator.errors import Busy, DomainError, OverQuota, TooMany
from annotator.models import User
from annotator.presentation.components.keymap import own_keys
from annotator.services.accounts.rate_limits import limit_address, limit_person, standings
from annotator.services.archiving import as_refusal
from annotator.services.database.filters import UnknownFilter, refuse_unknown_names
from annotator.views.errors import came_from, not_allowed, refuse, refuse_for_now
from annotator.views.metrics import metrics
from annotator.views.request_limits import admit_large_response, admit_request, admit_transfer, note_computing
from annotator.views.site import healthz, readyz
from annotator.views.uploads import may_send_files, require_quota_for


class _Middleware:
    """Passes each request on to the next middleware, or to the view."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)


class HealthMiddleware(_Middleware):
    """Answers probes and ``/metrics`` first, because they may use a host name that is not allowed.

    ``/healthz`` is the older name of ``/livez``.
    """

    _VIEWS: ClassVar = {"/livez": healthz, "/healthz": healthz, "/readyz": readyz, "/metrics": metrics}

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._VIEWS.get(request.path, self.get_response)(request)


class ContentPolicyMiddleware(CSPMiddleware):
    """Sends the Content-Security-Policy. No view changes it, so it is put together once, not for each response."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if settings.DEBUG:
            # Django's error pages are exempt.
            return super().process_response(request, response)
        response.headers.setdefault(HEADER, self._policy)
        return response

    @cached_property
    def _policy(self) -> str:
        return build_policy()


class CacheMiddleware(_Middleware):
    """Forbids browsers and proxies to store answers: after signing out, going back shows nothing."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.setdefault("Cache-Control", "private, no-store")
        return response


class SizeMiddleware(_Middleware):
    """Refuses requests that are too large before it reads them, except from people who may send files.

    People who are not signed in have to sign in first. (The API checks this itself.) Removes what is left of a broken
    upload. Limits large uploads and responses (annotator.views.request_limits).
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with ExitStack() as place:
            request.place = place  # type: ignore[attr-defined]
            response = self.get_response(request)
        # Django closes complete uploads. Those broken by a full disk or a lost connection would stay open on the disk
        # until the garbage collector runs, which in this server (annotator.config.wsgi) takes hours.
        for handler in request._upload_handlers:  # type: ignore[attr-defined]
            if hasattr(handler, "file"):
                with suppress(OSError):
                    handler.file.close()
        if request.method == "HEAD":
            return response
        try:
            admit_large_response(request, response)
        except Busy as busy:
            return refuse_for_now(request, busy)
        return response

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        length = request.META.get("CONTENT_LENGTH") or "0"
        if request.path_info.startswith("/api/") or not length.isdecimal():
            return None
        if request.method == "POST":
            try:
                require_quota_for(request)
            except OverQuota as refusal:
                return refuse(request, refusal.status, refusal.sentence, refusal.code)
        if int(length) <= settings.MAX_REQUEST_BYTES:
            if int(length) > settings.MAX_ANONYMOUS_REQUEST_BYTES and not request.user.is_authenticated:
                # The same answer as everywhere for people whose session has ended.
                return redirect_to_login(request.get_full_path())
            return None
        if may_send_files(request):
            try:
                request.place.enter_context(admit_transfer(request))  # type: ignore[attr-defined]
            except Busy as busy:
                return refuse_for_now(request, busy)
            return None
        most = settings.MAX_REQUEST_BYTES // 10**6
        sentence = _(
            "The request is larger than %(most)s MB. Only imports by administrators may be larger. Send less at a time."
        ) % {"most": most}
        return refuse(request, 413, sentence, "too_large")


class PersonMiddleware(_Middleware):
    """Sets a cookie that tells scripts who is signed in.

    A page that another person left open then sends nothing in their name (``static/app/app.js``).
    """

    COOKIE = "assay_person"

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.path_info.startswith("/api/"):
            return response
        person = _known_person(request)
        if person is not None and request.COOKIES.get(self.COOKIE) != person.public_id:
            response.set_cookie(self.COOKIE, person.public_id, secure=settings.SESSION_COOKIE_SECURE, samesite="Lax")
        return response


class KeysMiddleware(_Middleware):
    """Shows the person's own keys in what this request renders."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with own_keys(lambda: getattr(request.user, "own_keys", {})):
            return self.get_response(request)


def _known_person(request: HttpRequest) -> User | None:
    """Return who is signed in if the view has looked it up already; this makes no query of its own."""
    user = request.user
    known = not isinstance(user, LazyObject) or user._wrapped is not empty
    return user if known and isinstance(user, User) else None


class TurnsMiddleware(_Middleware):
    """Keeps one person from filling all threads with slow requests (``annotator.views.request_limits``).

    For tokens, the API does this (``annotator.api.authentication``).
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        begun = time.thread_time()
        try:
            if isinstance(user := request.user, User):
                admit_request(request, user)
        except Busy as busy:
            return refuse_for_now(request, busy)
        response = self.get_response(request)
        person = _known_person(request)
        if person is not None:
            note_computing(person, time.thread_time() - begun)
        return response


class RateMiddleware(_Middleware):
    """Limits the rate of requests, and states the limits in responses of the API.

    Tokens are counted where they are looked up (``annotator.api.authentication``).
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        is_api = request.path_info.startswith("/api/") and not request.path_info.startswith("/api/docs/")
        try:
            if isinstance(user := request.user, User):
                limit_person(request, user)
            elif not (is_api and "Authorization" in request.headers):
                limit_address(request)
        except TooMany as refusal:
            response = refuse_for_now(request, refusal)
        else:
            response = self.get_response(request)
            if not standings(request):
                # A program without a token that works: whatever else it sends, its address counts.
                try:
                    limit_address(request)
                except TooMany as refusal:
                    response = refuse_for_now(request, refusal)
        if is_api and (counted := standings(request)):
            # Fields of draft-ietf-httpapi-ratelimit-headers.
            policies = (f'"{one.kind}";q={one.rate.count};w={one.rate.seconds}' for one in counted)
            response["RateLimit-Policy"] = ", ".join(policies)
            response["RateLimit"] = ", ".join(f'"{one.kind}";r={one.left};t={one.seconds_left}' for one in counted)
        return response


class NulMiddleware(_Middleware):
    """Refuses NUL characters, which the database can't store. (The API checks its bodies itself.)"""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if "\x00" in request.path_info:
            raise Http404
        if "%00" in request.META.get("QUERY_STRING", ""):
            raise BadRequest(_("The address contains a NUL character."))
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        # Not for the API: it must not read an upload before it knows who sends it.
        if request.method != "POST" or request.path_info.startswith("/api/"):
            return None
        if not any("\x00" in text for _, texts in request.POST.lists() for text in texts):
            return None
        sentence = _("The form contains a NUL character, which can’t be stored. Remove it and send the form again.")
        return refuse(request, 422, sentence, "invalid")


class FilterMiddleware(_Middleware):
    """Answers unknown filters in a page's query string with 400: the page without them, and a sentence about each.

    A page takes the parameters that its view names with ``takes``. The API has ``annotator.api.filters``.
    """

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponseBase | None:
        # Signing in comes first. Views of the framework read parameters of their own.
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
    """Return the page without the wrong parameters, with a sentence about each above it."""
    refusal = refuse(request, error.status, error.sentence, error.code, error.details)
    if getattr(request, "htmx", False) or request.resolver_match is None:
        return refusal
    query = request.GET.copy()
    for name in error.names:
        query.pop(name, None)
    request.GET = query  # type: ignore[assignment]  # nothing else uses it
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
        # A file can't show a sentence.
        if isinstance(page, FileResponse) and page.file_to_stream is not None:
            page.file_to_stream.close()
        return refusal
    page.status_code = error.status
    return page


class FormAddressMiddleware(_Middleware):
    """Keeps redirects away from addresses that only accept forms, for example after signing in."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if getattr(request, "htmx", False) or request.path_info.startswith("/api/"):
            return response
        page = came_from(request)
        if response.status_code == 405 and request.method == "GET" and page:
            # A page of this site led here, perhaps with ``next``. Go back to it unless that loops or signs in again.
            nowhere = urlsplit(page).path in (request.path, reverse(settings.LOGIN_URL))
            return HttpResponseRedirect(reverse(settings.LOGIN_REDIRECT_URL) if nowhere else page)
        # The answer of ``login_required``.
        asked = redirect_to_login(request.get_full_path()).url if request.method == "POST" else ""
        if asked and response.headers.get("Location") == asked:
            messages.warning(request, _("You were signed out. Nothing was changed. Sign in and send the form again."))
            query = f"?{urlencode({REDIRECT_FIELD_NAME: page})}" if page else ""
            response["Location"] = reverse(settings.LOGIN_URL) + query
        return response


class DomainErrorMiddleware(_Middleware):
    """Renders a DomainError raised by a view: its sentence, its status and a way back."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if isinstance(response, HttpResponseNotAllowed) and not response.content:
            # Django's own has no body, so a browser would show a blank page.
            page = not_allowed(request)
            page["Allow"] = response["Allow"]
            return page
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not isinstance(exception, DomainError):
            refusal = as_refusal(exception)
            if refusal is None:
                return None
            exception = refusal
        return refuse(request, exception.status, exception.sentence, exception.code, exception.details)
