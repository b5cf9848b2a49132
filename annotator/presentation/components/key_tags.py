"""The tags of ``{% load components %}`` that bind and show keys. All of them come from ``annotator.core.keys``."""

from typing import Any

from django import template

from annotator.core.keys import ACTIONS, WORKSPACE, Place
from annotator.presentation.components.jinja import key_attributes, key_hint, translated
from annotator.presentation.components.keymap import key_of, shown_key

register = template.Library()

#: Places of scripted actions → the part of the page that they need.
_PARTS = {
    frozenset({Place.DRAWING}): "#graph-canvas",
    frozenset({Place.CHECKLIST}): ".check-item, .suggested-error",
    WORKSPACE: "#workspace",
}
#: The same for scripted actions that are possible on every page.
_PARTS_OF = {"submit": "[data-primary], main form[method=post]"} | dict.fromkeys(
    ("next-place", "previous-place", "last-place", "first-place"), "[data-nav-item]"
)


@register.simple_tag
def key(name: str, label: str = "") -> str:
    """Return the attributes that bind an element to an action: ``<button {% key "undo" %}>``.

    ``label``: what it does here, in the shortcuts dialog and the search; by default the label of the table.
    """
    return key_attributes(name, label)


@register.simple_tag
def kbd_of(name: str) -> str:
    """Return the key of an action as a visual hint, or nothing if the reader switched it off."""
    return key_hint(name)


@register.simple_tag
def key_name(name: str) -> str:
    """Return the key of an action as text, for a sentence: ``{% key_name "undo" as key %}``."""
    return shown_key(name)


@register.simple_tag
def scripted_keys() -> list[dict[str, Any]]:
    """Return the actions that scripts carry out, in the table's order.

    Each has ``name``, ``key``, ``shown`` (the key for reading), ``label``, ``group`` and ``within``: what must be on
    the page for it.
    """
    return [
        {
            "name": one.name,
            "key": key_of(one.name),
            "shown": shown_key(one.name),
            "label": translated(one.label),
            "group": translated(one.group),
            "within": _PARTS_OF.get(one.name)
            or next((part for place, part in _PARTS.items() if one.places <= place), ""),
        }
        for one in ACTIONS.values()
        if one.scripted
    ]
