"""Where you are signed in: the page, and the end of sessions that were not used or are too old."""

from collections.abc import Callable

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import SESSION_KEY, logout
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from annotator.services.accounts import sessions
from annotator.services.accounts.devices import device_name
from annotator.services.security_log import own_events
from annotator.views.pages import PageRequest

_HEARTBEAT, _ASKED_BY_SCRIPTS = "/heartbeat/", "/signed-in/"


class SessionAgeMiddleware:
    """Signs out people whose session has timed out, and notes the use of the others."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if SESSION_KEY in request.session:
            if sessions.has_timed_out(request):
                request.timed_out = True  # type: ignore[attr-defined]
                logout(request)
            elif _is_use(request) and request.user.is_authenticated:
                sessions.note_use(request)
        return self.get_response(request)


def _is_use(request: HttpRequest) -> bool:
    """Return whether a person caused the request: open pages also ask by themselves, with htmx, and send heartbeats."""
    if request.path_info.endswith(_HEARTBEAT):
        return request.POST.get("active_seconds", "0") not in ("", "0")
    if request.path_info == _ASKED_BY_SCRIPTS:
        return False
    return request.method != "GET" or request.headers.get("HX-Request") != "true"


@login_required
@require_safe
def session_list(request: PageRequest) -> HttpResponse:
    """Show where you are signed in, and what happened to your account."""
    rows = [
        (one, device_name(one.user_agent), one.session_key == request.session.session_key)
        for one in sessions.list_sessions(request.user)
    ]
    events = [(one, device_name(one.device) if one.device else "") for one in own_events(request.user)]
    return render(request, "annotator/session_list.html", {"sessions": rows, "events": events})


@login_required
@require_POST
def session_end(request: PageRequest, key: str) -> HttpResponse:
    """End one of your sessions."""
    if sessions.end_session(actor=request.user, request=request, key=key):
        logout(request)
        return redirect(settings.LOGIN_URL)
    messages.success(request, _("The session has ended."))
    return redirect("account-sessions")


@login_required
@require_POST
def session_end_others(request: PageRequest) -> HttpResponse:
    """End all of your sessions but this one."""
    count = sessions.end_other_sessions(actor=request.user, request=request)
    sentence = ngettext("%(count)d session has ended.", "%(count)d sessions have ended.", count)
    messages.success(request, sentence % {"count": count})
    return redirect("account-sessions")
