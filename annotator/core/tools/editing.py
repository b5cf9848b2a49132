"""A function as a form: a row for each parameter, also for those inside objects and lists.

Only what was changed in the form is changed in the function. Everything that the form does not show stays as it is.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from annotator.core.schema.dialects import is_property_map
from annotator.core.schema.exact_json import dumps, loads
from annotator.core.schema.toolsets import MAX_NAME
from annotator.core.text import Message, message
from annotator.core.text import gettext_noop as _
from annotator.core.tools.parameters import MAX_DEPTH, dotted

#: The types that a form offers; a parameter may have another one, which stays until it is changed.
TYPES = ("string", "integer", "number", "boolean", "array", "object")
#: Functions with more parameters are edited as JSON.
MAX_ROWS = 200
#: Keywords that only some types have.
_OF_TYPES = {
    **dict.fromkeys(("properties", "required", "additionalProperties", "minProperties", "maxProperties"), ("object",)),
    **dict.fromkeys(("items", "prefixItems", "minItems", "maxItems", "uniqueItems"), ("array",)),
    **dict.fromkeys(("pattern", "format", "minLength", "maxLength"), ("string",)),
    **dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), ("integer", "number")
    ),
}


class EditProblem(ValueError):
    """A form that cannot be applied. ``field``: the name of its field; ``message``: a sentence."""

    def __init__(self, field: str, message: Message) -> None:
        super().__init__(message.text)
        self.field, self.message = field, message


@dataclass(frozen=True, slots=True)
class Row:
    """A parameter in the form. ``key``: the prefix of its fields; ``choices``: its enum, one in a line."""

    key: str
    path: tuple[str, ...]
    type: str
    required: bool
    description: str
    choices: str
    default: str
    #: Whether parameters can be added inside.
    holds: bool

    @property
    def name(self) -> str:
        return self.path[-1]

    @property
    def full_name(self) -> str:
        return dotted(self.path)

    def field(self, name: str) -> str:
        return f"{self.key}-{name}"


@dataclass(slots=True)
class _Place:
    """A parameter in the JSON. ``holder``: the object schema that describes it.

    ``bare``: its type, if that is written instead of a schema; then ``schema`` is not part of the JSON.
    """

    path: tuple[str, ...]
    holder: dict[str, Any]
    schema: dict[str, Any]
    bare: str


def rows_of(function: Mapping[str, Any]) -> list[Row]:
    """Return the rows of a function, at most ``MAX_ROWS`` + 1."""
    rows = []
    for number, place in enumerate(_places(_parameters_of(deepcopy(dict(function))), (), 1)):
        schema = place.schema
        rows.append(
            Row(
                key=f"p{number}",
                path=place.path,
                type=_type(schema),
                required=place.path[-1] in _required(place.holder),
                description=_text(schema.get("description")),
                choices=_choices(schema),
                default=_shown(schema, schema["default"]) if "default" in schema else "",
                holds=_holds(place),
            )
        )
        if number >= MAX_ROWS:
            break
    return rows


def edited(function: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, Any]:
    """Return a function with what a form gives; the same one if that changes nothing.

    ``given``: ``name``, ``description``; ``p0-name`` and so on for each row; ``new-name`` and so on for a parameter to
    add, where ``new-inside`` is the key of the row that it is added to. Raises EditProblem.
    """
    result = deepcopy(dict(function))
    if "name" in given and given["name"] != _one_line(_text(result.get("name"))):
        result["name"] = _checked_name("name", given["name"])
    if "description" in given and _lines(given["description"]) != _lines(_text(result.get("description"))):
        result["description"] = _lines(given["description"])
    parameters = _parameters_of(result)
    before = deepcopy(parameters)
    places = list(zip(rows_of(result), _places(parameters, (), 1), strict=False))
    # From the last one, so that a deleted or renamed object still has its parameters when they are changed.
    for row, place in reversed(places):
        _apply(row, place, given)
    if given.get("new-name", "").strip():
        _add(_holder(parameters, places, given), given)
    if parameters != before:
        result["parameters"] = parameters
    return result


def _parameters_of(function: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a function's parameters. A map of parameters without one gets it."""
    parameters = function.get("parameters")
    if not isinstance(parameters, dict) or not parameters:
        return {"type": "object", "properties": {}}
    return {"type": "object", "properties": parameters} if is_property_map(parameters) else parameters


