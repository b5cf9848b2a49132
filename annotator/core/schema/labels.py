"""The values of custom fields in a document: ``labels`` of the dialogue, of a task, of a call or of an answer.

What the fields are is a setting of the project (``annotator.core.fields``). A document only has their values, so it
stays readable when a field changes.
"""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field, PlainValidator, StringConstraints, WithJsonSchema

MAX_LABELS = 50
MAX_TEXT = 10_000
MAX_VALUES = 30
MAX_VALUE = 80
MAX_SPANS = 100
#: Whole numbers of labels, from minus this to this.
MAX_NUMBER = 1_000_000

Key = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]


def label_value(value: Any) -> Any:
    """Return a value as it is stored: sets sorted, each member once. Raises ValueError."""
    if isinstance(value, str):
        if not value.strip() or len(value) > MAX_TEXT:
            raise ValueError(f"A label must have 1 to {MAX_TEXT:,} characters; leave it out if there is none")
        return value
    if type(value) is int:
        if abs(value) > MAX_NUMBER:
            raise ValueError(f"A label must be between -{MAX_NUMBER:,} and {MAX_NUMBER:,}")
        return value
    if isinstance(value, list) and value and len(value) <= MAX_SPANS:
        if all(isinstance(item, str) for item in value):
            if len(value) > MAX_VALUES or not all(0 < len(item) <= MAX_VALUE for item in value):
                raise ValueError(f"A label has up to {MAX_VALUES} values of 1 to {MAX_VALUE} characters")
            return sorted(set(value))
        spans = {_span(item): item for item in value}
        return [spans[key] for key in sorted(spans)]
    raise ValueError("A label must be a text, a whole number, a list of texts or a list of spans")


def _span(item: Any) -> tuple[int, int, str]:
    if not isinstance(item, dict) or item.keys() != {"start", "end", "text"}:
        raise ValueError("A span has the fields start, end and text")
    start, end, text = item["start"], item["end"], item["text"]
    if type(start) is not int or type(end) is not int or not isinstance(text, str):
        raise ValueError("The start and end of a span must be whole numbers, and its text must be text")
    if start < 0 or len(text) != end - start or not 0 < len(text) <= MAX_TEXT:
        raise ValueError("The text of a span must have as many characters as there are from its start to its end")
    return start, end, text


_SPAN = {
    "type": "object",
    "properties": {"start": {"type": "integer"}, "end": {"type": "integer"}, "text": {"type": "string"}},
    "required": ["start", "end", "text"],
    "additionalProperties": False,
}
_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "string"},
        {"type": "integer"},
        {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MAX_VALUES},
        {"type": "array", "items": _SPAN, "minItems": 1, "maxItems": MAX_SPANS},
    ]
}
Value = Annotated[Any, PlainValidator(label_value), WithJsonSchema(_SCHEMA)]


def _in_order(labels: dict[str, Any]) -> dict[str, Any]:
    return dict(sorted(labels.items()))


class Labelled(BaseModel):
    """A part of a document that can have labels. Empty labels are left out of the content, so hashes stay."""

    #: Key of a custom field → its value.
    labels: Annotated[dict[Key, Value], AfterValidator(_in_order)] = Field(default_factory=dict, max_length=MAX_LABELS)


def labelled_parts(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield (anchor, scope, part) of the dialogue and of each task, call and answer, a task before its steps."""
    yield "", "dialogue", document
    for task in document.get("tasks", ()):
        anchor = f"/tasks/{task['id']}"
        yield anchor, "task", task
        for step in task["steps"]:
            if step["type"] != "clarification":
                yield f"{anchor}/steps/{step['id']}", step["type"], step
    for each in document.get("reference_trajectory") or ():
        for call in each["calls"]:
            yield f"/reference_trajectory/{each['id']}/calls/{call['id']}", "call", call


def take_labels(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Remove all labels from a document that the caller owns; return them by the anchor of their part."""
    return {anchor: part.pop("labels") for anchor, _, part in labelled_parts(document) if "labels" in part}


def without_empty_labels(document: dict[str, Any]) -> dict[str, Any]:
    """Remove empty ``labels`` from a document that the caller owns, and return it."""
    for _, _, part in labelled_parts(document):
        if not part["labels"]:
            del part["labels"]
    return document
