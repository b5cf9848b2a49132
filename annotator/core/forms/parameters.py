"""Forms for a constraint's parameters: the JSON Schema of its category's model defines the fields.

A category needs no form of its own. Its model validates the values; the sentences are below.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import ValidationError

from annotator.core.comparison.anchors import join
from annotator.core.constraints.taxonomy import Category
from annotator.core.forms.fields import Field, fields
from annotator.core.forms.reading import parse
from annotator.core.forms.shapes import TOOL_NAME
from annotator.core.schema.errors import in_words

#: No bound.
INF = "inf"
#: The field for the tools called first in a variant. It has its own form, next to the variant's parameters.
_FIRST = "called first"


def parameter_fields(
    category: Category[Any], parameters: Mapping[str, Any] | None, tools: Sequence[str]
) -> list[Field]:
    """Return the fields of a category's parameters. ``tools``: the names to choose from."""
    errors = _errors(category, parameters) if parameters is not None else {}
    return fields(_schema(category), parameters or {}, own=True, tools=tools, errors=errors)


def read_parameter_form(
    category: Category[Any], posted: Mapping[str, str], parameters: Mapping[str, Any] | None
) -> tuple[dict[str, Any] | None, str]:
    """Return the parameters of a posted form, and a sentence for what cannot be stored.

    None if there were no parameters and nothing was filled in.
    """
    schema = _schema(category)
    values, errors = parse(schema, posted, current=parameters, own=True)
    labels = {field.path: field.label for field in fields(schema, parameters or {}, own=True)}
    problem = next((f"{labels[path]}: {sentence}" for path, sentence in errors.items()), "")
    return (values if values or parameters is not None else None), problem


def first_tools(names: Sequence[str], tools: Sequence[str], label: str) -> Field:
    """Return the field with the tools called first in a variant."""
    return fields(_first(label), {_FIRST: list(names)}, own=True, tools=tools)[0]


def read_first_tools(posted: Mapping[str, str], names: Sequence[str]) -> list[str]:
    return list(parse(_first(""), posted, current={_FIRST: list(names)}, own=True)[0][_FIRST])


def _first(label: str) -> dict[str, Any]:
    return {"properties": {_FIRST: {"type": "array", "items": TOOL_NAME, "title": label}}}


@cache
def _schema(category: Category[Any]) -> dict[str, Any]:
    schema: dict[str, Any] = category.model.model_json_schema()
    return schema


# --- errors

_SENTENCES = {
    "missing": "This parameter is required.",
    "string_too_short": "The name is empty.",
}


def _errors(category: Category[Any], held: Mapping[str, Any]) -> dict[str, str]:
    """Return {path: what the model reports about the value there}."""
    found: dict[str, str] = {}
    try:
        category.model.model_validate(held)
    except ValidationError as error:
        for item in error.errors(include_url=False):
            found.setdefault(_path(item["loc"], held), _sentence(item))
    return found


def _path(loc: tuple[int | str, ...], held: Any) -> str:
    """Return the place of an error in the value; for a union, pydantic adds the branch it tried."""
    path: list[str] = []
    for step in loc:
        there = isinstance(held, dict) and step in held
        if there or (isinstance(held, list) and isinstance(step, int) and step < len(held)):
            held = held[step]
        elif path:
            break
        path.append(str(step))
    return join(path)


def _sentence(item: Any) -> str:
    context = item.get("ctx", {})
    match item["type"]:
        case "greater_than_equal":
            return f"Must be {context['ge']} or more."
        case "less_than_equal":
            return f"Must be {context['le']} or less."
        case "too_short":
            return f"Enter at least {context['min_length']}."
        case "literal_error" if item["input"] != INF and INF in str(context.get("expected", "")):
            return "Enter a whole number, or leave it empty for no limit."
        case "literal_error" | "enum":
            return "Choose one of the offered values."
    return in_words(item, _SENTENCES)
