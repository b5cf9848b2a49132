"""Published protocols as forms: what each can be set up with, and reading that back."""

import inspect
from dataclasses import replace
from typing import Any

from django.http import QueryDict

from annotator.errors import Invalid
from reviews.core.protocols import PRESETS, ImpossibleOption, Protocol, load_preset
from reviews.views.protocol_form import FormField


def parameters_of(preset: str) -> list[str]:
    """What the editor reads from its address when it begins with a preset, or (blank) with none."""
    return ["preset", "version", *_options(preset)]


def preset_from(name: str, given: QueryDict) -> Protocol:
    """The preset with the options of a query string. Raises Invalid for what an option (``field``) cannot be."""
    options: dict[str, Any] = {}
    for option, default in _options(name).items():
        text = given.get(option, "").strip()
        if text:
            options[option] = _read_option(text, option, default)
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
        options = [_option_field(option, default) for option, default in _options(name).items()]
        if given is not None and name == chosen:
            options = [_as_given(option, given, refusal) for option in options]
        about = (inspect.getdoc(make) or "").partition("\n")[0]
        cards.append({"name": name, "title": load_preset(name).name, "about": about, "options": options})
    return cards


def _as_given(option: FormField, given: QueryDict, refusal: Invalid | None) -> FormField:
    error = refusal.sentence if refusal is not None and refusal.details.get("field") == option.name else ""
    text = given.get(option.name, "")
    if option.type == "checkbox":
        return replace(option, checked=text.lower() == "true" if text else option.checked, error=error)
    return replace(option, value=text or option.value, error=error)


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
            raise Invalid(f"“{text[:40]}” is neither true nor false for “{_option_label(option)}”.", field=option)
        return text.lower() == "true"
    try:
        return type(default)(text.replace(",", "."))
    except ValueError:
        number = "whole number" if isinstance(default, int) else "number"
        sentence = f"“{text[:40]}” is no {number} for “{_option_label(option)}”."
        raise Invalid(sentence, field=option) from None
