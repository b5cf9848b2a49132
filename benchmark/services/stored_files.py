"""Files below MEDIA_ROOT: uploads and archives, under names of our own, never half written under their final one."""

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

from annotator.errors import Invalid
from annotator.services.jobs.outages import full_disk, require_room

_PIECE = 1 << 20
#: Seconds for which a process takes a file that was not touched to be what it was when it was hashed.
REMEMBERED = 3600.0
#: Path → how the file stood, when it was hashed, its SHA-256.
_HASHED: dict[Path, tuple[tuple[int, ...], float, str]] = {}


class Readable(Protocol):
    """Anything bytes can be read from: an open file, an upload."""

    def read(self, size: int = ..., /) -> bytes: ...


@dataclass(frozen=True)
class StoredFile:
    """A file that is whole and on disk. ``name`` is its path below MEDIA_ROOT."""

    name: str
    bytes: int
    sha256: str


def full_path(name: str) -> Path:
    """Where a stored file lies."""
    return Path(settings.MEDIA_ROOT) / name


def store(source: Readable, name: str) -> StoredFile:
    """Copy ``source`` to ``name``, hashing it on the way. Raises Invalid where it cannot be stored.

    A full disk is an outage, which passes, and nothing that is wrong with the file: then OSError. So is one that would
    keep less than its reserve.
    """
    digest, size = hashlib.sha256(), 0
    try:
        # Looked at before each piece: how long the file is nobody has said.
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
        raise Invalid(f"The file could not be stored on the server: {error.strerror or error}.") from None
    return StoredFile(name, size, digest.hexdigest())


@contextmanager
def written_whole(path: Path, *, part: str = "part") -> Iterator[BinaryIO]:
    """A file that appears under its name only when the block ends well; on disk then, not just in a cache.

    ``part`` is the ending of the name it has until then.
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
    """The SHA-256 of a file, as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_as_stored(path: Path) -> str:
    """The same, read once while nobody touches the file, and anew after an hour: a disk that fails touches none."""
    found = path.stat()
    state = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    known = _HASHED.get(path)
    if known is None or known[0] != state or time.monotonic() - known[1] > REMEMBERED:
        known = _HASHED[path] = state, time.monotonic(), sha256_of(path)
    return known[2]


def copy_whole(source: Path, target: Path) -> None:
    """Copy a file so that ``target`` is never seen half written."""
    with source.open("rb") as file, written_whole(target) as out:
        shutil.copyfileobj(file, out, _PIECE)
