"""A document of any kind for pages."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from annotator.core.checks.label import derive_policy
from annotator.core.comparison import lookup
from annotator.core.execution.running import Execution
from annotator.core.fields import CustomField
from annotator.presentation.case import CallView, CaseView, present_case
from annotator.presentation.dialogue import DialogueView, FindingView, StepView, TaskView, present_tasks
from annotator.presentation.toolset import present_toolset
from annotator.translation import place_name, translated_text

#: Kinds that are not dialogues of tasks.
_LAYOUTS: dict[str, Callable[[dict[str, Any], list[FindingView]], DialogueView]] = {
    "constrained": present_case,
    "toolset": present_toolset,
}


def present(
    document: dict[str, Any],
    findings: Iterable[Any],
    waivers: Mapping[tuple[str, str, str], str] | None = None,
    *,
    execution: Execution | None = None,
    fields: Sequence[CustomField] = (),
) -> DialogueView:
    """Arrange a document for pages.

    ``findings``: stored or fresh; ``waivers``: {(check, anchor, value hash): reason}. ``execution``: what a single
    task's calls came to, if it was run. ``fields``: the project's custom fields, whose titles labels have.
    """
    waivers = waivers or {}
    views = [_finding(f, waivers, document, fields) for f in findings]
    view = _LAYOUTS.get(document["kind"], present_tasks)(document, views)
    calls = [call for each in view.rounds for call in each.calls] if isinstance(view, CaseView) else []
    steps = [step for task in view.tasks for step in task.steps]
    labelled: list[DialogueView | TaskView | StepView | CallView] = [view, *view.tasks, *steps, *calls]
    for part in labelled:
        part.custom_fields = fields
    if execution is not None:
        for step, outcome in zip(view.tasks[0].steps, execution.outcomes, strict=True):
            step.response = outcome.response
    return view


def _finding(
    finding: Any,
    waivers: Mapping[tuple[str, str, str], str],
    document: dict[str, Any],
    fields: Sequence[CustomField],
) -> FindingView:
    check = getattr(finding, "check_id", None) or finding.check
    key = (check, finding.anchor, finding.value_hash)
    return FindingView(
        check=check,
        severity=finding.severity,
        anchor=finding.anchor,
        message=translated_text(finding.message),
        value_hash=finding.value_hash,
        waiver=waivers.get(key, ""),
        fix=_derived_policy(document, finding.anchor) if check == "label.policy_steps" else "",
        place=place_name(document, finding.anchor, fields) if finding.anchor else "",
    )


def _derived_policy(document: dict[str, Any], anchor: str) -> str:
    """Return the policy that matches the steps of the task around an anchor."""
    types = [step["type"] for step in lookup(document, anchor.rpartition("/")[0], {}).get("steps", ())]
    return derive_policy(types.count("call"), types.count("clarification"))
