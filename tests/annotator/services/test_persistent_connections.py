"""Connections to PostgreSQL that are kept between requests: one whose server went away is replaced in time."""

import contextlib
import logging
import os
import signal
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.contrib.sessions.models import Session
from django.db import DatabaseError, OperationalError, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from annotator.config.postgresql.limits import limit_jobs, limit_requests
from annotator.config.settings import BASE_DIR
from annotator.services.database import statements
from annotator.services.jobs import retention
from annotator.services.jobs.outages import outage
from tests.factories import make_team

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


def end(backend: int, by: BaseDatabaseWrapper | None = None) -> None:
    """As a restart of the server does, seen from the client."""
    with (by or connection).cursor() as cursor:
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


def test_a_request_that_begins_with_a_written_statement_outlives_a_restart_of_the_server(kept) -> None:
    """Every page begins with one, its session's: with a cursor that is kept as long as its connection."""
    [(backend,)] = statements.rows("SELECT pg_backend_pid()")
    end(backend, by=kept)
    # Same as the start of a request.
    connection.health_check_done = False
    [(another,)] = statements.rows("SELECT pg_backend_pid()")
    assert another != backend


def test_a_transaction_whose_connection_ends_is_not_carried_on_with_another(kept) -> None:
    def lose_it_in_the_middle() -> None:
        [(backend,)] = statements.rows("SELECT pg_backend_pid()")
        end(backend, by=kept)
        statements.rows("SELECT 1")

    with pytest.raises(OperationalError), transaction.atomic():
        lose_it_in_the_middle()
    assert statements.rows("SELECT 1") == [(1,)]


@pytest.fixture
def impatient(settings) -> Iterator[BaseDatabaseWrapper]:
    """A connection as the web server opens them; it gives a lock up after a second."""
    settings.REQUEST_LOCK_SECONDS, settings.REQUEST_STATEMENT_SECONDS = 1, 30
    own = connections.create_connection("default")
    own.settings_dict = {**own.settings_dict, "OPTIONS": dict(own.settings_dict["OPTIONS"])}
    limit_requests(own.settings_dict)
    yield own
    own.close()


def test_the_web_server_limits_what_a_request_waits_for_and_nothing_else_does(impatient) -> None:
    def shown(database: BaseDatabaseWrapper) -> list[str]:
        with database.cursor() as cursor:
            cursor.execute("SELECT current_setting('lock_timeout'), current_setting('statement_timeout')")
            return [*cursor.fetchone()]

    assert shown(impatient) == ["1s", "30s"]
    # A server that is frozen says nothing: what says it then is the other end, a little later.
    assert impatient.connection.answer_seconds == 35
    # Commands and migrations have this one.
    assert shown(connection) == ["0", "0"]
    assert connection.connection.answer_seconds is None
    wsgi = (BASE_DIR / "annotator" / "config" / "wsgi.py").read_text()
    assert wsgi.index("limit_requests(") < wsgi.index("load_pages()")


def test_a_program_that_goes_silent_in_a_transaction_holds_its_rows_for_a_while_only(settings) -> None:
    """As one does that is frozen, or whose machine is gone."""
    settings.SILENT_TRANSACTION_SECONDS = 1
    frozen = connections.create_connection("default")
    frozen.settings_dict = {**frozen.settings_dict, "OPTIONS": dict(frozen.settings_dict["OPTIONS"])}
    limit_jobs(frozen.settings_dict)
    person = make_team().administrator
    lock = "SELECT 1 FROM annotator_user WHERE id = %s FOR UPDATE"
    with contextlib.closing(frozen), frozen.cursor() as silent, connection.cursor() as cursor:
        silent.execute("BEGIN")
        silent.execute(lock, [person.pk])
        cursor.execute(lock, [person.pk])
        assert cursor.fetchone() == (1,)
        with pytest.raises(DatabaseError):
            silent.execute("COMMIT")
    celery = (BASE_DIR / "annotator" / "config" / "celery.py").read_text()
    assert "worker_init.connect" in celery


def test_a_table_that_somebody_holds_does_not_silence_the_site(kept, client) -> None:
    team = make_team()
    client.force_login(team.annotator)
    client.raise_request_exception = False
    kept.set_autocommit(False)
    with kept.cursor() as cursor:
        cursor.execute("LOCK TABLE annotator_project IN ACCESS EXCLUSIVE MODE")
    with connection.cursor() as cursor:
        # What the web server's own connections begin with; another in the default's place would stay open.
        cursor.execute("SET lock_timeout = '1s'")
    held = client.get("/projects/")
    assert client.get("/healthz").status_code == 200
    kept.rollback()
    kept.set_autocommit(True)
    assert (held.status_code, held["Retry-After"]) == (503, "10")
    assert "The database was busy: waiting for another change took too long." in held.content.decode()
    assert client.get("/projects/").status_code == 200
    connection.close()


