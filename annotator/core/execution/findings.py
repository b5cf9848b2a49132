"""Findings about a single task: what is wrong with its trajectory, and what only the question's words decide."""

from collections.abc import Sequence

from annotator.core.execution.dependencies import Dependencies
from annotator.core.execution.running import Execution, is_error_result
from annotator.core.sandbox.results import Status

#: A finding's kind, and the index of its call; None if it is about the whole task.
Finding = tuple[str, int | None]


def findings(static: Sequence[Finding], execution: Execution, dependencies: Dependencies | None) -> list[Finding]:
    """Return errors by place and kind, then warnings.

    ``static``: the errors that can be seen without running anything.
    """
    errors = sorted([*static, *_errors(execution)], key=lambda found: (-1 if found[1] is None else found[1], found[0]))
    return errors + (_warnings(execution, dependencies) if dependencies else [])


def _errors(execution: Execution) -> list[Finding]:
    found: list[Finding] = []
    for index, outcome in enumerate(execution.outcomes):
        if outcome.status is not Status.OK:
            found.append((outcome.status.value, index))
        elif is_error_result(outcome.result):
            found.append(("error_result", index))
    if execution.differs is not None:
        found.append(("nondeterministic", max(execution.differs, 0)))
    if execution.state_error:
        found.append(("state_error", len(execution.outcomes) - 1))
    return found


def _warnings(execution: Execution, dependencies: Dependencies) -> list[Finding]:
    found: list[Finding] = []
    if is_first_call_unused(execution, dependencies):
        found.append(("first_call_unused", 0))
    found += [("order_free", first + 1) for first, forced in enumerate(dependencies.order_forced) if not forced]
    return found


def is_first_call_unused(execution: Execution, dependencies: Dependencies) -> bool:
    """Return whether the first call returned, but changes nothing, and nothing later uses it."""
    return (
        len(execution.outcomes) > 1
        and execution.outcomes[0].status is Status.OK
        and not execution.outcomes[0].state_changed
        and not dependencies.leaves_trace[0]
        and not any(0 in needs for needs in dependencies.needs)
        and not any(0 in sources for sources in dependencies.value_from)
    )
