"""Toolsets: read, normalised and compiled.

A toolset revision has its tools as they were read, ``{"tools": [OpenAI function object …]}``, and for stateful tools
also ``"implementation": {"source", "class", "load"}`` (see ``read_implementation``). Checks and forms work on the
normalised schemas. The compiled form, one validator for each tool, is cached by content, so an import of many dialogues
with few toolsets compiles each once.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Self

import jsonschema_rs

from annotator.core.schema.canonical import content_hash, normalise
from annotator.core.schema.dialects import PATTERN_OPTIONS, Patterns, read_schema
from annotator.core.schema.errors import Problem, SchemaProblem
from annotator.core.schema.exact_json import JsonError, load_stored, loads, pointer

__all__ = [
    "CompiledToolset",
    "Tool",
    "ToolSpec",
    "count_characters",
    "count_values",
    "normalise_tools",
    "read_implementation",
    "read_tools",
    "toolset_content",
]

MAX_TOOLS = 512
MAX_NAME = 200
#: Bytes of an implementation's source; the sandbox runs no longer one.
MAX_SOURCE = 256 << 10

#: Next to one of these keywords, names that "properties" does not list may be valid.
_OPENING = frozenset(
    {"allOf", "anyOf", "oneOf", "if", "not", "patternProperties", "additionalProperties"}
    | {"unevaluatedProperties", "dependentSchemas"}
)


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool: its name, description, and parameters as JSON Schema 2020-12 of one object.

    ``notes`` are sentences about rules that could not be read and are not checked. ``broken`` is empty, or the reason
    why the tool cannot be checked at all; then its parameters are {} and accept anything.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    notes: tuple[str, ...] = ()
    broken: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool, ready to check calls. ``validator`` also refuses arguments that the schema does not name."""

    spec: ToolSpec
    validator: jsonschema_rs.Draft202012Validator
    argument_names: tuple[str, ...]
    #: Alternatives (anyOf, oneOf) in the schema; each value may be tried with each.
    alternatives: int
    #: All values in the schema, including required names and listed values; each value of a call may be compared with
    #: each.
    rules: int
    #: Patterns in the schema; each character may be matched against each.
    patterns: int

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def description(self) -> str:
        return self.spec.description

    @property
    def parameters(self) -> dict[str, Any]:
        """JSON Schema 2020-12 of the arguments, for forms."""
        return self.spec.parameters


_DISTINCTIVE = re.compile(r"[a-z0-9][A-Z]|[A-Za-z][0-9_.\-]+[A-Za-z]")


def read_tools(data: Any) -> list[dict[str, Any]]:
    """Return the tools of a native record, unchanged, after checking that each one has a name.

    Accepts a list of OpenAI function objects or of bare ``{name, description, parameters}``, also as JSON text or under
    the key ``tools``. A schema that cannot be understood is not an error here: ``normalise_tools`` marks the tool as
    broken and its calls get a finding. Raises SchemaProblem with pointers into ``data``.
    """
    if isinstance(data, str):
        try:
            data = loads(data)
        except JsonError as error:
            raise SchemaProblem([Problem(error.pointer, error.message)]) from None
        except ValueError as error:
            raise SchemaProblem([Problem("", f"The tools are not valid JSON: {error}.")]) from None
    data, start = normalise(data), ""
    if isinstance(data, dict) and "tools" in data:
        data, start = data["tools"], "/tools"
    if not isinstance(data, list):
        raise SchemaProblem([Problem(start, "Must be a list of tools.")])
    if len(data) > MAX_TOOLS:
        raise SchemaProblem([Problem(start, f"There are {len(data)} tools. The limit is {MAX_TOOLS}.")])
    problems = [problem for i, tool in enumerate(data) for problem in _tool_problems(tool, f"{start}/{i}")]
    if problems:
        raise SchemaProblem(problems)
    return data