def _holder(parameters: dict[str, Any], places: list[tuple[Row, _Place]], given: Mapping[str, str]) -> dict[str, Any]:
    """Return the schema to which a new parameter is added."""
    inside = given.get("new-inside", "")
    holder: dict[str, Any] | None = parameters
    if inside:
        place = next((place for row, place in places if row.key == inside), None)
        kept = place is not None and not _is_deleted(place, places, given)
        holder = _inner(place.schema) if place is not None and kept and _holds(place) else None
    if holder is None:
        words = message(_("Parameters can be added only to an object or a list of objects."))
        raise EditProblem("new-inside", words)
    if "$ref" in holder:
        words = message(_("The parameters are described by a reference. Add others to the JSON."))
        raise EditProblem("new-name", words)
    return holder


def _holds(place: _Place) -> bool:
    """Return whether parameters can be added inside: to a schema that is part of the JSON."""
    return not place.bare and _inner(place.schema) is not None


def _is_deleted(place: _Place, places: list[tuple[Row, _Place]], given: Mapping[str, str]) -> bool:
    """Return whether the form deletes a parameter, or one around it."""
    deleted = [one.path for row, one in places if given.get(row.field("delete"))]
    return any(place.path[: len(path)] == path for path in deleted)


def _apply(row: Row, place: _Place, given: Mapping[str, str]) -> None:
    holder, schema, name = place.holder, place.schema, row.name
    if given.get(row.field("delete")):
        del holder["properties"][name]
        _require(holder, name, False)
        return
    kind = given.get(row.field("type"), row.type)
    choices = _lines(given.get(row.field("choices"), row.choices))
    default = given.get(row.field("default"), row.default)
    # What was a value of the old type is read as one of the new type.
    retyped = kind != row.type
    # A choice that stays is the same value as before, whatever its type.
    known = {} if retyped else {_shown(schema, value): value for value in _enum(schema)}
    if retyped:
        _retype(schema, kind)
    text = given.get(row.field("description"), row.description)
    if _lines(text) != _lines(row.description):
        _set(schema, "description", _lines(text))
    if choices != row.choices or (retyped and choices):
        _set(schema, "enum", _values(row.field("choices"), schema, choices, known))
    if default != row.default or (retyped and default):
        schema.pop("default", None)
        if default:
            schema["default"] = _value(row.field("default"), schema, default)
    if place.bare and schema != {"type": place.bare}:
        holder["properties"][name] = schema
    if row.field("name") in given:
        # A form sends nothing for a box without a tick.
        if bool(given.get(row.field("required"))) != row.required:
            _require(holder, name, not row.required)
        if given[row.field("name")] != _one_line(name):
            _rename(holder, name, row.field("name"), given[row.field("name")])


def _add(holder: dict[str, Any], given: Mapping[str, str]) -> None:
    name = _checked_name("new-name", given["new-name"])
    properties = holder.get("properties")
    if not isinstance(properties, dict):
        properties = holder["properties"] = {}
    if name in properties:
        raise EditProblem("new-name", message(_("There is a parameter %(name)s already."), name=name))
    schema: dict[str, Any] = {"type": given.get("new-type") or "string"}
    if given.get("new-description", "").strip():
        schema["description"] = _lines(given["new-description"])
    if given.get("new-choices", "").strip():
        schema["enum"] = _values("new-choices", schema, _lines(given["new-choices"]), {})
    if given.get("new-default"):
        schema["default"] = _value("new-default", schema, given["new-default"])
    properties[name] = schema
    if given.get("new-required"):
        _require(holder, name, True)


