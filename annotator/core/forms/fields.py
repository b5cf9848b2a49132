"""The fields of a form, from a JSON Schema and current values: a tool's arguments, parameters of our own models.

A form never loses anything: a value that its field cannot show is shown as JSON, and so are values that the schema does
not know. A text that cannot be read as the field's type is refused with a sentence, so typing never turns a number or a
list into text (``annotator.core.forms.reading``). The checks decide whether the arguments fit the tool.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from annotator.core.comparison.anchors import below, covers
from annotator.core.comparison.placing import ABSENT
from annotator.core.editing.scope import line_ends
from annotator.core.forms.shapes import ANY, TEXT, TOOL_NAME, Kind, Shape, own_shape, shape_of
from annotator.core.forms.values import choice_texts, fits, problem_of, shown, shown_json

#: Levels of objects shown as groups of fields; deeper ones are edited as JSON.
MAX_GROUPS = 3
#: Fields of one form. Other arguments are not changed; the JSON editor shows them.
MAX_FIELDS = 300
#: Rows, and items of one row, that a form shows; a longer value is edited as JSON.
MAX_ROWS = 100

#: Kinds without a single input.
_SEVERAL_INPUTS = (Kind.OBJECT, Kind.LIST, Kind.MAP, Kind.SEVERAL)

#: Before the path, in the name of an input: the field is JSON although the schema does not require it.
AS_JSON = "json:"
#: Before the path: checked if an empty text is meant as an empty text, not as “no argument”.
AS_EMPTY = "empty:"


@dataclass(frozen=True, slots=True)
class Field:
    """One value, or several.

    ``path`` is the place below all values (/filters/price), ``key`` the name of the input, ``value`` its text. For a
    group (kind ``object``) the fields follow with a higher ``level``; for a list or a map ``items`` are its rows or
    inputs, the last of them blank, to add to it; for several choices, ``items`` are all choices, and the selected ones
    are ``present``. ``error`` is a sentence about the current value.
    """

    name: str
    path: str
    key: str
    #: How the current value is shown, whatever ``shape`` asks for.
    kind: Kind
    shape: Shape
    label: str
    value: str = ""
    #: For a choice: the posted text, and its label. ``value`` is the chosen one.
    options: tuple[tuple[str, str], ...] = ()
    required: bool = False
    present: bool = False
    #: The schema has no such value.
    unknown: bool = False
    level: int = 0
    error: str = ""
    items: tuple["Field", ...] = ()

    @property
    def description(self) -> str:
        return self.shape.description

    @property
    def minimum(self) -> int | float | None:
        return self.shape.minimum

    @property
    def maximum(self) -> int | float | None:
        return self.shape.maximum

    @property
    def is_number(self) -> bool:
        return self.kind in (Kind.INTEGER, Kind.NUMBER)

    @property
    def bound(self) -> bool:
        """Whether an empty input is a value: no limit."""
        return self.shape.empty is not ABSENT

    @property
    def tick_box(self) -> bool:
        """Whether it is yes or no and is never left out."""
        return self.kind is Kind.BOOLEAN and self.present and self.shape.default is not ABSENT

    @property
    def ticked(self) -> bool:
        return self.value == "true"

    @property
    def empty_key(self) -> str:
        return AS_EMPTY + self.path

    @property
    def keep_empty(self) -> bool:
        """Whether the value exists and is the empty text: the state of the check box named ``empty_key``."""
        return self.present and self.value == "" and self.kind is Kind.TEXT

    @property
    def multiline(self) -> bool:
        """Whether a text needs more than one line."""
        return self.kind is Kind.TEXT and (len(self.value) > 80 or "\n" in line_ends(self.value))


def fields(
    schema: Mapping[str, Any],
    values: Mapping[str, Any],
    *,
    own: bool = False,
    tools: Sequence[str] = (),
    errors: Mapping[str, str] | None = None,
) -> list[Field]:
    """Return the fields of a schema in its order, groups flattened, then those of unknown values.

    ``own``: the schema belongs to one of our models and says more (``own_shape``); ``tools``: the names to choose from.
    ``errors``: {path: sentence} of what is wrong; a tool's arguments are checked against the schema itself.
    """
    form = _Form(own, tools, {} if own and errors is None else errors)
    return list(islice(form.fields(shape_of({**schema, "type": "object"}), values, "", 0), MAX_FIELDS))


def field_at(path: str, shape: Shape, value: Any, *, key: str, label: str = "", error: str = "") -> Field:
    """Return one field of a form that is laid out by hand. ``key``: the name of its input."""
    return _Form(True, (), {path: error}).field("", path, shape, value, key=key, label=label, required=True)


class _Form:
    """Makes fields. ``errors``: what is wrong, by path; None: what the shape itself reports."""

    def __init__(self, own: bool, tools: Sequence[str], errors: Mapping[str, str] | None) -> None:
        self.own, self.tools, self.errors = own, tools, errors

    def fields(self, shape: Shape, values: Mapping[str, Any], path: str, level: int) -> Iterator[Field]:
        properties = shape.properties or {}
        for name, schema in properties.items():
            value = values.get(name, ABSENT)
            asked = own_shape(name, schema, self.tools) if self.own else shape_of(schema)
            field = self.field(name, below(path, name), asked, value, level, required=name in shape.required)
            yield field
            if field.kind is Kind.OBJECT:
                yield from self.fields(field.shape, {} if value is ABSENT else value, field.path, level + 1)
        for name, value in values.items():
            if name not in properties:
                known = TEXT if isinstance(value, str) and not self.own else ANY
                yield self.field(name, below(path, name), known, value, level, unknown=True)

    def field(
        self,
        name: str,
        path: str,
        shape: Shape,
        value: Any,
        level: int = 0,
        *,
        key: str | None = None,
        label: str = "",
        required: bool = False,
        unknown: bool = False,
    ) -> Field:
        """``key``: the name of the input if it is not the path."""
        if shape.kind is Kind.OBJECT and level >= MAX_GROUPS:
            shape = Shape(Kind.JSON, shape.description)
        present = value is not ABSENT
        kind = shape.kind if not present else shown_as(shape, value)
        key, label = path if key is None else key, label or shape.title or name
        return Field(
            name=name,
            path=path,
            key=AS_JSON + key if kind is Kind.JSON and (unknown or shape.kind is not Kind.JSON) else key,
            kind=kind,
            shape=shape,
            label=label,
            value=_text(shape, kind, value) if present else "",
            options=_options(shape, value, required=required and self.own)
            if kind in (Kind.ENUM, Kind.BOOLEAN, Kind.TOOL)
            else (),
            required=required,
            present=present,
            unknown=unknown,
            level=level,
            error=self._error(kind, path, shape, value, required=required),
            items=self._items(kind, path, key, shape, value, label),
        )

    def _error(self, kind: Kind, path: str, shape: Shape, value: Any, *, required: bool) -> str:
        if self.errors is not None and kind in (Kind.JSON, Kind.LINES, Kind.SEVERAL):
            # Errors in a part of it have no other place.
            return next((sentence for place, sentence in self.errors.items() if covers(path, place)), "")
        if self.errors is not None:
            return self.errors.get(path, "")
        if value is ABSENT:
            return "This argument is required." if required else ""
        return problem_of(shape, value)

    def _items(self, kind: Kind, path: str, key: str, shape: Shape, value: Any, label: str) -> tuple[Field, ...]:
        item = shape.item or ANY
        if kind is Kind.MAP:
            return tuple(self._pairs(path, key, shape, {} if value is ABSENT else value, label))
        held = [] if value is ABSENT else value
        if kind is Kind.SEVERAL:
            texts = zip(choice_texts(shape.choices), shape.choices, strict=True)
            return tuple(
                Field(text, path, f"{key}/{n}", Kind.BOOLEAN, shape, shape.words.get(text, text), present=one in held)
                for n, (text, one) in enumerate(texts)
            )
        if kind is not Kind.LIST:
            return ()
        rows = item.kind is Kind.LIST
        blanks = 1 if rows else max(1, shape.least - len(held))
        return tuple(
            self.field(
                str(n),
                below(path, n),
                item,
                one,
                key=f"{key}/{n}",
                label=f"{shape.row} {n + 1}" if rows else f"{label}, number {n + 1}",
            )
            for n, one in enumerate([*held, *[ABSENT] * blanks])
        )

    def _pairs(self, path: str, key: str, shape: Shape, held: Mapping[str, Any], label: str) -> Iterator[Field]:
        item, tool = shape.item or ANY, own_shape("", TOOL_NAME, self.tools)
        for n, (name, value) in enumerate([*held.items(), ("", ABSENT)]):
            # A tool has one row, so the tools of other rows are not offered.
            options = tuple(one for one in _options(tool, name or ABSENT) if one[0] == name or one[0] not in held)
            here, inner = f"{key}/{n}", below(path, name)
            chooser = Field("key", inner, f"{here}/key", Kind.TOOL, tool, f"Tool {n + 1}", name, options)
            entry = self.field(name, inner, item, value, key=f"{here}/value", label=f"{label}, tool {n + 1}")
            yield Field(name, inner, here, Kind.LIST, shape, name, items=(chooser, entry))


def shown_as(shape: Shape, value: Any) -> Kind:
    """Return the kind of field that can show ``value`` without loss: a number field shows no words, a text field no
    lists.
    """
    if shape.kind in (Kind.LIST, Kind.MAP):
        return shape.kind if _has_rows(shape, value) else Kind.JSON
    if fits(shape, value):
        return shape.kind
    if shape.kind is Kind.ENUM and not isinstance(value, dict | list):
        return Kind.ENUM
    scalar = isinstance(value, str | int | float) and not isinstance(value, bool)
    one_input = (Kind.TEXT, Kind.NUMBER, Kind.INTEGER, Kind.PERCENT, Kind.DATE, Kind.TOOL)
    return Kind.TEXT if scalar and shape.kind in one_input else Kind.JSON


def _has_rows(shape: Shape, value: Any) -> bool:
    """Return whether rows of inputs can show a list, or names with values. Each input is one line."""
    item = shape.item or ANY
    if isinstance(value, dict) and shape.kind is Kind.MAP:
        return len(value) <= MAX_ROWS and all(
            name and name == name.strip() and _is_line(TEXT, name) and _is_line(item, one)
            for name, one in value.items()
        )
    if not isinstance(value, list) or shape.kind is Kind.MAP or len(value) > MAX_ROWS:
        return False
    # A blank input is for adding an item, and an empty row means no row, so such values are edited as JSON.
    rows = item.kind is Kind.LIST
    return all(one not in ("", []) and (_has_rows(item, one) if rows else _is_line(item, one)) for one in value)


def _is_line(shape: Shape, value: Any) -> bool:
    text = value if isinstance(value, str) else ""
    return shown_as(shape, value) is not Kind.JSON and "\n" not in text and "\r" not in text


def _text(shape: Shape, kind: Kind, value: Any) -> str:
    """Return a value as the text of its input."""
    if kind in _SEVERAL_INPUTS or (kind is not Kind.JSON and value == shape.empty):
        return ""
    if kind is Kind.JSON:
        return shown_json(value)
    if kind is Kind.PERCENT:
        return f"{round(value * 100, 6):g}"
    if kind is Kind.LINES:
        return "\n".join(value)
    return _option_text(shape, value) if kind is Kind.ENUM else shown(value)


def _choices(shape: Shape) -> tuple[Any, ...]:
    return (True, False) if shape.kind is Kind.BOOLEAN else shape.choices


def _options(shape: Shape, value: Any, *, required: bool = False) -> tuple[tuple[str, str], ...]:
    chosen = "" if value is ABSENT else _option_text(shape, value)
    options = [(text, shape.words.get(text, text)) for text in choice_texts(_choices(shape))]
    if chosen and chosen not in dict(options):
        options.insert(0, (chosen, f"{chosen} (not in the toolset)" if shape.kind is Kind.TOOL else chosen))
    if not chosen or (shape.default is ABSENT and not required):
        options.insert(0, ("", shape.nothing))
    return tuple(options)


def _option_text(shape: Shape, value: Any) -> str:
    """Return the text of the choice that equals ``value``, or the text of another value."""
    choices = _choices(shape)
    equal = next((i for i, choice in enumerate(choices) if fits(Shape(Kind.ENUM, choices=(choice,)), value)), None)
    return choice_texts((*choices, value))[-1] if equal is None else choice_texts(choices)[equal]
