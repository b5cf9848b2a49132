"""One backup: the files, the database at one moment, and the files that were written meanwhile.

The files come first, so that those that are deleted while the backup runs are in it if the database still names them.
Files are written once, under generated names, before the database names them; only reports of running imports grow, and
those are stored again after the database.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.utils import timezone

from annotator import VERSION
from annotator.core.backups.encryption import Keys
from annotator.core.backups.errors import BackupError
from annotator.core.backups.folder import ENCRYPTED, Backups
from annotator.core.backups.manifest import File, Manifest, sealed
from annotator.core.backups.retention import Keep, kept
from annotator.services.backups.databases import dumped
from annotator.services.backups.verifying import require_readable_dump
from annotator.services.jobs.periodic_tasks import note_run
from annotator.services.operations.overview import BACKUP

#: Says a sentence to the person who waits.
Say = Callable[[str], None]


@dataclass(frozen=True)
class Made:
    """What a backup has done. ``new_bytes``: what was stored and was not there before; ``removed``: earlier backups."""

    manifest: Manifest
    new_bytes: int
    removed: list[str]
    freed_bytes: int


def make_backup(folder: Path, keys: Keys | None, keep: Keep, say: Say) -> Made:
    """Make a backup while people work, then remove those that ``keep`` does not keep. Raises BackupError, OSError."""
    if folder.resolve().is_relative_to(Path(settings.MEDIA_ROOT).resolve()):
        raise BackupError(f"{folder} is among the files to be backed up. Choose another folder.")
    backups = Backups(folder)
    with backups.locked():
        earlier = backups.manifests()
        name = _name(timezone.now(), folder)
        (folder / name).mkdir(mode=0o700)
        started_at = timezone.now()
        files = _Files(backups, keys, earlier)
        say(f"Storing files from {settings.MEDIA_ROOT} …")
        files.store()
        say("Storing the database …")
        with dumped() as dump:
            content = backups.store(f"{name}/database{ENCRYPTED if keys else ''}", dump.stream, keys)
        files.store()
        manifest = Manifest(
            name=name,
            version=VERSION,
            started_at=started_at.isoformat(),
            finished_at=timezone.now().isoformat(),
            database=connection.vendor,
            database_version=dump.version,
            migrations=dump.migrations,
            rows=dump.rows,
            recipients=keys.names if keys else [],
            dump=content,
            files=sorted(files.found.values(), key=lambda file: file.name),
        )
        manifest = sealed(manifest, settings.SECRET_KEY)
        if keys is None or keys.identities:
            say("Reading the backup again …")
            require_readable_dump(backups, manifest, keys)
        backups.finish(manifest)
        remaining = kept([one.at for one in [*earlier, manifest]], keep)
        removed = [one.name for one in earlier if one.at not in remaining]
        freed = backups.clear(set(removed))
    outcome = {"target": str(folder)[:200], "bytes": manifest.bytes, "encrypted": bool(keys), "name": name}
    note_run(BACKUP, outcome)
    return Made(manifest, files.new_bytes + content.stored_bytes, removed, freed)


def _name(now: datetime, folder: Path) -> str:
    name = f"assay-{now:%Y%m%dT%H%M%SZ}"
    number = 1
    while (folder / name).exists():
        number += 1
        name = f"assay-{now:%Y%m%dT%H%M%SZ}-{number}"
    return name


class _Files:
    """The files of a backup. ``found``: {name: file}."""

    def __init__(self, backups: Backups, keys: Keys | None, earlier: list[Manifest]) -> None:
        self._backups, self._keys = backups, keys
        self._objects = {part.place: part for one in earlier for _, part in one.parts}
        # Of another key, nothing can be used again.
        last = earlier[-1] if earlier and earlier[-1].recipients == (keys.names if keys else []) else None
        self._known = {file.name: file for file in last.files} if last is not None else {}
        self.found: dict[str, File] = {}
        self.new_bytes = 0

    def store(self) -> None:
        """Store the files that are new or have changed since the last call. One that has vanished stays in the backup.

        A file that is unchanged since the last backup, by size and time, is not read; ``verify_backup`` reads all.
        """
        root = Path(settings.MEDIA_ROOT)
        for path in stored_files(root):
            name = path.relative_to(root).as_posix()
            try:
                state = path.stat()
                known = self.found.get(name) or self._known.get(name)
                content = known.content if known is not None and self._is_same(known, state) else None
                if content is None:
                    content = self._backups.store_object(path, self._keys, self._objects)
                    self.new_bytes += 0 if content is self._objects.get(content.place) else content.stored_bytes
                    self._objects[content.place] = content
            except FileNotFoundError:
                # Deleted a moment ago.
                continue
            self.found[name] = File(name, state.st_mtime_ns, content)

    def _is_same(self, known: File, state: os.stat_result) -> bool:
        unchanged = (known.changed, known.content.bytes) == (state.st_mtime_ns, state.st_size)
        return unchanged and self._backups.has(known.content)


def stored_files(root: Path) -> Iterator[Path]:
    """Yield the files below MEDIA_ROOT in order, without those that are only partly written."""
    for path in sorted(root.rglob("*")):
        if path.is_file() and path.suffix != ".part" and not path.name.startswith("."):
            yield path
