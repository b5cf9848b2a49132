"""JSON over several lines, for reading and editing."""

import json
from collections.abc import Callable
from typing import Any

#: Levels that are broken into lines. Each level indents its lines further: forty levels made a text some thirty-six
#: times as long. Deeper values stay on one line.
MAX_BROKEN = 8

_HOLDING = (dict, list, tuple)

flat = json.JSONEncoder(ensure_ascii=False).encode


def indented(
    value: Any,
    *,
    line: int = 0,
    name: Callable[[str], str] = flat,
    scalar: Callable[[Any], str] = flat,
    width: Callable[[str], int] = len,
) -> str:
    """Return a value as JSON with line breaks; parsed again it is the same value, kinds of numbers included.

    A list or object that fits into ``line`` characters, as ``width`` counts them, stays on one line. ``name`` and
    ``scalar`` write a key and a value without parts.
    """

    def joined(value: Any, start: str, between: str, end: str, inside: Callable[[Any, int], str]) -> str:
        if isinstance(value, dict):
            rows = [f"{name(key)}: {inside(one, len(flat(key)) + 2)}" for key, one in value.items()]
            return f"{{{start}{between.join(rows)}{end}}}"
        return f"[{start}{between.join([inside(one, 0) for one in value])}{end}]"

    def on_one_line(value: Any, _taken: int = 0) -> str:
        if name is flat and scalar is flat:
            return flat(value)
        if isinstance(value, _HOLDING):
            return joined(value, "", ", ", "", on_one_line)
        return scalar(value)

    def broken(value: Any, level: int, taken: int) -> str:
        """``taken``: characters before the value on its line."""
        if not isinstance(value, _HOLDING):
            return scalar(value)
        # With more items than characters it cannot fit, and need not be written to find out.
        if not value or level >= MAX_BROKEN or (len(value) <= line and 2 * level + taken + width(flat(value)) <= line):
            return on_one_line(value)
        start, end = "\n" + "  " * (level + 1), "\n" + "  " * level
        if scalar is flat and isinstance(value, list) and not any(isinstance(one, _HOLDING) for one in value):
            # Nothing in it is broken into lines, however long it is, so it is written in one go.
            rows = json.JSONEncoder(ensure_ascii=False, separators=(f",{start}", ": ")).encode(value)
            return f"[{start}{rows[1:-1]}{end}]"
        return joined(value, start, f",{start}", end, lambda one, taken: broken(one, level + 1, taken))

    return broken(value, 0, 0)
