"""Migrations while the application works: they don't wait for locks for long, and indexes block nobody."""

import threading

import pytest
from django.apps import apps
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection, connections, models
from django.db.migrations.state import ProjectState

from annotator.management.commands import migrate
from annotator.models import DailySize
from annotator.services.database.online import AddIndexOnline

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
NAME = "size_by_files"
INDEX = models.Index(fields=["file_bytes"], name=NAME)


@pytest.fixture
def other():
    """Another connection, in a transaction that reads sizes and so keeps others from changing the table."""
    own = connections.create_connection("default")
    own.ensure_connection()
    own.set_autocommit(False)
    with own.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM annotator_dailysize")
    yield own
    own.rollback()
    own.close()


def valid_indexes():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)",
            [NAME],
        )
        return [row[0] for row in cursor.fetchall()]


def lock_limit():
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('lock_timeout')")
        return cursor.fetchone()[0]


def test_a_migration_that_gets_no_lock_gives_up_and_says_so(other, monkeypatch, settings, capsys):
    settings.MIGRATION_LOCK_SECONDS = 1
    monkeypatch.setattr(migrate, "ATTEMPTS", 2)
    monkeypatch.setattr(migrate, "PAUSE", 0.01)
    with pytest.raises(CommandError, match="Nothing of it was changed"):
        call_command("migrate", "annotator", "0033", verbosity=0)
    assert "A migration waited 1 s for a lock; it tries again." in capsys.readouterr().err
    assert DailySize.objects.count() == 0
    assert lock_limit() == "0"
    call_command("migrate", verbosity=0)  # nothing to do


def test_it_goes_on_when_the_lock_is_free(other, monkeypatch, settings):
    settings.MIGRATION_LOCK_SECONDS = 1
    monkeypatch.setattr(migrate.time, "sleep", lambda seconds: other.rollback())
    try:
        call_command("migrate", "annotator", "0033", verbosity=0)
        assert "annotator_dailysize" not in connection.introspection.table_names()
    finally:
        call_command("migrate", verbosity=0)


def test_an_index_is_built_while_others_write_and_again_after_it_failed(other):
    before, after = ProjectState.from_apps(apps), ProjectState.from_apps(apps)
    operation = AddIndexOnline("DailySize", INDEX)
    operation.state_forwards("annotator", after)
    with connection.cursor() as cursor:
        # What is left after the building was interrupted.
        cursor.execute(f"CREATE INDEX {NAME} ON annotator_dailysize (file_bytes)")
        cursor.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = to_regclass(%s)", [NAME])

    def build():
        try:
            with connection.schema_editor(atomic=False) as editor:
                operation.database_forwards("annotator", editor, before, after)
        finally:
            connection.close()

    thread = threading.Thread(target=build)
    try:
        thread.start()
        with other.cursor() as cursor:
            cursor.execute(
                "INSERT INTO annotator_dailysize (date, database_bytes, file_bytes, free_bytes, dialogues)"
                " VALUES ('2026-01-01', 1, 1, 1, 1)"
            )
        other.commit()
        thread.join(30)
        assert valid_indexes() == [True]
        assert DailySize.objects.get().file_bytes == 1
    finally:
        with connection.schema_editor(atomic=False) as editor:
            operation.database_backwards("annotator", editor, after, before)
    assert valid_indexes() == []
