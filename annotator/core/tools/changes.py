"""The changes of a dialogue's tools, tool by tool."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from annotator.core.comparison import ChangeKind, split
from annotator.core.comparison.anchors import below
from annotator.core.comparison.changes import same_value
from annotator.core.comparison.state_changes import state_changes

Toolset = dict[str, Any]


class ToolChange(NamedTuple):
    """One change. ``anchor`` is a JSON pointer below ``/tools/NAME`` or ``/implementation``; ``place`` is in words."""

    anchor: str
    kind: ChangeKind
    place: str
    before: Any
    after: Any


def tool_changes(before: Toolset, after: Toolset) -> Iterator[ToolChange]:
    """Yield the changes from one toolset (``tools``, and ``implementation`` if they have code) to another."""
    old, new = _by_name(before), _by_name(after)
    for name, tool in old.items():
        if name not in new:
            yield ToolChange(below("/tools", name), ChangeKind.REMOVED, f"tool {name}", tool, None)
    for name, tool in new.items():
        if name not in old:
            yield ToolChange(below("/tools", name), ChangeKind.ADDED, f"tool {name}", None, tool)
        elif not same_value(old[name], tool):
            yield from _inside(below("/tools", name), f"tool {name}", old[name], tool)
    kept = [name for name in old if name in new]
    if kept != [name for name in new if name in old]:
        yield ToolChange("/tools", ChangeKind.MOVED, "order of the tools", ", ".join(old), ", ".join(new))
    yield from _inside(
        "/implementation", "implementation of the tools", before.get("implementation"), after.get("implementation")
    )


def _by_name(toolset: Toolset) -> dict[str, Any]:
    """Return the tools by name; a name that is used again gets its number."""
    found: dict[str, Any] = {}
    for number, tool in enumerate(toolset.get("tools") or (), 1):
        function = tool.get("function") if isinstance(tool, dict) else None
        holder = function if isinstance(function, dict) else tool
        name = str(holder.get("name", "")) if isinstance(holder, dict) else ""
        found[name if name and name not in found else f"{name} ({number})".strip()] = tool
    return found


def _inside(anchor: str, place: str, before: Any, after: Any) -> Iterator[ToolChange]:
    for change in state_changes(before, after):
        path = " › ".join(part for part in split(change.pointer) if part != "function")
        where = f"{place}, {path}" if path else place
        yield ToolChange(anchor + change.pointer, ChangeKind(change.kind), where, change.before, change.after)
