"""Whether a label is a value of its field."""

from typing import Any

from annotator.core.fields.definitions import CustomField, FieldType
from annotator.core.schema.value_words import listed


def value_problem(field: CustomField, value: Any) -> str | None:
    """Return what is wrong with a label as a sentence; None if it is a value of its field."""
    if field.type is FieldType.SPAN:
        return None if _is_spans(value) else "Mark spans of the text, or remove this value."
    if field.type is FieldType.TEXT:
        return None if isinstance(value, str) else "The field takes a text. Enter one, or remove this value."
    known = [one for one, _ in field.choices]
    if field.type is FieldType.MULTI:
        given = value if isinstance(value, list) and not _is_spans(value) else [value]
        odd = [one for one in given if one not in known]
        if odd or given is not value:
            return f"{listed([_short(one) for one in odd or given])} is not among the options. Choose among them again."
    elif field.type is FieldType.SCALE:
        if type(value) is not int or str(value) not in known:
            return f"{_short(value)} is not on the scale from {field.low} to {field.high}. Choose a number again."
    elif value not in known:
        return f"{_short(value)} is not among the options. Choose one of them."
    return None


def span_problem(field: CustomField, value: Any, part: dict[str, Any]) -> str | None:
    """Return a sentence if a span no longer quotes the text of its part."""
    text = part.get(field.of or "")
    if field.type is not FieldType.SPAN or not _is_spans(value):
        return None
    for span in value:
        if not isinstance(text, str) or text[span["start"] : span["end"]] != span["text"]:
            return f"The text changed after “{_short(span['text'])}” was marked. Remove this span and mark it again."
    return None


def value_words(value: Any, field: CustomField | None = None) -> str:
    """Return a label in words: the titles of options, the quotes of spans."""
    if _is_spans(value):
        return ", ".join(f"“{span['text']}” ({span['start']}–{span['end']})" for span in value)
    titles = dict(field.choices) if field is not None else {}
    if isinstance(value, list):
        return ", ".join(titles.get(str(one), str(one)) for one in value)
    return titles.get(str(value), str(value))


def _is_spans(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def _short(value: Any) -> str:
    text = value_words(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
