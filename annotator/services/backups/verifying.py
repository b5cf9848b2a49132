"""Whether a backup can be restored: everything is read, decrypted and compared with the manifest."""

import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from django.conf import settings

from annotator.core.backups.encryption import Keys
from annotator.core.backups.errors import BackupError, Damaged
from annotator.core.backups.folder import Backups, Nowhere
from annotator.core.backups.manifest import Manifest
from annotator.services.backups.programs import fed, program, started


def backup_problems(backups: Backups, manifest: Manifest, keys: Keys | None) -> Iterator[str]:
    """Yield a sentence for each part of a backup that is missing or damaged. Raises BackupError.

    Without a secret key, what is stored is compared, but not decrypted.
    """
    readable = not manifest.recipients or (keys is not None and bool(keys.identities))
    known: dict[str, str] = {}
    for name, part in manifest.parts:
        if part.place not in known:
            known[part.place] = ""
            try:
                if readable:
                    backups.read(part, Nowhere(), keys)
                else:
                    backups.check(part)
            except Damaged as damage:
                known[part.place] = str(damage)
        if known[part.place]:
            yield f"{name}: {known[part.place]}."
    if readable and not known[manifest.dump.place]:
        try:
            require_readable_dump(backups, manifest, keys)
        except BackupError as error:
            yield f"the database: {error}"


def require_readable_dump(backups: Backups, manifest: Manifest, keys: Keys | None) -> None:
    """Let the database's own program read the whole dump, without restoring it. Raises BackupError."""
    if manifest.database == "postgresql":
        command = [program("pg_restore"), "--format=custom", "--file=-"]
        with started(command, {}, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as restore:
            with fed(restore, lambda stream: backups.read(manifest.dump, stream, keys)):
                pass
            restore.require_success()
        return
    with tempfile.NamedTemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR, prefix="backup-") as file:
        backups.read(manifest.dump, file, keys)
        file.flush()
        require_sound_sqlite(Path(file.name))


def require_sound_sqlite(path: Path) -> None:
    """Check a SQLite file. Raises BackupError."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
            [(said,)] = database.execute("PRAGMA quick_check(1)").fetchall()
    except sqlite3.DatabaseError as error:
        said = str(error)
    if said != "ok":
        raise BackupError(f"The SQLite file of the backup is damaged ({said}). Use another backup.")
