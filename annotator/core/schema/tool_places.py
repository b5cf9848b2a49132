"""Places inside a tool: which parameter a place belongs to, and where a parameter is described."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotator.core.schema.dialects import is_property_map

Parts = tuple[str, ...]

#: Keywords at the top of a function's parameters; anything else there is the name of a parameter.
_KEYWORDS = frozenset(
    {"$defs", "$schema", "additionalProperties", "allOf", "anyOf", "definitions", "description", "oneOf", "properties"}
    | {"required", "title", "type"}
)
#: Texts that people read; programs read all others.
_PROSE = frozenset({"description", "title"})


@dataclass(frozen=True, slots=True)
class ToolPlace:
    """A place inside a tool.

    ``parameter``: names from the function's own parameter down, with ``[]`` for the items of a list; empty for a place
    of the function itself. ``field``: the keys inside, such as ``("description",)``; empty for the parameter itself.
    """

    parameter: Parts
    field: Parts

    @property
    def is_prose(self) -> bool:
        """Whether a text here is for people, so that its white space means nothing."""
        own = self.field[1:] if self.field[:1] == ("parameters",) else self.field
        return len(own) == 1 and own[0] in _PROSE


def place_in_tool(parts: Parts) -> ToolPlace:
    """Return the place that these keys lead to, from a tool down."""
    parts = parts[1:] if parts[:1] == ("function",) else parts
    if parts[:1] != ("parameters",):
        return ToolPlace((), parts)
    path: list[str] = []
    rest = parts[1:]
    if rest and rest[0] not in _KEYWORDS:
        # A map of parameters without a schema around it.
        path.append(rest[0])
        rest = rest[1:]
    while len(rest) > 1:
        if rest[0] == "properties":
            path.append(rest[1])
            rest = rest[2:]
        elif rest[0] == "items" and path:
            path.append("[]")
            rest = rest[1:]
        else:
            break
    return ToolPlace(tuple(path), rest) if path else ToolPlace((), parts)


def parameter_parts(tool: Mapping[str, Any], parameter: Parts) -> Parts:
    """Return the keys that lead from a tool to a parameter, or to the nearest schema around it that there is."""
    function, found = (tool["function"], Parts(("function",))) if "function" in tool else (tool, ())
    if not parameter:
        return ()
    schema = function.get("parameters")
    if schema is None:
        return found
    found = (*found, "parameters")
    if is_property_map(schema):
        schema = {"properties": schema}
    for depth, name in enumerate(parameter):
        holder = schema if name == "[]" else schema.get("properties") if isinstance(schema, Mapping) else None
        key = "items" if name == "[]" else name
        if not isinstance(holder, Mapping) or key not in holder:
            break
        bare = depth == 0 and function["parameters"] is holder
        found = (*found, key) if name == "[]" or bare else (*found, "properties", key)
        schema = holder[key]
    return found
