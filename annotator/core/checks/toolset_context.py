"""The parts of a toolset in review that checks read: what the checks of its tools find."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

from annotator.core.checks.context import Context
from annotator.core.checks.settings import CheckSettings
from annotator.core.findings import Severity, Stage
from annotator.core.schema.canonical import escape
from annotator.core.schema.exact_json import dumps, load_stored
from annotator.core.schema.tool_places import parameter_parts
from annotator.core.schema.toolsets import CompiledToolset
from annotator.core.tools.checks import ToolFinding, check_tools


class ToolsetContext(Context):
    """One toolset to check. It has no tasks, so only checks of toolsets and of labels run on it."""

    def __init__(
        self,
        document: dict[str, Any],
        toolset: CompiledToolset,
        stage: Stage,
        settings: CheckSettings,
        severities: Mapping[str, Severity],
    ) -> None:
        super().__init__(document | {"tasks": []}, toolset, stage, settings, severities)
        self.document = document

    @property
    def described_tools(self) -> Sequence[dict[str, Any]]:
        tools: list[dict[str, Any]] = self.document["tools"]
        return tools

    @cached_property
    def tool_findings(self) -> Mapping[str, list[ToolFinding]]:
        """What was found in the tools, by check."""
        found: dict[str, list[ToolFinding]] = defaultdict(list)
        for finding in _found(dumps([one["tool"] for one in self.described_tools]).decode()):
            found[finding.check].append(finding)
        return found

    def anchor_of(self, finding: ToolFinding) -> str:
        """Return the anchor of the tool, of the parameter, or of the nearest schema around one that is missing."""
        one = self.described_tools[finding.position]
        inside = ("tool", *parameter_parts(one["tool"], finding.path)) if finding.path else ()
        return "/tools/" + "/".join(map(escape, (one["id"], *inside)))


@lru_cache(maxsize=32)  # a page checks again what was checked when it was saved
def _found(tools: str) -> tuple[ToolFinding, ...]:
    return tuple(check_tools(load_stored(tools)))
