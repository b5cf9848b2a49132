"""Writes the security log: what Django and allauth announce about sign-ins, passwords, factors and addresses."""

from typing import Any

from allauth.account import signals as account
from allauth.account.models import EmailAddress
from allauth.mfa import signals as mfa
from allauth.mfa.models import Authenticator
from allauth.socialaccount import signals as social
from allauth.socialaccount.models import SocialAccount, SocialLogin
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest

from annotator.core.rates import Limited, Rate
from annotator.models import User
from annotator.services.accounts.rate_limits import counts
from annotator.services.accounts.sessions import end_all_sessions
from annotator.services.client_address import client_address
from annotator.services.security_log import log_security

_FACTORS = {Authenticator.Type.TOTP: "app", Authenticator.Type.WEBAUTHN: "passkey"}
#: Failed sign-ins with unknown names that are noted for one address.
UNKNOWN_NAMES = Rate(20, 3600)
_CODES = Authenticator.Type.RECOVERY_CODES


@receiver(user_logged_in)
def signed_in(request: HttpRequest, user: User, **_more: Any) -> None:
    log_security("signed_in", person=user, actor=user, request=request)


@receiver(user_logged_out)
def signed_out(request: HttpRequest, user: User | None, **_more: Any) -> None:
    if user is not None:
        reason = {"reason": "time-out"} if getattr(request, "timed_out", False) else {}
        log_security("session_ended" if reason else "signed_out", person=user, actor=user, request=request, **reason)


@receiver(user_login_failed)
def sign_in_failed(credentials: dict[str, Any], request: HttpRequest | None = None, **_more: Any) -> None:
    """Note whose account it was. A name that no account has is not stored: people type passwords as names.

    Of attempts with such names, a few of each address and hour are noted, because strangers can make any number.
    """
    name = str(credentials.get("username") or credentials.get("email") or "")
    field = "email__iexact" if "@" in name else "username__iexact"
    person = User.objects.filter(**{field: name}).first() if name else None
    if person is None and request is not None:
        attempts = Limited("unknown", client_address(request), UNKNOWN_NAMES)
        if not counts().count([attempts])[0].admitted:
            return
    log_security("sign_in_failed", person=person, request=request)


@receiver(account.user_signed_up)
def created(request: HttpRequest, user: User, sociallogin: SocialLogin | None = None, **_more: Any) -> None:
    provider = {"provider": sociallogin.account.provider} if sociallogin else {}
    log_security("account_created", person=user, actor=user, request=request, **provider)


@receiver([account.password_changed, account.password_set, account.password_reset])
def password_changed(request: HttpRequest, user: User, **_more: Any) -> None:
    """Note it, and forget the other sessions: their mark of the password is wrong now."""
    end_all_sessions(user, but=request.session.session_key)
    log_security("password_changed", person=user, actor=_actor(request), request=request)


@receiver(account.email_changed)
def email_changed(request: HttpRequest, user: User, **_more: Any) -> None:
    log_security("email_changed", person=user, actor=_actor(request), request=request)


@receiver(account.email_confirmed)
def email_confirmed(request: HttpRequest, email_address: EmailAddress, **_more: Any) -> None:
    log_security("email_confirmed", person=email_address.user, actor=_actor(request), request=request)


@receiver([mfa.authenticator_added, mfa.authenticator_reset])
def factor_added(request: HttpRequest, user: User, authenticator: Authenticator, **_more: Any) -> None:
    _factor("codes_made" if authenticator.type == _CODES else "factor_added", request, user, authenticator)


@receiver(mfa.authenticator_removed)
def factor_removed(request: HttpRequest, user: User, authenticator: Authenticator, **_more: Any) -> None:
    if authenticator.type != _CODES:
        _factor("factor_removed", request, user, authenticator)


@receiver(mfa.authenticator_used)
def factor_used(request: HttpRequest, user: User, authenticator: Authenticator, **_more: Any) -> None:
    _factor("factor_used", request, user, authenticator)


@receiver(mfa.authentication_failed)
def factor_failed(request: HttpRequest, user: User, authenticator: Authenticator, **_more: Any) -> None:
    _factor("factor_failed", request, user, authenticator)


def _factor(kind: str, request: HttpRequest, user: User, authenticator: Authenticator) -> None:
    factor = _FACTORS.get(authenticator.type, "recovery code")
    log_security(kind, person=user, actor=_actor(request), request=request, factor=factor)


@receiver(social.social_account_added)
def connected(request: HttpRequest, sociallogin: SocialLogin, **_more: Any) -> None:
    provider = sociallogin.account.provider
    log_security(
        "account_connected", person=sociallogin.user, actor=_actor(request), request=request, provider=provider
    )


@receiver(social.social_account_removed)
def disconnected(request: HttpRequest, socialaccount: SocialAccount, **_more: Any) -> None:
    provider, person = socialaccount.provider, socialaccount.user
    log_security("account_disconnected", person=person, actor=_actor(request), request=request, provider=provider)


def _actor(request: HttpRequest) -> User | None:
    return request.user if isinstance(request.user, User) else None
