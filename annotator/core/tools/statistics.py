"""What toolsets consist of: tools, and parameters by type and depth."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from annotator.core.schema.toolsets import ToolSpec
from annotator.core.tools.parameters import parameters_of

#: The types in the order in which pages show them.
KINDS = ("string", "integer", "number", "boolean", "enum", "array", "object", "several", "any", "null")


@dataclass(frozen=True)
class ToolStatistics:
    """Counts over some toolsets. ``parameters``: type → depth → how many; ``required``: how many are required."""

    toolsets: int = 0
    tools: int = 0
    broken: int = 0
    required: int = 0
    parameters: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    #: Tools by their number of own parameters.
    tools_by_parameters: Mapping[int, int] = field(default_factory=dict)

    @property
    def by_kind(self) -> dict[str, int]:
        """Type → number of parameters at any depth, in the order of ``KINDS``."""
        return {kind: sum(self.parameters[kind].values()) for kind in KINDS if kind in self.parameters}

    @property
    def by_depth(self) -> dict[int, int]:
        """Depth → number of parameters of any type."""
        total: Counter[int] = Counter()
        for depths in self.parameters.values():
            total.update(depths)
        return dict(sorted(total.items()))

    @property
    def total(self) -> int:
        """The number of parameters at any depth."""
        return sum(self.by_depth.values())


def tool_statistics(toolsets: Iterable[Iterable[ToolSpec]]) -> ToolStatistics:
    """Count the tools and parameters of toolsets. A broken tool counts, but has no parameters."""
    counts: dict[str, Counter[int]] = {}
    sets = tools = broken = required = 0
    widths: Counter[int] = Counter()
    for toolset in toolsets:
        sets += 1
        for spec in toolset:
            tools += 1
            broken += bool(spec.broken)
            own = 0
            for parameter in parameters_of(spec):
                counts.setdefault(parameter.kind, Counter())[parameter.depth] += 1
                required += parameter.required
                own += parameter.depth == 1
            widths[own] += 1
    by_kind = {kind: dict(sorted(counts[kind].items())) for kind in KINDS if kind in counts}
    return ToolStatistics(sets, tools, broken, required, by_kind, dict(sorted(widths.items())))
