"""What a form field has to know of a JSON Schema: which kind of value it asks for, and within which bounds."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    TEXT = "text"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    ENUM = "enum"
    DATE = "date"
    JSON = "json"
    #: A group of fields.
    OBJECT = "object"


@dataclass(frozen=True, slots=True)
class Shape:
    """One property's schema, as far as a form goes."""

    kind: Kind
    description: str = ""
    choices: tuple[Any, ...] = ()
    minimum: int | float | None = None
    maximum: int | float | None = None
    properties: Mapping[str, Any] | None = None
    required: frozenset[str] = frozenset()


ANY = Shape(Kind.JSON)
TEXT = Shape(Kind.TEXT)

_KINDS = {"string": Kind.TEXT, "integer": Kind.INTEGER, "number": Kind.NUMBER, "boolean": Kind.BOOLEAN}


def shape_of(schema: Any) -> Shape:
    """The shape of a normalised schema; whatever a form has no field for is edited as JSON."""
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
        # Of several types a text field is the one that can hold what people type.
        kind = Kind.TEXT
    if kind is Kind.TEXT and schema.get("format") == "date" and len(types) == 1:
        kind = Kind.DATE
    low, high = _bounds(schema, 1 if kind is Kind.INTEGER else 0)
    return Shape(kind, description, minimum=low, maximum=high)


def _single_branch(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """“This or null” as this: the one branch of an anyOf or oneOf that is not null, with what stands around it."""
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
    """Lowest and highest value; of whole numbers an excluded bound is the next number within."""
    low, high = _number(schema.get("minimum")), _number(schema.get("maximum"))
    over, under = _number(schema.get("exclusiveMinimum")), _number(schema.get("exclusiveMaximum"))
    if over is not None:
        low = over + step if low is None else max(low, over + step)
    if under is not None:
        high = under - step if high is None else min(high, under - step)
    return low, high


def _number(value: Any) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
