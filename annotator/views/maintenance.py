"""Maintenance: everything can be read, and nothing is changed."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from annotator.services.maintenance import InMaintenance, maintenance
from annotator.views.errors import refuse

#: Seconds after which programs and editors try again.
RETRY_AFTER = 30
#: Beginnings of the names of what works all the same: signing in and out, and confirming it.
_SIGN_IN = (
    "account_login",
    "account_logout",
    "account_reauthenticate",
    "mfa_authenticate",
    "mfa_login_webauthn",
    "mfa_reauthenticate",
    "provider-sign-in",
    "theme",
)


def maintenance_sentence() -> str:
    """Return what people are told during maintenance; blank if there is none."""
    now = maintenance()
    if now is None:
        return ""
    sentence = _("Maintenance: everything can be read, but nothing can be changed for now.")
    return f"{sentence} {now.message}".strip()


class MaintenanceMiddleware:
    """Refuses requests that could change something while there is maintenance."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        if request.method in ("GET", "HEAD", "OPTIONS", "TRACE") or not (sentence := maintenance_sentence()):
            return None
        name = (request.resolver_match.url_name or "") if request.resolver_match else ""
        if name.startswith(_SIGN_IN) or _is_marked(view) or _is_marked(getattr(view, "cls", None)):
            return None
        response = refuse(request, InMaintenance.status, sentence, InMaintenance.code)
        response["Retry-After"] = str(RETRY_AFTER)
        # Scripts say what it is, since they do not show the answer to what they send again later.
        response["Assay-Maintenance"] = "1"
        return response


def _is_marked(view: object) -> bool:
    return getattr(view, "works_in_maintenance", False)
