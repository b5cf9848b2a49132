"""Published protocols as forms: what each can be set up with, and reading that back."""

import inspect
from typing import Any

from django.http import QueryDict

from annotator.errors import Invalid
from reviews.protocols import PRESETS, Protocol, load_preset
from reviews.views.protocol_form import FormField


def parameters_of(preset: str) -> list[str]:
    """What the editor reads from its address when it begins with a preset, or (blank) with none."""
    return ["preset", "version", *_options(preset)]


def preset_from(name: str, given: QueryDict) -> Protocol:
    """The preset with the options of a query string. Raises Invalid for what an option cannot be."""
    options: dict[str, Any] = {}
    for option, default in _options(name).items():
        text = given.get(option, "").strip()
        if text:
            options[option] = _read_option(text, option, default)
    try:
        return load_preset(name, **options)
    except (TypeError, ValueError) as error:
        raise Invalid(f"The preset {name} cannot be set up like this: {error}.") from None


def preset_cards() -> list[dict[str, Any]]:
    """Name, title, what it is and options of each preset."""
    return [
        {
            "name": name,
            "title": load_preset(name).name,
            "about": (inspect.getdoc(make) or "").partition("\n")[0],
            "options": [_option_field(option, default) for option, default in _options(name).items()],
        }
        for name, make in PRESETS.items()
    ]


def _options(name: str) -> dict[str, bool | int | float]:
    """The options of a preset and their defaults."""
    parameters = inspect.signature(PRESETS[name]).parameters.values() if name in PRESETS else ()
    return {option.name: option.default for option in parameters}


def _option_field(option: str, default: bool | int | float) -> FormField:
    label = _option_label(option)
    if isinstance(default, bool):
        return FormField(option, label, "true", type="checkbox", checked=default)
    return FormField(option, label, default)


def _option_label(option: str) -> str:
    return option.replace("_", " ").capitalize()


def _read_option(text: str, option: str, default: bool | int | float) -> bool | int | float:
    """What was typed for an option, as its default is: yes or no, a whole number, a number."""
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            raise Invalid(f"“{text[:40]}” is neither true nor false for “{_option_label(option)}”.")
        return text.lower() == "true"
    try:
        return type(default)(text.replace(",", "."))
    except ValueError:
        number = "whole number" if isinstance(default, int) else "number"
        raise Invalid(f"“{text[:40]}” is no {number} for “{_option_label(option)}”.") from None
