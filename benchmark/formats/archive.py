"""Writing the archive of a release: the same bytes whenever the same data is written again.

Nothing in it depends on the clock, the machine or the person: times, permissions, the system mark and the compression
are fixed, and members stand in the order they were added.
"""

import hashlib
import os
import secrets
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from benchmark.formats.manifest import is_safe_path
from benchmark.formats.verifying import VerifyReport, verify_archive

__all__ = ["DeterministicZip", "MemberWriter", "VerifyReport", "WrittenFile", "sha256_of", "verify_archive"]

_EPOCH = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
_LEVEL = 6
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A member as it was written. ``records`` is the number of its lines, null where it does not hold lines."""

    path: str
    sha256: str
    bytes: int
    records: int | None


class DeterministicZip:
    """A zip archive that appears under its name only when it is whole.

    Used as a context manager; when it ends in an exception nothing is left. ``files`` lists what was written so far.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.files: list[WrittenFile] = []
        self._paths: set[str] = set()
        self._part = self.path.with_name(f".{self.path.name}.{secrets.token_hex(6)}.part")
        self._archive: zipfile.ZipFile | None = None

    def __enter__(self) -> Self:
        self._archive = zipfile.ZipFile(self._part, "x", zipfile.ZIP_DEFLATED, allowZip64=True, compresslevel=_LEVEL)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        archive, self._archive = self._archive, None
        try:
            if archive is not None:
                archive.close()
            if kind is None:
                _flush(self._part)
                os.replace(self._part, self.path)
                _flush(self.path.parent)
        finally:
            self._part.unlink(missing_ok=True)

    @contextmanager
    def member(self, path: str) -> Iterator["MemberWriter"]:
        """A member to write to, of whatever length. Its digest joins ``files`` when it ends."""
        if self._archive is None:
            raise ValueError("The archive is not open; use it in a with statement.")
        if not is_safe_path(path):
            raise ValueError(f"{path!r} is not a plain relative path.")
        if path in self._paths:
            raise ValueError(f"{path} is in the archive already.")
        info = zipfile.ZipInfo(path, _EPOCH)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.create_system = _UNIX
        info.external_attr = (stat.S_IFREG | 0o644) << 16
        # The length is not known beforehand, so every member is laid out as if it were large.
        with self._archive.open(info, "w", force_zip64=True) as out:
            writer = MemberWriter(out)
            yield writer
        lines = writer.lines if path.endswith(".jsonl") else None
        self._paths.add(path)
        self.files.append(WrittenFile(path, writer.digest.hexdigest(), writer.bytes, lines))

    def add(self, path: str, content: bytes) -> WrittenFile:
        """Write a whole member."""
        with self.member(path) as out:
            out.write(content)
        return self.files[-1]


class MemberWriter:
    """Writes one member and keeps count."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self.digest = hashlib.sha256()
        self.bytes = 0
        self.lines = 0

    def write(self, data: bytes) -> None:
        self.digest.update(data)
        self.bytes += len(data)
        self.lines += data.count(b"\n")
        self._out.write(data)


def sha256_of(path: str | Path) -> str:
    """SHA-256 of a file."""
    digest = hashlib.sha256()
    with Path(path).open("rb") as source:
        while piece := source.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _flush(path: Path) -> None:
    """Make sure a file, or a folder's list of files, is on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
