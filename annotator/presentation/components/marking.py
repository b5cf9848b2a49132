"""Texts and observations with marked parts, and excerpts around a mark."""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from annotator.core.comparison.anchors import below
from annotator.core.schema.canonical import unescape
from annotator.presentation.components.jinja import macros
from annotator.presentation.components.json_text import CLOSE, FIGURE, FIGURE_END, OPEN, Piece, is_cut, pretty_json

#: Characters of an excerpt before and after the mark.
AROUND = 36
#: Longer marked texts are shortened in an excerpt.
_MAX_LENGTH = 120
#: Stands for the text of an element.
_HOLE = "\0"


class Mark(NamedTuple):
    """A span to mark: (start, end) in characters of a text, or of the value at ``path`` in an observation; None marks
    all of it."""

    span: tuple[int, int] | None
    path: str | None = None


def marked_text(text: str, marks: Iterable[Mark]) -> Markup:
    """Return a text as HTML with its marked parts in ``<mark>``; overlapping marks are merged."""
    parts: list[Piece] = []
    at = 0
    for start, end in _joined([mark.span or (0, len(text)) for mark in marks], len(text)):
        parts += [(None, text[at:start]), ("mark", text[start:end])]
        at = end
    return macros("values").marked_text([*parts, (None, text[at:])])


def marked_json(value: Any, marks: Iterable[Mark]) -> Markup:
    """Return an observation as ``json_block`` shows it, line by line, with its marked parts in ``<mark>``."""
    plain = "" if is_cut(value) else pretty_json(value)
    # A mark in a long value may be after the part that is shown. A value that contains our characters can't be marked.
    if not plain or any(sign in plain for sign in (OPEN, CLOSE, FIGURE[1], FIGURE_END[0])):
        return macros("values").json(value)
    spans: dict[str, list[tuple[int, int] | None]] = {}
    for mark in marks:
        spans.setdefault(mark.path or "", []).append(mark.span)
    held = {path[:end] for path in spans for end in (*(at for at, sign in enumerate(path) if sign == "/"), len(path))}
    html: Markup = macros("values").json(_with_signs(value, "", spans, held))
    start, end = macros("values").marked_text([("mark", _HOLE)]).split(_HOLE)
    for sign, element in ((escape(FIGURE), start), (escape(FIGURE_END), end), (OPEN, start), (CLOSE, end)):
        html = html.replace(sign, element)
    return html


def excerpt(text: str, span: tuple[int, int] | None) -> Markup:
    """Return the marked part of a text with some words around it, on one line."""
    start, end = span or (0, len(text))
    start, end = max(0, min(start, len(text))), max(0, min(end, len(text)))
    shown = text[start:end]
    before, after = text[max(0, start - AROUND) : start], text[end : end + AROUND]
    return macros("values").marked_text(
        [
            (None, ("…" if start > AROUND else "") + before.replace("\n", " ")),
            ("mark", shown if len(shown) <= _MAX_LENGTH else f"{shown[:_MAX_LENGTH]}…"),
            (None, after.replace("\n", " ") + ("…" if end + AROUND < len(text) else "")),
        ]
    )


def value_at(root: Any, path: str) -> Any:
    """Return the value at a JSON pointer in an observation; None if there is none."""
    node = root
    for step in path.split("/")[1:]:
        key = unescape(step)
        if isinstance(node, dict):
            node = node.get(key)
        elif isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        else:
            return None
    return node


def as_text(value: Any) -> str:
    """Return a value as text: a text unchanged, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _joined(spans: list[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in sorted((max(0, start), min(end, length)) for start, end in spans):
        if out and start <= out[-1][1]:
            out[-1] = out[-1][0], max(end, out[-1][1])
        elif start < end:
            out.append((start, end))
    return out


def _with_signs(node: Any, path: str, spans: dict[str, list[tuple[int, int] | None]], held: set[str]) -> Any:
    """Return the value with characters around the parts to mark; parts without a mark (``held``) are not copied."""
    if path not in held:
        return node
    if isinstance(node, dict):
        return {key: _with_signs(item, below(path, key), spans, held) for key, item in node.items()}
    if isinstance(node, list):
        return [_with_signs(item, below(path, i), spans, held) for i, item in enumerate(node)]
    if not isinstance(node, str):
        return f"{FIGURE[1]}{json.dumps(node)}{FIGURE_END[0]}"
    for start, end in reversed(_joined([span or (0, len(node)) for span in spans[path]], len(node))):
        node = f"{node[:start]}{OPEN}{node[start:end]}{CLOSE}{node[end:]}"
    return node
