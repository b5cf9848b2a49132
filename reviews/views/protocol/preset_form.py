"""Published protocols as forms: what each can be set up with, and reading that back."""

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.http import QueryDict

from annotator.core.forms.fields import fields
from annotator.core.forms.shapes import Kind, Shape, own_shape
from annotator.core.forms.values import FieldProblem, read_or_keep, read_typed
from annotator.errors import Invalid
from reviews.core.protocols import PRESETS, ImpossibleOption, Protocol, load_preset

_TYPES = {bool: "boolean", int: "integer", float: "number"}
_WANTED = {
    Kind.BOOLEAN: "is neither true nor false for",
    Kind.INTEGER: "is no whole number for",
    Kind.NUMBER: "is no number for",
}


def parameters_of(preset: str) -> list[str]:
    """What the editor reads from its address when it begins with a preset, or (blank) with none."""
    return ["preset", "version", *_schema(preset)["properties"]]


def preset_from(name: str, given: QueryDict) -> Protocol:
    """The preset with the options of a query string. Raises Invalid for what an option (``field``) cannot be."""
    options: dict[str, Any] = {}
    for option, shape in _shapes(name).items():
        text = _text(given, option)
        try:
            options |= {option: type(shape.default)(read_typed(shape, text))} if text else {}
        except FieldProblem:
            sentence = f"“{text[:40]}” {_WANTED[shape.kind]} “{shape.title}”."
            raise Invalid(sentence, field=option) from None
    try:
        return load_preset(name, **options)
    except (TypeError, ValueError) as error:
        option = error.option if isinstance(error, ImpossibleOption) else ""
        raise Invalid(f"The preset {name} cannot be set up like this: {error}.", field=option) from None


def preset_cards(given: QueryDict | None = None, refusal: Invalid | None = None) -> list[dict[str, Any]]:
    """Name, title, what it is and options of each preset; the one that was ``given`` as it was, with what is wrong."""
    chosen = given.get("preset") if given else None
    cards = []
    for name, make in PRESETS.items():
        values = {option: shape.default for option, shape in _shapes(name).items()}
        errors = {}
        if given is not None and name == chosen:
            values |= {
                option: read_or_keep(shape, text)
                for option, shape in _shapes(name).items()
                if (text := _text(given, option))
            }
            errors = {f"/{refusal.details.get('field')}": refusal.sentence} if refusal else {}
        options = [replace(one, key=one.name) for one in fields(_schema(name), values, own=True, errors=errors)]
        about = (inspect.getdoc(make) or "").partition("\n")[0]
        cards.append({"name": name, "title": load_preset(name).name, "about": about, "options": options})
    return cards


def _text(given: QueryDict, option: str) -> str:
    """What was typed for an option; a comma is a decimal point, and yes and no have no capitals."""
    return given.get(option, "").strip().replace(",", ".").lower()


def _schema(name: str) -> dict[str, Any]:
    """The options of a preset with their defaults, as a JSON Schema."""
    parameters = inspect.signature(PRESETS[name]).parameters.values() if name in PRESETS else ()
    return {"properties": {one.name: {"type": _TYPES[type(one.default)], "default": one.default} for one in parameters}}


def _shapes(name: str) -> Mapping[str, Shape]:
    return {option: own_shape(option, part) for option, part in _schema(name)["properties"].items()}
