"""Forms for a constraint's parameters: the JSON Schema of its category's model says which fields there are.

A category needs no form of its own. What is wrong with the values is for its model to say, in the words below.
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
#: The field for the tools that are called first in a variant. It has its own form, beside the variant's parameters.
_FIRST = "called first"


def parameter_fields(
    category: Category[Any], parameters: Mapping[str, Any] | None, tools: Sequence[str]
) -> list[Field]:
    """The fields of a category's parameters. ``tools``: the names there are to choose from."""
    errors = _errors(category, parameters) if parameters is not None else {}
    return fields(_schema(category), parameters or {}, own=True, tools=tools, errors=errors)


def read_parameter_form(
    category: Category[Any], posted: Mapping[str, str], parameters: Mapping[str, Any] | None
) -> tuple[dict[str, Any] | None, str]:
    """The parameters that a posted form asks for, and what cannot be kept of it, as a sentence.

    None where there were none and nothing was filled in.
    """
    schema = _schema(category)
    values, errors = parse(schema, posted, current=parameters, own=True)
    labels = {field.path: field.label for field in fields(schema, parameters or {}, own=True)}
    problem = next((f"{labels[path]}: {sentence}" for path, sentence in errors.items()), "")
    return (values if values or parameters is not None else None), problem


def first_tools(names: Sequence[str], tools: Sequence[str], label: str) -> Field:
    """A row of the tools called first, of a variant."""
    return fields(_first(label), {_FIRST: list(names)}, own=True, tools=tools)[0]


def read_first_tools(posted: Mapping[str, str], names: Sequence[str]) -> list[str]:
    return list(parse(_first(""), posted, current={_FIRST: list(names)}, own=True)[0][_FIRST])


def _first(label: str) -> dict[str, Any]:
    return {"properties": {_FIRST: {"type": "array", "items": TOOL_NAME, "title": label}}}


@cache
def _schema(category: Category[Any]) -> dict[str, Any]:
    schema: dict[str, Any] = category.model.model_json_schema()
    return schema


# --- what is wrong

_SENTENCES = {
    "missing": "The parameter is missing.",
    "string_too_short": "The name is empty.",
}


def _errors(category: Category[Any], held: Mapping[str, Any]) -> dict[str, str]:
    """{path: what the model has against the value there}."""
    found: dict[str, str] = {}
    try:
        category.model.model_validate(held)
    except ValidationError as error:
        for item in error.errors(include_url=False):
            found.setdefault(_path(item["loc"], held), _sentence(item))
    return found


def _path(loc: tuple[int | str, ...], held: Any) -> str:
    """Where in the value an error lies; of a union pydantic adds the branch it tried."""
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
            return f"The least here is {context['ge']}."
        case "less_than_equal":
            return f"The most here is {context['le']}."
        case "too_short":
            return f"Name at least {context['min_length']}."
        case "literal_error" if item["input"] != INF and INF in str(context.get("expected", "")):
            return "Write a whole number, or nothing for no bound."
        case "literal_error" | "enum":
            return "Choose one of the values offered."
    return in_words(item, _SENTENCES)
