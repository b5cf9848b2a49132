"""Files below MEDIA_ROOT: uploads and archives, under generated names, never partly written under their final name."""

import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from django.conf import settings
from django.utils.translation import gettext as _

from annotator.errors import Invalid
from annotator.services.jobs.outages import full_disk, require_room

_PIECE = 1 << 20
#: Seconds for which an unchanged file is assumed to have the hash computed before.
REMEMBERED = 3600.0
#: Path → the file's state when it was hashed, the time, its SHA-256.
_HASHED: dict[Path, tuple[tuple[int, ...], float, str]] = {}


class Readable(Protocol):
    """Anything bytes can be read from: an open file, an upload."""

    def read(self, size: int = ..., /) -> bytes: ...


@dataclass(frozen=True)
class StoredFile:
    """A complete file on disk. ``name`` is its path below MEDIA_ROOT."""

    name: str
    bytes: int
    sha256: str


def full_path(name: str) -> Path:
    """Return the path of a stored file."""
    return Path(settings.MEDIA_ROOT) / name


def store(source: Readable, name: str) -> StoredFile:
    """Copy ``source`` to ``name`` and hash it at the same time. Raises Invalid if it cannot be stored.

    A full disk is an outage, not a problem of the file: it raises OSError. So does using up the disk's reserve.
    """
    digest, size = hashlib.sha256(), 0
    try:
        # Checked before each piece, since the length of the file is not known.
        require_room(_PIECE)
        with written_whole(full_path(name)) as out:
            while piece := source.read(_PIECE):
                require_room(len(piece))
                digest.update(piece)
                size += len(piece)
                out.write(piece)
    except OSError as error:
        if full_disk(error):
            raise
        raise Invalid(
            _("The file couldn’t be stored on the server: %(reason)s.") % {"reason": error.strerror or error}
        ) from None
    return StoredFile(name, size, digest.hexdigest())


@contextmanager
def written_whole(path: Path, *, part: str = "part") -> Iterator[BinaryIO]:
    """Write a file that gets its name only if the block succeeds, and is then on disk, not just in a cache.

    ``part`` is the ending of its name until then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{part}")
    try:
        with temporary.open("wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    """Make a new name in ``folder`` survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_of_source(source: Readable) -> str:
    """Return the same of what is left of a source."""
    digest = hashlib.sha256()
    while piece := source.read(_PIECE):
        digest.update(piece)
    return digest.hexdigest()


def sha256_as_stored(path: Path) -> str:
    """Return that of a file, cached for an hour while it does not change; then read again, in case the disk fails."""
    found = path.stat()
    state = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    known = _HASHED.get(path)
    if known is None or known[0] != state or time.monotonic() - known[1] > REMEMBERED:
        known = _HASHED[path] = state, time.monotonic(), sha256_of(path)
    return known[2]


def copy_whole(source: Path, target: Path) -> None:
    """Copy a file so that ``target`` is never seen partly written."""
    with source.open("rb") as file, written_whole(target) as out:
        shutil.copyfileobj(file, out, _PIECE)