def read_implementation(data: Any) -> dict[str, Any] | None:
    """Return the implementation of stateful tools; None if there is none.

    ``source`` is Python with a class named by ``class``, or with plain functions if that is null. ``load`` names the
    method of the class that takes the initial state; null if there is none. Raises SchemaProblem with pointers into the
    toolset.
    """
    if data is None:
        return None
    data, start = normalise(data), "/implementation"
    if not isinstance(data, dict) or set(data) - {"source", "class", "load"}:
        raise SchemaProblem([Problem(start, "An implementation is an object with source, class and load.")])
    problems = []
    source = data.get("source")
    if not isinstance(source, str) or not source.strip():
        problems.append(Problem(f"{start}/source", "The source must be Python code."))
    elif len(source.encode()) > MAX_SOURCE:
        problems.append(Problem(f"{start}/source", f"The source has more than {MAX_SOURCE:,} bytes."))
    for key in ("class", "load"):
        name = data.get(key)
        if name is not None and not (isinstance(name, str) and name.isidentifier() and len(name) <= MAX_NAME):
            problems.append(Problem(f"{start}/{key}", "Must be a name in the code, or null."))
    if not problems and data.get("load") is not None and data.get("class") is None:
        problems.append(Problem(f"{start}/load", "Plain functions have no state to load. Leave it out."))
    if problems:
        raise SchemaProblem(problems)
    return {"source": source, "class": data.get("class"), "load": data.get("load")}


def toolset_content(tools: Any, implementation: Any = None) -> dict[str, Any]:
    """Return the content of a toolset revision. Raises SchemaProblem with pointers into it."""
    content: dict[str, Any] = {"tools": read_tools(tools)}
    found = read_implementation(implementation)
    return content if found is None else content | {"implementation": found}


def _tool_problems(tool: Any, pointer: str) -> list[Problem]:
    if not isinstance(tool, dict):
        return [Problem(pointer, "A tool must be an object with a name, a description and parameters.")]
    function = tool
    if "function" in tool:
        function, pointer = tool["function"], f"{pointer}/function"
        if not isinstance(function, dict):
            return [Problem(pointer, "A function must be an object with a name, a description and parameters.")]
    problems = []
    name = function.get("name")
    if not isinstance(name, str) or not name.strip():
        problems.append(Problem(f"{pointer}/name", "The tool has no name. Give it one."))
    elif len(name) > MAX_NAME:
        problems.append(Problem(f"{pointer}/name", f"The tool's name is longer than {MAX_NAME} characters."))
    if not isinstance(function.get("description"), str | None):
        problems.append(Problem(f"{pointer}/description", "The description must be text."))
    if not isinstance(function.get("parameters"), dict | None):
        problems.append(Problem(f"{pointer}/parameters", "The parameters must be an object: a JSON Schema."))
    return problems


def normalise_tools(tools: Sequence[Mapping[str, Any]]) -> dict[str, ToolSpec]:
    """Return name → tool with its normalised schema, in order, for tools that ``read_tools`` has accepted."""
    specs: dict[str, ToolSpec] = {}
    patterns = Patterns()
    for tool in tools:
        spec = _specify(tool.get("function", tool), patterns)
        known = specs.setdefault(spec.name, spec)
        if _rules(known.parameters) != _rules(spec.parameters) or known.broken != spec.broken:
            reason = f"The toolset describes {spec.name} twice, with different parameters. Keep one."
            specs[spec.name] = ToolSpec(spec.name, known.description, {}, broken=reason)
    return specs


