"""Jinja2, for parts that a page shows hundreds of times: docs/decisions/0008-jinja2-for-the-dialogue.md."""

from functools import lru_cache, partial
from typing import Any
from urllib.parse import quote

from django.template import engines
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import get_language, gettext
from jinja2 import Environment, StrictUndefined
from jinja2.runtime import Context
from markupsafe import Markup, escape

from annotator.core.keys import ACTIONS
from annotator.presentation.components.anchors import dom_id, text_dom_id, visible_dom_id
from annotator.presentation.components.counts import counted
from annotator.presentation.components.icons import ICONS
from annotator.presentation.components.json_text import coloured, shown_json
from annotator.presentation.components.keymap import key_of, shown_key, with_keys
from annotator.presentation.components.labels import label_of


class DirectContext(Context):
    """Calls macros and functions directly. Jinja looks each time whether they want the context; none of ours does."""

    def call(self, function: Any, /, *args: Any, _loop_vars: Any = None, _block_vars: Any = None, **given: Any) -> Any:
        return function(*args, **given)


def environment(**options: Any) -> Environment:
    """Return the environment of the templates in templates/jinja2, compiled once in a process."""
    made = Environment(**options | {"trim_blocks": True, "lstrip_blocks": True, "undefined": StrictUndefined})  # noqa: S701 - Django's backend sets autoescape
    made.context_class = DirectContext
    made.globals |= {
        "_": translated,
        "coloured_json": coloured_json,
        "counted": counted,
        "ICONS": ICONS,
        "kbd_of": key_hint,
        "key": key_attributes,
        "label_of": label_of,
        "dom_id": dom_id,
        "quoted": lru_cache(maxsize=4096)(partial(quote, safe="")),
        "shown_json": shown_json,
        "text_dom_id": text_dom_id,
        "visible_dom_id": visible_dom_id,
        "url": lambda name, *values: reverse(name, args=values),
        "with_keys": with_keys,
    }
    return made


def translated(words: str) -> str:
    """Return a template's text in the language of the request."""
    return _translated(get_language(), words)


@lru_cache(maxsize=4096)  # a page uses the same few texts at each of its steps
def _translated(_language: str | None, words: str) -> str:
    return gettext(words)


def key_attributes(name: str, label: str = "") -> Markup:
    """Return the attributes that bind an element to an action of ``annotator.core.keys`` with the reader's key.

    ``label``: what it does here; by default the label of the table.
    """
    action = ACTIONS[name]
    return _key_attributes(name, key_of(name), label or translated(action.label), translated(action.group))


@lru_cache(maxsize=2048)  # a page has the same few at each of its parts
def _key_attributes(name: str, key: str, label: str, group: str) -> Markup:
    held = " ".join(ACTIONS[name].held)
    return Markup(macros("badges").key_attributes(name, key, held, label, group))  # noqa: S704 - rendered and escaped


def key_hint(name: str) -> str:
    """Return the key of an action as a visual hint, or nothing if the reader switched it off."""
    shown = shown_key(name)
    return kbd(shown) if shown else ""


@lru_cache(maxsize=256)
def kbd(key: str) -> str:
    """Return a key as a visual hint; screen readers get it from the element's ``data-key``."""
    return macros("badges").kbd(key)


def coloured_json(text: str, part: Markup) -> Markup:
    """Return a JSON text with its parts in colours; ``part``: the element of each."""
    return Markup(coloured(str(escape(text)), str(part)))  # noqa: S704


def macros(name: str, folder: str = "components") -> Any:
    """Return the macros of a template, which can be called like functions. They escape their arguments."""
    return engines["jinja2"].env.get_template(f"{folder}/{name}.html").module  # type: ignore[attr-defined]


def render(name: str, context: dict[str, Any]) -> Markup:
    """Return a template of either engine, rendered with a context. Both escape."""
    return Markup(render_to_string(name, context))  # noqa: S704
