"""The editor of the labels of one part: its rows, and the operations of its forms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _

from annotator.core.comparison import lookup, split
from annotator.core.comparison.anchors import label_key
from annotator.core.fields import Asked, CustomField, FieldType, asked, unknown_labels, value_problem, value_words
from annotator.core.schema.toolsets import CompiledToolset
from annotator.errors import Invalid
from annotator.presentation.suggestions import GhostView
from annotator.services.custom_fields import fields_of
from reviews.services.submission.workbench import Workbench


@dataclass(frozen=True)
class Tile:
    """One option. ``action`` is that of its number key, blank if it has none; ``label`` says what the key does."""

    value: str
    title: str
    action: str
    label: str
    chosen: bool


@dataclass(frozen=True)
class LabelRow:
    """One field of the part, with its value. ``odd``: a stored value that its form cannot show, in words."""

    field: CustomField
    place: str
    value: Any
    tiles: list[Tile]
    odd: str
    #: What spans are marked in; None if the part has no such text.
    source: str | None
    #: Suggestions of models and scripts for it.
    ghosts: Sequence[GhostView] = ()

    @property
    def decides(self) -> bool:
        """Whether other fields may be asked because of its value, so that the editor is drawn again."""
        return self.field.type is not FieldType.TEXT


def label_editor(bench: Workbench, anchor: str, suggested: Mapping[str, Sequence[GhostView]]) -> dict[str, Any]:
    """Return the context of the fields of the part at ``anchor``, and of its labels that no field asks for.

    ``suggested``: the suggestions for the part, by their place.
    """
    fields, document = fields_of(bench.work.slot.project), bench.document
    rows = [one for one in asked(fields, document) if one.anchor == anchor] if fields else []
    hidden = [(one.place, one.field.title, value_words(one.value, one.field)) for one in rows if _is_stray(one)]
    unknown = [
        (place, place.rpartition("/")[2], value_words(value))
        for place, value in unknown_labels(fields, document)
        if place.rpartition("/labels/")[0] == anchor
    ]
    shown = [_row(one, suggested.get(one.place, ())) for one in rows if one.shown]
    return {"label_rows": shown, "stray_labels": hidden + unknown}


def _is_stray(one: Asked) -> bool:
    return not one.shown and one.value is not None


def _row(one: Asked, ghosts: Sequence[GhostView]) -> LabelRow:
    field, value = one.field, one.value
    given = [str(item) for item in value] if isinstance(value, list) else [] if value is None else [str(value)]
    fits = value is None or _fits(field, value)
    options = field.choices
    if fits and field.type in (FieldType.CHOICE, FieldType.MULTI, FieldType.SCALE):
        # A value that is no longer an option stays until somebody removes it.
        options = options + [(item, item) for item in given if item not in dict(options)]
    tiles = [
        Tile(
            item,
            title,
            f"option-{number}" if number < 10 else "",
            _("%(field)s: %(value)s") % {"field": field.title, "value": title},
            fits and item in given,
        )
        for number, (item, title) in enumerate(options, 1)
    ]
    odd = "" if fits else value_words(value)
    return LabelRow(field, one.place, value, tiles, odd, one.part.get(field.of or ""), ghosts)


def _fits(field: CustomField, value: Any) -> bool:
    """Return whether the form of a field can show a value, though it may not be one of its options."""
    if field.type is FieldType.MULTI:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if field.type is FieldType.CHOICE:
        return isinstance(value, str)
    if field.type is FieldType.SCALE:
        return type(value) is int
    return value_problem(field, value) is None


def label_operation(
    posted: QueryDict, anchor: str, document: dict[str, Any], toolset: CompiledToolset
) -> dict[str, Any]:
    """Return the operation of a form for a label: ``type`` says what its inputs mean. Raises Invalid."""
    if not label_key(split(anchor)):
        raise Invalid(_("This place isn’t a label. Reload the page and try again."))
    kind = posted.get("type", "")
    value: Any = posted.get("value", "").replace("\r\n", "\n")
    if kind == FieldType.MULTI:
        value = [one for one in posted.getlist("value") if one]
    elif kind == FieldType.SCALE:
        value = _number(value) if value else None
    elif kind == FieldType.SPAN:
        value = _spans(posted, anchor, document)
    return {"op": "set", "value": value or (value if value == 0 else None)}


def _spans(posted: QueryDict, anchor: str, document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the spans with one more, or without the one at index ``drop``.

    (A form with an input “remove” loses its method of this name, which htmx calls.)
    """
    held = lookup(document, anchor)
    spans = [one for one in held if isinstance(one, dict)] if isinstance(held, list) else []
    if "drop" in posted:
        index = _number(posted.get("drop", ""))
        return [one for number, one in enumerate(spans) if number != index]
    part = lookup(document, anchor.rpartition("/labels/")[0], {})
    text = part.get(posted.get("of", "")) if isinstance(part, dict) else None
    start, end = _number(posted.get("start", "")), _number(posted.get("end", ""))
    places = _places_in_browser(text) if isinstance(text, str) else []
    if not isinstance(text, str) or not 0 <= start < end < len(places):
        raise Invalid(_("Mark at least one character: the end comes after the start, and within the text."))
    start, end = places[start], places[end]
    return [*spans, {"start": start, "end": end, "text": text[start:end]}]


def _places_in_browser(text: str) -> list[int]:
    """Return the place of each character that a browser counts, and of the end: it has one for every line break."""
    return [place for place in range(len(text) + 1) if text[place - 1 : place + 1] != "\r\n"]


def _number(text: str) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 9:
        raise Invalid(_("“%(text)s” isn’t a whole number.") % {"text": text[:40]})
    return int(text)
