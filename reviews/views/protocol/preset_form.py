"""Presets as forms: the options of each, and reading them back."""

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotator.core.forms.fields import fields
from annotator.core.forms.shapes import Kind, Shape, own_shape
from annotator.core.forms.values import FieldProblem, read_or_keep, read_typed
from annotator.errors import Invalid
from reviews.core.protocols import PRESETS, ImpossibleOption, Protocol, load_preset
from reviews.core.protocols.presets import ABOUT_PRESETS, OPTION_LABELS
from reviews.services.protocols.versions import translated_preset

_TYPES = {bool: "boolean", int: "integer", float: "number"}
_WANTED = {
    Kind.BOOLEAN: gettext_lazy("%(option)s: “%(text)s” is neither true nor false."),
    Kind.INTEGER: gettext_lazy("%(option)s: “%(text)s” isn’t a whole number."),
    Kind.NUMBER: gettext_lazy("%(option)s: “%(text)s” isn’t a number."),
}


def parameters_of(preset: str) -> list[str]:
    """Return what the editor reads from its address if it starts with a preset, or (blank) without one."""
    return ["preset", "version", *_schema(preset)["properties"]]


def preset_from(name: str, given: QueryDict) -> Protocol:
    """Return the preset with the options of a query string. Raises Invalid for a bad option (``field``)."""
    options: dict[str, Any] = {}
    for option, shape in _shapes(name).items():
        text = _text(given, option)
        try:
            options |= {option: type(shape.default)(read_typed(shape, text))} if text else {}
        except FieldProblem:
            sentence = str(_WANTED[shape.kind]) % {"text": text[:40], "option": shape.title}
            raise Invalid(sentence, field=option) from None
    try:
        return translated_preset(name, **options)
    except (TypeError, ValueError) as error:
        option = error.option if isinstance(error, ImpossibleOption) else ""
        sentence = _("The preset %(name)s doesn’t accept these options: %(error)s.") % {"name": name, "error": error}
        raise Invalid(sentence, field=option) from None


def preset_cards(given: QueryDict | None = None, refusal: Invalid | None = None) -> list[dict[str, Any]]:
    """Return each preset's name, title, description and options; the ``given`` one as it was, with its problem."""
    chosen = given.get("preset") if given else None
    cards = []
    for name in PRESETS:
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
        cards.append(
            {"name": name, "title": load_preset(name).name, "about": _(ABOUT_PRESETS[name]), "options": options}
        )
    return cards


def _text(given: QueryDict, option: str) -> str:
    """Return what was typed for an option, with a decimal point for a comma and in lower case."""
    return given.get(option, "").strip().replace(",", ".").lower()


def _schema(name: str) -> dict[str, Any]:
    """Return the options of a preset with their labels and defaults, as a JSON Schema."""
    parameters = inspect.signature(PRESETS[name]).parameters.values() if name in PRESETS else ()
    return {
        "properties": {
            one.name: {
                "type": _TYPES[type(one.default)],
                "default": one.default,
                "title": _(OPTION_LABELS[one.name]),
            }
            for one in parameters
        }
    }


def _shapes(name: str) -> Mapping[str, Shape]:
    return {option: own_shape(option, part) for option, part in _schema(name)["properties"].items()}
