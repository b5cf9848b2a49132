"""Write the archive of a release. The same data always gives the same bytes.

Nothing in it depends on the clock, the machine or the person: times, permissions, the system mark and the compression
are fixed, and members are in the order in which they were added.
"""

import hashlib
import os
import secrets
import shutil
import stat
import zipfile
import zlib
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, Self

from benchmark.core.files.safe_paths import is_safe_path

_EPOCH = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
#: Default compression level.
LEVEL = 6
_PIECE = 1 << 20
#: Bytes compressed at a time, and the most such portions of a member that wait.
_PORTION = 1 << 18
_WAITING = 4


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A written member. ``records`` is its number of lines; null if it does not consist of lines."""

    path: str
    sha256: str
    bytes: int
    records: int | None


class DeterministicZip:
    """A zip archive that gets its name only when it is complete.

    Use it as a context manager; after an exception, no file remains. Several members may be written at the same time;
    they are ordered by when they end. ``files`` lists the members written so far. ``level``: the compression level, 1
    to 9.
    """

    def __init__(self, path: str | Path, *, level: int = LEVEL) -> None:
        self.path = Path(path)
        self.files: list[WrittenFile] = []
        self._level = level
        self._paths: set[str] = set()
        self._begun: list[MemberWriter] = []
        self._part = self.path.with_name(f".{self.path.name}.{secrets.token_hex(6)}.part")
        self._archive: _PackedZip | None = None

    def __enter__(self) -> Self:
        self._archive = _PackedZip(self._part, "x", allowZip64=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        archive, self._archive = self._archive, None
        try:
            for writer in self._begun:
                writer.discard()
            if archive is not None:
                archive.close()
            if kind is None:
                _flush(self._part)
                os.replace(self._part, self.path)
                _flush(self.path.parent)
        finally:
            self._part.unlink(missing_ok=True)

    def begin(self, path: str) -> "MemberWriter":
        """Begin a member of any length; write to it until ``end``."""
        if self._archive is None:
            raise ValueError("The archive is not open. Use it in a with statement.")
        if not is_safe_path(path):
            raise ValueError(f"{path!r} is not a plain relative path.")
        if path in self._paths:
            raise ValueError(f"{path} is already in the archive.")
        self._paths.add(path)
        writer = MemberWriter(path, self._part.parent, self._level)
        self._begun.append(writer)
        return writer

    def end(self, writer: "MemberWriter") -> WrittenFile:
        """Add a member to the archive. Its digest joins ``files``."""
        assert self._archive is not None  # noqa: S101 - it was begun here
        packed = writer.finish()
        info = zipfile.ZipInfo(writer.path, _EPOCH)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.create_system = _UNIX
        info.external_attr = (stat.S_IFREG | 0o644) << 16
        info.CRC, info.file_size, info.compress_size = writer.checksum, writer.bytes, packed.tell()
        self._archive.add_packed(info, packed)
        writer.discard()
        self._begun.remove(writer)
        lines = writer.lines if writer.path.endswith(".jsonl") else None
        self.files.append(WrittenFile(writer.path, writer.digest.hexdigest(), writer.bytes, lines))
        return self.files[-1]

    @contextmanager
    def member(self, path: str) -> Iterator["MemberWriter"]:
        """Write to one member in a with statement."""
        writer = self.begin(path)
        yield writer
        self.end(writer)

    def add(self, path: str, content: bytes) -> WrittenFile:
        """Write a whole member."""
        with self.member(path) as out:
            out.write(content)
        return self.files[-1]


class _PackedZip(zipfile.ZipFile):
    """A zip file that accepts already compressed members; the bytes are those that the library would write."""

    def add_packed(self, info: zipfile.ZipInfo, packed: IO[bytes]) -> None:
        assert self.fp is not None  # noqa: S101 - open until ``close``
        info.header_offset = self.fp.tell()
        # Sizes are always written at full length, so that large members have the same layout.
        self.fp.write(info.FileHeader(zip64=True))
        packed.seek(0)
        shutil.copyfileobj(packed, self.fp, _PIECE)
        self.filelist.append(info)
        self.NameToInfo[info.filename] = info
        self.start_dir = self.fp.tell()
        self._didModify = True


class MemberWriter:
    """Compresses one member in its own thread, which does not need the interpreter, and counts bytes."""

    def __init__(self, path: str, folder: Path, level: int) -> None:
        self.path = path
        self.digest = hashlib.sha256()
        self.checksum = 0
        self.bytes = 0
        self.lines = 0
        self._out = TemporaryFile(dir=folder)  # noqa: SIM115 - closed by discard
        self._deflate = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
        self._held: list[bytes] = []
        self._size = 0
        self._thread: ThreadPoolExecutor | None = None
        self._waiting: deque[Future[None]] = deque()

    def write(self, data: bytes) -> None:
        self._held.append(data)
        self._size += len(data)
        if self._size >= _PORTION:
            self._thread = self._thread or ThreadPoolExecutor(1, thread_name_prefix="archive")
            if len(self._waiting) >= _WAITING:
                self._waiting.popleft().result()
            self._waiting.append(self._thread.submit(self._pack, self._take()))

    def finish(self) -> IO[bytes]:
        """Return the compressed member with its final counts."""
        for portion in self._waiting:
            portion.result()
        self._pack(self._take())
        self._out.write(self._deflate.flush())
        return self._out

    def discard(self) -> None:
        """Release everything."""
        if self._thread is not None:
            self._thread.shutdown(wait=True, cancel_futures=True)
        self._out.close()

    def _take(self) -> bytes:
        portion = b"".join(self._held)
        self._held.clear()
        self._size = 0
        return portion

    def _pack(self, portion: bytes) -> None:
        self.digest.update(portion)
        self.checksum = zlib.crc32(portion, self.checksum)
        self.bytes += len(portion)
        self.lines += portion.count(b"\n")
        self._out.write(self._deflate.compress(portion))


def _flush(path: Path) -> None:
    """Make sure that a file, or a folder's list of files, is on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
