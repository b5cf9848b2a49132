"""Django's PostgreSQL, with a check of kept connections that costs no statement, and an end to all waiting."""

import select
from typing import Any

import psycopg
from django.db.backends.postgresql import base
from psycopg.pq import TransactionStatus


class PunctualConnection(psycopg.Connection[Any]):
    """A connection that is closed when the server gives no answer in time.

    A server that is frozen ends no statement itself, and its kernel goes on acknowledging what is sent to it.
    """

    answer_seconds: float | None = None

    @classmethod
    def connect(  # type: ignore[override]
        cls, conninfo: str = "", *, answer_seconds: float | None = None, **options: Any
    ) -> "PunctualConnection":
        """``answer_seconds``: how long each answer is waited for; without it, as long as it takes."""
        connection = super().connect(conninfo, **options)
        connection.answer_seconds = answer_seconds
        return connection

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """What the driver does for everything it asks the server."""
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(gen, interval, self.answer_seconds)
        except psycopg.OperationalError as error:
            # The driver has no public name for the end of its patience: then the server has still to answer. So it has
            # where several statements were sent at once, but what it says of one of them comes with a code.
            if error.sqlstate is not None or self.info.transaction_status != TransactionStatus.ACTIVE:
                raise
            # Of no use any more: the answer may still come, and would be taken for the next one's.
            self.close()
            raise psycopg.OperationalError(f"PostgreSQL gave no answer for {self.answer_seconds} s") from None


class _Driver:
    """The driver as Django sees it, but for its connections."""

    connect = PunctualConnection.connect

    def __getattr__(self, name: str) -> Any:
        return getattr(psycopg, name)


class DatabaseWrapper(base.DatabaseWrapper):
    """Before each request Django asks whether the connection it kept still works: by ``SELECT 1``, a round trip."""

    Database = _Driver()  # type: ignore[assignment]

    def is_usable(self) -> bool:
        """Whether the connection works, as far as this side knows: a server that goes away closes its end.

        On an idle connection that can be told from here: then there is something to read. Whatever it is, a new
        connection is right. After an error, or within a transaction, the server is asked.
        """
        connection = self.connection
        if connection is None:
            return False
        if self.errors_occurred or connection.info.transaction_status != TransactionStatus.IDLE:
            return super().is_usable()
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN)
        return not poll.poll(0)

    def write_and_forget(self) -> None:
        """Have the server write some hundred kilobytes to its disk. Raises DatabaseError where it takes no writes.

        Rows that do not fit into ``work_mem`` go to a file that is gone with the statement. (To write to a table, most
        often needs no more room on the disk, and leaves something to clean up.)
        """
        with self.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM generate_series(1, 30000)")
