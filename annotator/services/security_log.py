"""The security log: what happened to accounts, tokens and permissions, from where. Append-only."""

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, time
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_noop

from annotator.models import SecurityEvent, User
from annotator.services.access.operators import require_operator
from annotator.services.client_address import client_address
from annotator.services.database.filters import day_of, one_of
from annotator.services.database.keyset import BY_KEY, KeyPage, read_page

#: Where the settings send every event: SECURITY_SYSLOG.
SYSLOG = logging.getLogger("assay.security")

#: Events that people see of their own account.
OWN_EVENTS = 30
#: Events on a page of the log.
PAGE = 50
#: Names of the filters in query strings.
FILTERS = ("kind", "person", "address", "since", "until")

#: Each kind of event and its words.
KINDS = {
    "signed_in": gettext_noop("Signed in"),
    "signed_out": gettext_noop("Signed out"),
    "sign_in_failed": gettext_noop("Failed to sign in"),
    "session_ended": gettext_noop("Session ended"),
    "password_changed": gettext_noop("Password changed"),
    "email_changed": gettext_noop("Email address changed"),
    "email_confirmed": gettext_noop("Email address confirmed"),
    "factor_added": gettext_noop("Second factor added"),
    "factor_removed": gettext_noop("Second factor removed"),
    "factor_used": gettext_noop("Second factor used"),
    "factor_failed": gettext_noop("Second factor refused"),
    "codes_made": gettext_noop("Recovery codes made"),
    "account_connected": gettext_noop("Account of a provider connected"),
    "account_disconnected": gettext_noop("Account of a provider disconnected"),
    "token_created": gettext_noop("API token created"),
    "token_used": gettext_noop("API token used from a new address"),
    "token_revoked": gettext_noop("API token revoked"),
    "role_granted": gettext_noop("Role granted"),
    "role_ended": gettext_noop("Role ended"),
    "rate_limited": gettext_noop("Rate limit exceeded"),
    "operator_granted": gettext_noop("Became an operator"),
    "operator_ended": gettext_noop("Is no longer an operator"),
    "account_deactivated": gettext_noop("Account deactivated"),
    "account_activated": gettext_noop("Account activated again"),
    "account_pseudonymised": gettext_noop("Account pseudonymised"),
    "data_exported": gettext_noop("Data of a person exported"),
    "account_created": gettext_noop("Account created"),
    "maintenance_began": gettext_noop("Maintenance began"),
    "maintenance_ended": gettext_noop("Maintenance ended"),
}


def log_security(
    kind: str,
    *,
    person: User | None,
    actor: User | None = None,
    request: HttpRequest | None = None,
    **details: str | int | bool | None,
) -> SecurityEvent:
    """Write an event of one of ``KINDS``, and send it to syslog once it is stored.

    ``person``: whose account it is about. ``actor``: who did it, if they were signed in. ``request``: where the address
    and the device are from; None: a job or the command line. ``details`` contain no secrets. Raises KeyError for an
    unknown kind.
    """
    KINDS[kind]
    event = SecurityEvent.objects.create(
        kind=kind,
        person=person,
        actor=actor,
        address=client_address(request)[:45] if request else "",
        device=request.headers.get("User-Agent", "")[:300] if request else "",
        details=details,
    )
    if SYSLOG.handlers:
        line = json.dumps(as_line(event), ensure_ascii=False)
        transaction.on_commit(lambda: SYSLOG.info("%s", line))
    return event


def own_events(person: User) -> list[SecurityEvent]:
    """Return the newest events of a person's own account."""
    found = SecurityEvent.objects.filter(person=person).select_related("actor")
    return list(found.order_by("-pk")[:OWN_EVENTS])


@dataclass(frozen=True)
class Filters:
    """Which events a list shows; blank or None: all."""

    kind: str = ""
    #: Username.
    person: str = ""
    address: str = ""
    since: date | None = None
    until: date | None = None

    @property
    def active(self) -> dict[str, str]:
        """Return the filters that are set, as in a query string."""
        return {name: str(value) for name, value in asdict(self).items() if value}


def read_filters(query: Mapping[str, Any]) -> Filters:
    """Read the filters of a query string. Raises UnknownFilter."""
    return Filters(
        kind=one_of(query, "kind", KINDS),
        person=str(query.get("person", "")).strip()[:150],
        address=str(query.get("address", "")).strip()[:45],
        since=day_of(query, "since"),
        until=day_of(query, "until"),
    )


def _filtered(actor: User | None, filters: Filters) -> QuerySet[SecurityEvent]:
    """Return the events for operators; ``actor`` None: the command line. Raises Hidden."""
    if actor is not None:
        require_operator(actor)
    rows = SecurityEvent.objects.select_related("person", "actor")
    if filters.kind:
        rows = rows.filter(kind=filters.kind)
    if filters.person:
        rows = rows.filter(person__in=User.objects.filter(username__iexact=filters.person))
    if filters.address:
        rows = rows.filter(address=filters.address)
    if filters.since:
        rows = rows.filter(created_at__gte=datetime.combine(filters.since, time(), UTC))
    if filters.until:
        rows = rows.filter(created_at__lte=datetime.combine(filters.until, time.max, UTC))
    return rows


def list_events(
    *, actor: User, filters: Filters, before: str | None = None, after: str | None = None
) -> KeyPage[SecurityEvent]:
    """Return a page of the log, newest first. Raises Hidden, UnknownFilter."""
    rows = _filtered(actor, filters)
    return read_page(rows, before=before, after=after, size=PAGE, newest_first=True, by=BY_KEY)


def export_events(*, actor: User | None, filters: Filters) -> Iterator[bytes]:
    """Return the log as JSON lines, oldest first, row by row. Raises Hidden."""
    rows = _filtered(actor, filters).order_by("pk")
    return (json.dumps(as_line(one), ensure_ascii=False).encode() + b"\n" for one in rows.iterator(2000))


def as_line(event: SecurityEvent) -> dict[str, Any]:
    """Return an event for export: people by public id, never by name."""
    return {
        "id": event.pk,
        "time": event.created_at.isoformat(),
        "kind": event.kind,
        "person": event.person.public_id if event.person else None,
        "actor": event.actor.public_id if event.actor else None,
        "address": event.address,
        "device": event.device,
        "details": event.details,
    }
