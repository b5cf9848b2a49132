"""Removal of data that is no longer needed, after the times in the settings.

Only steps of closed drafts, ended sessions, expired tokens and invitations, and files of mails and imports are removed.
Content, reviews, events, reports and releases are kept until somebody deletes the whole project
(``benchmark.services.project_data.deletion``).
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import connection, models
from django.db.models import Q

from annotator.models import ApiToken, DraftStep, Invitation
from annotator.services.database.statements import database_time
from annotator.services.jobs.periodic_tasks import note_run

PERIODIC_TASK = "tidy-up"
#: Rows removed in one transaction.
PORTION = 500

_LOG = logging.getLogger(__name__)

#: Removes what is older than a moment; returns how much.
Remove = Callable[[datetime], int]


@dataclass(frozen=True)
class Rule:
    name: str
    #: The key of ``settings.KEEP_DAYS``; blank: removed as soon as it has ended.
    days: str
    remove: Remove


_RULES: dict[str, Rule] = {}


def retention(name: str, *, days: str = "") -> Callable[[Remove], Remove]:
    """Register a function that removes one kind of data. ``name`` says what it removes."""

    def register(remove: Remove) -> Remove:
        _RULES[name] = Rule(name, days, remove)
        return remove

    return register


def tidy_up(*, now: datetime | None = None) -> dict[str, int]:
    """Apply all rules; returns how much each removed. A failed rule does not stop the others.

    Times are by the database's clock, since a worker's clock may be wrong.
    """
    now = now or database_time()
    removed: dict[str, int] = {}
    failed = []
    for rule in _RULES.values():
        days = settings.KEEP_DAYS[rule.days] if rule.days else 0
        if rule.days and not days:
            continue
        try:
            removed[rule.name] = rule.remove(now - timedelta(days=days))
        except Exception:
            failed.append(rule.name)
            _LOG.exception("could not remove %s", rule.name)
            # The connection may be broken; the next statement opens another one.
            if not connection.in_atomic_block:
                connection.close_if_unusable_or_obsolete()
    said = ", ".join(f"{count} {name}" for name, count in removed.items() if count) or "nothing"
    _LOG.info("removed: %s", said)
    note_run(PERIODIC_TASK, {"removed": removed, "failed": failed})
    return removed


def remove_rows(rows: "models.QuerySet[Any]") -> int:
    """Delete in portions, so that nobody waits long for a lock; returns the number of rows."""
    count = 0
    while keys := list(rows.order_by("pk").values_list("pk", flat=True)[:PORTION]):
        rows.model._default_manager.filter(pk__in=keys).delete()
        count += len(keys)
    return count


@retention("steps of closed drafts", days="draft_steps")
def _draft_steps(before: datetime) -> int:
    # Closed drafts can't be undone; the draft itself stays.
    return remove_rows(DraftStep.objects.filter(draft__closed_at__lt=before))


@retention("ended sessions")
def _sessions(now: datetime) -> int:
    return remove_rows(Session.objects.filter(expire_date__lt=now))


@retention("expired API tokens", days="tokens")
def _tokens(before: datetime) -> int:
    return remove_rows(ApiToken.objects.filter(Q(expires_at__lt=before) | Q(revoked_at__lt=before)))


@retention("unused invitations", days="tokens")
def _invitations(before: datetime) -> int:
    rows = Invitation.objects.filter(accepted_at=None)
    return remove_rows(rows.filter(Q(expires_at__lt=before) | Q(revoked_at__lt=before)))


@retention("mails kept as files", days="mails")
def _mails(before: datetime) -> int:
    return remove_files(Path(settings.EMAIL_FILE_PATH).glob("*.log"), before)


def remove_files(files: Iterable[Path], before: datetime) -> int:
    """Remove files last written before a moment; returns how many."""
    count = 0
    for file in files:
        if file.is_file() and file.stat().st_mtime < before.timestamp():
            file.unlink(missing_ok=True)
            count += 1
    return count
