"""JSON lines with bounded memory."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from assay.errors import ReleaseError

#: Bytes of the longest line.
LONGEST_LINE = 64 << 20


def parse_lines(pieces: Iterable[bytes], name: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of JSON lines. Empty lines are skipped. Raises ReleaseError with the number of a bad line."""
    for number, line in enumerate(_lines(pieces, name), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise ReleaseError(f"Line {number:,} of {name} is not a JSON object.")
        yield value


def _lines(pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    rest: list[bytes] = []
    size = 0
    for piece in pieces:
        first, *others = piece.split(b"\n")
        rest.append(first)
        size += len(first)
        if others:
            yield b"".join(rest)
            yield from others[:-1]
            rest, size = [others[-1]], len(others[-1])
        if size > LONGEST_LINE:
            raise ReleaseError(f"A line of {name} is longer than {LONGEST_LINE >> 20} MB.")
    yield b"".join(rest)
