"""Accounts: who may sign up, and the demo's sign-in without a password."""

import logging
import smtplib
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote, urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.password_reset import request_password_reset
from allauth.account.internal.userkit import filter_users_by_email
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import connections, transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from annotator.errors import Hidden
from annotator.models import User
from annotator.services.addresses import absolute_url
from annotator.services.attempts import (
    OF_ONE_ADDRESS,
    OF_ONE_NAME,
    OF_STRANGERS,
    client_address,
    count_attempt,
    forget_attempts,
)
from annotator.services.places import a_place_of
from annotator.services.projects import accept_invitation, find_invitation
from annotator.services.sign_in import is_known_device, remember_device

_LOG = logging.getLogger(__name__)
#: Replies of a mail server from here on are final.
_FOR_GOOD = 500

#: What is sent aside goes out one by one; how often somebody may ask for it is limited.
MAILING = ThreadPoolExecutor(max_workers=1, thread_name_prefix="mail")

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
        return reverse("project", args=[request.joined.slug])  # type: ignore[attr-defined]

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


def mail_aside(email: str) -> None:
    """Send that mail beside the answer: a slow mail server would delay the answer only where there is an account."""
    MAILING.submit(_mail_aside, email)


def mail_new_password(email: str) -> None:
    """Mail whoever has that address a link to a new password, made now. Raises OSError if no mail server takes it."""
    people = filter_users_by_email(email, is_active=True, prefer_verified=True, for_login=True)
    request_password_reset(None, email, people, None)


def try_new_password(email: str) -> OSError | None:
    """``mail_new_password``; returns the error if it is worth another try. A final refusal is logged here."""
    try:
        mail_new_password(email)
    except OSError as error:
        if not _refused_for_good(error):
            return error
        _LOG.error("A mail about a password was refused for good: %s", error)
    return None


def _refused_for_good(error: OSError) -> bool:
    """Whether a mail server that was there said that it will never take this mail (RFC 5321: 5xx).

    That it refuses the sender is for the operator to mend, so that the mail may go out later.
    """
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return all(code >= _FOR_GOOD for code, _ in error.recipients.values())
    return isinstance(error, smtplib.SMTPDataError) and error.smtp_code >= _FOR_GOOD


def _mail_aside(email: str) -> None:
    from annotator.tasks import mail_new_password_later

    try:
        if error := try_new_password(email):
            _LOG.warning("A mail about a password waits for the mail server: %s", error)
            mail_new_password_later(email)
    except Exception:
        _LOG.exception("A mail about a password could not be made.")
    finally:
        # This thread's own.
        connections.close_all()


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
