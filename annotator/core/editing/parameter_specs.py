"""What a category's parameters model asks for, as far as a form goes; see ``annotator.core.editing.parameters``."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from annotator.core.comparison.placing import ABSENT
from annotator.core.constraints.model import TOOL, Parameters
from annotator.core.constraints.taxonomy import Category
from annotator.core.editing.shapes import Kind as ShapeKind
from annotator.core.editing.shapes import Shape
from annotator.core.editing.typed import fits, shown, shown_json

#: Rows, and items of one row, that a form shows; the JSON editor shows what lies beyond.
MAX_ROWS = 100
INF = "inf"


class Kind(StrEnum):
    """What a field is: one input, a row of them, rows of rows, or names with a value each."""

    NUMBER = "number"
    #: A number, or none: no bound.
    BOUND = "bound"
    TEXT = "text"
    CHOICE = "choice"
    TOOL = "tool"
    LIST = "list"
    LISTS = "lists"
    MAP = "map"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Spec:
    """What a model's JSON schema says of one parameter, as far as a form goes."""

    kind: Kind
    label: str
    hint: str
    shape: Shape
    #: Words for the choices, where their values say too little.
    words: Mapping[str, str]
    default: Any
    row: str
    #: Of a list its items, of names their values.
    item: "Spec | None" = None
    least: int = 0


def specs(category: Category[Any], held: Mapping[str, Any]) -> Iterator[tuple[str, Spec]]:
    model: type[Parameters] = category.model
    known = _known(model)
    yield from known.items()
    for name in held:
        if name not in known:
            yield name, _json_spec(name, "This category does not know it. Empty: take it away.")


@cache
def _known(model: type[Parameters]) -> dict[str, Spec]:
    """The parameters of a model in its order."""
    parts: dict[str, Any] = model.model_json_schema().get("properties", {})
    return {name: _spec(part, _label(name, part)) for name, part in parts.items()}


def _label(name: str, part: Mapping[str, Any]) -> str:
    """A title that somebody gave the field; pydantic's own says no more than its name."""
    title = str(part.get("title", ""))
    own = name.replace("_", " ").title()
    words = name.replace("_", " ")
    return title if title and title != own else words[:1].upper() + words[1:]


def _json_spec(label: str, hint: str) -> Spec:
    return Spec(Kind.JSON, label, hint, Shape(ShapeKind.JSON), {}, ABSENT, "")


def _spec(part: Mapping[str, Any], label: str) -> Spec:
    hint = " ".join(str(part.get("description", "")).split())
    default = part.get("default", ABSENT)
    row = str(part.get("row", "Row"))
    words = part.get("words", {})

    def made(kind: Kind, shape: Shape, item: Spec | None = None) -> Spec:
        return Spec(kind, label, hint, shape, words, default, row, item, int(part.get("minItems", 0)))

    if "const" in part or "enum" in part:
        return made(Kind.CHOICE, Shape(ShapeKind.ENUM, choices=tuple(part.get("enum", [part.get("const")]))))
    number = _number(part)
    if number is not None:
        return made(Kind.NUMBER, number)
    branches = part.get("anyOf")
    if isinstance(branches, list) and len(branches) == 2 and branches[1].get("const") == INF:
        number = _number(branches[0])
        if number is not None:
            return made(Kind.BOUND, number)
    match part.get("type"):
        case "boolean":
            return made(Kind.CHOICE, Shape(ShapeKind.BOOLEAN))
        case "string":
            return made(Kind.TOOL if part.get("format") == TOOL else Kind.TEXT, Shape(ShapeKind.TEXT))
        case "array" if isinstance(part.get("items"), Mapping):
            item = _spec(part["items"], label)
            if item.kind in _SINGLE:
                return made(Kind.LIST, Shape(ShapeKind.JSON), item)
            if item.kind is Kind.LIST:
                return made(Kind.LISTS, Shape(ShapeKind.JSON), item)
        case "object" if isinstance(part.get("additionalProperties"), Mapping):
            item = _spec(part["additionalProperties"], label)
            names = part.get("propertyNames", {})
            if item.kind in _SINGLE and names.get("format") == TOOL:
                return made(Kind.MAP, Shape(ShapeKind.JSON), item)
    return made(Kind.JSON, Shape(ShapeKind.JSON))


#: Kinds of one input each, of which lists are made.
_SINGLE = frozenset({Kind.NUMBER, Kind.TEXT, Kind.CHOICE, Kind.TOOL})


def _number(part: Mapping[str, Any]) -> Shape | None:
    kind = {"integer": ShapeKind.INTEGER, "number": ShapeKind.NUMBER}.get(str(part.get("type")))
    return Shape(kind, minimum=part.get("minimum"), maximum=part.get("maximum")) if kind else None


def tools_spec(label: str) -> Spec:
    return Spec(Kind.LIST, label, "", Shape(ShapeKind.JSON), {}, ABSENT, "", tool_spec())


def tool_spec() -> Spec:
    return Spec(Kind.TOOL, "Tool", "", Shape(ShapeKind.TEXT), {}, ABSENT, "")


def fitting(spec: Spec, value: Any) -> Spec:
    """The spec whose field can show ``value`` without loss; JSON where the model's own cannot."""
    return spec if value is ABSENT or _shows(spec, value) else _json_spec(spec.label, spec.hint)


def _shows(spec: Spec, value: Any) -> bool:
    if spec.kind is Kind.JSON:
        return True
    if spec.kind is Kind.MAP:
        return (
            isinstance(value, dict)
            and len(value) <= MAX_ROWS
            and all(_scalar(name) and name and name == name.strip() for name in value)
            and all(_scalar(one) for one in value.values())
        )
    if spec.kind in (Kind.LIST, Kind.LISTS):
        items = value if isinstance(value, list) and len(value) <= MAX_ROWS else None
        # A blank item is a place to add one, and an empty row is none: such values are edited as JSON.
        return items is not None and all(
            _shows(spec.item, one) and one not in ("", []) for one in items if spec.item is not None
        )
    return _scalar(value) and (spec.kind is not Kind.CHOICE or isinstance(value, str | bool) or fits(spec.shape, value))


def _scalar(value: Any) -> bool:
    """Whether one input shows it: a text of one line, or a number."""
    if isinstance(value, str):
        return "\n" not in value and "\r" not in value
    return isinstance(value, int | float)


def text_of(spec: Spec, value: Any) -> str:
    """The value as the text of its input."""
    if value is ABSENT or (spec.kind is Kind.BOUND and value == INF):
        return ""
    if spec.kind is Kind.JSON:
        return shown_json(value)
    return shown(value)