def test_what_is_planned_once_is_not_compiled_for_what_it_seems_to_cost(kept: BaseDatabaseWrapper) -> None:
    with kept.cursor() as cursor:
        cursor.execute("SELECT current_setting('plan_cache_mode'), current_setting('jit')")
        assert cursor.fetchone() == ("force_generic_plan", "off")


@contextlib.contextmanager
def stopped(backend: int) -> Iterator[None]:
    """A server that is frozen: nothing comes back, and its kernel acknowledges whatever is sent."""
    name = Path(f"/proc/{backend}/comm")
    if not name.exists() or name.read_text() != "postgres\n":
        pytest.skip("PostgreSQL runs on another machine, where no process can be stopped from here.")
    os.kill(backend, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(backend, signal.SIGCONT)


def test_a_frozen_server_is_given_up_and_the_next_request_finds_a_connection(client) -> None:
    client.force_login(make_team().annotator)
    client.raise_request_exception = False
    assert client.get("/projects/").status_code == 200
    # As short as a test can wait; the web server's is that of a statement, and somewhat more.
    connection.connection.answer_seconds = 0.5
    with stopped(connection.connection.info.backend_pid):
        frozen = client.get("/projects/")
        # Same as the end of a request.
        connection.close_if_unusable_or_obsolete()
    assert (frozen.status_code, frozen["Retry-After"]) == (503, "10")
    assert "The database doesn’t respond" in frozen.content.decode()
    assert client.get("/projects/").status_code == 200


def test_a_server_that_answers_with_an_error_is_not_taken_for_a_frozen_one(impatient) -> None:
    backend = answer(impatient)
    with impatient.cursor() as cursor:
        cursor.execute("SET statement_timeout = '10ms'")
        with pytest.raises(OperationalError) as raised:
            cursor.execute("SELECT pg_sleep(10)")
    assert outage(raised.value) == "The database was busy: a step took too long"
    assert answer(impatient) == backend


def logged(database: BaseDatabaseWrapper, caplog: pytest.LogCaptureFixture) -> list[str]:
    """The lines of the log where something needs this connection in vain."""
    [handler] = [one for one in logging.root.handlers if type(one) is logging.StreamHandler]
    try:
        with database.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(10)")
    except DatabaseError:
        logging.getLogger("django.request").exception("Service Unavailable: %s", "/projects/")
    record = caplog.records[-1]
    assert handler.filter(record)
    return handler.format(record).splitlines()


def test_while_no_connection_is_taken_what_fails_is_one_line_of_the_log(kept, impatient, caplog, tmp_path) -> None:
    away = connections.create_connection("default")
    away.settings_dict = {**away.settings_dict, "HOST": str(tmp_path)}
    [line] = logged(away, caplog)
    assert "Service Unavailable: /projects/: OperationalError: connection" in line
    end(answer(kept))
    kept.health_check_enabled = False
    [line] = logged(kept, caplog)
    assert "terminating connection due to administrator command" in line
    # Of what took too long the log says where that was.
    with impatient.cursor() as cursor:
        cursor.execute("SET statement_timeout = '10ms'")
    assert len(logged(impatient, caplog)) > 5


def test_a_worker_gives_a_frozen_server_up_too_and_opens_another_connection(settings) -> None:
    settings.JOB_STATEMENT_SECONDS = 900
    own = connections.create_connection("default")
    own.settings_dict = {**own.settings_dict, "OPTIONS": dict(own.settings_dict["OPTIONS"])}
    limit_jobs(own.settings_dict)
    with contextlib.closing(own):
        backend = answer(own)
        assert own.connection.answer_seconds == 905
        own.connection.answer_seconds = 0.5
        with stopped(backend), pytest.raises(OperationalError) as raised:
            answer(own)
        own.close_if_unusable_or_obsolete()
        assert outage(raised.value) == "The database doesn’t respond, or the connection was lost"
        assert answer(own) != backend


def test_a_full_disk_is_told_from_a_server_that_gives_no_answer(kept) -> None:
    """Among many rows that are sent at once it was called one: the page of a job said that the database was away."""
    with kept.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION pg_temp.write(int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE disk_full; END $$"
        )
        with pytest.raises(OperationalError) as refusal:
            cursor.executemany("SELECT pg_temp.write(%s)", [(n,) for n in range(2000)])
    assert outage(refusal.value) == "The database’s disk is full"
    assert answer(kept)


def test_a_connection_that_is_cut_while_one_rule_tidies_up_keeps_no_other_rule_back(kept, monkeypatch) -> None:
    """All that came after it waited for the next round, six hours later."""

    def cut(before: datetime) -> int:
        end(connection.connection.info.backend_pid, by=kept)
        return Session.objects.count()

    Session.objects.create(session_key="ended", expire_date=timezone.now() - timedelta(days=1))
    sessions = retention._RULES["ended sessions"]
    rules = {"cut off": retention.Rule("cut off", "", cut), sessions.name: sessions}
    monkeypatch.setattr(retention, "_RULES", rules)
    assert retention.tidy_up() == {sessions.name: 1}
    assert not Session.objects.exists()
