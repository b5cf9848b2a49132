"""Changes in words, for pages and messages."""

from dataclasses import dataclass
from typing import Any

from annotator.core.comparison.anchor_wording import describe
from annotator.core.comparison.anchors import Document
from annotator.core.comparison.changes import Change, ChangeKind, diff
from annotator.core.schema.indenting import indented
from annotator.core.text import gettext_noop

#: What the kinds of dependencies are called, here and in the editor.
DEPENDENCY_WORDS = {"parameter": gettext_noop("passes a value"), "logical": gettext_noop("order only")}


@dataclass(frozen=True, slots=True)
class DescribedChange:
    """One change: its place, and both values as text (None if a version has nothing there).

    ``place`` is the whole place in words; ``group`` is the anchor of the step or task, ``group_place`` the same in
    words. ``is_text`` distinguishes prose from JSON.
    """

    anchor: str
    kind: ChangeKind
    place: str
    group: str
    group_place: str
    before: str | None
    after: str | None
    is_text: bool


def describe_changes(before: Document, after: Document) -> list[DescribedChange]:
    """Return every change from ``before`` to ``after``, in words."""
    return [describe_change(change, before, after) for change in diff(before, after)]


def value_text(value: Any) -> str:
    """Return a value as text: a text unchanged, dependencies as a list of ids, anything else as indented JSON."""
    if isinstance(value, str):
        return value
    if (
        isinstance(value, list)
        and value
        and all(isinstance(item, dict) and item.keys() == {"id", "kind"} for item in value)
    ):
        return ", ".join(f"{item['id']} ({DEPENDENCY_WORDS.get(item['kind'], item['kind'])})" for item in value)
    return indented(value)


def describe_change(change: Change, before: Document, after: Document) -> DescribedChange:
    """Return one of the changes from ``before`` to ``after`` in words."""
    document = before if change.kind is ChangeKind.REMOVED else after
    moved = change.kind is ChangeKind.MOVED
    old, new = (
        ", ".join(value) if moved else None if missing else _annotated(change.anchor, value)
        for value, missing in (
            (change.before, change.kind is ChangeKind.ADDED),
            (change.after, change.kind is ChangeKind.REMOVED),
        )
    )
    return DescribedChange(
        anchor=change.anchor,
        kind=change.kind,
        place=describe(document, change.anchor),
        group=change.group,
        group_place=describe(document, change.group),
        before=old,
        after=new,
        is_text=moved or any(isinstance(value, str) for value in (change.before, change.after)),
    )


def _annotated(anchor: str, value: Any) -> str:
    if value is None:
        return "not annotated"
    if anchor.endswith("/depends_on") and value == []:
        return "nothing"
    return value_text(value)
