"""How long a program waits for PostgreSQL, and how long PostgreSQL waits for a program that is in a transaction.

Commands and migrations wait for PostgreSQL as long as it takes.
"""

from typing import Any

from django.conf import settings

#: Seconds beyond a statement's limit that its answer is waited for: the server, unless it is frozen, says so itself.
GRACE = 5


def limit_requests(database: dict[str, Any]) -> None:
    """Have every connection that is opened from here on give up a lock, or a statement, that takes too long.

    ``database`` is the entry of ``settings.DATABASES``.
    """
    _set(database, lock_timeout=settings.REQUEST_LOCK_SECONDS)
    _limit(database, settings.REQUEST_STATEMENT_SECONDS)


def limit_jobs(database: dict[str, Any]) -> None:
    """The same for a worker, whose statements may take far longer; for locks it waits as long."""
    _limit(database, settings.JOB_STATEMENT_SECONDS)


def _limit(database: dict[str, Any], seconds: int) -> None:
    """And have PostgreSQL end every such connection whose program goes silent in a transaction.

    A process that is frozen, or whose machine is gone, would keep the rows it has locked from everybody else.
    """
    silence = settings.SILENT_TRANSACTION_SECONDS
    _set(database, statement_timeout=seconds, idle_in_transaction_session_timeout=silence)
    database["OPTIONS"]["answer_seconds"] = seconds + GRACE if seconds else None


def _set(database: dict[str, Any], **limits: int) -> None:
    options = database.setdefault("OPTIONS", {})
    chosen = [options.get("options", ""), *(f"-c {name}={seconds}s" for name, seconds in limits.items())]
    options["options"] = " ".join(filter(None, chosen))
