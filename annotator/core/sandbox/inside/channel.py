"""The child's end of the channel: frames of four bytes of length (little endian) and JSON."""

import json
import os
from collections.abc import Callable
from typing import Any

#: The child's only file descriptor.
CHANNEL = 3
#: The exit code of a child that has no memory left for an answer.
OUT_OF_MEMORY = 97


def read_frame() -> bytes:
    size = int.from_bytes(_read(4), "little")
    return _read(size)


def _read(count: int) -> bytes:
    parts = []
    while count:
        part = os.read(CHANNEL, min(count, 1 << 20))
        if not part:
            os._exit(0)
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def receiver() -> Callable[[], dict[str, Any]]:
    # Kept in variables for the same reason as in sender.
    loads, read = json.loads, read_frame

    def receive() -> dict[str, Any]:
        call: dict[str, Any] = loads(read())
        return call

    return receive


def sender(limit: int) -> Callable[[list[Any]], None]:
    # Kept in variables, because the source may replace the originals.
    dumps, write = json.dumps, os.write

    def send(frame: list[Any]) -> None:
        data = dumps(frame).encode()
        if len(data) > limit:
            data = dumps([frame[0], "output_limit", None, f"The result has more than {limit:,} bytes."]).encode()
        data = len(data).to_bytes(4, "little") + data
        while data:
            data = data[write(CHANNEL, data) :]

    return send
