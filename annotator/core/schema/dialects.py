"""Convert the JSON Schema dialects in which toolsets are written to JSON Schema 2020-12.

Invalid keywords are read as they were meant ("required": true on a property, "minimum": "0", old tuple items), or left
out with a note, so that one odd keyword does not prevent checking a whole tool.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import jsonschema_rs

from annotator.core.schema.references import inline_references
from annotator.core.schema.type_words import JSON_TYPES, type_fragment

#: Patterns are untrusted: only the linear-time engine runs them, and their compiled size is limited.
PATTERN_OPTIONS = jsonschema_rs.RegexOptions(size_limit=1 << 18, dfa_size_limit=1 << 20)
#: Patterns checked in one toolset: each may take some milliseconds to compile, in every process that checks.
MAX_PATTERNS = 200

_MAPS = ("properties", "patternProperties", "dependentSchemas")
_SINGLE = (
    *("items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else"),
    *("unevaluatedItems", "unevaluatedProperties", "contentSchema"),
)
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COUNTS = (
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
    *("minContains", "maxContains"),
)
_FLAGS = ("uniqueItems", "deprecated", "readOnly", "writeOnly")
_TEXTS = ("title", "description", "format", "$comment", "contentEncoding", "contentMediaType")
#: Keywords that name or fetch other schemas; references are already inlined, so nothing may refer to them.
_DROPPED = (
    *("$ref", "$schema", "$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor"),
    *("$vocabulary", "$defs", "definitions", "dependencies", "nullable"),
)
_TRUE, _FALSE = frozenset({"true", "yes"}), frozenset({"false", "no"})
_PYTHON_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "object": dict,
    "array": list,
    "null": type(None),
}


class Patterns:
    """How many patterns of a toolset may still be checked."""

    def __init__(self) -> None:
        self.left = MAX_PATTERNS


def read_schema(schema: Any, patterns: Patterns | None = None) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a tool's ``parameters`` as JSON Schema 2020-12 describing an object; the argument is not changed.

    Also returns a note (a sentence) for each rule that was left out. ``patterns``: the limit that the toolset's other
    tools have left. Raises ValueError, with a sentence, if the schema cannot be used: it is not an object, has a
    reference to another file or to nothing, or unfolds without end.
    """
    if schema is None:
        schema = {}
    if not isinstance(schema, dict):
        raise ValueError("The parameters must be an object: a JSON Schema.")
    schema = inline_references(schema)
    if is_property_map(schema):
        schema = {"type": "object", "properties": schema}
    reader = _Reader(patterns or Patterns())
    result, _ = reader.read(schema, "")
    kind = result.setdefault("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise ValueError(f"The parameters must describe an object, not {kind}.")
    result["type"] = "object"
    return result, tuple(reader.notes)


def is_property_map(schema: dict[str, Any]) -> bool:
    """Return whether the properties are given directly, without the schema of the object."""
    if not schema or "properties" in schema or isinstance(schema.get("type"), str | list):
        return False
    return all(isinstance(value, dict) for value in schema.values()) and not schema.keys() & {"additionalProperties"}


class _Reader:
    """Reads one schema top down and collects notes on omitted rules. ``path`` is the argument's dotted name."""

    def __init__(self, patterns: Patterns) -> None:
        self.notes: list[str] = []
        self.patterns = patterns

    def read(self, schema: Any, path: str) -> tuple[Any, bool]:
        """Return the normalised schema, and whether it marks itself as required."""
        if isinstance(schema, bool):
            return schema, False
        if isinstance(schema, str):
            return type_fragment(schema) or {"description": schema}, False
        if not isinstance(schema, dict):
            if schema is not None:
                self._note(path, "the description is not an object")
            return {}, False
        out = {key: value for key, value in schema.items() if key not in _DROPPED}
        self._read_type(out, path, nullable=schema.get("nullable") is True)
        self._read_items(out)
        hoisted = self._read_parts(out, path)
        required = self._read_required(out, hoisted, path)
        self._read_limits(out, path)
        self._read_values(out, path)
        self._read_pattern(out, path)
        for key in _TEXTS:
            if key in out and not isinstance(out[key], str):
                del out[key]
        return out, required

    def _note(self, path: str, what: str) -> None:
        where = f"Of “{path}”" if path else "Of the whole"
        self.notes.append(f"{where}, {what}.")

    def _read_type(self, out: dict[str, Any], path: str, *, nullable: bool) -> None:
        written = out.pop("type", None)
        words = written if isinstance(written, list) else [written]
        names: list[str] = []
        open_ended = False
        for word in words:
            if word is None:
                continue
            fragment = type_fragment(word) if isinstance(word, str) else None
            if fragment is None:
                self._note(path, f"the type {str(word)[:40]!r} is unknown, so any value is accepted")
            if not fragment:
                open_ended = True
                continue
            kinds = fragment["type"]
            names += kinds if isinstance(kinds, list) else [kinds]
            if "items" in fragment:
                out.setdefault("items", fragment["items"])
        if open_ended:
            return
        if not names and not out.keys() & {"enum", "const", *_LISTS, "not", "if"}:
            names = ["object"] if "properties" in out else ["array"] if "items" in out else []
        if nullable and names:
            names.append("null")
        names = list(dict.fromkeys(names))
        if names:
            out["type"] = names[0] if len(names) == 1 else names

    def _read_items(self, out: dict[str, Any]) -> None:
        items = out.get("items")
        if isinstance(items, list):
            del out["items"]
            if items:
                out.setdefault("prefixItems", items)
            if "additionalItems" in out:
                out["items"] = out.pop("additionalItems")
        out.pop("additionalItems", None)

    def _read_parts(self, out: dict[str, Any], path: str) -> list[str]:
        """Normalise all inner schemas; return the properties that mark themselves as required."""
        hoisted: list[str] = []
        for key in _MAPS:
            if key not in out:
                continue
            members = dict(_members(out.pop(key)))
            if key == "patternProperties":
                members = {name: part for name, part in members.items() if self._usable(name, path)}
            parts = {}
            for name, part in members.items():
                inside = f"{path}.{name}" if path else name
                parts[name], required = self.read(part, inside if key == "properties" else path)
                if required and key == "properties":
                    hoisted.append(name)
            out[key] = parts
        for key in _SINGLE:
            if key in out:
                inside = f"{path}[]" if key == "items" else path
                out[key], _ = self.read(out[key], inside)
        for key in _LISTS:
            if key in out:
                parts_in = out[key] if isinstance(out[key], list) else [out[key]]
                out[key] = [self.read(part, path)[0] for part in parts_in]
                if not out[key]:
                    del out[key]
        return hoisted

    def _read_required(self, out: dict[str, Any], hoisted: list[str], path: str) -> bool:
        written = out.pop("required", None)
        itself = False
        names: list[str] = []
        if isinstance(written, bool):
            itself = written
        elif isinstance(written, str):
            if written.lower() in _TRUE | _FALSE and written not in out.get("properties", {}):
                itself = written.lower() in _TRUE
            else:
                names = [written]
        elif isinstance(written, list):
            names = [name for name in written if isinstance(name, str)]
        elif written is not None:
            self._note(path, "“required” is neither a list of names nor true or false")
        names = list(dict.fromkeys([*names, *hoisted]))
        if names:
            out["required"] = names
        if "dependentRequired" in out and not _is_name_lists(out["dependentRequired"]):
            del out["dependentRequired"]
            self._note(path, "“dependentRequired” is not an object of lists of names")
        return itself

    def _read_limits(self, out: dict[str, Any], path: str) -> None:
        for exclusive, inclusive in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            # Draft 4 has a flag next to the limit.
            if isinstance(out.get(exclusive), bool) and out.pop(exclusive) and inclusive in out:
                out[exclusive] = out.pop(inclusive)
        for key in _NUMBERS + _COUNTS:
            if key not in out:
                continue
            number = _number(out.pop(key))
            if key in _COUNTS and number is not None and (number < 0 or number != int(number)):
                number = None
            if number is None or (key == "multipleOf" and number <= 0):
                self._note(path, f"“{key}” has an invalid value")
            else:
                out[key] = int(number) if key in _COUNTS else number
        for key in _FLAGS:
            if key in out and not isinstance(out[key], bool):
                del out[key]

    def _read_values(self, out: dict[str, Any], path: str) -> None:
        if "examples" in out and not isinstance(out["examples"], list):
            out["examples"] = [out["examples"]]
        if "enum" not in out:
            return
        written = out.pop("enum")
        values = list(written) if isinstance(written, list | dict) else [written]
        if not values or written is None:
            return
        out["enum"] = values
        kinds = out.get("type", [])
        if kinds and not any(_is_of(value, kind) for value in values for kind in _listed(kinds)):
            del out["type"]
            self._note(path, "no value of “enum” has the given type, so only the values are checked")

    def _read_pattern(self, out: dict[str, Any], path: str) -> None:
        if "pattern" in out and not self._usable(out["pattern"], path):
            del out["pattern"]

    def _usable(self, pattern: Any, path: str) -> bool:
        self.patterns.left -= 1
        if self.patterns.left < 0:
            reason = f"the toolset has more than {MAX_PATTERNS} patterns"
        elif isinstance(pattern, str) and is_linear_pattern(pattern):
            return True
        else:
            reason = "it is not a regular expression that runs in linear time, or it is too large"
        self._note(path, f"the pattern “{str(pattern)[:60]}” is not checked: {reason}")
        return False


@lru_cache(maxsize=512)
def is_linear_pattern(pattern: str) -> bool:
    """Return whether a regular expression compiles in the linear-time engine (no look-around, no back references)."""
    try:
        jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=PATTERN_OPTIONS)
    except (jsonschema_rs.ValidationError, ValueError):
        return False
    return True


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the name and schema of each property, even if a list of named objects is given instead of an object."""
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        for part in value:
            if isinstance(part, dict) and isinstance(part.get("name"), str):
                yield part["name"], {key: inner for key, inner in part.items() if key != "name"}
            elif isinstance(part, str):
                yield part, {}


def _number(value: Any) -> float | int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    if isinstance(value, str) and re.fullmatch(r"\s*[-+]?\d{1,15}(\.\d{1,15})?\s*", value):
        number = float(value)
        return int(number) if number.is_integer() else number
    return None


def _is_name_lists(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(names, list) and all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
        for names in value.values()
    )


def _listed(kinds: str | list[str]) -> list[str]:
    return [kinds] if isinstance(kinds, str) else kinds


def _is_of(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return kind in JSON_TYPES and isinstance(value, _PYTHON_TYPES[kind])
