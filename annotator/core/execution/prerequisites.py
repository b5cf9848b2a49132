"""Find the call that is missing before a call that fails: with it, the call succeeds."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from annotator.core.execution.running import Execution, Runner, Start, StatefulTool, execute
from annotator.core.sandbox.results import Status
from annotator.core.sandbox.trajectories import ToolCall

#: Calls that are tried.
MAX_TRIED = 30
#: A call that fails in one of these ways fails by itself.
_OWN_FAULT = frozenset((Status.UNKNOWN_FUNCTION, Status.BAD_ARGUMENTS, Status.NOT_RUN, Status.LOAD_FAILED))


def missing_prerequisite(
    runner: Runner,
    tool: StatefulTool,
    start: Start,
    calls: Sequence[ToolCall],
    execution: Execution,
    required: Mapping[str, Sequence[str]],
) -> tuple[int, ToolCall] | None:
    """Return the index of the first call that fails, and a call of another function that makes it succeed.

    ``required``: function → names of its required arguments. Tried are functions whose required arguments the failing
    call also has, with the same values. None if there is no such call. Raises SandboxUnavailable.
    """
    failing = next((index for index, one in enumerate(execution.outcomes) if one.is_error), None)
    if failing is None or execution.outcomes[failing].status in _OWN_FAULT:
        return None
    call = calls[failing]
    known: dict[str, Any] = dict(call.arguments)
    tried = (
        ToolCall(name, {argument: known[argument] for argument in names})
        for name, names in required.items()
        if name != call.name and name in tool.functions and all(argument in known for argument in names)
    )
    for added in islice(tried, MAX_TRIED):
        again = execute(runner, tool, start, [*calls[:failing], added, call], twice=False)
        if not again.outcomes[-1].is_error and not again.outcomes[-2].is_error:
            return failing, added
    return None
