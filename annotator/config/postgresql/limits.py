"""How long a request waits for PostgreSQL. Jobs, commands and migrations wait as long as it takes."""

from typing import Any

from django.conf import settings


def limit_requests(database: dict[str, Any]) -> None:
    """Have every connection that is opened from here on give up a lock, or a statement, that takes too long.

    ``database`` is the entry of ``settings.DATABASES``.
    """
    options = database.setdefault("OPTIONS", {})
    limits = {"lock_timeout": settings.REQUEST_LOCK_SECONDS, "statement_timeout": settings.REQUEST_STATEMENT_SECONDS}
    chosen = [options.get("options", ""), *(f"-c {name}={seconds}s" for name, seconds in limits.items())]
    options["options"] = " ".join(filter(None, chosen))
