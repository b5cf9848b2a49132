"""Time limits for statements, locks and idle transactions. Commands and migrations have none."""

from typing import Any

from django.conf import settings

#: Seconds to wait beyond a statement's limit: PostgreSQL reports the timeout itself, unless it is frozen.
GRACE = 5


def limit_requests(database: dict[str, Any]) -> None:
    """Limit the time for locks and statements on all new connections. ``database``: an entry of ``DATABASES``."""
    _set(database, lock_timeout=settings.REQUEST_LOCK_SECONDS)
    _limit(database, settings.REQUEST_STATEMENT_SECONDS)


def limit_jobs(database: dict[str, Any]) -> None:
    """Limit the time for statements of a worker, which may take much longer. Waits for locks count as well."""
    _limit(database, settings.JOB_STATEMENT_SECONDS)


def _limit(database: dict[str, Any], seconds: int) -> None:
    """Limit the time for statements, and for idle transactions.

    A process that is frozen, or that lost its network, would otherwise keep its rows locked.
    """
    idle = settings.SILENT_TRANSACTION_SECONDS
    _set(database, statement_timeout=seconds, idle_in_transaction_session_timeout=idle)
    database["OPTIONS"]["answer_seconds"] = seconds + GRACE if seconds else None


def _set(database: dict[str, Any], **limits: int) -> None:
    if settings.DATABASE_POOLER:
        # The pooler sets them for all of its connections.
        return
    options = database.setdefault("OPTIONS", {})
    chosen = [options.get("options", ""), *(f"-c {name}={seconds}s" for name, seconds in limits.items())]
    options["options"] = " ".join(filter(None, chosen))
