"""The security log: what happened to accounts, tokens and permissions, from where. Append-only."""

from django.http import HttpRequest
from django.utils.translation import gettext_noop

from annotator.models import SecurityEvent, User
from annotator.services.accounts.attempts import client_address

#: Each kind of event and its words.
KINDS = {
    "signed_in": gettext_noop("Signed in"),
    "signed_out": gettext_noop("Signed out"),
    "sign_in_failed": gettext_noop("Failed to sign in"),
    "password_changed": gettext_noop("Password changed"),
}


def log_security(
    kind: str,
    *,
    person: User | None,
    actor: User | None = None,
    request: HttpRequest | None = None,
    **details: str | int | bool | None,
) -> SecurityEvent:
    """Write an event of one of ``KINDS``.

    ``person``: whose account it is about. ``actor``: who did it, if they were signed in. ``request``: where the address
    and the device are from; None: a job or the command line. ``details`` contain no secrets. Raises KeyError for an
    unknown kind.
    """
    KINDS[kind]
    return SecurityEvent.objects.create(
        kind=kind,
        person=person,
        actor=actor,
        address=client_address(request)[:45] if request else "",
        device=request.headers.get("User-Agent", "")[:300] if request else "",
        details=details,
    )
