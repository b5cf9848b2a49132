"""Accounts: sign-up by invitation, limited sign-in, and the demo's people."""

from typing import Any
from urllib.parse import quote, urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language, ngettext, override
from django.utils.translation import gettext as _

from annotator.core.concurrency import limited
from annotator.errors import Hidden, TooMany
from annotator.models import SecurityEvent, User
from annotator.services.accounts.attempts import (
    OF_ONE_ADDRESS,
    OF_ONE_NAME,
    OF_STRANGERS,
    count_attempt,
    forget_attempts,
)
from annotator.services.accounts.devices import device_name
from annotator.services.accounts.mails import send_aside
from annotator.services.accounts.sign_in import has_signed_in_here, is_known_device, remember_device
from annotator.services.accounts.sign_up import SESSION_KEY, require_allowed_address
from annotator.services.client_address import client_address, stored_address
from annotator.services.members import accept_invitation, find_invitation
from annotator.services.notices.addresses import absolute_url

SIGN_IN = "sign-in"
NEW_PASSWORD = "account/email/password_reset_key"  # noqa: S105 - the name of a template


class InvitationAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Sign-up needs an open invitation, whose secret is in the session, and uses it up."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        try:
            find_invitation(request.session.get(SESSION_KEY) or "")
        except Hidden:
            return False
        return True

    def save_user(self, request: HttpRequest, user: User, form: Any, commit: bool = True) -> User:
        """Create the account and accept the invitation, or do neither.

        An invitation for one address waits until the address is confirmed: its page shows this. Accounts of identity
        providers are created by ``ProviderAdapter``, which calls this for the fields of the form.
        """
        if getattr(form, "sociallogin", None) is not None:
            saved: User = super().save_user(request, user, form, commit=commit)
            return saved
        secret = request.session.get(SESSION_KEY) or ""
        with transaction.atomic():
            super().save_user(request, user, form, commit=True)
            if not find_invitation(secret).address:
                request.joined = accept_invitation(actor=user, secret=secret)  # type: ignore[attr-defined]
                del request.session[SESSION_KEY]
        return user

    def clean_email(self, email: str) -> str:
        cleaned: str = super().clean_email(email)
        require_allowed_address(cleaned)
        return cleaned

    def get_signup_redirect_url(self, request: HttpRequest) -> str:
        """Return the address of the new member's project, or of the invitation that still waits."""
        joined = getattr(request, "joined", None)
        if joined is not None:
            return str(joined.get_absolute_url())
        secret = request.session.get(SESSION_KEY)
        return reverse("invitation", args=[secret]) if secret else reverse(settings.LOGIN_REDIRECT_URL)

    def get_email_verification_redirect_url(self, email_address: EmailAddress) -> str:
        """Go on with the invitation that waits for this address, if this browser opened it."""
        secret = self.request.session.get(SESSION_KEY)
        return reverse("invitation", args=[secret]) if secret else reverse("account_email")

    def get_client_ip(self, request: HttpRequest) -> str:
        return stored_address(request)

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Refuse an attempt too soon after failed ones, unless the person has signed in from this browser before."""
        name = _login_of(credentials)
        if not is_known_device(request, name):
            require_attempt(what=SIGN_IN, name=name, address=client_address(request))

    def authenticate(self, request: HttpRequest, **credentials: Any) -> User | None:
        """Return the person, or None. Raises ValidationError if too many attempts run.

        Otherwise forty parallel attempts of a stranger would take all threads of the site.
        """
        name, address = _login_of(credentials), client_address(request)
        if is_known_device(request, name):
            places = {f"name {name.strip().casefold()}": OF_ONE_NAME}
        else:
            places = {f"address {address}": OF_ONE_ADDRESS, "strangers": OF_STRANGERS}
        with limited(places) as free:
            if not free:
                raise ValidationError(_("Too many people are signing in right now. Wait a second and try again."))
            user: User | None = super().authenticate(request, **credentials)
        if user is not None:
            forget_attempts(what=SIGN_IN, name=name, address=address)
        return user

    def post_login(self, request: HttpRequest, user: User, **more: Any) -> HttpResponse:
        response: HttpResponse = super().post_login(request, user, **more)
        if not has_signed_in_here(request, user):
            mail_new_device(self, request, user)
        remember_device(request, response, user)
        return response

    def get_reset_password_from_key_url(self, key: str) -> str:
        return absolute_url(
            reverse("account_reset_password_from_key", args=["UID", "KEY"]).replace("UID-KEY", quote(key))
        )

    def get_email_confirmation_url(self, request: HttpRequest, emailconfirmation: Any) -> str:
        return absolute_url(reverse("account_confirm_email", args=[emailconfirmation.key]))

    def send_confirmation_mail(self, request: HttpRequest, emailconfirmation: Any, signup: bool) -> None:
        """Send the mail, unless several have gone to this address a short time ago, whoever asked for them.

        At sign-in, an earlier mail has a link that works. On the page of the address, this raises TooMany.
        """
        email = emailconfirmation.email_address.email
        seconds = count_attempt(what="confirm an address", name=email, address="")
        if not seconds:
            super().send_confirmation_mail(request, emailconfirmation, signup)
        elif request.user.is_authenticated:
            raise TooMany(_too_often(seconds), retry_after=seconds)

    def send_account_already_exists_mail(self, email: str) -> None:
        link = absolute_url(reverse("account_reset_password"))
        self.send_mail("account/email/account_already_exists", email, {"password_reset_url": link})

    def format_email_subject(self, subject: str) -> str:
        return f"[{urlsplit(settings.SITE_URL).netloc}] {subject}"

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send allauth's mail in the person's language, with the site's name from the settings, not the request.

        A mail for a new password is sent here, because its caller is in the background and tries again.
        """
        site = {"name": urlsplit(settings.SITE_URL).netloc, "domain": settings.SITE_URL}
        language = getattr(context.get("user"), "reading_language", "")
        with override(language or get_language()):
            mail = self.render_mail(template_prefix, email, context | {"email": email, "current_site": site})
        if template_prefix == NEW_PASSWORD:
            mail.send()
        else:
            transaction.on_commit(lambda: send_aside(mail))


