"""The interface of the writers of records, and what they write to."""

from abc import ABC, abstractmethod
from typing import Protocol


class WriteError(Exception):
    """Records that a file cannot have; the sentence says why, and what to do."""


class Sink(Protocol):
    """Where the bytes of a file go."""

    def write(self, data: bytes, /) -> object: ...


class RecordWriter(ABC):
    """Writes records, one by one."""

    @abstractmethod
    def add(self, line: bytes, *, ended: bool = True) -> None:
        """Write the JSON of an object. Lines keep exactly this text, which then has no line breaks.

        ``ended`` is False for the last line of a file that lacks a line break. Raises WriteError.
        """

    def finish(self) -> None:  # noqa: B027 - most have nothing left
        """Write the rest. Raises WriteError."""

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Release everything, whether or not the file is complete."""


class Shielded:
    """A sink for libraries that close what they write to; the sink itself stays open."""

    closed = False

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def write(self, data: bytes) -> int:
        self._sink.write(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Leave it to the owner of the sink."""

    def close(self) -> None:
        """Leave it to the owner of the sink."""
