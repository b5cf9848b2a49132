"""What reading a file of records yields: lines, records and errors."""

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class RawRecord:
    """One object of a file. ``line`` counts from 1 (in a ``.json`` list: the line it begins on)."""

    line: int
    #: The file in the archive; empty if the file is not an archive.
    member: str
    data: dict[str, Any]
    #: Length of the line in bytes.
    bytes: int
    #: The record's place in a ``.json`` list; empty if it is a line of its own.
    place: str = ""


@dataclass(slots=True)
class RecordError:
    """A line, or (``line`` 0) a file, that is not a record. A fatal error is the last item."""

    line: int
    member: str
    message: str
    fatal: bool
    #: The place in the line, or in the ``.json`` file, if known.
    pointer: str = ""


@dataclass(slots=True)
class RawLine:
    """The unparsed bytes of a record; ``ended`` unless the file stops in it."""

    line: int
    member: str
    content: bytes
    bytes: int
    ended: bool
    #: See ``RawRecord``.
    place: str = ""


Item = RawRecord | RecordError