def mail_new_device(adapter: InvitationAdapter, request: HttpRequest, user: User) -> None:
    """Mail a person about a sign-in from a browser that they have not used before, unless it is their first."""
    if not user.email or SecurityEvent.objects.filter(person=user, kind="signed_in")[1:2].count() == 0:
        return
    context = {
        "user": user,
        "device": device_name(request.headers.get("User-Agent", "")),
        "address": client_address(request),
        "at": timezone.now(),
        "link": absolute_url(reverse("account-sessions")),
    }
    adapter.send_mail("account/email/new_device", user.email, context)


def _login_of(credentials: dict[str, Any]) -> str:
    """Return what was typed as the username or email address."""
    return str(credentials.get("username") or credentials.get("email") or "")


def require_attempt(*, what: str, name: str, address: str) -> None:
    """Count an attempt at ``what``. Raises ValidationError if it comes too soon after others."""
    if seconds := count_attempt(what=what, name=name, address=address):
        raise ValidationError(_too_often(seconds))


def _too_often(seconds: int) -> str:
    """Return the sentence that asks to wait."""
    if seconds < 100:
        sentence = ngettext(
            "Too many attempts. Wait %(count)d second and try again.",
            "Too many attempts. Wait %(count)d seconds and try again.",
            seconds,
        )
        return sentence % {"count": seconds}
    minutes = -(-seconds // 60)
    sentence = ngettext(
        "Too many attempts. Wait %(count)d minute and try again.",
        "Too many attempts. Wait %(count)d minutes and try again.",
        minutes,
    )
    return sentence % {"count": minutes}


def demo_people() -> list[User]:
    """Return the people of the demo, who can be signed in as with a button; none outside the demo."""
    if not settings.DEMO:
        return []
    return list(User.objects.filter(is_active=True).exclude(demo_note="").order_by("id"))
