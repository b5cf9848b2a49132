"""The parameters of tools, one by one, as their normalised schemas describe them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from annotator.core.schema.toolsets import ToolSpec, normalise_tools

#: Deeper parameters are counted as if they were here.
MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a tool, or a property inside one.

    ``path``: names from the tool's own parameter down; ``[]`` stands for a list's items (``("legs", "[]", "to")``).
    ``depth``: 1 for the tool's own parameters, one more for each object or list around it.
    """

    tool: str
    path: tuple[str, ...]
    schema: Mapping[str, Any]
    required: bool
    depth: int

    @property
    def name(self) -> str:
        """The dotted name: ``legs[].to``."""
        return dotted(self.path)

    @property
    def kind(self) -> str:
        """The type as statistics name it: enum, or one of JSON Schema's; “several” or “any” where it is not one."""
        if "enum" in self.schema or "const" in self.schema:
            return "enum"
        types = self.schema.get("type")
        if isinstance(types, list):
            types = [one for one in types if one != "null"]
            types = types[0] if len(types) == 1 else "several" if types else "null"
        return types if isinstance(types, str) else "several" if self.schema.keys() & {"anyOf", "oneOf"} else "any"


def dotted(path: Iterable[str]) -> str:
    """Return the path of a parameter as one name: ``legs[].to``."""
    return ".".join(path).replace(".[]", "[]")


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name, in lower case and the singular: ``flightIDs`` and ``flight_id`` are flight, id."""
    return tuple(_singular(word.casefold()) for word in _WORDS.findall(name)) or (name.casefold(),)


#: “IDs” is one word; a word ends where a capital begins, and a capital before a small letter begins a word.
_WORDS = re.compile(r"IDs(?![a-z])|[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_A-Za-z]+")


def _singular(word: str) -> str:
    word = word if word.endswith("ss") else word.removesuffix("s")
    # Movies and cities: with one ending for both, each has the same form as its singular.
    return word[:-2] + "y" if word.endswith("ie") else word


def each_tool(tools: Iterable[Mapping[str, Any]]) -> list[ToolSpec]:
    """Return every tool that ``read_tools`` has accepted, normalised, also one whose name another has."""
    return [spec for tool in tools for spec in normalise_tools([tool]).values()]


def parameters_of(spec: ToolSpec) -> Iterator[Parameter]:
    """Return the parameters of a tool, outer before inner, in the order of the schema."""
    yield from _inside(spec.name, (), spec.parameters, 1)


def _inside(tool: str, path: tuple[str, ...], schema: Any, depth: int) -> Iterator[Parameter]:
    if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
        return
    required = schema.get("required")
    required = required if isinstance(required, list) else []
    properties = schema.get("properties")
    for name, part in properties.items() if isinstance(properties, Mapping) else ():
        inner = part if isinstance(part, Mapping) else {}
        yield Parameter(tool, (*path, name), inner, name in required, depth)
        yield from _inside(tool, (*path, name), inner, depth + 1)
    items = schema.get("items")
    if path and isinstance(items, Mapping):
        yield from _inside(tool, (*path, "[]"), items, depth)
