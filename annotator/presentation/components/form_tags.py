"""The tags of ``{% load components %}`` that make fields and forms."""

from collections.abc import Iterable
from typing import Any

from django import template
from django.forms import BoundField, CheckboxInput
from django.template.context import Context
from django.utils.translation import gettext

from annotator.core.forms.fields import Field
from annotator.core.forms.shapes import Kind
from annotator.presentation.components.anchors import dom_id
from annotator.presentation.components.jinja import macros
from annotator.presentation.components.keymap import with_keys
from annotator.presentation.components.labels import label_of
from annotator.translation import clause_comma

register = template.Library()


@register.inclusion_tag("components/field.html")
def field(bound: BoundField, note: str = "", code: str = "", *, optional: bool = True) -> dict[str, Any]:
    """Show a form's field: label, input, hint and errors. ``code`` (json, python) opens it in the code editor.

    ``optional``: whether the label of a field that is not required says so.
    """
    attributes = bound.field.widget.attrs
    if attributes.get("placeholder") == bound.label:
        del attributes["placeholder"]  # it would repeat the label
    if optional and not note and not bound.field.required and gettext("optional") not in str(bound.label):
        note = gettext("optional")
    return {
        "field": bound,
        "note": note,
        "code": code,
        "checkbox": isinstance(bound.field.widget, CheckboxInput),
        "errors": list(bound.errors),
    }


@register.inclusion_tag("components/form_fields.html")
def form_fields(form: Any) -> dict[str, Any]:
    """Show all fields of a form, in order, below a summary of its errors."""
    return {"form": form}


@register.inclusion_tag("components/error_summary.html")
def error_summary(form: Any) -> dict[str, Any]:
    """Show the errors of a form, each with a link to its field; nothing if there are none."""
    # A group of radio buttons has no input of its own, so focus its first button.
    rows = [
        (bound.id_for_label or f"{bound.auto_id}_0", bound.label, error)
        for bound in form.visible_fields()
        for error in bound.errors
    ]
    rows += [("", "", error) for bound in form.hidden_fields() for error in bound.errors]
    return {"general": list(form.non_field_errors()), "rows": rows, "total": len(rows) + len(form.non_field_errors())}


@register.inclusion_tag("components/input.html")
def input(
    name: str,
    label: str,
    value: Any = "",
    type: str = "text",
    *,
    id: str = "",
    hint: str = "",
    error: str = "",
    note: str = "",
    options: Iterable[tuple[Any, Any]] = (),
    blank: str = "",
    required: bool = False,
    checked: bool = False,
    action: str = "",
    rows: int = 3,
    most: int | None = None,
    minimum: Any = "",
    maximum: Any = "",
    language: str = "",
    placeholder: str = "",
    action_label: str = "",
    mode: str = "",
    size: str = "",
    code: bool = False,
    bare: bool = False,
) -> dict[str, Any]:
    """Show a field that belongs to no Django form.

    ``type``: text, search, number, date, textarea, select, checkbox, json, python or file. ``options``: (value, label)
    of a select; ``blank``: the label of a first option without a value. ``action``: an action of the table of keys that
    focuses it; ``action_label``: what that does here. ``id``: by default made from the name. ``mode``: the keyboard of
    a phone. ``most``: the number of characters it takes. ``size``: a class. ``code``: the label is a name in the code.
    ``bare``: only the input, with its label for screen readers.
    """
    element = id or f"f-{plain_name(name)}"
    choices = [("", blank), *options] if blank else options
    described = [part for part, there in ((f"{element}-hint", hint), (f"{element}-error", error)) if there]
    return {
        "name": name,
        "label": label,
        "value": "" if value is None else value,
        "type": type,
        "id": element,
        "hint": hint,
        "error": error,
        "note": note,
        "options": [(str(one), text, str(one) == str(value)) for one, text in choices],
        "required": required,
        "checked": checked,
        "action": action,
        "rows": rows,
        "most": most,
        "minimum": minimum,
        "maximum": maximum,
        "language": language,
        "placeholder": placeholder,
        "action_label": action_label,
        "mode": mode,
        "size": size,
        "code": code,
        "bare": bare,
        "described": " ".join(described),
    }


