"""``manage.py migrate``: Django's, with a limit for waiting on locks.

A migration that waits for a lock blocks all that ask for the same table after it. So it gives up after
``MIGRATION_LOCK_SECONDS``, which undoes it, lets the others pass, and tries again.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.errors import LockNotAvailable

#: How often it tries, and the seconds between two attempts.
ATTEMPTS, PAUSE = 10, 3.0


class Command(migrate.Command):
    help = f"{migrate.Command.help} Waits for a lock of PostgreSQL at most MIGRATION_LOCK_SECONDS, {ATTEMPTS} times."

    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        for left in reversed(range(ATTEMPTS)):
            try:
                with _limited(connection):
                    super().handle(*args, **options)
                return
            except OperationalError as error:
                if not isinstance(error.__cause__, LockNotAvailable):
                    raise
                if not left:
                    raise CommandError(
                        "A migration needs a lock that others hold, and has given up. Nothing of it was changed. Run "
                        "“manage.py maintenance on”, wait until jobs have ended, and migrate again."
                    ) from error
                self.stderr.write(
                    f"A migration waited {settings.MIGRATION_LOCK_SECONDS} s for a lock; it tries again.",
                    style_func=str,
                )
                time.sleep(PAUSE)


@contextmanager
def _limited(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Limit the waits for locks. Not through a pooler, which would hand the limit on with the connection."""
    if connection.vendor != "postgresql" or settings.DATABASE_POOLER:
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, false)", [f"{settings.MIGRATION_LOCK_SECONDS}s"])
    try:
        yield
    finally:
        if connection.is_usable():
            with connection.cursor() as cursor:
                cursor.execute("RESET lock_timeout")
