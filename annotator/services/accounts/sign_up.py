"""Who may get an account: people with an invitation, with an address of an allowed domain."""

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

#: The session's key of an invitation's secret, between opening its link and creating an account.
SESSION_KEY = "invitation"


def is_allowed_address(email: str) -> bool:
    """Return whether an account may have this email address (setting SIGN_UP_DOMAINS)."""
    return not settings.SIGN_UP_DOMAINS or email.rpartition("@")[2].lower() in settings.SIGN_UP_DOMAINS


def require_allowed_address(email: str) -> None:
    """Raise ValidationError unless an account may have this email address."""
    if not is_allowed_address(email):
        domains = ", ".join(settings.SIGN_UP_DOMAINS)
        raise ValidationError(_("Use an email address of %(domains)s.") % {"domains": domains})
