"""Custom fields in words: places and changes with the titles of fields and options instead of keys and values."""

from collections.abc import Sequence
from dataclasses import replace

from annotator.core.comparison.anchors import Document, label_key, lookup, split
from annotator.core.comparison.describing import DescribedChange, describe_changes
from annotator.core.fields.definitions import CustomField
from annotator.core.fields.values import value_words


def field_at(anchor: str, fields: Sequence[CustomField]) -> CustomField | None:
    """Return the custom field whose value is at a place; None for any other place."""
    key = label_key(split(anchor)) if "/labels/" in anchor else ""
    return next((field for field in fields if field.key == key), None) if key else None


def titled(words: str, anchor: str, fields: Sequence[CustomField]) -> str:
    """Return a place in words (``describe``) with the title of the custom field whose value is there."""
    field = field_at(anchor, fields)
    return words.removesuffix(f"label {field.key}") + f"“{field.title}”" if field is not None else words


def describe_changes_titled(before: Document, after: Document, fields: Sequence[CustomField]) -> list[DescribedChange]:
    """Return ``describe_changes`` with the titles of custom fields and of their options."""
    return [_titled(change, before, after, fields) for change in describe_changes(before, after)]


def _titled(
    change: DescribedChange, before: Document, after: Document, fields: Sequence[CustomField]
) -> DescribedChange:
    field = field_at(change.anchor, fields)
    if field is None:
        return change
    old, new = (
        None if words is None else value_words(lookup(document, change.anchor), field)
        for words, document in ((change.before, before), (change.after, after))
    )
    return replace(change, place=titled(change.place, change.anchor, fields), before=old, after=new)
