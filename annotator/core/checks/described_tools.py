"""toolset.*: the checks of tools, on a toolset in review (``annotator.core.tools.checks``)."""

from collections.abc import Iterator

from annotator.core.checks.registry import Found, Run, check
from annotator.core.checks.toolset_context import ToolsetContext
from annotator.core.tools.checks import ToolCheck, tool_checks


def _registered(one: ToolCheck) -> None:
    def run(context: ToolsetContext) -> Iterator[Found]:
        for finding in context.tool_findings.get(one.id, ()):
            yield context.anchor_of(finding), finding.about, finding.message.english

    named: Run = run
    named.__doc__ = one.description
    check(one.id, one.title, one.severity, only_with="described_tools")(named)


for _one in tool_checks():
    _registered(_one)
