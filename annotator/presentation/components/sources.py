"""The sources of a call's values, as rows of a list."""

from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from annotator.core.comparison import lookup
from annotator.core.comparison.anchors import covers
from annotator.core.provenance import CallTrace, Origin, Provenance, Source
from annotator.core.schema.exact_json import pointer
from annotator.presentation.components.marking import Mark, as_text, excerpt, marked_json, marked_text, value_at
from annotator.translation import place_name

#: Sources shown for one value; the nearest come first.
MAX_SOURCES = 4
#: Values shown for one call.
MAX_ROWS = 200


@dataclass(frozen=True)
class SourceRow:
    """One source of a value. ``anchor`` is empty if it is outside the document."""

    kind: str
    step: str
    anchor: str
    where: str
    path: str
    excerpt: Markup | None


@dataclass(frozen=True)
class ValueRow:
    """One value of a call: its path in the arguments as a pointer, where it comes from, and how near that is."""

    anchor: str
    path: str
    name: str
    value: str
    origin: str
    reason: str | None
    sources: list[SourceRow]
    more: int


class ValueRows(list[ValueRow]):
    """Rows, and the number of all values."""

    total = 0


def value_rows(call: CallTrace, document: dict[str, Any]) -> ValueRows:
    """Return the values of a call in document order, each with its nearest sources.

    If there are more than MAX_ROWS, values without a source come first, because they need attention.
    """
    rows, values = ValueRows(), call.arguments
    rows.total = len(values)
    if len(values) > MAX_ROWS:
        values = tuple(sorted(values, key=lambda one: one.origin is not Origin.NOWHERE)[:MAX_ROWS])
    for one in values:
        text = as_text(one.value)
        rows.append(
            ValueRow(
                anchor=one.anchor,
                path=pointer(one.path),
                name=" › ".join(str(key + 1) if isinstance(key, int) else key for key in one.path),
                value=text if len(text) <= 90 else f"{text[:89]}…",
                origin=str(one.origin),
                reason=one.reason,
                sources=[_row(source, document) for source in one.sources[:MAX_SOURCES]],
                more=max(0, len(one.sources) - MAX_SOURCES),
            )
        )
    return rows


def marked_sources(provenance: Provenance, document: dict[str, Any], anchor: str) -> list[tuple[str, Markup]]:
    """Return pairs (anchor, HTML) of every text and observation that contains a value at or below ``anchor``, as the
    chat shows them, with the value marked."""
    marks: dict[str, list[Mark]] = {}
    for task in provenance.tasks:
        for call in task.calls:
            for one in call.arguments:
                if covers(anchor, one.anchor):
                    for source in one.sources:
                        if source.span is not None:
                            marks.setdefault(source.anchor, []).append(Mark(source.span, source.path))
    out = []
    for where, found in marks.items():
        held = lookup(document, where)
        if not where.endswith("/observation"):
            out.append((where, marked_text(str(held), found)))
        elif isinstance(held, str):
            # The chat shows it as JSON, in quotes.
            out.append((where, marked_json(held, [mark._replace(path="") for mark in found])))
        elif held is not None:
            out.append((where, marked_json(held, [_fitting(held, mark) for mark in found])))
    return out


def _row(source: Source, document: dict[str, Any]) -> SourceRow:
    if source.span is None:
        return SourceRow(str(source.kind), "", "", "", "", None)
    held = lookup(document, source.anchor)
    if source.path:
        mark = _fitting(held, Mark(source.span, source.path))
        held, span = value_at(held, source.path), mark.span
    else:
        span = source.span
    where = place_name(document, source.anchor)
    return SourceRow(
        str(source.kind), source.step, source.anchor, where, source.path or "", excerpt(as_text(held), span)
    )


def _fitting(root: Any, mark: Mark) -> Mark:
    """Return the mark, or one of the whole value if its span refers to a key."""
    held = value_at(root, mark.path or "")
    inside = isinstance(held, str) and mark.span is not None and mark.span[1] <= len(held)
    return mark if inside else mark._replace(span=None)
