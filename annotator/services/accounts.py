"""Accounts: who may sign up, and the demo's sign-in without a password."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.urls import reverse

from annotator.errors import Hidden
from annotator.models import User
from annotator.services.projects import accept_invitation, find_invitation

#: Where the session keeps the secret of an invitation between opening its link and having an account.
SESSION_KEY = "invitation"


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


def demo_people() -> list[User]:
    """Who may be signed in as by a button: only in the demo, and only its own people."""
    if not settings.DEMO:
        return []
    return list(User.objects.filter(is_active=True).exclude(demo_note="").order_by("id"))
