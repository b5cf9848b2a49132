"""Run the checks over one document."""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

# Importing the families registers their checks.
from annotator.core.checks import (  # noqa: F401
    composite,
    constraint,
    custom_fields,
    described_tools,
    dialogue,
    graph,
    label,
    provenance,
    schema,
    single_task,
    trajectory,
    validator,
)
from annotator.core.checks.case_context import CaseContext
from annotator.core.checks.composite_context import CompositeContext
from annotator.core.checks.context import Context
from annotator.core.checks.registry import checks_and_severities
from annotator.core.checks.settings import CheckSettings
from annotator.core.checks.single_context import SingleContext
from annotator.core.checks.toolset_context import ToolsetContext
from annotator.core.composites.members import Single
from annotator.core.execution.subjects import Record
from annotator.core.findings import Finding, Stage
from annotator.core.schema.canonical import unescape
from annotator.core.schema.toolsets import CompiledToolset
from annotator.core.validators.trial import Outcome

_DEFAULT = CheckSettings()
#: Findings of one check reported for one document; pages show all of them.
MAX_LISTED = 300
_FIRST_FIELDS = ("id", "user_message", "policy", "information", "labels", "native_information", "env_info")
_STEP_FIELDS = (
    *("id", "type", "name", "arguments", "question", "user_reply", "answer_type", "text", "observation"),
    *("labels", "depends_on"),
)
_TASK_RANK = {name: rank for rank, name in enumerate((*_FIRST_FIELDS, "candidate_messages", "chosen", "steps"))}
_STEP_RANK = {name: rank for rank, name in enumerate(_STEP_FIELDS)}
_CASE_FIELDS = (
    *("system_prompt", "user_query", "scenario", "constraints", "unsolved_set", "answer", "reference_trajectory"),
    "tool_codes",
)
_CASE_RANK = {name: rank for rank, name in enumerate(_CASE_FIELDS)}
_CONTEXTS: dict[str, type[Context]] = {
    "multi_turn": Context,
    "single_task": SingleContext,
    "composite": CompositeContext,
    "constrained": CaseContext,
    "toolset": ToolsetContext,
}


def run_checks(
    document: dict[str, Any],
    toolset: CompiledToolset,
    *,
    stage: Stage,
    settings: CheckSettings = _DEFAULT,
    trials: Mapping[str, Outcome] | None = None,
    executions: Mapping[str, Record] | None = None,
    singles: Mapping[str, Single] | None = None,
) -> list[Finding]:
    """Return all findings in a validated document (see ``read_document``), in document order, then by check.

    ``settings`` are the project's; a check that is "off" does not run. ``trials`` are the results of trying validators,
    by key (``annotator.core.validators.trial``), ``executions`` those of running trajectories, by key
    (``annotator.core.execution.subjects``), ``singles`` a composite's single tasks by id; without them, none of these
    is reported. The document is not changed.
    """
    kind = document["kind"]
    checks, severities = checks_and_severities(stage, tuple(sorted(settings.severities.items())), kind=kind)
    context = _CONTEXTS[kind](document, toolset, stage, settings, severities)
    if isinstance(context, CaseContext):
        context.trials = trials
    if isinstance(context, SingleContext):
        context.executions = executions
    if isinstance(context, CompositeContext):
        context.singles = singles
    findings: list[Finding] = []
    for check in checks:
        if check.only_with is None or getattr(context, check.only_with):
            found = [check.finding(context, *one) for one in islice(check.run(context), MAX_LISTED + 1)]
            if len(found) > MAX_LISTED:
                more = (
                    f"“{check.title}” applies to more than {MAX_LISTED} places. Only the first ones are "
                    "listed; correct these to see the others."
                )
                found[MAX_LISTED] = check.finding(context, "", document, more)
            findings.extend(found)
    return in_document_order(document, findings) if len(findings) > 1 else findings


def in_document_order(document: dict[str, Any], findings: list[Finding]) -> list[Finding]:
    """Sort findings by their place in the document, from top to bottom, and then by check."""
    return _IN_ORDER[document["kind"]](document, findings)


def _tasks_in_order(document: dict[str, Any], findings: list[Finding]) -> list[Finding]:
    tasks = {task["id"]: index for index, task in enumerate(document["tasks"])}
    steps = {(task["id"], step["id"]): index for task in document["tasks"] for index, step in enumerate(task["steps"])}

    def key(finding: Finding) -> tuple[Any, ...]:
        parts = finding.anchor.split("/")
        if len(parts) < 3 or parts[1] != "tasks":
            return (-1, 0, 0, 0, (), finding.anchor, finding.check, finding.message)
        task, field = parts[2], parts[3] if len(parts) > 3 else "id"
        step = steps.get((task, parts[4]), -1) if field == "steps" and len(parts) > 4 else -1
        within = _STEP_RANK.get(parts[5], len(_STEP_RANK)) if len(parts) > 5 else 0
        # Compare list positions below arguments as numbers: 10 comes after 9.
        rest = tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts[6:])
        rank = _TASK_RANK.get(field, len(_TASK_RANK))
        return (tasks.get(task, len(tasks)), rank, step, within, rest, "", finding.check, finding.message)

    return sorted(findings, key=key)


def _case_in_order(document: dict[str, Any], findings: list[Finding]) -> list[Finding]:
    rounds = document["reference_trajectory"] or ()
    positions = {f"/constraints/{one['id']}": n for n, one in enumerate(document["constraints"])}
    positions |= {f"/reference_trajectory/{one['id']}": n for n, one in enumerate(rounds)}
    calls = {call["id"]: n for one in rounds for n, call in enumerate(one["calls"])}

    def key(finding: Finding) -> tuple[Any, ...]:
        parts = finding.anchor.split("/")
        rank = _CASE_RANK.get(parts[1], len(_CASE_RANK)) if len(parts) > 1 else -1
        position = positions.get("/".join(parts[:3]), -1)
        call = calls.get(parts[4], -1) if len(parts) > 4 else -1
        return (rank, position, call, finding.anchor, finding.check, finding.message)

    return sorted(findings, key=key)


def _toolset_in_order(document: dict[str, Any], findings: list[Finding]) -> list[Finding]:
    positions = {one["id"]: n for n, one in enumerate(document["tools"])}

    def key(finding: Finding) -> tuple[Any, ...]:
        _, *parts = finding.anchor.split("/")
        if len(parts) < 2 or parts[0] != "tools" or parts[1] not in positions:
            return (-1, (), finding.anchor, finding.check, finding.message)
        at = positions[parts[1]]
        node: Any = document["tools"][at]
        path = []
        for part in map(unescape, parts[2:]):
            # The order of the keys, as the page shows the parameters.
            path.append(list(node).index(part) if isinstance(node, dict) and part in node else -1)
            node = node[part] if isinstance(node, dict) and part in node else None
        return (at, tuple(path), finding.anchor, finding.check, finding.message)

    return sorted(findings, key=key)


_IN_ORDER: dict[str, Callable[[dict[str, Any], list[Finding]], list[Finding]]] = {
    "multi_turn": _tasks_in_order,
    "single_task": _tasks_in_order,
    "composite": _tasks_in_order,
    "constrained": _case_in_order,
    "toolset": _toolset_in_order,
}
