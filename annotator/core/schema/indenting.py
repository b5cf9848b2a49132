"""JSON over several lines, for reading and editing."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

#: Levels that are broken into lines; deeper values stay on one line. Each level indents its lines further: forty levels
#: made a text about thirty-six times as long.
MAX_BROKEN = 8

_HOLDING = (dict, list, tuple)

flat = json.JSONEncoder(ensure_ascii=False).encode


def indented(value: Any, *, line: int = 0, width: Callable[[str], int] = len) -> str:
    """Return a value as JSON with line breaks; parsing it again returns the same value, including the kinds of numbers.

    A list or object that fits into ``line`` characters, as ``width`` counts them, stays on one line.
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
            rows = f",{start}".join([name + text for name, (text, _) in zip(names, parts, strict=True)])
            size = sum(map(len, names)) + sum(size for _, size in parts) + 2 * len(value)
        else:
            # It has no line breaks, so it is written in one go.
            rows = _encoder(start)(value)[1:-1]
            size = width(rows) - (len(start) - 1) * (len(value) - 1) + 2
        if 2 * level + taken + size <= line:
            return f"{opening}{rows.replace(start, ' ')}{closing}", size
        return f"{opening}{start}{rows}{start[:-2]}{closing}", size

    return laid_out(value, 0, 0)[0]


@cache
def _encoder(start: str) -> Callable[[Any], str]:
    return json.JSONEncoder(ensure_ascii=False, separators=(f",{start}", ": ")).encode
