"""Several queries that see one moment of the database."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def one_snapshot(*, writes: bool = False) -> Iterator[None]:
    """Run a transaction in which all queries see the moment of the first one, whatever others commit meanwhile.

    Inside another transaction it is an ordinary part of that. With ``writes``, PostgreSQL ends it with an error (40001)
    if others have changed the same rows since that moment; on SQLite, others can't write until it ends.
    """
    if connection.in_atomic_block:
        with transaction.atomic():
            yield
        return
    with _begins_as_a_reader(not writes), transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield


@contextmanager
def _begins_as_a_reader(reader: bool) -> Iterator[None]:
    """Let the next transaction on SQLite start without waiting for writers."""
    if connection.vendor != "sqlite" or not reader:
        yield
        return
    # Connecting would set the mode again.
    connection.ensure_connection()
    usual: str | None = connection.transaction_mode  # type: ignore[attr-defined]
    connection.transaction_mode = "DEFERRED"  # type: ignore[attr-defined]
    try:
        yield
    finally:
        connection.transaction_mode = usual  # type: ignore[attr-defined]
