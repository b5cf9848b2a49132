"""Error pages: a sentence and a way back, never a traceback. The API gets the same as JSON."""

import sys
from typing import Any

from django.conf import settings
from django.core.exceptions import DisallowedHost, TooManyFieldsSent
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotator.core import log_context
from annotator.errors import Busy, TooMany
from annotator.services.jobs.outages import NoRoom, outage
from annotator.views.uploads import TakesNoFile

#: Seconds after which to try again after an outage.
RETRY_AFTER = 10

#: Status → title of its page.
_TITLES = {
    400: gettext_lazy("Invalid request"),
    403: gettext_lazy("Not allowed"),
    404: gettext_lazy("Page not found"),
    405: gettext_lazy("Can’t open this address"),
    409: gettext_lazy("Not possible right now"),
    410: gettext_lazy("Your claim has ended"),
    413: gettext_lazy("Too large"),
    422: gettext_lazy("Invalid input"),
    429: gettext_lazy("Too many requests"),
    500: gettext_lazy("Something went wrong"),
    503: gettext_lazy("Temporarily unavailable"),
}


def refuse(
    request: HttpRequest, status: int, sentence: str, code: str, details: dict[str, Any] | None = None
) -> HttpResponse:
    """Return a refusal as a page, as a notice for htmx, or as JSON under ``/api/``."""
    if _is_api(request):
        return JsonResponse({"error": code, "sentence": sentence, "details": details or {}}, status=status)
    template = "components/refusal.html" if getattr(request, "htmx", False) else "error.html"
    return render(request, template, _page(status, sentence, _way_back(request, status)), status=status)


def refuse_for_now(request: HttpRequest, busy: Busy | TooMany) -> HttpResponse:
    """Return what ``refuse`` does, with the seconds after which to try again."""
    answer = refuse(request, busy.status, busy.sentence, busy.code)
    answer["Retry-After"] = str(busy.retry_after if isinstance(busy, TooMany) else RETRY_AFTER)
    return answer


def _page(status: int, sentence: str, back: str = "") -> dict[str, Any]:
    """Return the context of ``error.html``. ``back``: the page to go back to."""
    # The usual layout asks the database, which may be what failed, and a refused request should cost little.
    layout = "bare.html" if status == 429 or status >= 500 else "base.html"
    name = log_context.request_id.get()
    page = {"layout": layout, "status": status, "title": _TITLES[status], "sentence": sentence, "back": back}
    return page | {"request_id": name}


def _is_api(request: HttpRequest) -> bool:
    return request.path.startswith("/api/") and not request.path.startswith("/api/docs/")


def _way_back(request: HttpRequest, status: int) -> str:
    """Return the page that a form was sent from, or the page asked for; empty if unknown, or if it says the same."""
    if request.method in ("GET", "HEAD"):
        return "" if status in (409, 410) else request.get_full_path()
    return came_from(request)


def came_from(request: HttpRequest) -> str:
    """Return the page of this site that led here, according to the browser; empty if none did."""
    page = request.headers.get("referer", "")
    return page if url_has_allowed_host_and_scheme(page, allowed_hosts={_host_of(request)}) else ""


def _host_of(request: HttpRequest) -> str:
    try:
        return request.get_host()
    except DisallowedHost:
        return ""


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if isinstance(exception, TooManyFieldsSent):
        most = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
        sentence = _("The form has more than %(most)s fields. Nothing was changed. Send fewer at a time.") % {
            "most": f"{most:,}"
        }
        return refuse(request, 422, sentence, "invalid")
    if isinstance(exception, TakesNoFile):
        return refuse(request, 400, str(exception), "no_file")
    sentence = _(
        "Assay can’t read this request. It may contain a character that isn’t allowed. Correct it and try again."
    )
    return refuse(request, 400, sentence, "bad_request")


def denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return refuse(request, 403, _("You aren’t allowed to do this here."), "denied")


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    return refuse(
        request,
        403,
        _(
            "The form has expired, or it was sent from another site. Nothing was changed. Reload the page and try "
            "again. If that doesn’t help, allow cookies for this site."
        ),
        "csrf",
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return refuse(request, 404, _("This page doesn’t exist, or you don’t have access to it."), "not_found")


def not_allowed(request: HttpRequest) -> HttpResponse:
    sentence = _("This address only accepts forms. Go back to the page that has the form.")
    return refuse(request, 405, sentence, "method")


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer an error that no view handled: 503 for an outage, else 500."""
    # No context processors here: whatever failed may fail in them again.
    error = sys.exception()
    if isinstance(error, NoRoom):
        return _unavailable(request, str(error.strerror))
    if what := outage(error):
        advice = _(
            "Your saved work is safe. Wait a few seconds and try again. If the problem persists, contact the operator "
            "of this server."
        )
        return _unavailable(request, f"{_(what)}. {advice}")
    if _is_api(request):
        sentence = _(
            "An unexpected error occurred and was logged. Try again. If it happens again, contact the operator of this "
            "server."
        )
        return JsonResponse({"error": "failed", "sentence": sentence, "details": {}}, status=500)
    sentence = _(
        "An unexpected error occurred and was logged. Your saved work is safe. Go back and try again. If it happens "
        "again, contact the operator of this server."
    )
    return HttpResponse(render_to_string("error.html", _page(500, sentence)), status=500)


def _unavailable(request: HttpRequest, sentence: str) -> HttpResponse:
    answer: HttpResponse
    if _is_api(request):
        answer = JsonResponse({"error": "unavailable", "sentence": sentence, "details": {}}, status=503)
    else:
        template = "components/refusal.html" if request.headers.get("HX-Request") else "error.html"
        answer = HttpResponse(render_to_string(template, _page(503, sentence)), status=503)
    answer["Retry-After"] = str(RETRY_AFTER)
    return answer
