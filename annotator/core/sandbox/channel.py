"""The host's end of a child's channel: frames within limits of size and time, and why a child did not answer."""

import json
import math
import select
import signal
import socket
import time
from collections.abc import Iterator
from typing import Any

from annotator.core.sandbox.inside.channel import OUT_OF_MEMORY
from annotator.core.sandbox.results import CallResult, Limits, Status


def failure(end: dict[str, Any] | None, limits: Limits, *, too_much: bool) -> CallResult:
    """Return why a child did not answer, from how it ended."""
    if too_much:
        return CallResult(Status.OUTPUT_LIMIT, message=f"The result has more than {limits.result:,} bytes.")
    if end is None:
        # The prepared interpreter did not answer either, and was stopped.
        return CallResult(Status.TIMEOUT_WALL, message=f"It ran for more than {limits.wall:g} seconds.")
    number = end["signal"]
    used_up = end["cpu"] >= 0.95 * limits.cpu
    if number == signal.SIGXCPU or (number == signal.SIGKILL and used_up):
        return CallResult(Status.TIMEOUT_CPU, message=f"It used more than {limits.cpu} seconds of CPU time.")
    if end["late"]:
        return CallResult(Status.TIMEOUT_WALL, message=f"It ran for more than {limits.wall:g} seconds.")
    if number == signal.SIGSYS:
        return CallResult(Status.FORBIDDEN, message="It made a system call for a different processor.")
    if number is not None:
        return CallResult(Status.CRASHED, message=f"Signal {number} ended the interpreter.", signal=number)
    if end["code"] == OUT_OF_MEMORY:
        return CallResult(Status.MEMORY, message=Status.MEMORY.words)
    return CallResult(Status.NO_RESULT, message=Status.NO_RESULT.words)


#: Bytes that a frame has in addition to the answer in it.
FRAME = 1024


class Reading:
    """One channel: sends the work and reads frames, within the limits of size and time."""

    def __init__(self, channel: socket.socket, until: float, longest: int) -> None:
        self.channel, self.until = channel, until
        #: Bytes of one frame.
        self.longest = longest
        self.too_much = False
        self.buffer = bytearray()

    def send(self, data: bytes) -> None:
        """Send the work; does nothing if the child has ended."""
        view = memoryview(len(data).to_bytes(4, "little") + data)
        self.channel.setblocking(False)
        while view and self._ready(write=True):
            try:
                view = view[self.channel.send(view) :]
            except OSError:
                return

    def frames(self) -> Iterator[Any]:
        """Yield frames until the child closes the channel, or exceeds the limit of time or size."""
        for frame, _ in self.sized_frames():
            yield frame

    def sized_frames(self) -> Iterator[tuple[Any, int]]:
        """Yield frames like ``frames``, each with its bytes."""
        while True:
            while len(self.buffer) >= 4:
                size = int.from_bytes(self.buffer[:4], "little")
                if size > self.longest:
                    self.too_much = True
                    return
                if len(self.buffer) < 4 + size:
                    break
                body = bytes(self.buffer[4 : 4 + size])
                del self.buffer[: 4 + size]
                try:
                    yield json.loads(body, parse_constant=refuse_constant), size
                except (ValueError, RecursionError):
                    return
            if not self._ready(write=False):
                return
            try:
                part = self.channel.recv(1 << 16)
            except OSError:
                return
            if not part:
                return
            self.buffer += part

    def _ready(self, *, write: bool) -> bool:
        left = self.until - time.monotonic()
        if left <= 0:
            return False
        readers, writers = ([], [self.channel]) if write else ([self.channel], [])
        return any(select.select(readers, writers, [], left)[:2])


def refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def scrub(text: str) -> str:
    """Replace characters that cannot be stored."""
    return text.replace("\x00", "�").encode("utf-8", "replace").decode()


def scrub_value(value: Any) -> Any:
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, list):
        return [scrub_value(item) for item in value]
    if isinstance(value, dict):
        return {scrub(key): scrub_value(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        refuse_constant(str(value))
    return value


def refuse_source(source: str, limits: Limits) -> CallResult | None:
    """Return the result of every call of a source that cannot be run at all; None if it can."""
    if len(source.encode("utf-8", "surrogatepass")) > limits.source:
        return CallResult(Status.OUTPUT_LIMIT, message=f"The code has more than {limits.source:,} bytes.")
    if "\x00" in source or not _is_text(source):
        words = "The code contains a NUL or half of a surrogate pair. Remove it."
        return CallResult(Status.SYNTAX_ERROR, message=words)
    return None


def _is_text(source: str) -> bool:
    try:
        source.encode()
    except UnicodeEncodeError:
        return False
    return True
