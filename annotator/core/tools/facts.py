"""What lists and statistics show of a toolset without reading its tools: counts, kept as JSON with each revision."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from annotator.core.tools.checks import check_tools
from annotator.core.tools.parameters import each_tool
from annotator.core.tools.statistics import KINDS, ToolStatistics, tool_statistics

Facts = dict[str, Any]


def facts_of(tools: Sequence[Mapping[str, Any]]) -> Facts:
    """Return the facts of tools that ``read_tools`` has accepted: findings by severity, and the counts of statistics.

    ``{"errors": …, "warnings": …, "infos": …, "tools": …, "broken": …, "required": …, "parameters": {type: {depth:
    count}}, "widths": {number of own parameters: tools}}``; keys of JSON are text.
    """
    specs = each_tool(tools)
    found = Counter(finding.severity for finding in check_tools(tools, specs))
    counts = tool_statistics([specs])
    return {
        **{f"{severity}s": found[severity] for severity in ("error", "warning", "info")},
        "tools": counts.tools,
        "broken": counts.broken,
        "required": counts.required,
        "parameters": {kind: _with_text(depths) for kind, depths in counts.parameters.items()},
        "widths": _with_text(counts.tools_by_parameters),
    }


def total_of(rows: Iterable[Facts]) -> ToolStatistics:
    """Return the statistics of all toolsets whose facts are given."""
    sets = 0
    sums: Counter[str] = Counter()
    parameters: dict[str, Counter[int]] = {}
    widths: Counter[int] = Counter()
    for facts in rows:
        sets += 1
        for key in ("tools", "broken", "required"):
            sums[key] += facts[key]
        for kind, depths in facts["parameters"].items():
            parameters.setdefault(kind, Counter()).update({int(depth): count for depth, count in depths.items()})
        widths.update({int(own): count for own, count in facts["widths"].items()})
    by_kind = {kind: dict(sorted(parameters[kind].items())) for kind in KINDS if kind in parameters}
    return ToolStatistics(sets, sums["tools"], sums["broken"], sums["required"], by_kind, dict(sorted(widths.items())))


def _with_text(counts: Mapping[int, int]) -> dict[str, int]:
    return {str(key): count for key, count in counts.items()}
