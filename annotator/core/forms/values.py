"""Convert between a value and the text of its form field."""

import json
import re
import unicodedata
from collections.abc import Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

from annotator.core.comparison.changes import same_value
from annotator.core.comparison.placing import ABSENT
from annotator.core.editing.json_text import JsonProblem, read_json
from annotator.core.forms.shapes import Kind, Shape
from annotator.core.schema.canonical import without_kinds
from annotator.core.schema.exact_json import MAX_DIGITS, read_decimal
from annotator.core.schema.indenting import indented

_INTEGER = re.compile(rf"[+-]?[0-9]{{1,{MAX_DIGITS}}}")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class FieldProblem(ValueError):
    """A text that does not fit its field's kind; the sentence says what is expected."""


def shown(value: Any) -> str:
    """Return a value as the text of a field: a text unchanged, anything else as JSON."""
    return value if isinstance(value, str) else indented(value)


def shown_json(value: Any) -> str:
    """Return a value in a JSON field: a text in its quotation marks."""
    return indented(value)


def choice_texts(choices: Sequence[Any]) -> list[str]:
    """Return one text for each choice, all different and not empty: a text unchanged if possible, else as JSON."""
    texts = [shown(choice) for choice in choices]
    return [
        json.dumps(choice, ensure_ascii=False) if not text or texts.count(text) > 1 else text
        for choice, text in zip(choices, texts, strict=True)
    ]


def fits(shape: Shape, value: Any) -> bool:
    """Return whether the value is of the field's kind; ignores limits."""
    if shape.empty is not ABSENT and value == shape.empty:
        return True
    match shape.kind:
        case Kind.TEXT | Kind.TOOL:
            return isinstance(value, str)
        case Kind.INTEGER:
            # A tool takes 40.0 as a whole number, like JSON Schema.
            return _is_number(value) and value == int(value)
        case Kind.NUMBER | Kind.PERCENT:
            return _is_number(value)
        case Kind.BOOLEAN:
            return isinstance(value, bool)
        case Kind.ENUM:
            return any(same_value(without_kinds(value), without_kinds(choice)) for choice in shape.choices)
        case Kind.DATE:
            return isinstance(value, str) and _is_date(value)
        case Kind.OBJECT:
            return isinstance(value, dict)
        case Kind.LINES:
            return isinstance(value, list) and all(isinstance(one, str) and one.splitlines() == [one] for one in value)
        case Kind.SEVERAL:
            return isinstance(value, list) and all(one in shape.choices for one in value)
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def read_typed(shape: Shape, text: str) -> Any:
    """Return the value of ``text``, which is not blank. Raises FieldProblem."""
    match shape.kind:
        case Kind.TEXT | Kind.TOOL:
            return text
        case Kind.INTEGER:
            return _integer(_plain(text))
        case Kind.NUMBER:
            return _number(_plain(text))
        case Kind.PERCENT:
            return _share(_plain(text))
        case Kind.BOOLEAN:
            if text not in ("true", "false"):
                raise FieldProblem("Choose true or false.")
            return text == "true"
        case Kind.ENUM:
            return _choice(shape.choices, text)
        case Kind.DATE:
            if not _is_date(_plain(text)):
                raise FieldProblem("Enter the date as year-month-day, such as 2026-05-01.")
            return _plain(text)
        case Kind.LINES:
            return [line for line in text.split("\n") if line.strip()]
    try:
        return read_json(text)
    except JsonProblem as problem:
        raise FieldProblem(str(problem)) from None


def read_or_keep(shape: Shape, text: str) -> Any:
    """Return the value of ``text``; if it cannot be read, the text itself, to be corrected."""
    try:
        return read_typed(shape, text)
    except FieldProblem:
        return text


def problem_of(shape: Shape, value: Any) -> str:
    """Return a sentence about what is wrong with a current value; empty if it is valid."""
    if not fits(shape, value):
        expected = {
            Kind.TEXT: "Must be text.",
            Kind.INTEGER: "Must be a whole number.",
            Kind.NUMBER: "Must be a number.",
            Kind.BOOLEAN: "Must be true or false.",
            Kind.ENUM: "This is not one of the values that the tool takes.",
            Kind.DATE: "Must be a date, such as 2026-05-01.",
            Kind.OBJECT: "Must be an object.",
        }
        return expected[shape.kind]
    if shape.minimum is not None and isinstance(value, int | float) and value < shape.minimum:
        return f"{value} is less than {shape.minimum}, the minimum of this tool."
    if shape.maximum is not None and isinstance(value, int | float) and value > shape.maximum:
        return f"{value} is more than {shape.maximum}, the maximum of this tool."
    return ""


def _plain(text: str) -> str:
    """Return digits and signs as typed by an East Asian input method, in their usual form."""
    return unicodedata.normalize("NFKC", text).strip()


def _integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise FieldProblem("Enter a whole number, such as 12.")
    return int(text)


def _number(text: str) -> int | float:
    if _INTEGER.fullmatch(text):
        return _integer(text)
    if len(text) > 400 or not _NUMBER.fullmatch(text):
        raise FieldProblem("Enter a number, such as 12 or 0.5.")
    try:
        return read_decimal(text)
    except ValueError as error:
        raise FieldProblem(str(error)) from None


def _share(text: str) -> float:
    try:
        return float(Decimal(text.replace(",", ".")) / 100)
    except (InvalidOperation, OverflowError):
        raise FieldProblem("Enter a percentage, such as 12.5.") from None


def _choice(choices: Sequence[Any], text: str) -> Any:
    for choice, own in zip(choices, choice_texts(choices), strict=True):
        if own == text:
            return choice
    raise FieldProblem("Choose one of the values that the tool takes.")


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
