"""Operators run the installation: people with staff status. They see its operations, accounts and security log."""

from django.utils.translation import gettext as _

from annotator.errors import Hidden
from annotator.models import User


def is_operator(user: User) -> bool:
    """Return whether the person runs this installation. API tokens that are limited to projects don't."""
    return user.is_active and user.is_staff and user.token_projects is None


def require_operator(actor: User) -> None:
    """Raise Hidden unless the actor runs this installation."""
    if not is_operator(actor):
        raise Hidden(_("This page doesn’t exist."))
