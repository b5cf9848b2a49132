"""Read one line of a record file: an object, or a sentence about what is wrong."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from annotator.core.schema.canonical import MAX_DEPTH
from annotator.core.schema.exact_json import JsonError, holds_more_values, loads
from benchmark.core.files.limits import shown_size
from benchmark.core.files.packing import Readable

BOM = b"\xef\xbb\xbf"

_PIECE = 1 << 18
#: Characters of a line before or between values, also inside texts: each value can take a hundred bytes of memory.
MAX_VALUES = 2_000_000


@dataclass(slots=True)
class Found:
    """The bytes of a record, or (``content`` None) why there is none, as a sentence.

    ``line`` counts from 1; ``bytes``: the record's length in the file; ``ended`` unless the file stops in it.
    ``pointer``: the place of the problem in the record, if known. ``place``: that of the record in a ``.json`` list.
    """

    line: int
    content: bytes | None
    bytes: int
    ended: bool = True
    problem: str = ""
    pointer: str = ""
    place: str = ""


class LineError(Exception):
    """A line that is not a record; the sentence gives the reason. ``cut_off`` if it ends too early.

    ``pointer``: the place in the record, if known.
    """

    def __init__(self, message: str, *, cut_off: bool = False, pointer: str = "") -> None:
        super().__init__(message)
        self.cut_off = cut_off
        self.pointer = pointer


def split_lines(source: Readable, limit: int) -> Iterator[tuple[bytes | None, int, bool]]:
    """Yield the lines of ``source``: content, length in bytes, and whether a line break ended it.

    The content is None if the line is longer than ``limit``; such a line is never in memory.
    """
    held: list[bytes] = []
    length = 0
    while data := source.read(_PIECE):
        first, *rest = data.split(b"\n")
        for piece in rest:
            length += len(first)
            if length > limit:
                yield None, length, True
            else:
                held.append(first)
                yield b"".join(held) if len(held) > 1 else first, length, True
            held, length, first = [], 0, piece
        length += len(first)
        if length > limit:
            held = []
        elif first:
            held.append(first)
    if length > limit:
        yield None, length, False
    elif length:
        yield b"".join(held), length, False


def parse_record(line: bytes) -> dict[str, Any]:
    """Return the object of a line. Raises LineError."""
    if has_too_many_values(line):
        raise LineError(
            f"The record has more than {MAX_VALUES:,} values. Split it, or leave out what is not needed for the review."
        )
    try:
        data = loads(line)
    except JsonError as error:
        raise LineError(str(error), pointer=error.pointer) from None
    except json.JSONDecodeError as error:
        raise _explain(line, error) from None
    if type(data) is not dict:
        kind = {list: "a list", str: "text", type(None): "null", bool: "true or false"}.get(type(data), "a number")
        raise LineError(f"A record must be a JSON object, but this is {kind}.")
    return data


def has_too_many_values(content: bytes) -> bool:
    """Return whether a text could take too much memory as one value. Call it before parsing."""
    return holds_more_values(content, MAX_VALUES)


def is_json_cell(cell: str) -> bool:
    """Return whether a cell of a table has a JSON object or list; perhaps one that parsing the record refuses."""
    if not cell.startswith(("{", "[")):
        return False
    try:
        loads(cell)
    except json.JSONDecodeError:
        return False
    except ValueError:
        # It cannot be stored: parsing the record says where.
        pass
    return True


def up_to_values(text: str) -> str:
    """Return the text, cut to the number of values that a record may have."""

    def count(start: int, end: int) -> int:
        return sum(text.count(sign, start, end) for sign in ",[{")

    low, high, left = 0, len(text), MAX_VALUES + 1
    if high < left or count(low, high) < left:
        return text
    while high - low > 1:
        middle = (low + high) // 2
        counted = count(low, middle)
        low, high, left = (low, middle, left) if counted >= left else (middle, high, left - counted)
    return text[:high]


def too_long(length: int, limit: int, what: str = "line") -> str:
    """Return the sentence for a line, or a row, over the limit."""
    return (
        f"The {what} has {shown_size(length)}. The limit of a record is {shown_size(limit)}, so the {what} was skipped."
    )


def no_utf8(what: str, error: UnicodeDecodeError) -> str:
    """Return the sentence for a line, or a row, that cannot be decoded."""
    return (
        f"The {what} is not UTF-8: byte {error.start + 1} is 0x{error.object[error.start]:02X}, as in Latin-1. "
        "Save the file as UTF-8."
    )


def _too_deep() -> str:
    return f"The record is nested too deeply. The limit is {MAX_DEPTH} levels."


def _explain(line: bytes, error: json.JSONDecodeError) -> LineError:
    """Return a sentence for the parser's message."""
    try:
        text = line.decode()
    except UnicodeDecodeError as undecodable:
        if undecodable.reason == "unexpected end of data":
            return LineError(f"The line ends inside a character at byte {undecodable.start + 1}.", cut_off=True)
        return LineError(no_utf8("line", undecodable))
    at = text.find("\0")
    if at >= 0:
        return LineError(f"The line contains a NUL at byte {len(text[:at].encode()) + 1}. The file may be damaged.")
    said = error.msg.partition(": line ")[0].rstrip(".")
    if any(word in said for word in ("depth", "ecursion", "allocate")):
        return LineError(_too_deep())
    cut_off = "end of data" in said
    position = min(error.pos, len(text))
    if cut_off:
        return LineError(f"The record is not complete: the line ends at character {len(text)}.", cut_off=True)
    if "NaN" in text[position : position + 4] or "Infinity" in text[position : position + 10]:
        return LineError(f"NaN and Infinity are not JSON (character {position + 1}). Write null or text.")
    return LineError(f"The line is not JSON: {said}, at character {position + 1}.")
