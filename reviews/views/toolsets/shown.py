"""What pages show of the findings and changes of a toolset."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from django.utils.translation import gettext as _

from annotator.core.comparison import ChangeKind, split
from annotator.core.comparison.change_lines import short_value
from annotator.core.comparison.describing import value_text
from annotator.core.schema.exact_json import load_stored
from annotator.core.schema.toolsets import ToolSpec
from annotator.core.tools.changes import tool_changes
from annotator.core.tools.checks import ToolFinding, check_tools, tool_checks
from annotator.core.tools.parameters import Parameter, each_tool, parameters_of
from annotator.translation import translated

#: Parameters that a page shows, of all functions together.
_MOST_PARAMETERS = 2_000
#: Values of an enum that a page shows.
_MOST_CHOICES = 60
#: Findings and changes that a page shows; it counts all.
MOST = 100
_ORDER = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class ShownParameter:
    """A parameter of a function. ``choices``: the values of its enum, on one line."""

    name: str
    kind: str
    required: bool
    description: str
    choices: str


@dataclass(frozen=True, slots=True)
class ShownFunction:
    """A function with its parameters, also those inside objects and lists. ``count``: of all, also those not shown."""

    spec: ToolSpec
    count: int
    parameters: list[ShownParameter]


def shown_functions(tools: Iterable[Mapping[str, Any]]) -> list[ShownFunction]:
    """Return the functions, together with at most ``_MOST_PARAMETERS`` parameters."""
    left, functions = _MOST_PARAMETERS, []
    for spec in each_tool(tools):
        found = list(parameters_of(spec))
        functions.append(ShownFunction(spec, len(found), [_parameter(one) for one in found[:left]]))
        left -= len(functions[-1].parameters)
    return functions


def _parameter(one: Parameter) -> ShownParameter:
    text, values = one.schema.get("description"), one.schema.get("enum")
    listed = values if isinstance(values, list) else []
    choices = " · ".join(short_value(value) for value in listed[:_MOST_CHOICES])
    more = " …" if len(listed) > _MOST_CHOICES else ""
    return ShownParameter(one.name, one.kind, one.required, text if isinstance(text, str) else "", choices + more)


@dataclass(frozen=True, slots=True)
class ShownFindings:
    """The findings of a toolset. ``rows``: (severity, tool, parameter, title of the check, sentence), errors first."""

    errors: int
    warnings: int
    infos: int
    rows: list[tuple[str, str, str, str, str]]

    @property
    def count(self) -> int:
        return self.errors + self.warnings + self.infos

    @property
    def more(self) -> int:
        return self.count - len(self.rows)


def shown_findings(found: Sequence[ToolFinding]) -> ShownFindings:
    """Return findings as pages show them."""
    titles = {check.id: _(check.title) for check in tool_checks()}
    errors, warnings, infos = (sum(one.severity == severity for one in found) for severity in _ORDER)
    first = sorted(found, key=lambda one: _ORDER.index(one.severity))[:MOST]
    rows = [(str(one.severity), one.tool, one.parameter, titles[one.check], translated(one.message)) for one in first]
    return ShownFindings(errors, warnings, infos, rows)


@lru_cache(maxsize=8)
def findings_of(tools: str) -> tuple[ToolFinding, ...]:
    """Return the findings of tools as JSON text."""
    return tuple(check_tools(load_stored(tools)))


@dataclass(frozen=True, slots=True)
class ShownChange:
    """A change of a toolset. ``before`` and ``after``: texts; None where there was or is nothing."""

    place: str
    kind: str
    before: str | None
    after: str | None


def shown_changes(before: str, after: str) -> list[ShownChange]:
    """Return what differs between two stored contents, at most ``MOST`` + 1 changes."""
    changes: Iterable[Any] = tool_changes(load_stored(before), load_stored(after))
    return [
        ShownChange(
            _place(one.anchor),
            str(ChangeKind(one.kind)),
            None if one.kind is ChangeKind.ADDED else value_text(one.before),
            None if one.kind is ChangeKind.REMOVED else value_text(one.after),
        )
        for one in islice(changes, MOST + 1)
    ]


def _place(anchor: str) -> str:
    """Return where a change is: the function, and the path inside."""
    part, *path = split(anchor)
    if part == "implementation":
        path.insert(0, _("Code"))
    return " › ".join(one for one in path if one != "function") or _("Order of the functions")
