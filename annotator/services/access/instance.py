"""Who runs the instance: people with Django's staff status, who see its operations, accounts and security log."""

from django.utils.translation import gettext as _

from annotator.errors import Hidden
from annotator.models import User


def is_instance_owner(user: User) -> bool:
    """Return whether the person runs this instance. API tokens that are limited to projects don't."""
    return user.is_active and user.is_staff and user.token_projects is None


def require_instance_owner(actor: User) -> None:
    """Raise Hidden unless the actor runs this instance."""
    if not is_instance_owner(actor):
        raise Hidden(_("This page doesn’t exist."))
