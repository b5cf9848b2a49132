"""Messages between processes: eight bytes of length, then that many bytes."""

from collections.abc import Sequence
from typing import IO

import orjson

from benchmark.core.formats.files import RawLine

_HEADER = 8


def write_frame(stream: IO[bytes], data: bytes) -> None:
    """Write one message."""
    stream.write(len(data).to_bytes(_HEADER, "big"))
    stream.write(data)
    stream.flush()


def read_frame(stream: IO[bytes]) -> bytes | None:
    """The next message; None where the other side has closed."""
    header = stream.read(_HEADER)
    if len(header) < _HEADER:
        return None
    size = int.from_bytes(header, "big")
    data = stream.read(size)
    return data if len(data) == size else None


def write_lines(stream: IO[bytes], lines: Sequence[RawLine]) -> None:
    """Write lines as two messages: what is known of each, and the bytes of all."""
    about = [(line.line, line.member, len(line.content), line.bytes, line.ended) for line in lines]
    write_frame(stream, orjson.dumps(about))
    write_frame(stream, b"".join(line.content for line in lines))


def read_lines(stream: IO[bytes]) -> list[RawLine] | None:
    """The next lines; None where the other side has closed."""
    about, content = read_frame(stream), read_frame(stream)
    if about is None or content is None:
        return None
    lines, at = [], 0
    for line, member, length, size, ended in orjson.loads(about):
        lines.append(RawLine(line, member, content[at : at + length], size, ended))
        at += length
    return lines
