"""Divide a stream of CSV or TSV (RFC 4180) into rows and cells; a quoted cell may contain line breaks.

As in spreadsheets, a quote that is not at the beginning of a cell is an ordinary character.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from benchmark.core.files.limits import SourceError
from benchmark.core.files.packing import Readable

_PIECE = 1 << 18
_QUOTE = ord('"')
#: The rest of a quoted cell, up to the quote that closes it.
_INSIDE = re.compile(rb'[^"]*+(?:""[^"]*+)*+')
#: Where in a row the stream is: before a cell, in one without quotes, in quotes, or after a quote in quotes, which
#: closes them unless another one follows.
_START, _PLAIN, _QUOTED, _AFTER = range(4)


@dataclass(slots=True)
class Row:
    """A row without its line break; ``content`` is None if it is longer than the limit.

    ``line``: the line that it begins on, from 1; ``bytes``: its length with the line break.
    """

    line: int
    content: bytes | None
    bytes: int


class RowReader:
    """The rows of a stream. ``delimiters``: the bytes that may end a cell; ``limit``: bytes of a row."""

    def __init__(self, source: Readable, delimiters: bytes, limit: int) -> None:
        self.use(delimiters)
        self._source = source
        self._limit = limit
        self._state = _START

    def use(self, delimiters: bytes) -> None:
        """Set the bytes that end a cell from the next row on."""
        self._delimiters = delimiters
        self._opening = re.compile(b'[%b]"' % re.escape(delimiters))

    def rows(self) -> Iterator[Row]:
        """Yield the rows that are not blank; a row over the limit is never in memory.

        Raises SourceError if a quote is never closed.
        """
        held: list[bytes] = []
        length, line, lines = 0, 1, 0
        while data := self._source.read(_PIECE):
            begin = 0
            for end in self._ends(data):
                piece = data[begin:end]
                length, lines, begin = length + len(piece), lines + piece.count(b"\n"), end
                if length <= self._limit:
                    held.append(piece)
                yield from _row(line, held, length, self._limit)
                held, length, line, lines = [], 0, line + lines, 0
            rest = data[begin:]
            length, lines = length + len(rest), lines + rest.count(b"\n")
            if length <= self._limit:
                held.append(rest)
            else:
                held = []
        if self._state == _QUOTED:
            raise SourceError(
                f"The row that begins on line {line} has a quote that is never closed. Close it, or download or copy "
                "the file again if it is cut off.",
                line=line,
            )
        yield from _row(line, held, length, self._limit)

    def _ends(self, data: bytes) -> Iterator[int]:
        """Yield where rows end in the next piece of the stream: the indexes after their line breaks."""
        at, line_break = 0, -1
        while at < len(data):
            if self._state == _QUOTED or (self._state == _AFTER and data[at] == _QUOTE):
                at += self._state == _AFTER
                inside = _INSIDE.match(data, at)
                at = inside.end() if inside else at
                # A pair of quotes may be divided between two pieces.
                self._state = _AFTER if at < len(data) else _QUOTED
                at += at < len(data)
                continue
            if self._state == _START and data[at] == _QUOTE:
                at, self._state = at + 1, _QUOTED
                continue
            if line_break < at:
                line_break = data.find(b"\n", at)
                line_break = len(data) if line_break < 0 else line_break
            opening = self._opening.search(data, at, line_break)
            if opening:
                at, self._state = opening.end(), _QUOTED
            elif line_break < len(data):
                at, self._state = line_break + 1, _START
                yield at
            else:
                at, self._state = len(data), _START if data[-1] in self._delimiters else _PLAIN


def _row(line: int, held: list[bytes], length: int, limit: int) -> Iterator[Row]:
    if length > limit:
        yield Row(line, None, length)
        return
    content = b"".join(held)
    content = content.removesuffix(b"\n").removesuffix(b"\r")
    if content:
        yield Row(line, content, length)


class CellError(Exception):
    """A row whose cells cannot be told apart; the sentence gives the reason."""


class Cells:
    """Divides rows into cells. ``most``: cells of a row."""

    def __init__(self, delimiter: str, most: int) -> None:
        mark = re.escape(delimiter)
        self._cell = re.compile(rf'"((?:[^"]++|"")*+)"(?={mark}|\Z)|((?!")[^{mark}]*+)(?={mark}|\Z)')
        self._most = most

    def of(self, row: str) -> list[str]:
        """Return the cells of a row. Raises CellError."""
        cells: list[str] = []
        at = 0
        while True:
            found = self._cell.match(row, at)
            if found is None:
                raise CellError(
                    f"In cell {len(cells) + 1}, there is text after the quote that closes it. Write each quote in a "
                    "quoted cell twice."
                )
            cells.append(found[2] if found[1] is None else found[1].replace('""', '"'))
            at = found.end()
            if at == len(row):
                return cells
            at += 1
            if len(cells) == self._most:
                raise CellError(f"The row has more than {self._most:,} cells, one for each column of the header.")