def _rules(schema: Any) -> Any:
    """Return a schema without its texts. Two schemas that differ only in texts accept the same calls."""
    if isinstance(schema, list):
        return [_rules(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _rules(part)
        for key, part in schema.items()
        if key not in ("description", "title") or not isinstance(part, str)
    }


def _specify(function: Mapping[str, Any], patterns: Patterns) -> ToolSpec:
    name, description = function["name"], function.get("description") or ""
    try:
        schema, notes = read_schema(function.get("parameters"), patterns)
        _compile(schema)
    except jsonschema_rs.ValidationError as error:
        place = pointer(error.instance_path)
        reason = f"The parameters of {name} are not a usable JSON Schema ({place or '/'}: {error.message[:200]})."
        return ToolSpec(name, description, {}, broken=reason)
    except ValueError as error:
        return ToolSpec(name, description, {}, broken=f"The parameters of {name} cannot be used. {error}")
    return ToolSpec(name, description, schema, notes)


def _compile(schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(
        schema, validate_formats=False, pattern_options=PATTERN_OPTIONS, offline=True
    )


def _closed(schema: Any, *, root: bool = True) -> Any:
    """Return a ``schema`` that refuses unnamed properties wherever it lists some and does not mention others."""
    if not isinstance(schema, dict):
        return schema
    out = dict(schema)
    properties = schema.get("properties", {})
    if (properties or root) and not schema.keys() & _OPENING:
        # A required name without its own description counts as named.
        named: dict[str, Any] = {name: {} for name in schema.get("required", ()) if name not in properties}
        out["properties"] = {**properties, **named}
        out["additionalProperties"] = False
    if "properties" in out:
        out["properties"] = {name: _closed(part, root=False) for name, part in out["properties"].items()}
    if "items" in out:
        out["items"] = _closed(out["items"], root=False)
    if "prefixItems" in out:
        out["prefixItems"] = [_closed(part, root=False) for part in out["prefixItems"]]
    return out


class CompiledToolset:
    """A toolset, ready for checking. ``tools`` has every tool by name, including broken ones.

    Build it with ``CompiledToolset.of``, which caches the most recently used ones.
    """

    def __init__(self, text: str, tools: list[dict[str, Any]], implementation: dict[str, Any] | None = None) -> None:
        self._text = text
        #: As ``read_implementation`` returns it.
        self.implementation = implementation
        self.tools: dict[str, Tool] = {name: _ready(spec) for name, spec in normalise_tools(tools).items()}

    @classmethod
    def of(cls, content_text: str) -> "CompiledToolset":
        """Return the compiled form of a toolset's stored content. Raises SchemaProblem if it is not a toolset."""
        return _compiled(content_text)

    @classmethod
    def of_tools(cls, tools: Sequence[Mapping[str, Any]]) -> Self:
        """Return the compiled form of tools that are not stored (yet). Raises SchemaProblem if they are not tools."""
        return cls("", read_tools(list(tools)))

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of the stored content; of the empty text if the tools are not stored."""
        return content_hash(self._text)

    @property
    def names(self) -> list[str]:
        """The names of all tools, in the toolset's order."""
        return list(self.tools)

    @cached_property
    def distinctive_names(self) -> tuple[tuple[str, str], ...]:
        """Pairs (name, name in lower case) of tools whose names are not ordinary words: they contain a capital, a digit
        or a separator. “geocode” and “search” are words, and using them reveals nothing.
        """
        return tuple((name, name.lower()) for name in self.tools if _DISTINCTIVE.search(name))

    @property
    def broken(self) -> dict[str, str]:
        """Name → the reason why the tool cannot be checked."""
        return {name: tool.spec.broken for name, tool in self.tools.items() if tool.spec.broken}


def _ready(spec: ToolSpec) -> Tool:
    schema = {} if spec.broken else _closed(spec.parameters)
    return Tool(
        spec,
        _compile(schema),
        tuple(schema.get("properties", {})),
        _alternatives(schema),
        count_values(schema),
        _count_patterns(schema),
    )


def count_values(value: Any) -> int:
    """Count the values in a JSON value, including itself."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(count_values, inside))


def count_characters(value: Any) -> int:
    """Count the characters of all texts and keys in a JSON value."""
    if isinstance(value, dict):
        return sum(map(len, value)) + sum(map(count_characters, value.values()))
    return sum(map(count_characters, value)) if isinstance(value, list) else len(value) if isinstance(value, str) else 0


def _count_patterns(schema: Any) -> int:
    if isinstance(schema, list):
        return sum(map(_count_patterns, schema))
    if not isinstance(schema, dict):
        return 0
    names = schema.get("patternProperties")
    own = isinstance(schema.get("pattern"), str) + (len(names) if isinstance(names, dict) else 0)
    return own + sum(map(_count_patterns, schema.values()))


def _alternatives(schema: Any) -> int:
    if isinstance(schema, list):
        return sum(map(_alternatives, schema))
    if not isinstance(schema, dict):
        return 0
    lists = [schema[key] for key in ("anyOf", "oneOf") if isinstance(schema.get(key), list)]
    return sum(map(len, lists)) + sum(map(_alternatives, schema.values()))


@lru_cache(maxsize=512)
def _compiled(content_text: str) -> CompiledToolset:
    try:
        content = load_stored(content_text)
    except ValueError as error:
        raise SchemaProblem([Problem("", f"The toolset is not valid JSON: {error}.")]) from None
    if not isinstance(content, dict):
        raise SchemaProblem([Problem("", "A toolset must be an object with a list of tools under “tools”.")])
    return CompiledToolset(content_text, read_tools(content), read_implementation(content.get("implementation")))
