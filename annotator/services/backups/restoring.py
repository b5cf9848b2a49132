"""Restore a backup: everything is checked first; the database changes in one step, or not at all.

Killed at any moment, the database is the earlier one or the restored one, and the same command can be run again.
"""

import hashlib
import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from annotator.core.backups.encryption import Keys
from annotator.core.backups.errors import BackupError
from annotator.core.backups.folder import Backups
from annotator.core.backups.manifest import Manifest, is_sealed, mark_of
from annotator.models import Project, User
from annotator.services.backups.databases import table_rows
from annotator.services.backups.making import Say, stored_files
from annotator.services.backups.programs import arguments, close_quietly, fed, program, started
from annotator.services.backups.verifying import backup_problems, require_sound_sqlite

_PIECE = 1 << 16
_RESTORED = ".restored"
#: The schema is emptied in the same transaction. It stays, and so do extensions: a user that is no superuser could not
#: create those again. Nothing waits long for a program that was not stopped.
_BEGIN = b"""BEGIN;
SET LOCAL lock_timeout = '10s';
DO $$
DECLARE command text;
BEGIN
  FOR command IN
    SELECT format('DROP %s IF EXISTS %s CASCADE',
                  CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE'
                  ELSE 'TABLE' END, pg_class.oid::regclass)
    FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'S')
      AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype IN ('a', 'e', 'i'))
    UNION ALL
    SELECT format('DROP ROUTINE IF EXISTS %s CASCADE', pg_proc.oid::regprocedure)
    FROM pg_proc
    WHERE pronamespace = 'public'::regnamespace
      AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e')
  LOOP
    EXECUTE command;
  END LOOP;
END
$$;
"""
_COMMIT = b"\nCOMMIT;\n"


def restore_backup(
    backups: Backups, manifest: Manifest, keys: Keys | None, *, replace: bool, other_key: bool, say: Say
) -> list[str]:
    """Restore a backup and migrate; return sentences about what differs from it. Raises BackupError.

    ``replace``: also if there is an installation, which is lost. ``other_key``: also if the secret key is another.
    """
    _require_suitable(manifest, other_key=other_key)
    say("Checking the backup …")
    problems = list(backup_problems(backups, manifest, keys))
    if problems:
        raise BackupError(f"The backup {manifest.name} is damaged, so nothing was changed. {' '.join(problems[:5])}")
    root = Path(settings.MEDIA_ROOT)
    if not replace and (not _is_empty() or any(stored_files(root))):
        raise BackupError(
            "There is an installation here, which a restore would replace. Nothing was changed. Add --replace to lose "
            f"it, or use another database and another folder than {settings.DATA_DIR}."
        )
    _require_alone()
    say("Restoring the files …")
    _restore_files(backups, manifest, keys, root)
    say("Restoring the database …")
    connection.close()
    (_restore_postgresql if manifest.database == "postgresql" else _restore_sqlite)(backups, manifest, keys)
    found = table_rows()
    differences = [
        f"The table {table} has {found.get(table, 0)} rows instead of {number}."
        for table, number in manifest.rows.items()
        if found.get(table, 0) != number
    ]
    for path in stored_files(root):
        if path.relative_to(root).as_posix() not in {file.name for file in manifest.files}:
            path.unlink()
    say("Migrating …")
    call_command("migrate", interactive=False, verbosity=0)
    return differences


