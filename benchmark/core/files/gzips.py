"""Unpack a gzip stream in limited pieces, counting the output."""

import zlib
from typing import Protocol

from benchmark.core.files.limits import Budget, SourceError

_PIECE = 1 << 16
#: 16 more than the window: expect a gzip header and check the sum at the end.
_WITH_HEADER = 16 + zlib.MAX_WBITS


class Readable(Protocol):
    """A source of lines."""

    def read(self, size: int, /) -> bytes: ...


class GzipStream:
    """The content of a gzip file, all its members one after the other. Raises SourceError if damaged or cut off."""

    def __init__(self, source: Readable, budget: Budget, *, inside: bool = False) -> None:
        self._source = source
        self._budget = budget
        #: Inside an archive, the archive's member gives the compressed size.
        self._inside = inside
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
                raise SourceError(f"The gzip content is damaged ({error}). Download or copy the file again.") from None
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
        if not self._inside:
            self._budget.packed += len(self._pending)
        if self._pending:
            return True
        if self._begun:
            raise SourceError("The gzip file is cut off in the middle of its content. Download or copy the file again.")
        self._done = True
        return False


def open_gzip(stream: Readable, budget: Budget) -> GzipStream:
    """Return the content of a standalone gzip file."""
    budget.start(0)
    return GzipStream(stream, budget)
