"""What a form field needs to know of a JSON Schema: its kind of value, and its limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from annotator.core.comparison.anchors import split
from annotator.core.comparison.placing import ABSENT
from annotator.core.constraints.model import TOOL
from annotator.core.schema.formats import LINES, PERCENT


class Kind(StrEnum):
    TEXT = "text"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    ENUM = "enum"
    DATE = "date"
    JSON = "json"
    #: The name of a tool: one of the toolset's, or another.
    TOOL = "tool"
    #: A group of fields.
    OBJECT = "object"
    #: Values in a row, or rows of values.
    LIST = "list"
    #: Names with a value each.
    MAP = "map"
    #: A share from 0 to 1, shown and typed in per cent.
    PERCENT = "percent"
    #: Texts, one per line.
    LINES = "lines"
    #: Any of the choices.
    SEVERAL = "several"


@dataclass(frozen=True, slots=True)
class Shape:
    """One property's schema, as far as a form needs it."""

    kind: Kind
    description: str = ""
    choices: tuple[Any, ...] = ()
    minimum: int | float | None = None
    maximum: int | float | None = None
    properties: Mapping[str, Any] | None = None
    required: frozenset[str] = frozenset()
    title: str = ""
    #: Labels for the choices, if their values are not clear.
    words: Mapping[str, str] = field(default_factory=dict)
    #: The label for no choice.
    nothing: str = "no argument"
    #: The default.
    default: Any = ABSENT
    #: The value of an empty input, such as “no limit”.
    empty: Any = ABSENT
    #: For a list its items, for names their values.
    item: "Shape | None" = None
    #: The minimum number of items, and the name of a row.
    least: int = 0
    row: str = ""

    @property
    def blank(self) -> Any:
        """The meaning of an input that was emptied."""
        return self.default if self.empty is ABSENT else self.empty


ANY = Shape(Kind.JSON)
TEXT = Shape(Kind.TEXT)
#: The schema of a tool's name, in one of our own models.
TOOL_NAME: Mapping[str, Any] = {"type": "string", "format": TOOL}

_KINDS = {"string": Kind.TEXT, "integer": Kind.INTEGER, "number": Kind.NUMBER, "boolean": Kind.BOOLEAN}
#: Kinds with one input each, used in rows.
_SINGLE = frozenset({Kind.INTEGER, Kind.NUMBER, Kind.TEXT, Kind.ENUM, Kind.BOOLEAN, Kind.TOOL})


def shape_of(schema: Any) -> Shape:
    """Return the shape of a normalised schema; anything without a form field is edited as JSON."""
    if not isinstance(schema, Mapping):
        return ANY
    schema = _single_branch(schema)
    description = schema["description"] if isinstance(schema.get("description"), str) else ""
    if "const" in schema:
        return Shape(Kind.ENUM, description, (schema["const"],))
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return Shape(Kind.ENUM, description, tuple(schema["enum"]))
    types = _types(schema)
    if types == {"object"} and isinstance(schema.get("properties"), Mapping) and schema["properties"]:
        required = schema.get("required")
        names = (
            frozenset(name for name in required if isinstance(name, str)) if isinstance(required, list) else frozenset()
        )
        return Shape(Kind.OBJECT, description, properties=schema["properties"], required=names)
    if types == {"integer", "number"}:
        types = {"number"}
    kind = _KINDS.get(next(iter(types)), Kind.JSON) if len(types) == 1 else Kind.JSON
    if "string" in types and not types & {"object", "array"}:
        # If there are several types, a text field accepts whatever people type.
        kind = Kind.TEXT
    if kind is Kind.TEXT and schema.get("format") == "date" and len(types) == 1:
        kind = Kind.DATE
    low, high = _bounds(schema, 1 if kind is Kind.INTEGER else 0)
    return Shape(kind, description, minimum=low, maximum=high)


