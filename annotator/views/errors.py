"""Error pages: a sentence and a way back, never a traceback. To programs the same as JSON."""

import sys
from typing import Any

from django.conf import settings
from django.core.exceptions import DisallowedHost, TooManyFieldsSent
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.http import url_has_allowed_host_and_scheme

from annotator.errors import Busy
from annotator.services.jobs.outages import NoRoom, outage
from annotator.views.uploads import TakesNoFile

#: Seconds after which it is worth trying again what an outage has stopped.
RETRY_AFTER = 10

_UNREADABLE = (
    "The server cannot read this request: it may hold a character that is not allowed. Correct it and try again."
)
_NOTHING_HERE = "There is nothing at this address, or it is not yours to see."
_PASSES = (
    "What was saved is safe. Wait for some seconds, then try again; where it lasts, tell the operator of this server."
)
_FAILED = (
    "The program failed at this, not you. It is in the server’s log; try again, and tell the operator if it lasts."
)


def refuse(
    request: HttpRequest, status: int, sentence: str, code: str, details: dict[str, Any] | None = None
) -> HttpResponse:
    """A refusal in the form its reader understands: a page, a notice for htmx, or JSON under ``/api/``."""
    if _is_api(request):
        return JsonResponse({"error": code, "sentence": sentence, "details": details or {}}, status=status)
    template = "components/refusal.html" if getattr(request, "htmx", False) else f"{status}.html"
    return render(request, template, {"sentence": sentence, "back": _way_back(request)}, status=status)


def refuse_for_now(request: HttpRequest, busy: Busy) -> HttpResponse:
    """As ``refuse``, with the seconds after which it is worth asking again."""
    answer = refuse(request, busy.status, busy.sentence, busy.code)
    answer["Retry-After"] = str(RETRY_AFTER)
    return answer


def _is_api(request: HttpRequest) -> bool:
    return request.path.startswith("/api/") and not request.path.startswith("/api/docs/")


def _way_back(request: HttpRequest) -> str:
    """The page somebody sent a form from, or the one they asked for; empty where that is not known."""
    return request.get_full_path() if request.method in ("GET", "HEAD") else came_from(request)


def came_from(request: HttpRequest) -> str:
    """The page of this site that led here, as the browser says; empty where none did."""
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
        sentence = f"The form has more than {most:,} fields. Nothing was changed: send fewer at a time."
        return refuse(request, 422, sentence, "invalid")
    if isinstance(exception, TakesNoFile):
        return refuse(request, 400, str(exception), "no_file")
    return refuse(request, 400, _UNREADABLE, "bad_request")


def denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return refuse(request, 403, "You may not do this here.", "denied")


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    return refuse(
        request,
        403,
        "The form was open for too long, or was sent from another place. Nothing was changed: load the page again, "
        "then send it. Where that does not help, allow cookies for this site.",
        "csrf",
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return refuse(request, 404, _NOTHING_HERE, "not_found")


def not_allowed(request: HttpRequest) -> HttpResponse:
    return refuse(
        request, 405, "This address only takes what a form sends; go back to the page it stands on.", "method"
    )


def server_error(request: HttpRequest) -> HttpResponse:
    """What no view has answered: 503 where it was an outage, which passes, else 500."""
    # No context processors here: whatever failed may fail in them again.
    error = sys.exception()
    if isinstance(error, NoRoom):
        return _unavailable(request, str(error.strerror))
    if what := outage(error):
        return _unavailable(request, f"{what}. {_PASSES}")
    if _is_api(request):
        return JsonResponse({"error": "failed", "sentence": _FAILED, "details": {}}, status=500)
    return HttpResponse(render_to_string("500.html"), status=500)


def _unavailable(request: HttpRequest, sentence: str) -> HttpResponse:
    answer: HttpResponse
    if _is_api(request):
        answer = JsonResponse({"error": "unavailable", "sentence": sentence, "details": {}}, status=503)
    else:
        template = "components/refusal.html" if request.headers.get("HX-Request") else "503.html"
        answer = HttpResponse(render_to_string(template, {"sentence": sentence, "back": ""}), status=503)
    answer["Retry-After"] = str(RETRY_AFTER)
    return answer
