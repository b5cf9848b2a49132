"""Custom fields in words: places with the titles of fields instead of keys."""

from collections.abc import Sequence

from annotator.core.comparison.anchors import label_key, split
from annotator.core.fields.definitions import CustomField


def field_at(anchor: str, fields: Sequence[CustomField]) -> CustomField | None:
    """Return the custom field whose value is at a place; None for any other place."""
    key = label_key(split(anchor)) if "/labels/" in anchor else ""
    return next((field for field in fields if field.key == key), None) if key else None


def titled(words: str, anchor: str, fields: Sequence[CustomField]) -> str:
    """Return a place in words (``describe``) with the title of the custom field whose value is there."""
    field = field_at(anchor, fields)
    return words.removesuffix(f"label {field.key}") + f"“{field.title}”" if field is not None else words
