"""Unpack a gzip or zstd stream in limited pieces, counting the output."""

import zlib
from typing import Any, Protocol

from benchmark.core.files.limits import Budget, SourceError

_PIECE = 1 << 16
#: 16 more than the window: expect a gzip header and check the sum at the end.
_WITH_HEADER = 16 + zlib.MAX_WBITS
_AGAIN = "Download or copy the file again."


class Readable(Protocol):
    """A source of bytes."""

    def read(self, size: int, /) -> bytes: ...


def unpack(source: Readable, packing: str, budget: Budget, *, inside: bool = False) -> Readable:
    """Return the content of a packed stream, counted against ``budget``; ``packing`` is an ending of ``PACKINGS``.

    ``inside``: in an archive, whose directory gives the packed size. The content's ``read`` raises SourceError if it is
    damaged or cut off.
    """
    counted = source if inside else _Packed(source, budget)
    return GzipStream(counted, budget) if packing == ".gz" else ZstdStream(counted, budget)


class _Packed:
    """Counts the packed bytes of a standalone file."""

    def __init__(self, source: Readable, budget: Budget) -> None:
        budget.start(0)
        self._source = source
        self._budget = budget

    def read(self, size: int, /) -> bytes:
        data = self._source.read(size)
        self._budget.packed += len(data)
        return data


class GzipStream:
    """The content of a gzip file, all its members one after the other."""

    def __init__(self, source: Readable, budget: Budget) -> None:
        self._source = source
        self._budget = budget
        self._decoder = zlib.decompressobj(_WITH_HEADER)
        self._pending = b""
        self._begun = False
        #: The decoder may have output for which it needs no further input.
        self._more = False
        self._done = False

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes; nothing at the end."""
        while not self._done:
            if not self._pending and not self._more and not self._fill():
                break
            if not self._begun and not self._begin():
                break
            try:
                data = self._decoder.decompress(self._pending, size)
            except zlib.error as error:
                raise SourceError(f"The gzip content is damaged ({error}). {_AGAIN}") from None
            self._pending = self._decoder.unconsumed_tail
            self._more = len(data) == size
            if self._decoder.eof:
                self._pending = self._decoder.unused_data
                self._decoder = zlib.decompressobj(_WITH_HEADER)
                self._begun = self._more = False
            if data:
                self._budget.count(len(data))
                return data
        return b""

    def _begin(self) -> bool:
        """Begin a member; return False if only padding is left."""
        if self._pending.strip(b"\0"):
            self._begun = True
        else:
            self._done = True
        return self._begun

    def _fill(self) -> bool:
        self._pending = self._source.read(_PIECE)
        if self._pending:
            return True
        if self._begun:
            raise SourceError(f"The gzip file is cut off in the middle of its content. {_AGAIN}")
        self._done = True
        return False


class ZstdStream:
    """The content of a zstd file, all its frames one after the other."""

    def __init__(self, source: Readable, budget: Budget) -> None:
        import pyarrow as pa

        self._source = _Kept(source)
        self._budget = budget
        self._stream: Any = pa.CompressedInputStream(pa.PythonFile(self._source, mode="r"), "zstd")

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes; nothing at the end."""
        try:
            data: bytes = self._stream.read(size)
        except (OSError, SystemError, MemoryError) as error:
            if self._source.error is not None:
                raise self._source.error from None
            raise SourceError(_zstd_sentence(str(error))) from None
        self._budget.count(len(data))
        return data


class _Kept:
    """A source for a library that would lose the source's own exceptions."""

    closed = False

    def __init__(self, source: Readable) -> None:
        self._source = source
        self.error: BaseException | None = None

    def read(self, size: int = _PIECE) -> bytes:
        try:
            return self._source.read(size)
        except BaseException as error:
            self.error = error
            raise

    def close(self) -> None:
        """Leave the source open: it belongs to the caller."""


def _zstd_sentence(said: str) -> str:
    if "too much memory" in said:
        return (
            "The zstd content needs a window of more than 128 MiB of memory. Compress the file again without --long "
            "and --ultra."
        )
    if "Truncated" in said:
        return f"The zstd file is cut off in the middle of its content. {_AGAIN}"
    reason = said.rpartition(": ")[2].strip().rstrip(".") or "unknown reason"
    return f"The zstd content is damaged ({reason[:100]}). {_AGAIN}"
