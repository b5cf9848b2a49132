"""A JSON value as people read it, with its parts marked for colour."""

import re
from html import escape
from itertools import takewhile
from typing import Any

from django.utils.safestring import SafeString, mark_safe

from annotator.core.schema.indenting import flat, indented

#: Above this size the value is shown without colours; marking every token would only make the page heavy.
_MAX_COLOURED = 40_000
#: Characters of a value that are shown: of a longer one the beginning.
MAX_SHOWN = 100_000
#: Signs on a line, before a list or an object is opened up.
_LINE = 40
#: Signs that stand around what is to be marked while a value is laid out; of the private use area, so in no text that
#: is ours. Around a figure also the quotes go with them.
OPEN, CLOSE, FIGURE, FIGURE_END = "\ue000", "\ue001", '"\ue002', '\ue003"'
_SIGNS = re.compile(f"{FIGURE}|{FIGURE_END}|[{OPEN}{CLOSE}]")
_TOKEN = re.compile(
    r'(?P<k>"(?:[^"\\]|\\.)*")(?=\s*:)|(?P<s>"(?:[^"\\]|\\.)*")|(?P<w>\b(?:true|false|null)\b)|(?P<n>-?\d[\d.eE+-]*)'
)


def pretty_json(value: Any) -> str:
    """Indented JSON, other scripts as they are written; what fits into a short line stays on one."""
    return indented(value, line=_LINE, width=_width)


def json_html(value: Any) -> SafeString:
    """The same as escaped HTML: keys, strings, numbers and words in spans of class k, s, n, w."""
    size = len(flat(value))
    if size > MAX_SHOWN:
        note = f"These are the first of {size:,} characters. The editor of this place and the API have all of them."
        return mark_safe(f'{escape(pretty_json(_beginning(value)))}\n<span class="missing">{note}</span>')  # noqa: S308
    if size > _MAX_COLOURED:
        return mark_safe(escape(pretty_json(value)))  # noqa: S308 - escaped
    return mark_safe(  # noqa: S308 - both escape
        indented(value, line=_LINE, name=_coloured_key, scalar=_coloured, width=_width)
    )


def is_cut(value: Any) -> bool:
    """Whether a value is too long to be shown in full."""
    return len(flat(value)) > MAX_SHOWN


def _beginning(value: Any) -> Any:
    """The value without what comes after the first MAX_SHOWN characters; a place that is cut ends in “…”."""
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


def _coloured_key(key: str) -> str:
    return f'<span class="k">{escape(flat(key))}</span>'


def _coloured(value: Any) -> str:
    css = "s" if isinstance(value, str) else "w" if value is None or isinstance(value, bool) else "n"
    return f'<span class="{css}">{escape(flat(value))}</span>'


def _width(flat: str) -> int:
    """The signs of a line that are seen: a mark moves nothing."""
    return len(flat) if OPEN not in flat and FIGURE not in flat else len(_SIGNS.sub("", flat))


def coloured_json(text: str) -> SafeString:
    """What ``json_html`` makes of a value, of a JSON text: one that has signs in it which no value has."""
    if len(text) > _MAX_COLOURED:
        return mark_safe(escape(text))  # noqa: S308 - escaped
    out: list[str] = []
    at = 0
    for found in _TOKEN.finditer(text):
        out.append(escape(text[at : found.start()]))
        out.append(f'<span class="{found.lastgroup}">{escape(found[0])}</span>')
        at = found.end()
    out.append(escape(text[at:]))
    return mark_safe("".join(out))  # noqa: S308 - every piece is escaped above
