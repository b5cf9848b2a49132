"""Open untrusted zip archives.

An archive's own statements are not trusted: sizes are counted while decompressing, the directory's extent is checked
before it is read, and names are only ever shown, never used as paths.
"""

import copy
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, BinaryIO, cast

from benchmark.core.files.limits import Budget, Limits, SourceError

_END = struct.Struct("<4s4H2LH")
_END_SIGNATURE = b"PK\x05\x06"
_LOCATOR = struct.Struct("<4sLQL")
_LOCATOR_SIGNATURE = b"PK\x06\x07"
_END64 = struct.Struct("<4sQ2H2L4Q")
_END64_SIGNATURE = b"PK\x06\x06"
_MAX_COMMENT = 65_535
#: A directory entry takes 46 bytes and its name; beyond this average it contains something else.
_ENTRY_BYTES = 4096
#: The same for files beside records, whose names are short.
_ENTRY_BYTES_BESIDE = 512

#: A compression method that the library does not know.
_ZSTD = 93

#: Why an archive in an archive is not opened.
IN_ARCHIVE = "Assay does not open archives inside archives. Unpack it first."
#: The errors of reading a damaged archive, in addition to SourceError.
ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
    struct.error,
)


@contextmanager
def open_zip(
    stream: BinaryIO, limits: Limits, *, is_beside: Callable[[str], bool] = lambda name: False
) -> Iterator[zipfile.ZipFile]:
    """Return the archive in ``stream`` (seekable). Raises SourceError if it cannot or must not be opened.

    ``is_beside``: tells by a file's name whether it is next to records; such files are counted separately.
    """
    _check_directory(stream, limits)
    stream.seek(0)
    try:
        archive = _Archive(stream, limits.members + limits.beside)
    except ZIP_ERRORS as error:
        raise SourceError(
            f"The zip archive cannot be read: {_said(error)}. It may be cut off. Download or copy the file again."
        ) from None
    with archive:
        beside = sum(is_beside(info.filename) for info in archive.infolist())
        for count, most, what in (
            (len(archive.infolist()) - beside, limits.members, "files"),
            (beside, limits.beside, "files besides its records"),
        ):
            if count > most:
                raise SourceError(f"The zip archive has {count:,} {what}. The limit is {most:,}.")
        yield archive


class _Entries(list[zipfile.ZipInfo]):
    """Read at most ``most`` entries of a directory, whatever number the archive's end record states."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def append(self, info: zipfile.ZipInfo) -> None:
        if len(self) >= self._most:
            raise SourceError(f"The zip archive has too many files. The limit is {self._most:,}.")
        super().append(info)


class _Archive(zipfile.ZipFile):
    """A zip file with a limited directory, because the library reads all entries."""

    def __init__(self, stream: BinaryIO, most: int) -> None:
        self._most = most
        super().__init__(stream)

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, _Entries(self._most) if name == "filelist" else value)


def refusal(info: zipfile.ZipInfo) -> str | None:
    """Return the reason why a member must not be opened, as a sentence; None if it may."""
    if info.flag_bits & 0x1:
        return "The file is encrypted. Compress it again without a password."
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTD):
        return "The file uses an unsupported compression method. Use deflate."
    if info.filename.lower().endswith((".zip", ".7z", ".tar", ".tgz")):
        return IN_ARCHIVE
    return None


@contextmanager
def open_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, budget: Budget) -> Iterator["MemberStream"]:
    """Yield the content of a member, counted against ``budget`` as it is read. Raises SourceError."""
    budget.start(info.compress_size)
    try:
        source = _open_zstd(archive, info) if info.compress_type == _ZSTD else archive.open(info)
    except ZIP_ERRORS as error:
        raise SourceError(f"The file cannot be decompressed: {_said(error)}.") from None
    with source:
        yield MemberStream(source, budget)


def _open_zstd(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> IO[bytes]:
    """Open a member that is compressed with zstd: its bytes are read as they are, and decompressed here."""
    # It takes a third of a second to load.
    import pyarrow

    stored = copy.copy(info)
    stored.compress_type, stored.file_size = zipfile.ZIP_STORED, info.compress_size
    # The sum is that of the decompressed content.
    del stored.CRC
    return cast(IO[bytes], pyarrow.CompressedInputStream(archive.open(stored), "zstd"))


class MemberStream:
    """Reads a compressed stream in limited pieces and turns any error into a SourceError."""

    def __init__(self, source: IO[bytes], budget: Budget) -> None:
        self._source = source
        self._budget = budget

    def read(self, size: int, /) -> bytes:
        """Return ``size`` bytes; fewer only at the end."""
        try:
            data = self._source.read(size)
        except ZIP_ERRORS as error:
            message = "The compressed content is damaged or cut off"
            raise SourceError(f"{message} ({_said(error)}). Download or copy the file again.") from None
        self._budget.count(len(data))
        return data


def shown_name(name: str) -> str:
    """Return a member's name, fit for a sentence and a report."""
    text = "".join(character if character.isprintable() else "�" for character in name)
    return text if len(text) <= 200 else f"{text[:199]}…"


def _check_directory(stream: BinaryIO, limits: Limits) -> None:
    """Refuse a directory that is too large for memory before reading it."""
    try:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - _MAX_COMMENT - _END.size - _LOCATOR.size))
        tail = stream.read()
    except OSError as error:
        raise SourceError(f"The zip archive cannot be read: {_said(error)}.") from None
    at = tail.rfind(_END_SIGNATURE)
    if at < 0 or len(tail) - at < _END.size:
        raise SourceError(
            "The zip archive is cut off, or the file is not a zip archive. Download or copy the file again."
        )
    entries, length = _END.unpack_from(tail, at)[4:6]
    for more_entries, more_length in _ends64(stream, tail, at, size):
        entries, length = max(entries, more_entries), max(length, more_length)
    # Only the directory itself shows which of them are next to records.
    most = limits.members + limits.beside
    if entries > most:
        raise SourceError(f"The zip archive has {entries:,} files. The limit is {most:,}.")
    if length > limits.members * _ENTRY_BYTES + limits.beside * _ENTRY_BYTES_BESIDE:
        raise SourceError("The zip archive's directory is too large for its entries.")


def _ends64(stream: BinaryIO, tail: bytes, at: int, size: int) -> Iterator[tuple[int, int]]:
    """Return the number of entries and the length of the directory from 64-bit end records, wherever a reader might
    look.
    """
    start = at - _LOCATOR.size
    if start < 0 or tail[start : start + 4] != _LOCATOR_SIGNATURE:
        return
    locator_at = size - len(tail) + start
    for offset in (locator_at - _END64.size, _LOCATOR.unpack_from(tail, start)[2]):
        if 0 <= offset <= size - _END64.size:
            stream.seek(offset)
            data = stream.read(_END64.size)
            if data[:4] == _END64_SIGNATURE:
                fields = _END64.unpack(data)
                yield fields[7], fields[8]


def _said(error: BaseException) -> str:
    text = str(error).strip().rstrip(".")
    return text or type(error).__name__
