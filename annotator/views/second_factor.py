"""Keeps people who need a second factor (setting REQUIRE_SECOND_FACTOR) on its pages until they have one."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from annotator.models import User
from annotator.services.accounts.factors import must_add_second_factor
from annotator.views.errors import refuse

#: Pages that work without it: those of the account, and what every page needs.
_OPEN = (
    "account_",
    "account-",
    "mfa_",
    "socialaccount_",
    "theme",
    "javascript-catalog",
    "language-settings",
    "signed-in",
)


class SecondFactorMiddleware:
    """Sends such a person to the page of second factors. Their API tokens work: they are factors of their own."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        if not settings.REQUIRE_SECOND_FACTOR:
            return None
        name = (request.resolver_match.url_name or "") if request.resolver_match else ""
        if name.startswith(_OPEN) or not isinstance(request.user, User):
            return None
        if not must_add_second_factor(request, request.user):
            return None
        sentence = _("Your role needs a second factor. Add an authenticator app or a passkey to go on.")
        if request.method != "GET" or getattr(request, "htmx", False) or request.path_info.startswith("/api/"):
            return refuse(request, 403, sentence, "second_factor")
        messages.warning(request, sentence)
        return redirect("mfa_index")
