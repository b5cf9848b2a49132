"""Small pages of the site itself: health and theme."""

import math
import time

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from annotator.core.concurrency import limited
from annotator.services.jobs.readiness import what_is_missing
from annotator.views.errors import RETRY_AFTER
from annotator.views.maintenance import maintenance_sentence
from annotator.views.pages import PageRequest

_NEVER_KEPT = {"Cache-Control": "no-store"}
_TEXT = "text/plain; charset=utf-8"
#: Seconds for which the last answer of /readyz is repeated while a new check runs.
RECENT = 5.0
#: The last check: when, and what was missing.
_found: dict[str, tuple[float, dict[str, str]]] = {"last": (-math.inf, {})}
THEMES = ("auto", "light", "dark")


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Show that this process responds. Checks nothing else."""
    return HttpResponse("ok\n", content_type=_TEXT, headers=_NEVER_KEPT)


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Return 200 if everything that the site needs is available, else 503 and a line for each missing part.

    With ``Accept: application/json``, the same as ``{"ready", "missing": {part: sentence}}``.
    """
    missing = missing_parts()
    headers = _NEVER_KEPT | ({"Retry-After": str(RETRY_AFTER)} if missing else {})
    if request.accepts("application/json") and not request.accepts("text/plain"):
        return JsonResponse({"ready": not missing, "missing": missing}, status=503 if missing else 200, headers=headers)
    if not missing:
        return HttpResponse("ready\n", content_type=_TEXT, headers=headers)
    lines = [f"{part}: {sentence}\n" for part, sentence in missing.items()]
    return HttpResponse(lines, status=503, content_type=_TEXT, headers=headers)


def missing_parts() -> dict[str, str]:
    """Return what is missing now.

    Each check opens a database connection, and anybody may ask. Only one thread checks; the others repeat its last
    answer if that is recent.
    """
    with limited({"readyz": 1}) as free:
        when, missing = _found["last"]
        if free or time.monotonic() - when > RECENT:
            missing = what_is_missing()
            _found["last"] = time.monotonic(), missing
    return missing


@require_safe
def signed_in(request: HttpRequest) -> HttpResponse:
    """Say whether somebody is signed in. A page asks before it sends a form, which the sign-in page would drop.

    During maintenance, which would drop it too, the answer is its sentence.
    """
    answer = maintenance_sentence() or ("yes" if request.user.is_authenticated else "no")
    return HttpResponse(answer, content_type=_TEXT, headers=_NEVER_KEPT)


@require_POST
def set_theme(request: HttpRequest) -> HttpResponse:
    """Remember the theme in a cookie and go back to where the person was."""
    theme = request.POST.get("theme", "auto")
    back = request.POST.get("next") or request.headers.get("referer", "")
    if not url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()}):
        back = "/"
    response = HttpResponseRedirect(back)
    response.set_cookie(
        "theme", theme if theme in THEMES else "auto", max_age=365 * 86400, samesite="Lax", secure=request.is_secure()
    )
    return response


@login_required
@require_POST
def tour(request: PageRequest) -> HttpResponse:
    """Remember that the person has finished or skipped the tour of the workspace."""
    request.user.toured_at = timezone.now()
    request.user.save(update_fields=["toured_at"])
    return HttpResponse(status=204)


@require_safe
def styleguide(request: HttpRequest) -> HttpResponse:
    """Every component on one page; served in debug mode only."""
    return render(request, "styleguide/page.html")
