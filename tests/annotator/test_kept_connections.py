"""Connections to PostgreSQL that are kept between requests: one whose server went away is replaced in time."""

from collections.abc import Iterator

import pytest
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def kept() -> Iterator[BaseDatabaseWrapper]:
    """A connection of the test's own, as a request of before left it."""
    own = connections.create_connection("default")
    own.ensure_connection()
    own.health_check_enabled, own.health_check_done = True, False
    yield own
    own.close()


def answer(database: BaseDatabaseWrapper) -> int:
    with database.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def end(backend: int) -> None:
    """As a restart of the server does, seen from the client."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 10000)", [backend])
        assert cursor.fetchone() == (True,)


def test_a_working_connection_goes_on_and_the_server_is_not_asked(kept) -> None:
    asked = []

    def listen(execute, sql, params, many, context):
        asked.append(sql)
        return execute(sql, params, many, context)

    backend = kept.connection.info.backend_pid
    with kept.execute_wrapper(listen):
        assert kept.is_usable()
        assert answer(kept) == backend
    assert asked == ["SELECT pg_backend_pid()"]


def test_what_the_server_closed_is_seen_and_replaced(kept) -> None:
    backend = kept.connection.info.backend_pid
    end(backend)
    assert not kept.is_usable()
    assert answer(kept) != backend


def test_within_a_transaction_and_after_an_error_the_server_is_asked(kept) -> None:
    kept.set_autocommit(False)
    backend = answer(kept)
    assert kept.is_usable()
    end(backend)
    assert not kept.is_usable()


def test_without_a_connection_there_is_nothing_to_use() -> None:
    own = connections.create_connection("default")
    assert not own.is_usable()
