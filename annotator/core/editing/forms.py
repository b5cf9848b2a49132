"""Argument forms: from a tool's normalised JSON Schema to fields, and from what a browser posts back to arguments.

A form never loses anything: a value that its field cannot show is shown as JSON, as are arguments the schema does not
know, and a field that fits and was not touched keeps its value exactly. What cannot be read as its type changes
nothing, with a sentence: typing never makes a text of a number or a list. Whether the arguments suit the tool is for
the checks to say.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from annotator.core.comparison.anchors import AnchorMissing, below, split
from annotator.core.comparison.placing import ABSENT, copied
from annotator.core.editing.scope import MAX_TEXT, line_ends
from annotator.core.editing.shapes import ANY, TEXT, Kind, Shape, shape_of
from annotator.core.editing.typed import FieldProblem, choice_texts, fault, fits, read_typed, shown, shown_json

#: Levels of objects shown as groups of fields; what lies deeper is edited as JSON.
MAX_GROUPS = 3
#: Fields of one form. Arguments beyond are left alone; the JSON editor shows them.
MAX_FIELDS = 300

#: Before the path, in the name of an input: the field holds JSON though the schema does not ask for it.
AS_JSON = "json:"
#: Before the path: ticked where an empty text is meant as an empty text, not as “no argument”.
AS_EMPTY = "empty:"


class Option(NamedTuple):
    """One line of a choice: what is posted, what is read, and whether it is the one."""

    value: str
    label: str
    selected: bool


@dataclass(frozen=True, slots=True)
class Field:
    """One argument, or a group of them (kind ``object``: no input, its fields follow with a higher ``level``).

    ``path`` is the place below the arguments (/filters/price), ``key`` the name of the input, ``value`` its text.
    ``keep_empty``: the argument is there and is the empty text (the state of the tick box named ``empty_key``).
    ``unknown``: the schema has no such argument. ``error`` is a sentence about the value that is there now.
    """

    name: str
    path: str
    key: str
    kind: Kind
    value: str
    required: bool
    description: str
    options: tuple[Option, ...]
    minimum: int | float | None
    maximum: int | float | None
    present: bool
    unknown: bool
    level: int
    error: str
    #: The shape the schema asks for, whatever ``kind`` shows the value that is there.
    shape: Shape

    @property
    def empty_key(self) -> str:
        return AS_EMPTY + self.path

    @property
    def keep_empty(self) -> bool:
        return self.present and self.value == "" and self.kind is Kind.TEXT

    @property
    def multiline(self) -> bool:
        """Whether a text wants more than one line."""
        return self.kind is Kind.TEXT and (len(self.value) > 80 or "\n" in line_ends(self.value))


def fields(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> list[Field]:
    """The fields of a call's arguments: those of the schema in its order, groups flattened, then unknown ones."""
    shape = shape_of({**schema, "type": "object"})
    out: list[Field] = []
    for field in _fields(shape, arguments, "", 0):
        if len(out) >= MAX_FIELDS:
            break
        out.append(field)
    return out


def parse(
    schema: Mapping[str, Any], posted: Mapping[str, str], *, current: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], dict[str, str]]:
    """The arguments a form asks for, and {path: sentence} for texts that are not of their field's kind.

    ``posted``: texts by ``Field.key``. A field that was not posted keeps its value in ``current``; a blank one means
    that there is no such argument. Where there are errors, the arguments are not what somebody asked for: refuse them.
    """
    current = current or {}
    arguments: dict[str, Any] = copied(dict(current))
    errors: dict[str, str] = {}
    known, handled = fields(schema, current), set[str]()
    for field in known:
        key = field.key if field.key in posted else field.path
        handled.add(key)
        if field.kind is not Kind.OBJECT and key in posted:
            value, error = _read(field, key, posted, _at(current, field.path))
            if error:
                errors[field.path] = error
            _write(arguments, field.path, value)
    for key in [key for key in posted if key not in handled][:MAX_FIELDS]:
        _add_unknown(arguments, errors, key, posted)
    for field in reversed(known):
        # A group all of whose fields were left blank is not there, unless it was there empty.
        if field.kind is Kind.OBJECT and _at(arguments, field.path) == {} and _at(current, field.path) != {}:
            _write(arguments, field.path, ABSENT)
    return arguments, errors


def _fields(shape: Shape, values: Mapping[str, Any], path: str, level: int) -> Iterator[Field]:
    properties = shape.properties or {}
    for name, schema in properties.items():
        value = values.get(name, ABSENT)
        field = _field(name, below(path, name), shape_of(schema), value, level, required=name in shape.required)
        yield field
        if field.kind is Kind.OBJECT:
            yield from _fields(field.shape, {} if value is ABSENT else value, field.path, level + 1)
    for name, value in values.items():
        if name not in properties:
            known = TEXT if isinstance(value, str) else ANY
            yield _field(name, below(path, name), known, value, level, required=False, unknown=True)


