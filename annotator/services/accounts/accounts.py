"""Accounts: who may sign up, and the demo's sign-in without a password."""

from typing import Any
from urllib.parse import quote, urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from annotator.core.capacity import a_place_of
from annotator.errors import Hidden
from annotator.models import User
from annotator.services.accounts.attempts import (
    OF_ONE_ADDRESS,
    OF_ONE_NAME,
    OF_STRANGERS,
    client_address,
    count_attempt,
    forget_attempts,
)
from annotator.services.accounts.sign_in import is_known_device, remember_device
from annotator.services.notices.addresses import absolute_url
from annotator.services.projects import accept_invitation, find_invitation

#: Where the session keeps the secret of an invitation between opening its link and having an account.
SESSION_KEY = "invitation"
SIGN_IN = "sign-in"


class InvitationAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Sign-up takes an open invitation, whose secret the session carries; it is used up with it."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        try:
            find_invitation(request.session.get(SESSION_KEY) or "")
        except Hidden:
            return False
        return True

    def save_user(self, request: HttpRequest, user: User, form: Any, commit: bool = True) -> User:
        """Make the account and accept the invitation, both or neither: an account without a project helps nobody."""
        with transaction.atomic():
            super().save_user(request, user, form, commit=True)
            project = accept_invitation(actor=user, secret=request.session.get(SESSION_KEY) or "")
        del request.session[SESSION_KEY]
        request.joined = project  # type: ignore[attr-defined]
        return user

    def get_signup_redirect_url(self, request: HttpRequest) -> str:
        """A new member goes to their project first."""
        address: str = request.joined.get_absolute_url()  # type: ignore[attr-defined]
        return address

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_address(request)

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Refuse a try that comes too soon after failed ones, unless this browser is known to the person."""
        name = _login_of(credentials)
        if not is_known_device(request, name):
            require_attempt(what=SIGN_IN, name=name, address=client_address(request))

    def authenticate(self, request: HttpRequest, **credentials: Any) -> User | None:
        """The person, or None. Raises ValidationError where it is not looked at now.

        A stranger with forty wrong passwords at once, each under another name, would hold every thread of the site.
        """
        name, address = _login_of(credentials), client_address(request)
        if is_known_device(request, name):
            places = {f"name {name.strip().casefold()}": OF_ONE_NAME}
        else:
            places = {f"address {address}": OF_ONE_ADDRESS, "strangers": OF_STRANGERS}
        with a_place_of(places) as free:
            if not free:
                raise ValidationError("Somebody else is signing in at this moment. Wait for a second, then try again.")
            user: User | None = super().authenticate(request, **credentials)
        if user is not None:
            forget_attempts(what=SIGN_IN, name=name, address=address)
        return user

    def post_login(self, request: HttpRequest, user: User, **more: Any) -> HttpResponse:
        response: HttpResponse = super().post_login(request, user, **more)
        remember_device(request, response, user)
        return response

    def get_reset_password_from_key_url(self, key: str) -> str:
        return absolute_url(
            reverse("account_reset_password_from_key", args=["UID", "KEY"]).replace("UID-KEY", quote(key))
        )

    def format_email_subject(self, subject: str) -> str:
        return f"[{urlsplit(settings.SITE_URL).netloc}] {subject}"

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """allauth's, which would call the site what the request's Host header says. Here there is no request."""
        site = {"name": urlsplit(settings.SITE_URL).netloc, "domain": settings.SITE_URL}
        self.render_mail(template_prefix, email, context | {"email": email, "current_site": site}).send()


def _login_of(credentials: dict[str, Any]) -> str:
    """What was typed as the name, of what allauth makes of it."""
    return str(credentials.get("username") or credentials.get("email") or "")


def require_attempt(*, what: str, name: str, address: str) -> None:
    """Count a try at ``what``; raises ValidationError when it comes too soon after others."""
    seconds = count_attempt(what=what, name=name, address=address)
    if seconds:
        wait = f"{seconds} second{'s' if seconds > 1 else ''}" if seconds < 100 else f"{-(-seconds // 60)} minutes"
        raise ValidationError(f"That was tried too often from here. Wait for {wait}, then try again.")


def demo_people() -> list[User]:
    """Who may be signed in as by a button: only in the demo, and only its own people."""
    if not settings.DEMO:
        return []
    return list(User.objects.filter(is_active=True).exclude(demo_note="").order_by("id"))