def _rename(holder: dict[str, Any], name: str, field: str, wanted: str) -> None:
    wanted = _checked_name(field, wanted)
    if wanted == name:
        return
    if wanted in holder["properties"]:
        raise EditProblem(field, message(_("There is a parameter %(name)s already."), name=wanted))
    # The order stays.
    holder["properties"] = {wanted if key == name else key: part for key, part in holder["properties"].items()}
    if isinstance(holder.get("required"), list):
        holder["required"] = [wanted if key == name else key for key in holder["required"]]


def _retype(schema: dict[str, Any], kind: str) -> None:
    for keyword, owners in _OF_TYPES.items():
        if kind not in owners:
            schema.pop(keyword, None)
    if kind == "array":
        schema.setdefault("items", {"type": "string"})
    _set(schema, "type", kind)


def _require(holder: dict[str, Any], name: str, required: bool) -> None:
    names = [one for one in _required(holder) if one != name] + ([name] if required else [])
    _set(holder, "required", names)


def _set(schema: dict[str, Any], key: str, value: Any) -> None:
    if value:
        schema[key] = value
    else:
        schema.pop(key, None)


def _places(schema: dict[str, Any], path: tuple[str, ...], depth: int) -> Iterator[_Place]:
    properties = schema.get("properties")
    if not isinstance(properties, dict) or depth > MAX_DEPTH:
        return
    for name, part in list(properties.items()):
        if not isinstance(part, dict | str):
            # True, false or a mistake: only the JSON shows it.
            continue
        # Some write only the type.
        schema_of, bare = (part, "") if isinstance(part, dict) else ({"type": part}, part)
        yield _Place((*path, name), schema, schema_of, bare)
        inner = _inner(schema_of)
        if inner is not None:
            within = (*path, name) if inner is schema_of else (*path, name, "[]")
            yield from _places(inner, within, depth + 1)


def _inner(schema: dict[str, Any]) -> dict[str, Any] | None:
    """Return the object schema inside a parameter: itself, or that of its list's items; None if there is none."""
    items = schema.get("items")
    for one in (schema, items):
        if isinstance(one, dict) and (one.get("type") in ("object", "dict") or isinstance(one.get("properties"), dict)):
            return one
    return None


def _type(schema: Mapping[str, Any]) -> str:
    written = schema.get("type")
    return written if isinstance(written, str) else "" if written is None else dumps(written).decode()


def _required(holder: Mapping[str, Any]) -> list[Any]:
    names = holder.get("required")
    return names if isinstance(names, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _lines(text: str) -> str:
    """Return a text as a form's field of several lines sends it, with single line breaks."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _one_line(text: str) -> str:
    """Return a text as a form's field of one line sends it."""
    return text.replace("\r", "").replace("\n", "")


def _enum(schema: Mapping[str, Any]) -> list[Any]:
    values = schema.get("enum")
    return values if isinstance(values, list) else []


def _choices(schema: Mapping[str, Any]) -> str:
    return "\n".join(_shown(schema, value) for value in _enum(schema))


def _shown(schema: Mapping[str, Any], value: Any) -> str:
    """Return a value as its field shows it: a text without quotes where only text is expected, else JSON."""
    if schema.get("type") == "string" and isinstance(value, str) and value[:1] != '"' and value == _lines(value) != "":
        return value if "\n" not in value else dumps(value).decode()
    return dumps(value).decode()


def _value(field: str, schema: Mapping[str, Any], text: str) -> Any:
    if schema.get("type") == "string" and not text.startswith('"'):
        return text
    try:
        return loads(text)
    except (ValueError, RecursionError):
        if schema.get("type") == "string":
            return text
        words = message(_('“%(text)s” is not JSON. Write texts in quotes, as in "red".'), text=text[:60])
        raise EditProblem(field, words) from None


def _values(field: str, schema: Mapping[str, Any], text: str, known: Mapping[str, Any]) -> list[Any]:
    """Return the values of lines. ``known``: a line → the value that it shows."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return [known[line] if line in known else _value(field, schema, line) for line in lines]


def _checked_name(field: str, text: str) -> str:
    name = text.strip()
    if not name or len(name) > MAX_NAME:
        raise EditProblem(field, message(_("Give it a name of at most %(limit)s characters."), limit=MAX_NAME))
    return name
