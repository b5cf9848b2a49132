"""JSON values for reading, with their parts in colours."""

import re
from itertools import takewhile
from typing import Any, NamedTuple

from annotator.core.schema.indenting import flat, indented

#: Longer values are shown without colours, because marking every token would make the page too large.
_MAX_COLOURED = 40_000
#: Longer values are cut after this many characters.
MAX_SHOWN = 100_000
#: Characters of a line, beyond which a list or an object is spread over several lines.
_LINE = 40
#: Characters around the parts to mark while a value is laid out. They are for private use in Unicode, so our texts
#: never contain them. Around a number, the quotes are removed with them.
OPEN, CLOSE, FIGURE, FIGURE_END = "\ue000", "\ue001", '"\ue002', '\ue003"'
#: Lines of a list that always show, and how many more a list must have to be folded.
_SHOWN_LINES, _MORE_LINES = 8, 6
_SIGNS = re.compile(f"{FIGURE}|{FIGURE_END}|[{OPEN}{CLOSE}]")
_QUOTE = "&#34;"
#: A key, string, number or word of an escaped JSON text. A marked number has quotes. The outer repetition is not
#: possessive, because that finds nothing in Python before 3.11.5.
_PARTS = re.compile(rf"({_QUOTE}(?:[^&\\]++|\\.|&(?!#34;))*{_QUOTE}|[-\dIN][\w.+-]*|[a-z]+)")
_CLASSES = {"&": "s", "t": "w", "f": "w", "n": "w"}
_MARKED_NUMBER = f"{_QUOTE}{FIGURE[1]}"

#: A part of a text and its element: mark, del, ins or None.
Piece = tuple[str | None, str]


class Fold(NamedTuple):
    """Whole lines of a JSON text. ``lines``: how many of them are hidden at first; 0 if they show."""

    text: str
    lines: int


class ShownJson(NamedTuple):
    """A JSON text as a page shows it. ``size``: its characters on one line; ``cut``: whether only its beginning is
    shown."""

    parts: list[Fold]
    size: int
    cut: bool
    coloured: bool


def pretty_json(value: Any) -> str:
    """Return indented JSON without escaping other scripts; what fits into a short line stays on one line."""
    return indented(value, line=_LINE, width=_width, reading=True)


def shown_json(value: Any) -> ShownJson:
    """Return the value's JSON. A long value is cut, and a very long one has no colours."""
    size = len(flat(value))
    cut = size > MAX_SHOWN
    return ShownJson(folded(pretty_json(_beginning(value) if cut else value)), size, cut, size <= _MAX_COLOURED)


def folded(text: str) -> list[Fold]:
    """Return an indented JSON text in parts, which together are the text. The lines of a long list after its first
    items are one part, unless something in them is marked."""
    lines = text.split("\n")
    hidden: list[tuple[int, int]] = []
    begun: list[tuple[int, int]] = []  # of each list that is open: its line and its indentation
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip(" "))
        if line.startswith("]", indent) and begun and begun[-1][1] == indent:
            start = _item_after(lines, begun.pop()[0] + 1, number, indent + 2)
            if number - start >= _MORE_LINES and not any(map(_SIGNS.search, lines[start:number])):
                # An inner list ends first.
                hidden = [*(one for one in hidden if one[0] < start), (start, number)]
        if line.endswith("["):
            begun.append((number, indent))
    parts: list[Fold] = []
    at = 0
    for start, end in hidden:
        parts += [Fold(_whole(lines[at:start]), 0), Fold(_whole(lines[start:end]), end - start)]
        at = end
    return [*parts, Fold("\n".join(lines[at:]), 0)]


def _whole(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _item_after(lines: list[str], first: int, end: int, indent: int) -> int:
    """Return the line of the first item after those that always show; ``end`` if there is none."""
    for number in range(first + _SHOWN_LINES, end):
        if lines[number][indent : indent + 1] not in (" ", "]", "}"):
            return number
    return end


def coloured(text: str, part: str) -> str:
    """Return an escaped JSON text with each key (k), string (s), number (n) and word (w) put into ``part``, which has a
    place for that letter and one for the text.
    """
    pieces = _PARTS.split(text)
    put = part.format
    pieces[1::2] = [
        put("k" if after[:1] == ":" else "n" if one.startswith(_MARKED_NUMBER) else _CLASSES.get(one[0], "n"), one)
        for one, after in zip(pieces[1::2], pieces[2::2], strict=True)
    ]
    return "".join(pieces)


def is_cut(value: Any) -> bool:
    """Return whether a value is too long to be shown in full."""
    return len(flat(value)) > MAX_SHOWN


def _beginning(value: Any) -> Any:
    """Return the first MAX_SHOWN characters of the value; a shortened part ends in “…”."""
    left = MAX_SHOWN

    def taken(value: Any) -> Any:
        nonlocal left
        if isinstance(value, str):
            text = value if len(value) <= left else f"{value[: max(left, 0)]}…"
            left -= len(text) + 2
            return text
        if not isinstance(value, list | dict):
            left -= len(flat(value)) + 2
            return value
        left -= 4
        if isinstance(value, dict):
            held = {taken(key): taken(one) for key, one in takewhile(lambda _: left > 0, value.items())}
            return held if len(held) == len(value) else held | {"…": "…"}
        items = [taken(one) for one in takewhile(lambda _: left > 0, value)]
        return items if len(items) == len(value) else [*items, "…"]

    return taken(value)


def _width(flat: str) -> int:
    """Return the visible characters of a line, without marks."""
    return len(flat) if OPEN not in flat and FIGURE not in flat else len(_SIGNS.sub("", flat))
