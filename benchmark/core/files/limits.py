"""Limits for reading an untrusted file, and a counter for them."""

from dataclasses import dataclass

MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one file. Sizes are bytes after decompression unless said otherwise."""

    #: One record, or another value that is parsed at once; a longer line is skipped as one error.
    line: int = 16 * MIB
    #: A ``.json`` file is read into memory as a whole; its records are parsed one by one.
    whole: int = 64 * MIB
    records: int = 5_000_000
    total: int = 20 * GIB
    #: Bytes out for each byte in; checked once ``ratio_after`` bytes have come out.
    ratio: int = 200
    ratio_after: int = 10 * MIB
    #: Files in an archive, except those below.
    members: int = 10_000
    #: Files in an archive next to records (``check_files``): at least ten for each of 10,000 records.
    beside: int = 120_000


class SourceError(Exception):
    """A file, or a file in an archive, that cannot be read any further; the sentence gives the reason.

    ``line``: the line that it is about, 0 if it is about the whole file.
    """

    def __init__(self, message: str, *, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


class Budget:
    """Counts the output of one file, across all its members, and stops at the limits."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.total = 0
        self.packed = 0
        self.unpacked = 0

    def start(self, packed: int) -> None:
        """Begin a member of ``packed`` compressed bytes."""
        self.packed = packed
        self.unpacked = 0

    def count(self, size: int) -> None:
        """Count bytes of output. Raises SourceError above a limit."""
        self.total += size
        self.unpacked += size
        if self.total > self.limits.total:
            raise SourceError(
                f"The content is larger than {shown_size(self.limits.total)} after decompression. Split the file."
            )
        if self.unpacked > self.limits.ratio_after and self.unpacked > self.packed * self.limits.ratio:
            raise SourceError(
                "The file was refused as a possible zip bomb: it decompresses to more than "
                f"{self.limits.ratio} times its size. Split it, or upload it uncompressed."
            )


def shown_size(size: int) -> str:
    """Return a number of bytes in words."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (1024, "KiB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} bytes"
