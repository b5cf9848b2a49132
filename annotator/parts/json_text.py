"""A JSON value as people read it, with its parts marked for colour."""

import json
import re
from functools import lru_cache
from html import escape
from typing import Any

from django.utils.safestring import SafeString, mark_safe

#: Above this size the value is shown without colours; marking every token would only make the page heavy.
_MOST_COLOURED = 40_000
#: Signs on a line, before a list or an object is opened up.
_LINE = 40
#: Signs that stand around what is to be marked while a value is laid out; of the private use area, so in no text that
#: is ours. Around a figure also the quotes go with them.
OPEN, CLOSE, FIGURE, FIGURE_END = "\ue000", "\ue001", '"\ue002', '\ue003"'
_flat = json.JSONEncoder(ensure_ascii=False).encode
_SIGNS = re.compile(f"{FIGURE}|{FIGURE_END}|[{OPEN}{CLOSE}]")
_TOKEN = re.compile(
    r'(?P<k>"(?:[^"\\]|\\.)*")(?=\s*:)|(?P<s>"(?:[^"\\]|\\.)*")|(?P<w>\b(?:true|false|null)\b)|(?P<n>-?\d[\d.eE+-]*)'
)


def pretty_json(value: Any, indent: int = 0, taken: int = 0) -> str:
    """Indented JSON, other scripts as they are written; what fits into a short line stays on one.

    ``taken``: signs that stand before the value on its line.
    """
    flat = _flat(value)
    if not isinstance(value, dict | list) or not value or indent + taken + _width(flat) <= _LINE:
        return flat
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        names = {key: _flat(key) + ": " for key in value}
        rows = [inner + name + pretty_json(value[key], indent + 2, len(name)) for key, name in names.items()]
    else:
        rows = [inner + pretty_json(item, indent + 2) for item in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n" + ",\n".join(rows) + f"\n{' ' * indent}{closing}"


def _width(flat: str) -> int:
    """The signs of a line that are seen: a mark moves nothing."""
    return len(flat) if OPEN not in flat and FIGURE not in flat else len(_SIGNS.sub("", flat))


@lru_cache(maxsize=1024)  # a page comes again with every edit, and most of its values as they were
def coloured_json(text: str) -> SafeString:
    """Escaped HTML of a JSON text: keys, strings, numbers and words in spans of class k, s, n, w."""
    if len(text) > _MOST_COLOURED:
        return mark_safe(escape(text))  # noqa: S308 - escaped
    out: list[str] = []
    at = 0
    for found in _TOKEN.finditer(text):
        out.append(escape(text[at : found.start()]))
        out.append(f'<span class="{found.lastgroup}">{escape(found[0])}</span>')
        at = found.end()
    out.append(escape(text[at:]))
    return mark_safe("".join(out))  # noqa: S308 - every piece is escaped above
