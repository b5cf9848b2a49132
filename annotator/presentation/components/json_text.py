"""JSON values for reading, split into coloured tokens."""

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
_SIGNS = re.compile(f"{FIGURE}|{FIGURE_END}|[{OPEN}{CLOSE}]")
#: Replaces a key or a value in a layout. JSON escapes it, so no layout contains it.
_HOLE = "\0"

#: A part of a text and its element: mark, del, ins or None.
Piece = tuple[str | None, str]


#: The characters before a part of a JSON text, its class, and the part: a key (k), a string (s), a number (n) or a word
#: (w).
Token = tuple[str, str, str]


class ShownJson(NamedTuple):
    """A JSON text as a page shows it. ``size``: its characters on one line; ``cut``: whether only its beginning is
    shown."""

    tokens: list[Token]
    end: str
    size: int = 0
    cut: bool = False


def pretty_json(value: Any) -> str:
    """Return indented JSON without escaping other scripts; what fits into a short line stays on one line."""
    return indented(value, line=_LINE, width=_width)


def shown_json(value: Any) -> ShownJson:
    """Return the value's JSON in tokens. A long value is cut, and a very long one has no colours."""
    size = len(flat(value))
    if size > MAX_SHOWN:
        return ShownJson([], pretty_json(_beginning(value)), size, True)
    return ShownJson([], pretty_json(value)) if size > _MAX_COLOURED else json_tokens(value)


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


def json_tokens(value: Any) -> ShownJson:
    """Return the value's JSON in tokens."""
    held: list[tuple[str, str]] = []

    def name(key: str) -> str:
        held.append(("k", flat(key)))
        return _HOLE

    def scalar(value: Any) -> str:
        css = "s" if isinstance(value, str) else "w" if value is None or isinstance(value, bool) else "n"
        held.append((css, flat(value)))
        return _HOLE

    *before, end = indented(value, line=_LINE, name=name, scalar=scalar, width=_width).split(_HOLE)
    return ShownJson([(signs, *one) for signs, one in zip(before, held, strict=True)], end)


def pieces(text: str) -> list[Piece]:
    """Return the parts of a text that has marks."""
    return [("mark" if place % 2 else None, part) for place, part in enumerate(_SIGNS.split(text)) if part]
