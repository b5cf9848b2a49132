"""The environment of a dialogue that runs the tools, or has run them."""

from collections.abc import Mapping, Sequence

from annotator.core.composites.dialogue import CallOutcome, Environment
from annotator.core.execution.running import Execution, Outcome, Runner, Start, StatefulTool, execute
from annotator.core.sandbox.trajectories import ToolCall
from annotator.core.schema.canonical import canonical


def running(runner: Runner, tools: Mapping[str, tuple[StatefulTool, Start]]) -> Environment:
    """Return an environment in which each task has its own instance of its tool. ``tools``: task → tool and start.

    Each call runs the task's trajectory from its start, because a process does not outlive it; what was run is
    remembered. Raises SandboxUnavailable when it is asked.
    """
    known: dict[str, CallOutcome] = {}

    def environment(task: str, calls: Sequence[ToolCall]) -> CallOutcome:
        key = canonical([task, [[call.name, dict(call.arguments)] for call in calls]])
        if key not in known:
            tool, start = tools[task]
            last = execute(runner, tool, start, calls, twice=False).outcomes[-1]
            known[key] = _outcome(last)
        return known[key]

    return environment


def executed(executions: Mapping[str, Execution]) -> Environment:
    """Return an environment for the gold calls, whose executions are known. ``executions``: by task.

    Raises ValueError when asked for a call beyond them.
    """

    def environment(task: str, calls: Sequence[ToolCall]) -> CallOutcome:
        outcomes = executions[task].outcomes
        if len(calls) > len(outcomes):
            raise ValueError(f"The task {task} has {len(outcomes)} gold calls.")
        return _outcome(outcomes[len(calls) - 1])

    return environment


def _outcome(one: Outcome) -> CallOutcome:
    return CallOutcome(one.status.value, one.result, one.response, one.state_changed, one.state_sha256, one.state)
