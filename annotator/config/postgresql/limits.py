"""How long a request waits for PostgreSQL, and how long PostgreSQL waits for a program that is in a transaction.

Jobs, commands and migrations wait for PostgreSQL as long as it takes.
"""

from typing import Any

from django.conf import settings


def limit_requests(database: dict[str, Any]) -> None:
    """Have every connection that is opened from here on give up a lock, or a statement, that takes too long.

    ``database`` is the entry of ``settings.DATABASES``.
    """
    _set(database, lock_timeout=settings.REQUEST_LOCK_SECONDS, statement_timeout=settings.REQUEST_STATEMENT_SECONDS)
    limit_silence(database)


def limit_silence(database: dict[str, Any]) -> None:
    """Have PostgreSQL end every connection opened from here on whose program goes silent in a transaction.

    A process that is frozen, or whose machine is gone, would keep the rows it has locked from everybody else.
    """
    _set(database, idle_in_transaction_session_timeout=settings.SILENT_TRANSACTION_SECONDS)


def _set(database: dict[str, Any], **limits: int) -> None:
    options = database.setdefault("OPTIONS", {})
    chosen = [options.get("options", ""), *(f"-c {name}={seconds}s" for name, seconds in limits.items())]
    options["options"] = " ".join(filter(None, chosen))
