"""The database as a stream of bytes, all of one moment: with PostgreSQL by pg_dump, with SQLite as a copy of its file.

Hand-written statements: they are about the connection and the schema, of which models know nothing.
"""

import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Model

from annotator.core.backups.folder import Readable
from annotator.services.backups.programs import arguments, started
from annotator.services.database.snapshot import one_snapshot


@dataclass
class Dump:
    """A database as a stream. ``migrations`` as ``app.name``; ``rows``: {table: number of rows} of the same moment."""

    stream: Readable
    version: str
    migrations: list[str]
    rows: dict[str, int]


@contextmanager
def dumped() -> Iterator[Dump]:
    """Read the whole database as it is at one moment, while others write. Raises BackupError.

    The block must read the stream to its end.
    """
    with _dumped_postgresql() if connection.vendor == "postgresql" else _dumped_sqlite() as dump:
        yield dump


@contextmanager
def _dumped_postgresql() -> Iterator[Dump]:
    command, environment = arguments("pg_dump")
    with one_snapshot():
        with connection.cursor() as cursor:
            # This transaction waits for the dump, which may take hours.
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            cursor.execute("SELECT pg_export_snapshot(), current_setting('server_version')")
            snapshot, version = cursor.fetchone()
        command += ["--format=custom", "--compress=3", "--no-owner", "--no-privileges", f"--snapshot={snapshot}"]
        # Only the one that is always there: others, such as pg_stat_statements, need a superuser to be created again.
        command.append("--extension=plpgsql")
        with started(command, environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as dump:
            yield Dump(dump.stdout, version, applied_migrations(), table_rows())
            dump.require_success()


@contextmanager
def _dumped_sqlite() -> Iterator[Dump]:
    with tempfile.TemporaryDirectory(dir=settings.FILE_UPLOAD_TEMP_DIR, prefix="backup-") as folder:
        copy = Path(folder) / "database"
        with closing(sqlite3.connect(copy)) as target:
            connection.ensure_connection()
            # In one step; others go on writing to the log meanwhile.
            connection.connection.backup(target)
            names = target.execute("SELECT app, name FROM django_migrations ORDER BY app, name").fetchall()
            there = {name for (name,) in target.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            counts = {
                table: target.execute(f"SELECT count(*) FROM {connection.ops.quote_name(table)}").fetchone()[0]  # noqa: S608
                for table in sorted(there.intersection(_tables()))
            }
        with copy.open("rb") as stream:
            yield Dump(stream, sqlite3.sqlite_version, [f"{app}.{name}" for app, name in names], counts)


def table_rows() -> dict[str, int]:
    """Return the number of rows of each table that belongs to a model and exists."""
    there, models = set(connection.introspection.table_names()), _tables()
    return {table: models[table]._base_manager.count() for table in sorted(there.intersection(models))}


def applied_migrations() -> list[str]:
    """Return the migrations of the database as ``app.name``; none if it is empty."""
    recorder = MigrationRecorder(connection)
    return sorted(f"{app}.{name}" for app, name in recorder.applied_migrations())


def _tables() -> dict[str, type[Model]]:
    models = apps.get_models(include_auto_created=True)
    return {model._meta.db_table: model for model in models if model._meta.managed and not model._meta.proxy}