def _require_suitable(manifest: Manifest, *, other_key: bool) -> None:
    """Require that this version and this installation can use the backup. Raises BackupError."""
    if manifest.database != connection.vendor:
        raise BackupError(
            f"The backup {manifest.name} is of {_NAMES[manifest.database]}, and this installation uses "
            f"{_NAMES[connection.vendor]}. Set DATABASE_URL to a database of the same kind."
        )
    known = {f"{app}.{name}" for app, name in MigrationLoader(None, ignore_no_migrations=True).disk_migrations}
    newer = [name for name in manifest.migrations if name not in known]
    if newer:
        raise BackupError(
            f"The backup {manifest.name} was made by a newer version of Assay ({manifest.version}). Install that "
            "version first."
        )
    same_key = manifest.secret_key == mark_of(settings.SECRET_KEY)
    if same_key and not is_sealed(manifest, settings.SECRET_KEY):
        raise BackupError(f"The manifest of the backup {manifest.name} was changed after it was made. Use another one.")
    if not same_key and not other_key:
        raise BackupError(
            "The secret key here is not the one with which the backup was made. So nothing shows whether the backup "
            "was changed, and authenticator apps, keys of endpoints and secrets of webhooks can't be read. Restore the "
            "secret key, too, or add --other-secret-key."
        )


_NAMES = {"postgresql": "PostgreSQL", "sqlite": "SQLite"}


def _is_empty() -> bool:
    """Return whether the database has no people and no projects."""
    there = set(connection.introspection.table_names())
    return not any(model._meta.db_table in there and model._base_manager.exists() for model in (User, Project))


def _require_alone() -> None:
    """Require that no other program uses the database. Raises BackupError."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                " AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
            [others] = cursor.fetchone()
        if others:
            raise BackupError(
                f"{others} other connections use the database. Stop the web server, the workers and beat first. "
                "Nothing was changed."
            )
        return
    connection.close()
    with closing(_alone(Path(connection.settings_dict["NAME"]))):
        pass


def _restore_files(backups: Backups, manifest: Manifest, keys: Keys | None, root: Path) -> None:
    for file in manifest.files:
        path = root / file.name
        if not path.resolve().is_relative_to(root.resolve()):
            raise BackupError(f"The backup has a file outside of its folder: {file.name}. Use another backup.")
        if path.is_file() and path.stat().st_size == file.content.bytes and _sha256(path) == file.content.sha256:
            # An earlier attempt has restored it.
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        with part.open("wb") as out:
            backups.read(file.content, out, keys)
            out.flush()
            os.fsync(out.fileno())
        # So that the next backup need not store it again.
        os.utime(part, ns=(file.changed, file.changed))
        part.replace(path)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _restore_postgresql(backups: Backups, manifest: Manifest, keys: Keys | None) -> None:
    command, environment = arguments("psql")
    command += ["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--file=-"]
    reading = [program("pg_restore"), "--format=custom", "--no-owner", "--no-privileges", "--file=-"]
    with (
        started(command, environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as psql,
        started(reading, {}, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as restore,
    ):
        try:
            psql.stdin.write(_BEGIN)
            with fed(restore, lambda stream: backups.read(manifest.dump, stream, keys)):
                while piece := restore.stdout.read(_PIECE):
                    psql.stdin.write(piece)
            restore.require_success()
            # Without this last line, for example if this process is killed, PostgreSQL keeps what it had.
            psql.stdin.write(_COMMIT)
        except BrokenPipeError:
            # psql ended first, and says why.
            pass
        close_quietly(psql.stdin)
        psql.require_success()


def _restore_sqlite(backups: Backups, manifest: Manifest, keys: Keys | None) -> None:
    target = Path(connection.settings_dict["NAME"])
    part = target.with_name(target.name + _RESTORED)
    with part.open("wb") as out:
        os.fchmod(out.fileno(), 0o600)
        backups.read(manifest.dump, out, keys)
        out.flush()
        os.fsync(out.fileno())
    require_sound_sqlite(part)
    with closing(_alone(target)):
        part.replace(target)


def _alone(path: Path) -> sqlite3.Connection:
    """Open a SQLite file that nothing else has open, and keep others out. Raises BackupError.

    Its log is written back and removed, since it would be applied to the file that replaces this one.
    """
    database = sqlite3.connect(path, timeout=1, isolation_level=None)
    try:
        database.execute("PRAGMA journal_mode=DELETE").fetchall()
        database.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError:
        database.close()
        raise BackupError(
            "Another program uses the database. Stop the web server and the workers first. Nothing was changed."
        ) from None
    return database