def _field(
    name: str, path: str, shape: Shape, value: Any, level: int, *, required: bool, unknown: bool = False
) -> Field:
    present = value is not ABSENT
    if shape.kind is Kind.OBJECT and level >= MAX_GROUPS:
        shape = Shape(Kind.JSON, shape.description)
    kind = _shown_as(shape, value) if present else shape.kind
    error = fault(shape, value) if present else "This argument is required." if required else ""
    if kind is Kind.JSON:
        text = shown_json(value) if present else ""
    else:
        text = shown(value) if present and kind is not Kind.OBJECT else ""
    return Field(
        name=name,
        path=path,
        key=AS_JSON + path if kind is Kind.JSON and (unknown or shape.kind is not Kind.JSON) else path,
        kind=kind,
        value=_option_text(shape, value) if kind is Kind.ENUM and present else text,
        required=required,
        description=shape.description,
        options=_options(shape, value) if kind in (Kind.ENUM, Kind.BOOLEAN) else (),
        minimum=shape.minimum,
        maximum=shape.maximum,
        present=present,
        unknown=unknown,
        level=level,
        error=error,
        shape=shape,
    )


def _shown_as(shape: Shape, value: Any) -> Kind:
    """The kind of field that can show ``value`` without loss: a number field shows no words, a text field no lists."""
    if fits(shape, value):
        return shape.kind
    if shape.kind is Kind.ENUM and not isinstance(value, dict | list):
        return Kind.ENUM
    scalar = isinstance(value, str | int | float) and not isinstance(value, bool)
    return Kind.TEXT if scalar and shape.kind in (Kind.TEXT, Kind.NUMBER, Kind.INTEGER, Kind.DATE) else Kind.JSON


def _options(shape: Shape, value: Any) -> tuple[Option, ...]:
    choices = (True, False) if shape.kind is Kind.BOOLEAN else shape.choices
    chosen = "" if value is ABSENT else _option_text(shape, value)
    texts = choice_texts(choices)
    if chosen and chosen not in texts:
        texts = [chosen, *texts]
    return (Option("", "", not chosen), *(Option(text, text, text == chosen) for text in texts))


def _option_text(shape: Shape, value: Any) -> str:
    """The text of the choice that equals ``value``, or of a value that is none of them."""
    choices = (True, False) if shape.kind is Kind.BOOLEAN else shape.choices
    texts = choice_texts((*choices, value))
    equal = next((i for i, choice in enumerate(choices) if fits(Shape(Kind.ENUM, choices=(choice,)), value)), None)
    return texts[-1] if equal is None else choice_texts(choices)[equal]


def _read(field: Field, key: str, posted: Mapping[str, str], before: Any) -> tuple[Any, str]:
    """The value that was posted, and what is wrong with it."""
    text = posted[key].replace("\r\n", "\n")
    untouched = field.present and text == line_ends(field.value)
    if len(text) > MAX_TEXT:
        return before, f"The text has {len(text):,} characters; {MAX_TEXT:,} are the most that is accepted."
    as_json = key.startswith(AS_JSON) or field.shape.kind is Kind.JSON
    # Blanks that nobody touched are a value of another kind than the field's, not a field that was emptied.
    emptied = not text.strip() and not (untouched and text)
    if emptied and (as_json or not text or field.shape.kind is not Kind.TEXT):
        return ("" if posted.get(field.empty_key) and not as_json else ABSENT), ""
    if untouched and (as_json or fits(field.shape, before)):
        return before, ""
    try:
        value = read_typed(ANY if as_json else field.shape, text)
    except FieldProblem as problem:
        return before, "" if untouched else str(problem)
    # Saving mends what nobody touched only where it stays spelled as it is: 007 is not 7.
    return (before if untouched and shown(value) != field.value else value), ""


def _add_unknown(arguments: dict[str, Any], errors: dict[str, str], key: str, posted: Mapping[str, str]) -> None:
    """An argument that neither the schema nor the call had."""
    path = key.removeprefix(AS_JSON)
    try:
        parts = split(path)
    except AnchorMissing:
        return
    text = posted[key].replace("\r\n", "\n")
    if not parts or not all(parts) or len(text) > MAX_TEXT:
        return
    if not isinstance(_at(arguments, path.rpartition("/")[0]), dict):
        errors[path] = "There is no object here that could hold this argument."
        return
    if not text.strip():
        if posted.get(AS_EMPTY + path):
            _write(arguments, path, "")
        return
    try:
        _write(arguments, path, read_typed(ANY if key != path else TEXT, text))
    except FieldProblem as problem:
        errors[path] = str(problem)


def _at(arguments: Mapping[str, Any], path: str) -> Any:
    value: Any = arguments
    for part in split(path):
        if not isinstance(value, Mapping) or part not in value:
            return ABSENT
        value = value[part]
    return value


def _write(arguments: dict[str, Any], path: str, value: Any) -> None:
    """Write a value where the form has a field; groups on the way come into being, and nothing is written to others."""
    *groups, name = split(path)
    container = arguments
    for group in groups:
        if value is ABSENT and group not in container:
            return
        inner = container.setdefault(group, {})
        if not isinstance(inner, dict):
            return
        container = inner
    if value is ABSENT:
        container.pop(name, None)
    else:
        container[name] = copied(value)
