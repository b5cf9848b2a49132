"""The folder with all backups, on this machine or on a share."""

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from annotator.core.backups import encryption
from annotator.core.backups.encryption import Keys
from annotator.core.backups.errors import BackupError, Damaged
from annotator.core.backups.manifest import Manifest, Stored, as_text, read_manifest

#: The ending of an encrypted file.
ENCRYPTED = ".age"
_PIECE = 1 << 20
_MANIFEST, _OBJECTS, _PART = "manifest.json", "objects", ".part"


class Readable(Protocol):
    """Anything bytes can be read from."""

    def read(self, size: int = ..., /) -> bytes: ...


class Writable(Protocol):
    """Anything bytes can be written to."""

    def write(self, piece: bytes, /) -> object: ...


class Counted:
    """A stream that counts and hashes what passes through it."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._digest, self.bytes = stream, sha256(), 0

    def read(self, size: int = -1) -> bytes:
        """Read at most ``size`` bytes."""
        piece: bytes = self._stream.read(size)
        self._count(piece)
        return piece

    def write(self, piece: bytes) -> int:
        """Write all of it."""
        self._stream.write(piece)
        self._count(piece)
        return len(piece)

    def flush(self) -> None:
        """Do nothing: the owner of the stream does it."""

    def _count(self, piece: bytes) -> None:
        self._digest.update(piece)
        self.bytes += len(piece)

    @property
    def sha256(self) -> str:
        """Return the hash so far, as 64 hexadecimal digits."""
        return self._digest.hexdigest()


class Nowhere:
    """A stream that forgets what is written."""

    def write(self, piece: bytes) -> int:
        """Forget it."""
        return len(piece)


class Backups:
    """The backups in a folder. Every content is read again after it was written."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Create the folder and keep other programs from changing it meanwhile. Raises BackupError."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self.path / ".lock").open("wb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BackupError(f"Another program writes a backup to {self.path}. Wait until it has ended.") from None
            yield

    def manifests(self) -> list[Manifest]:
        """Return the finished backups, the oldest first. Raises BackupError if a manifest can't be read."""
        return sorted(map(self._read, self._names()), key=lambda one: (one.at, one.name))

    def manifest(self, name: str) -> Manifest:
        """Return one finished backup; blank: the newest. Raises BackupError."""
        names = self._names()
        if not names:
            raise BackupError(f"There is no finished backup in {self.path}.")
        if name and name not in names:
            raise BackupError(f"There is no finished backup {name} in {self.path}. There are: {', '.join(names)}.")
        return self._read(name) if name else self.manifests()[-1]

    def store(self, place: str, source: Readable, keys: Keys | None) -> Stored:
        """Store a stream, encrypted if there are keys, on disk and read again. Raises BackupError."""
        path = self.path / place
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = path.with_name(path.name + _PART)
        try:
            with part.open("wb") as out:
                os.fchmod(out.fileno(), 0o600)
                plain, stored = Counted(source), Counted(out)
                if keys is None:
                    shutil.copyfileobj(plain, stored, _PIECE)
                else:
                    encryption.encrypt(plain, stored, keys)
                out.flush()
                os.fsync(out.fileno())
                # So that the next reading is from the disk.
                os.posix_fadvise(out.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            found = Stored(place, plain.bytes, plain.sha256, stored.bytes, stored.sha256)
            try:
                _check(found, part)
            except Damaged:
                raise BackupError(f"{path} can't be read as it was written. Check the disk and try again.") from None
            part.replace(path)
            _sync(path.parent)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        return found

    def store_object(self, file: Path, keys: Keys | None, known: Mapping[str, Stored]) -> Stored:
        """Store a file under the hash of its content. Raises OSError, BackupError.

        ``known``: the objects of other backups, by place. They stay as they are: encrypted again, they would differ.
        """
        with file.open("rb") as source:
            # A file can grow meanwhile, so its hash is known only afterwards.
            found = self.store(f"{_OBJECTS}/new", source, keys)
        place = f"{_OBJECTS}/{found.sha256[:2]}/{found.sha256}" + (f"-{keys.mark}{ENCRYPTED}" if keys else "")
        if place in known and self.has(known[place]):
            (self.path / found.place).unlink()
            return known[place]
        target = self.path / place
        target.parent.mkdir(mode=0o700, exist_ok=True)
        (self.path / found.place).replace(target)
        _sync(target.parent)
        return replace(found, place=place)

    def has(self, part: Stored) -> bool:
        """Return whether something of the right size is there."""
        path = self.path / part.place
        return path.is_file() and path.stat().st_size == part.stored_bytes

    def read(self, part: Stored, out: Writable, keys: Keys | None) -> None:
        """Write stored content to a stream. It counts only if this returns. Raises BackupError, Damaged."""
        plain = Counted(out)
        try:
            with (self.path / part.place).open("rb") as file:
                stored = Counted(file)
                if part.place.endswith(ENCRYPTED):
                    if keys is None:
                        raise BackupError("The backup is encrypted. Name the file with its key (BACKUP_KEY_FILE).")
                    encryption.decrypt(stored, plain, keys)
                    while stored.read(_PIECE):
                        pass
                else:
                    shutil.copyfileobj(stored, plain, _PIECE)
        except FileNotFoundError:
            raise Damaged(f"{part.place} is missing") from None
        if (stored.sha256, plain.sha256, plain.bytes) != (part.stored_sha256, part.sha256, part.bytes):
            raise Damaged(f"{part.place} is not as it was stored")

    def check(self, part: Stored) -> None:
        """Check what is stored, without decrypting it. Raises Damaged."""
        _check(part, self.path / part.place)

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest, which makes the backup a finished one."""
        folder = self.path / manifest.name
        part = folder / (_MANIFEST + _PART)
        with part.open("w") as out:
            os.fchmod(out.fileno(), 0o600)
            out.write(as_text(manifest))
            out.flush()
            os.fsync(out.fileno())
        part.replace(folder / _MANIFEST)
        _sync(folder)
        _sync(self.path)

    def clear(self, remove: set[str]) -> int:
        """Remove these backups, unfinished ones, and objects that no backup has; return how many bytes."""
        for name in remove:
            # Without its manifest it is unfinished, so that a killed removal is continued by the next.
            (self.path / name / _MANIFEST).unlink()
        finished = self._names()
        needed = {part.place for manifest in map(self._read, finished) for _, part in manifest.parts}
        count = 0
        for folder in self.path.glob("assay-*"):
            if folder.name not in finished and folder.is_dir():
                count += sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
                shutil.rmtree(folder)
        for file in (self.path / _OBJECTS).rglob("*"):
            if file.is_file() and file.relative_to(self.path).as_posix() not in needed:
                count += file.stat().st_size
                file.unlink()
        return count

    def _names(self) -> list[str]:
        return sorted(path.parent.name for path in self.path.glob(f"assay-*/{_MANIFEST}"))

    def _read(self, name: str) -> Manifest:
        try:
            return read_manifest((self.path / name / _MANIFEST).read_text(), name)
        except UnicodeDecodeError:
            raise BackupError(f"The manifest of the backup {name} can't be read. Use another backup.") from None


def _check(part: Stored, path: Path) -> None:
    stored = Counted(Nowhere())
    try:
        with path.open("rb") as file:
            shutil.copyfileobj(file, stored, _PIECE)
    except FileNotFoundError:
        raise Damaged(f"{part.place} is missing") from None
    if (stored.bytes, stored.sha256) != (part.stored_bytes, part.stored_sha256):
        raise Damaged(f"{part.place} is not as it was stored")


def _sync(folder: Path) -> None:
    """Make a new name in a folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
