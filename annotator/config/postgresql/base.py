"""Django's PostgreSQL, with a check of kept connections that costs no statement."""

import select

from django.db.backends.postgresql import base
from psycopg.pq import TransactionStatus


class DatabaseWrapper(base.DatabaseWrapper):
    """Before each request Django asks whether the connection it kept still works: by ``SELECT 1``, a round trip."""

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
