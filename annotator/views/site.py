"""Small pages of the site itself: health and theme."""

import logging

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

_LOG = logging.getLogger(__name__)

THEMES = ("auto", "light", "dark")


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Whether this process can answer and reach its database: 200, else 503. Never cached."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        _LOG.exception("the database does not answer")
        words, status = "The database does not answer.\n", 503
    else:
        words, status = "ok\n", 200
    return HttpResponse(words, status=status, content_type="text/plain", headers={"Cache-Control": "no-store"})


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


@require_safe
def styleguide(request: HttpRequest) -> HttpResponse:
    """Every component on one page; served in debug mode only."""
    return render(request, "styleguide.html")
