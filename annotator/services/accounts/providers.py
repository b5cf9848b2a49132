"""Sign-in with identity providers (django-allauth): who gets an account, and which roles groups give."""

import logging
from typing import Any

from allauth.account.models import EmailAddress
from allauth.account.signals import user_logged_in
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialAccount, SocialLogin
from django.conf import settings
from django.db import transaction
from django.dispatch import receiver
from django.http import HttpRequest

from annotator.config.providers import IdentityProvider
from annotator.core.wording import has_unseen
from annotator.errors import DomainError, Hidden
from annotator.models import Invitation, Membership, Project, Role, User
from annotator.services.accounts.factors import accept_factor_of_provider
from annotator.services.accounts.sign_up import SESSION_KEY, is_allowed_address
from annotator.services.members import (
    accept_invitation,
    end_role_of_group,
    find_invitation,
    fits_address,
    give_role_of_group,
)

_LOG = logging.getLogger(__name__)
#: Groups of one person that are read.
MAX_GROUPS = 1000


def provider_of(login: SocialLogin) -> IdentityProvider | None:
    """Return the provider of a sign-in, as SIGN_IN_FILE describes it."""
    return next((one for one in settings.IDENTITY_PROVIDERS if one.id == login.account.provider), None)


class ProviderAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """An account needs an invitation, unless the provider is trusted to name the people who get one."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        provider = provider_of(sociallogin)
        _read_confirmed(sociallogin)
        address = next((one.email for one in sociallogin.email_addresses if one.verified), "")
        if not is_allowed_address(address):
            return False
        if provider is not None and provider.sign_up:
            return True
        invitation = _invitation(request)
        if invitation is None or not invitation.address:
            return invitation is not None
        return invitation.address.casefold() in {one.email.casefold() for one in sociallogin.email_addresses}

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        _read_confirmed(sociallogin)

    def can_authenticate_by_email(self, login: SocialLogin, email: str) -> bool:
        """Return whether the account with this address is used: the provider may, and the account has confirmed it."""
        _read_confirmed(login)
        confirmed = {one.email for one in login.email_addresses if one.verified}
        if email not in confirmed or not super().can_authenticate_by_email(login, email):
            return False
        return bool(EmailAddress.objects.filter(email__iexact=email, verified=True).exists())

    def populate_user(self, request: HttpRequest, sociallogin: SocialLogin, data: dict[str, Any]) -> User:
        user: User = super().populate_user(request, sociallogin, data)
        name = data.get("name") or f"{data.get('first_name') or ''} {data.get('last_name') or ''}"
        name = " ".join(str(name).split())[:80]
        user.display_name = "" if has_unseen(name) else name
        return user

    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None) -> User:
        """Create the account and accept the invitation, if there is one, or do neither.

        An invitation for an address that the provider has not confirmed waits: its page shows this.
        """
        invitation, secret = _invitation(request), request.session.get(SESSION_KEY) or ""
        with transaction.atomic():
            user: User = super().save_user(request, sociallogin, form)
            waits = invitation is not None and not fits_address(user, invitation)
            if invitation is not None and not waits:
                request.joined = accept_invitation(actor=user, secret=secret)  # type: ignore[attr-defined]
        if not waits:
            request.session.pop(SESSION_KEY, None)
        return user


def _read_confirmed(login: SocialLogin) -> None:
    """Read whether addresses are confirmed: some providers write the words “true” and “false”."""
    for one in login.email_addresses:
        one.verified = one.verified is True or str(one.verified).lower() == "true"


def _invitation(request: HttpRequest) -> Invitation | None:
    """Return the open invitation whose link this browser has opened."""
    try:
        return find_invitation(request.session.get(SESSION_KEY) or "")
    except Hidden:
        return None


def groups_of(account: SocialAccount, claim: str) -> frozenset[str]:
    """Return the names of the groups in a claim, of the user information or else of the id token."""
    data = account.extra_data or {}
    for part in (data.get("userinfo"), data.get("id_token"), data):
        found = part.get(claim) if isinstance(part, dict) else None
        if isinstance(found, str):
            return frozenset({found})
        if isinstance(found, list):
            return frozenset(one for one in found[:MAX_GROUPS] if isinstance(one, str))
    return frozenset()


def apply_groups(person: User, provider: IdentityProvider, groups: frozenset[str]) -> None:
    """Give the roles of the person's groups, and end those that earlier groups of this provider gave.

    Roles that people gave stay. An unknown or archived project, and a role that can't end (the last administrator's),
    are logged and left.
    """
    wanted = {(rule.project, rule.role) for rule in provider.groups if rule.group in groups}
    # Nothing can be changed in an archived project.
    given = Membership.objects.live().filter(user=person, provider=provider.id, project__archived_at=None)
    for membership in given.select_related("project"):
        if (membership.project.slug, membership.role) not in wanted:
            try:
                end_role_of_group(project=membership.project, user=person, role=Role(membership.role))
            except DomainError as error:
                _LOG.warning("A role that no group gives any more stays: %s", error)
    projects = {
        one.slug: one for one in Project.objects.filter(slug__in={slug for slug, _ in wanted}, archived_at=None)
    }
    for slug, role in sorted(wanted):
        if slug in projects:
            give_role_of_group(project=projects[slug], user=person, role=role, provider=provider.id)
        else:
            _LOG.warning("SIGN_IN_FILE names the project “%s”, which does not exist or is archived.", slug)


@receiver(user_logged_in)
def after_provider(request: HttpRequest, user: User, sociallogin: SocialLogin | None = None, **_more: Any) -> None:
    """Apply the groups of a person who has signed in with a provider, and its second factor."""
    provider = provider_of(sociallogin) if sociallogin is not None else None
    if sociallogin is None or provider is None:
        return
    # Without groups in the file, roles that earlier ones gave end.
    apply_groups(user, provider, groups_of(sociallogin.account, provider.groups_claim))
    if provider.second_factor:
        accept_factor_of_provider(request)
