"""Read a JSON list of records, element by element: parsing it as a whole could take thirty times its size in memory."""

import json
import re
from collections.abc import Iterator

from benchmark.core.files import record_lines
from benchmark.core.files.limits import shown_size

#: Characters before the end of a text within which an error may come from the cut.
_CUT = 16
_BLANK = re.compile(r"[ \t\r\n]*")


class ListError(Exception):
    """A list that cannot be read from ``at`` on, an index into its text."""

    def __init__(self, at: int, words: str) -> None:
        super().__init__(words)
        self.at = at
        self._words = words

    def sentence(self, line: int) -> str:
        """Return what is wrong. ``line``: the line of ``at``."""
        return self._words.format(line=line)


def elements(text: str, longest: int) -> Iterator[tuple[int, int]]:
    """Yield where each element of the list begins and ends; parses little more than ``longest`` characters at once.

    Raises ListError if the text stops being JSON, if anything follows the list, or if an element is longer than
    ``longest`` or has more than ``record_lines.MAX_VALUES`` values. One just above ``longest`` may be yielded.
    """
    slack = longest // 8
    most = longest + slack + _CUT
    decoder = json.JSONDecoder()
    at = _skip_blank(text, text.index("[") + 1)
    is_empty = text[at : at + 1] == "]"
    base, piece = at, record_lines.up_to_values(text[at : at + most])
    while not is_empty:
        if at - base > slack and base + len(piece) < len(text):
            base, piece = at, record_lines.up_to_values(text[at : at + most])
        is_cut = base + len(piece) < len(text)
        is_long = len(piece) == most
        try:
            _, end = decoder.raw_decode(piece, at - base)
        except json.JSONDecodeError as error:
            at_end = "Unterminated" in error.msg or error.pos > len(piece) - _CUT
            if is_cut and at_end and not is_long and at > base:
                # What came before it had most of the values.
                base, piece = at, record_lines.up_to_values(text[at : at + most])
                continue
            raise (_too_large(at, longest, is_long) if is_cut and at_end else _no_json(text, at)) from None
        except (ValueError, RecursionError):
            raise _no_json(text, at) from None
        if is_cut and end == len(piece):  # Perhaps in the middle of a number.
            raise _too_large(at, longest, is_long)
        end += base
        yield at, end
        at = _skip_blank(text, end)
        if text[at : at + 1] == "]":
            break
        if text[at : at + 1] != ",":
            raise _no_json(text, at)
        at = _skip_blank(text, at + 1)
    behind = _skip_blank(text, at + 1)
    if behind < len(text):
        raise ListError(
            behind,
            "Line {line}: there is text after the end of the list. Put all records into one list, or use JSON lines.",
        )


def _no_json(text: str, at: int) -> ListError:
    cut = "it cannot be read any further" if text[at:].strip() else "it ends inside a record"
    return ListError(at, f"The list is not JSON at line {{line}}: {cut}. Download or copy the file again.")


def _too_large(at: int, longest: int, is_long: bool) -> ListError:
    what = (
        f"has more than {shown_size(longest)}, the limit of a record"
        if is_long
        else f"has more than {record_lines.MAX_VALUES:,} values"
    )
    rest = "Nothing after it was read. Split it, or remove it from the list."
    return ListError(at, f"The record at line {{line}} {what}. {rest}")


def _skip_blank(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at
