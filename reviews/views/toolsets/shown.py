"""What pages show of the findings and changes of a toolset."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from django.utils.translation import gettext as _

from annotator.core.comparison import ChangeKind, split
from annotator.core.comparison.describing import value_text
from annotator.core.schema.exact_json import load_stored
from annotator.core.tools.changes import tool_changes
from annotator.core.tools.checks import ToolFinding, check_tools, tool_checks
from annotator.translation import translated

#: Findings and changes that a page shows; it counts all.
MOST = 100
_ORDER = ("error", "warning", "info")


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
