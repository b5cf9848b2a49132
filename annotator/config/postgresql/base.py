"""Django's PostgreSQL backend, with a connection check without a query, and a timeout for every response."""

import select
from typing import Any

import psycopg
from django.db.backends.postgresql import base
from psycopg.pq import TransactionStatus


class TimeoutConnection(psycopg.Connection[Any]):
    """A connection that is closed if the server does not respond in time.

    A frozen server does not cancel statements, and its kernel still acknowledges packets.
    """

    answer_seconds: float | None = None

    @classmethod
    def connect(  # type: ignore[override]
        cls, conninfo: str = "", *, answer_seconds: float | None = None, **options: Any
    ) -> "TimeoutConnection":
        """Connect. ``answer_seconds``: how long to wait for each response; None means forever."""
        connection = super().connect(conninfo, **options)
        connection.answer_seconds = answer_seconds
        return connection

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for a response. The driver calls this for every request to the server."""
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(gen, interval, self.answer_seconds)
        except psycopg.OperationalError as error:
            # The driver has no error class for a timeout. After a timeout, the connection is still active. It is also
            # active after an error in one of several statements, but such an error has a code.
            if error.sqlstate is not None or self.info.transaction_status != TransactionStatus.ACTIVE:
                raise
            # The response may still arrive, and would be taken for that of the next request.
            self.close()
            raise psycopg.OperationalError(f"PostgreSQL did not respond for {self.answer_seconds} s") from None


class _Driver:
    """The driver that Django uses: psycopg with our connection class."""

    connect = TimeoutConnection.connect

    def __getattr__(self, name: str) -> Any:
        return getattr(psycopg, name)


class DatabaseWrapper(base.DatabaseWrapper):
    """Checks a kept connection before each request. Django does this with ``SELECT 1``, which takes a round trip."""

    Database = _Driver()  # type: ignore[assignment]

    def is_usable(self) -> bool:
        """Return whether the connection works, as far as this side can tell.

        An idle connection with data to read is broken: the server closed it. After an error, or in a transaction, asks
        the server.
        """
        connection = self.connection
        if connection is None:
            return False
        if self.errors_occurred or connection.info.transaction_status != TransactionStatus.IDLE:
            return super().is_usable()
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN)
        return not poll.poll(0)

    def require_writable(self) -> None:
        """Make the server write a few hundred kilobytes to its disk. Raises DatabaseError if it can't.

        Rows that do not fit into ``work_mem`` go to a temporary file. (Writing to a table often needs no new disk
        space, and leaves rows to clean up.)
        """
        with self.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM generate_series(1, 30000)")
