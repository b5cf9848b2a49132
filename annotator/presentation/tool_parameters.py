"""The parameters of functions for pages, at most so many of all functions together."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from annotator.core.comparison.change_lines import short_value
from annotator.core.schema.exact_json import dumps, load_stored
from annotator.core.schema.toolsets import ToolSpec
from annotator.core.tools.parameters import Parameter, each_tool, parameters_of

#: Parameters that a page shows, of all functions together.
MOST_PARAMETERS = 2_000
#: Values of an enum that a page shows.
_MOST_CHOICES = 60


@dataclass(frozen=True, slots=True)
class ShownParameter:
    """A parameter of a function. ``choices``: the values of its enum, on one line; ``depth``: see ``Parameter``."""

    name: str
    kind: str
    required: bool
    description: str
    choices: str
    default: str
    depth: int


@dataclass(frozen=True, slots=True)
class ShownFunction:
    """A function with its parameters, also those inside objects and lists. ``count``: of all, also those not shown."""

    spec: ToolSpec
    count: int
    parameters: list[ShownParameter]


def shown_functions(tools: Iterable[Mapping[str, Any]]) -> list[ShownFunction]:
    """Return the functions, together with at most ``MOST_PARAMETERS`` parameters."""
    left, functions = MOST_PARAMETERS, []
    for tool in tools:
        whole = _shown(dumps(tool).decode())
        functions.append(ShownFunction(whole.spec, whole.count, whole.parameters[:left]))
        left -= len(functions[-1].parameters)
    return functions


@lru_cache(maxsize=2048)  # an edit changes one function of many
def _shown(tool: str) -> ShownFunction:
    (spec,) = each_tool([load_stored(tool)])
    found = list(parameters_of(spec))
    return ShownFunction(spec, len(found), [_parameter(one) for one in found[:MOST_PARAMETERS]])


def _parameter(one: Parameter) -> ShownParameter:
    text, values = one.schema.get("description"), one.schema.get("enum")
    listed = values if isinstance(values, list) else []
    choices = " · ".join(short_value(value) for value in listed[:_MOST_CHOICES])
    return ShownParameter(
        name=one.name,
        kind=one.kind,
        required=one.required,
        description=text if isinstance(text, str) else "",
        choices=choices + (" …" if len(listed) > _MOST_CHOICES else ""),
        default=short_value(one.schema["default"]) if "default" in one.schema else "",
        depth=one.depth,
    )
