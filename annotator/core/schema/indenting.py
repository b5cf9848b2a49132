"""JSON over several lines, for reading and editing."""

import json
from collections.abc import Callable
from functools import cache
from operator import add
from typing import Any

#: Levels that are broken into lines; deeper values stay on one line. Each level indents its lines further: forty levels
#: made a text about thirty-six times as long.
MAX_BROKEN = 8

_HOLDING = (dict, list, tuple)
#: Characters of a line of short items, if a text is for reading.
_FILLED = 72
#: Longer names are not aligned: the values of the short ones would be far away.
_ALIGNED = 24

flat = json.JSONEncoder(ensure_ascii=False).encode


def indented(value: Any, *, line: int = 0, width: Callable[[str], int] = len, reading: bool = False) -> str:
    """Return a value as JSON with line breaks; parsing it again returns the same value, including the kinds of numbers.

    A list or object that fits into ``line`` characters, as ``width`` counts them, stays on one line. For ``reading``,
    the values of an object are aligned, and a long list of short items fills its lines.
    """

    def laid_out(value: Any, level: int, taken: int) -> tuple[str, int]:
        """Return the text and how wide it is on one line. ``taken``: characters before the value on its line."""
        if not value or not isinstance(value, _HOLDING) or level >= MAX_BROKEN:
            text = flat(value)
            return text, width(text)
        start = "\n" + "  " * (level + 1)
        (opening, closing), items = ("{}", value.values()) if isinstance(value, dict) else ("[]", value)
        if any(isinstance(one, _HOLDING) for one in items):
            names = [f"{flat(key)}: " for key in value] if isinstance(value, dict) else [""] * len(value)
            parts = [laid_out(one, level + 1, len(name)) for name, one in zip(names, items, strict=True)]
            size = sum(map(len, names)) + sum(size for _, size in parts) + 2 * len(value)
            if reading and 2 * level + taken + size > line:
                names = _aligned(names, [text for text, _ in parts])
            rows = f",{start}".join([name + text for name, (text, _) in zip(names, parts, strict=True)])
        else:
            # It has no line breaks, so it is written in one go.
            rows = _encoder(start)(value)[1:-1]
            size = width(rows) - (len(start) - 1) * (len(value) - 1) + 2
        if 2 * level + taken + size <= line:
            return f"{opening}{rows.replace(start, ' ')}{closing}", size
        if reading and not isinstance(items, list | tuple) and not any(isinstance(one, _HOLDING) for one in items):
            texts = [flat(one) for one in items]
            names = _aligned([f"{flat(key)}: " for key in value], texts)
            rows = f",{start}".join(map(add, names, texts))
        elif reading and not any(isinstance(one, _HOLDING) for one in items):
            rows = _filled([flat(one) for one in items], start, width)
        return f"{opening}{start}{rows}{start[:-2]}{closing}", size

    return laid_out(value, 0, 0)[0]


def _aligned(names: list[str], texts: list[str]) -> list[str]:
    """Return the names with spaces, so that values of one line begin in one column."""
    single = [len(name) <= _ALIGNED and "\n" not in text for name, text in zip(names, texts, strict=True)]
    column = max((len(name) for name, one in zip(names, single, strict=True) if one), default=0)
    return [name.ljust(column) if one else name for name, one in zip(names, single, strict=True)]


def _filled(items: list[str], start: str, width: Callable[[str], int]) -> str:
    """Return the items, as many in a line as fit."""
    lines, taken = [items[0]], width(items[0])
    for item in items[1:]:
        size = width(item) + 2
        if taken + size > _FILLED:
            lines.append(item)
            taken = size - 2
        else:
            lines[-1] += f", {item}"
            taken += size
    return f",{start}".join(lines)


@cache
def _encoder(start: str) -> Callable[[Any], str]:
    return json.JSONEncoder(ensure_ascii=False, separators=(f",{start}", ": ")).encode