def own_shape(name: str, schema: Mapping[str, Any], tools: Sequence[str] = ()) -> Shape:
    """Return the shape that one of our own models gives a field: with labels, defaults, lists and names with values.

    ``title`` is its label, ``description`` the hint, ``words`` the labels of its choices, ``row`` one list of a list of
    lists, ``format`` says more than its type (TOOL, LINES, PERCENT). ``tools``: the names to choose from, if it asks
    for one.
    """
    empty = _empty(schema)
    inner = shape_of(schema if empty is ABSENT else schema["anyOf"][0])
    if empty is not ABSENT and inner.kind not in (Kind.INTEGER, Kind.NUMBER):
        inner, empty = ANY, ABSENT
    shape = replace(
        inner,
        title=_label(name, schema),
        description=" ".join(str(schema.get("description", "")).split()),
        words=schema.get("words", {"true": "yes", "false": "no"}),
        nothing="not set",
        default=schema.get("default", ABSENT),
        empty=empty,
        least=int(schema.get("minItems", 0)),
        row=str(schema.get("row", "Row")),
    )
    if schema.get("format") == TOOL:
        return replace(shape, kind=Kind.TOOL, choices=tuple(tools), nothing="no tool")
    if schema.get("format") == PERCENT:
        return replace(shape, kind=Kind.PERCENT)
    if schema.get("format") == LINES:
        return replace(shape, kind=Kind.LINES, empty=[])
    if schema.get("type") == "array" and "items" in schema:
        item = own_shape(name, schema["items"], tools)
        if item.kind is Kind.ENUM:
            return replace(shape, kind=Kind.SEVERAL, choices=item.choices)
        if item.kind in _SINGLE or (item.kind is Kind.LIST and item.item and item.item.kind in _SINGLE):
            return replace(shape, kind=Kind.LIST, item=replace(item, title=shape.title))
    if schema.get("type") == "object" and schema.get("propertyNames", {}).get("format") == TOOL:
        item = own_shape(name, schema["additionalProperties"], tools)
        if item.kind in _SINGLE:
            return replace(shape, kind=Kind.MAP, item=replace(item, title=shape.title))
    return shape


def schema_at(schema: Mapping[str, Any], pointer: str) -> Mapping[str, Any]:
    """Return the schema of the value at a pointer into a value of one of our own models. Raises KeyError."""
    definitions, here = schema.get("$defs", {}), schema
    for step in split(pointer):
        while "anyOf" in here or "$ref" in here:
            here = here["anyOf"][0] if "anyOf" in here else definitions[here["$ref"].rpartition("/")[2]]
        here = here["items"] if "items" in here else here["properties"][step]
    if "$ref" not in here:
        return here
    # A choice: the model's own title and description do not apply to the field.
    return {"enum": definitions[here["$ref"].rpartition("/")[2]]["enum"], **here}


def _empty(schema: Mapping[str, Any]) -> Any:
    """Return the fixed value of “this, or one fixed value”; an empty input means it."""
    branches = schema.get("anyOf", ())
    if len(branches) != 2:
        return ABSENT
    return None if branches[1].get("type") == "null" else branches[1].get("const", ABSENT)


def _label(name: str, schema: Mapping[str, Any]) -> str:
    """Return the field's title if it was set explicitly; pydantic's default is just its name."""
    title, words = str(schema.get("title", "")), name.replace("_", " ")
    return title if title and title != words.title() else words[:1].upper() + words[1:]


def _single_branch(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return “this or null” as this: the only branch of an anyOf or oneOf that is not null, merged into the schema."""
    for word in ("anyOf", "oneOf"):
        branches = schema.get(word)
        if isinstance(branches, list):
            rest = [b for b in branches if isinstance(b, Mapping) and b.get("type") != "null"]
            if len(rest) == 1:
                return {**rest[0], **{key: value for key, value in schema.items() if key != word}}
    return schema


def _types(schema: Mapping[str, Any]) -> set[str]:
    value = schema.get("type")
    names = {name for name in value if isinstance(name, str)} if isinstance(value, list) else {value}
    if value is None and isinstance(schema.get("properties"), Mapping):
        names = {"object"}
    return {name for name in names if isinstance(name, str) and name != "null"}


def _bounds(schema: Mapping[str, Any], step: int) -> tuple[int | float | None, int | float | None]:
    """Return lowest and highest value; for whole numbers, an exclusive bound becomes the next number inside."""
    low, high = _number(schema.get("minimum")), _number(schema.get("maximum"))
    over, under = _number(schema.get("exclusiveMinimum")), _number(schema.get("exclusiveMaximum"))
    if over is not None:
        low = over + step if low is None else max(low, over + step)
    if under is not None:
        high = under - step if high is None else min(high, under - step)
    return low, high


def _number(value: Any) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