@register.inclusion_tag("components/value_field.html")
def value_field(
    field: Field,
    prefix: str = "",
    *,
    unknown: str = "",
    numbers: str = "text",
    kinds: bool = False,
    action: str = "",
    action_label: str = "",
    size: str = "",
    bare: bool = False,
) -> dict[str, Any]:
    """Show a field made from a JSON Schema, with its inputs.

    ``prefix``: precedes the names of its inputs. ``unknown``: the text for a value that is not in the schema.
    ``numbers``: the type of inputs for whole numbers. ``kinds``: show the name as code, with the type of its value. See
    ``input`` for the others.
    """
    name = f"{prefix}{field.key}"
    hint = unknown if field.unknown and unknown else field.description
    error = field.error
    if not field.present:
        # An empty field can't be wrong, so show the requirement as a hint.
        hint, error = f"{error} {hint}".strip(), ""
    counts = numbers == "number" and field.kind is Kind.INTEGER
    return input(
        name,
        field.label,
        "true" if field.tick_box else field.value,
        "number" if counts else _type_of(field),
        id=dom_id(name),
        hint=hint,
        error=error,
        note=_note(field) if kinds else "",
        options=field.options,
        required=field.required and field.kind is Kind.LINES,
        checked=field.ticked,
        action=action,
        rows=4 if field.kind is Kind.JSON else 3,
        minimum=field.minimum if counts and field.minimum is not None else "",
        maximum=field.maximum if counts and field.maximum is not None else "",
        placeholder=gettext("no limit") if field.bound else "",
        action_label=action_label,
        mode="decimal" if field.is_number else "",
        size="short" if bare and (field.is_number or (size and field.options)) else size,
        code=kinds,
        bare=bare,
    ) | {"field": field, "prefix": prefix}


def _type_of(field: Field) -> str:
    if field.tick_box:
        return "checkbox"
    if field.kind is Kind.JSON:
        return "json"
    if field.options:
        return "select"
    return "textarea" if field.kind is Kind.LINES or field.multiline else "text"


def _note(field: Field) -> str:
    words = [gettext(label_of("field", field.kind).text)]
    words += [gettext("required")] if field.required else []
    words += [gettext("not an argument of the tool")] if field.unknown else []
    return clause_comma().join(words)


@register.simple_tag
def autosave(url: str, target: str, anchor: str | None = None, swap: str = "outerMorph", *, when: str = "") -> str:
    """Return the attributes of a form that saves itself (see autosave.js): ``<form {% autosave url "#step-s3" anchor
    %}>``.

    ``when="sent"``: only its button saves it, however long the person pauses (a comment, a choice of what to add).
    """
    return macros("forms").autosave(url, target, anchor, swap, when)


@register.simple_block_tag(takes_context=True)
def edit(
    context: Context,
    content: str,
    op: str = "",
    anchor: str | None = None,
    *,
    saves: str | None = None,
    when: str = "",
    url: str = "",
    button: Any = None,
    css: str = "",
    form_id: str = "",
    **hidden: Any,
) -> str:
    """Wrap a form of the workspace, which changes the draft: ``{% edit "set" anchor saves="" at=at %}``.

    ``op``, ``anchor`` and ``hidden`` are its hidden inputs; those that are None are left out. ``saves``: what is typed
    goes to the place with this path below the anchor (blank: the anchor itself). Such a form has by default a
    ``button`` for browsers without scripts, the class "form" and an id made from its place. ``when``: see ``autosave``.
    ``url``: by default that of edits.
    """
    place = None if saves is None else f"{anchor}{saves}"
    return macros("forms").edit(
        url or context["edit_url"],
        place,
        when,
        context["csrf_token"],
        {"op": op or None, "anchor": anchor, **hidden},
        css or ("" if place is None else "form"),
        form_id or ("" if place is None else f"f{dom_id(place)}"),
        place is not None if button is None else button,
        caller=lambda: content,
    )


@register.simple_tag
def tiles(options: Iterable[tuple[str, str]], chosen: str | None, action: str = "", title: str = "") -> str:
    """Show radio buttons for the ``value`` of a form. ``options``: (value, label); the blank one means no choice.

    ``action``: beginning of the names of actions of the table of keys, such as "policy" for policy-1 and so on, which
    choose the options in their order; ``title``: the name of the field, for their labels.
    """
    return macros("forms").tiles(with_keys(options, action, title), chosen or "")


def plain_name(name: str) -> str:
    """Return a name as part of a DOM id: letters, digits and hyphens."""
    return "".join(sign if sign.isalnum() else "-" for sign in name).strip("-").lower()
