"""Read a JSON list of records, alone or in a field of an object, element by element: parsing it as a whole could take
thirty times its size in memory.
"""

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
    values = _Values(text, longest)
    yield from _elements(values, text.index("["))
    _refuse_rest(text, values.after)


def fields(text: str, longest: int, listing: str) -> Iterator[tuple[str, int, int]]:
    """Yield the name of each field of the object, and where its value begins and ends; of the list ``listing``, the
    name and each of its elements. Raises ListError, as ``elements`` does.
    """
    values = _Values(text, longest)
    at = _skip_blank(text, text.index("{") + 1)
    while text[at : at + 1] != "}":
        if text[at : at + 1] != '"':
            raise _no_json(text, at)
        end = values.end(at)
        name = json.loads(text[at:end])
        at = _skip_blank(text, end)
        if text[at : at + 1] != ":":
            raise _no_json(text, at)
        at = _skip_blank(text, at + 1)
        if name == listing and text[at : at + 1] == "[":
            for start, end in _elements(values, at):
                yield name, start, end
            end = values.after
        else:
            end = values.end(at)
            yield name, at, end
        at = _skip_blank(text, end)
        if text[at : at + 1] == ",":
            at = _skip_blank(text, at + 1)
        elif text[at : at + 1] != "}":
            raise _no_json(text, at)
    _refuse_rest(text, at + 1)


class _Values:
    """Finds where values of a text end, one after the other."""

    def __init__(self, text: str, longest: int) -> None:
        self.text = text
        self._longest = longest
        self._slack = longest // 8
        self._most = longest + self._slack + _CUT
        self._decoder = json.JSONDecoder()
        #: Where the last list ended.
        self.after = 0
        self._move(0)

    def _move(self, at: int) -> None:
        self._base, self._piece = at, record_lines.up_to_values(self.text[at : at + self._most])

    def end(self, at: int) -> int:
        """Return where the value at ``at`` ends. Raises ListError."""
        text = self.text
        if at - self._base > self._slack and self._base + len(self._piece) < len(text):
            self._move(at)
        while True:
            is_cut = self._base + len(self._piece) < len(text)
            is_long = len(self._piece) == self._most
            try:
                _, end = self._decoder.raw_decode(self._piece, at - self._base)
            except json.JSONDecodeError as error:
                at_end = "Unterminated" in error.msg or error.pos > len(self._piece) - _CUT
                if is_cut and at_end and not is_long and at > self._base:
                    # What came before it had most of the values.
                    self._move(at)
                    continue
                raise (_too_large(at, self._longest, is_long) if is_cut and at_end else _no_json(text, at)) from None
            except (ValueError, RecursionError):
                raise _no_json(text, at) from None
            if is_cut and end == len(self._piece):  # Perhaps in the middle of a number.
                raise _too_large(at, self._longest, is_long)
            return self._base + end


def _elements(values: _Values, start: int) -> Iterator[tuple[int, int]]:
    """Yield where each element of the list that begins at ``start`` begins and ends."""
    text = values.text
    at = _skip_blank(text, start + 1)
    is_empty = text[at : at + 1] == "]"
    while not is_empty:
        end = values.end(at)
        yield at, end
        at = _skip_blank(text, end)
        if text[at : at + 1] == "]":
            break
        if text[at : at + 1] != ",":
            raise _no_json(text, at)
        at = _skip_blank(text, at + 1)
    values.after = at + 1


def _refuse_rest(text: str, at: int) -> None:
    behind = _skip_blank(text, at)
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
