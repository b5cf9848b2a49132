"""The registry of checks, and the description of each for pages."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from annotator.core.checks.context import Context
from annotator.core.findings import STAGES, Finding, Severity, Stage
from annotator.core.schema.canonical import shortened, value_hash

#: What a check finds: the anchor of a place, the value that the finding is about (None if it is missing), a sentence.
Found = tuple[str, Any, str]
#: Takes the Context; a CaseContext if the check runs only with a "case".
Run = Callable[[Any], Iterable[Found]]
#: The lists of a context that a check may need.
OnlyWith = Literal["violations", "graph_problems", "tasks", "case", "single", "composite", "described_tools"]
#: Whose attention a check wants. A note for administrators is about the project, not about the work on a dialogue.
Audience = Literal["everyone", "administrators"]


@dataclass(frozen=True, slots=True)
class Check:
    """One automatic check. ``check`` says what the fields mean."""

    id: str
    title: str
    severity: Severity
    run: Run
    to_do: bool
    only_with: OnlyWith | None
    in_cases: Severity | None
    audience: Audience

    def finding(self, context: Context, anchor: str, value: Any, message: str) -> Finding:
        """Return a finding of this check about ``value`` at ``anchor``."""
        about = _NULL_HASH if value is None else _hash(value)
        return Finding(self.id, context.severities[self.id], shortened(anchor), message, about)


@dataclass(frozen=True, slots=True)
class CheckInfo:
    """A check as pages describe it. ``severities`` has its default severity at each stage."""

    id: str
    family: str
    title: str
    description: str
    audience: Audience
    severities: dict[Stage, Severity]


_CHECKS: dict[str, Check] = {}
#: Checks of labels, dependencies and observations. A single task has none: its calls are run, and what they depend on
#: is found by running them. Its question may not name a function, which a check of its own reports.
_NOT_OF_SINGLES = (
    *("label.", "provenance.", "graph.not_annotated", "graph.published_evaluator", "dialogue.tool_named"),
    *("trajectory.no_answer", "trajectory.observation", "trajectory.repeated_call", "trajectory.tool_error"),
)


def check(
    id: str,
    title: str,
    severity: Severity,
    *,
    to_do: bool = False,
    only_with: OnlyWith | None = None,
    in_cases: Severity | None = None,
    audience: Audience = "everyone",
) -> Callable[[Run], Check]:
    """Register a function as a check. It yields what it finds in one document, in any order; pages show its docstring.

    ``to_do`` marks work that is only unfinished: "info" on import and save, its own severity from submission on.
    ``only_with`` names a list of the context; the check runs only if that list is not empty. ``in_cases`` is the
    severity in a constrained case, if it differs. Notes of a check for ``administrators`` are not shown to others; if a
    project raises its severity, everyone sees its findings, because they block a submission.
    """
    if id in _CHECKS:
        raise ValueError(f"There are two checks with the id {id}.")

    def register(run: Run) -> Check:
        _CHECKS[id] = made = Check(id, title, severity, run, to_do, only_with, in_cases, audience)
        return made

    return register


def all_checks() -> list[CheckInfo]:
    """Return all checks, sorted by family and id."""
    return [
        CheckInfo(
            id=check.id,
            family=check.id.partition(".")[0],
            title=check.title,
            description=" ".join(inspect.cleandoc(check.run.__doc__ or "").split()),
            audience=check.audience,
            severities={stage: default_severity(check, stage, {}) for stage in STAGES},
        )
        for check in sorted(_CHECKS.values(), key=lambda check: check.id)
    ]


def is_for_administrators(check: str, severity: str) -> bool:
    """Return whether a finding of this check, with this severity, is a note for administrators only."""
    known = _CHECKS.get(check)
    return severity == "info" and known is not None and known.audience == "administrators"


def is_missing_label(check: str) -> bool:
    """Return whether a check finds labels that have not been chosen yet."""
    known = _CHECKS.get(check)
    return known is not None and known.to_do and check.startswith("label.")


def default_severity(
    check: Check, stage: Stage, chosen: Mapping[str, Severity | Literal["off"]], *, kind: str = "multi_turn"
) -> Any:
    """Return the severity of a check at a stage under the project's settings; "off" if it does not run."""
    if kind == "single_task" and check.id.startswith(_NOT_OF_SINGLES):
        return "off"
    if kind == "composite" and check.only_with != "composite" and not check.id.startswith("field."):
        # The single tasks were checked themselves.
        return "off"
    if kind == "toolset" and check.only_with != "described_tools" and not check.id.startswith("field."):
        return "off"
    severity = chosen.get(check.id, (check.in_cases if kind == "constrained" else None) or check.severity)
    return "info" if check.to_do and severity != "off" and stage in ("import", "save") else severity


@lru_cache(maxsize=256)
def checks_and_severities(
    stage: Stage, chosen: tuple[tuple[str, Any], ...], *, kind: str = "multi_turn"
) -> tuple[tuple[Check, ...], dict[str, Severity]]:
    """Return the checks that run at a stage on a kind of document, with the severity of each."""
    severities = {check.id: default_severity(check, stage, dict(chosen), kind=kind) for check in _CHECKS.values()}
    running = {check: severity for check, severity in severities.items() if severity != "off"}
    return tuple(_CHECKS[check] for check in running), running


@lru_cache(maxsize=1024)
def _hash_of_text(text: str) -> str:
    return value_hash(text)


def _hash(value: Any) -> str:
    return _hash_of_text(value) if type(value) is str and len(value) < 200 else value_hash(value)


_NULL_HASH = value_hash(None)
