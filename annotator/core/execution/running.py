"""Run a trajectory and describe what each call came to.

Meaning of every word: a trajectory is run from a fresh tool; the state is the tool's public attributes; a call's
response is what the model would read.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.core.execution.numbers import whole_numbers
from annotator.core.sandbox.results import Status
from annotator.core.sandbox.trajectories import (
    DEFAULT_NOW,
    Implementation,
    State,
    Step,
    ToolCall,
    Trajectory,
    TrajectoryRun,
)
from annotator.core.schema.canonical import canonical, content_hash

#: Runs a trajectory; ``twice`` asks for a second run to find what differs. ``Sandbox.run_trajectory`` is one.
Runner = Callable[[Trajectory, bool], TrajectoryRun]


@dataclass(frozen=True, slots=True)
class StatefulTool:
    """A toolset that can run: its implementation, and the names of its functions."""

    implementation: Implementation
    functions: frozenset[str]


@dataclass(frozen=True, slots=True)
class Start:
    """What a trajectory starts from. ``now``: seconds since 1970; None stands for a fixed moment."""

    initial_state: Any = None
    seed: int | None = None
    now: float | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one call came to.

    ``response`` is what the model reads; ``message`` says what went wrong, for the author of the tool. ``state`` is the
    state after the call, ``state_sha256`` None if it cannot be written.
    """

    name: str
    arguments: Mapping[str, Any]
    status: Status
    result: Any
    response: str
    message: str
    state: Any
    state_sha256: str | None
    state_changed: bool
    hidden_changed: bool

    @property
    def is_error(self) -> bool:
        """Whether the call did not return, or returned an error."""
        return self.status is not Status.OK or is_error_result(self.result)

    @property
    def compared(self) -> str:
        """A text that is the same for the same status and result."""
        return f"{self.status} {canonical([self.result])}"


@dataclass(frozen=True, slots=True)
class Execution:
    """What a trajectory came to.

    ``final_sha256`` is None if there is no final state; ``state_error`` then says why. ``differs`` is the index of the
    first call that differed in the second run (-1: the tool differed after loading), None if none did.
    """

    outcomes: tuple[Outcome, ...]
    initial_state: Any
    initial_sha256: str | None
    final_state: Any
    final_sha256: str | None
    state_error: str
    differs: int | None


def execute(
    runner: Runner, tool: StatefulTool, start: Start, calls: Sequence[ToolCall], *, twice: bool = True
) -> Execution:
    """Run ``calls`` one after the other. Raises SandboxUnavailable if no code can run."""
    calls = tuple(ToolCall(call.name, whole_numbers(dict(call.arguments))) for call in calls)
    trajectory = Trajectory(
        tool.implementation,
        tool.functions,
        start.initial_state,
        calls,
        seed=start.seed or 0,
        now=DEFAULT_NOW if start.now is None else start.now,
    )
    return describe(trajectory, runner(trajectory, twice))


def describe(trajectory: Trajectory, run: TrajectoryRun) -> Execution:
    """Return the execution that a run shows."""
    initial = state = _Known(run.initial)
    outcomes = []
    for call, step in zip(trajectory.calls, run.steps, strict=True):
        changed = step.state is not None
        if step.state is not None:
            state = _Known(step.state)
        elif step.status not in _LEAVES_STATE:
            state = _Known(None)
        outcomes.append(
            Outcome(
                name=call.name,
                arguments=call.arguments,
                status=step.status,
                result=step.result,
                response=response(step),
                message=step.message,
                state=state.value,
                state_sha256=state.sha256,
                state_changed=changed,
                hidden_changed=step.hidden_changed,
            )
        )
    return Execution(
        tuple(outcomes), initial.value, initial.sha256, state.value, state.sha256, state.error, run.differs
    )


#: After these the tool is still there, and its state known.
_LEAVES_STATE = frozenset(
    (
        Status.OK, Status.EXCEPTION, Status.RESULT_NOT_JSON, Status.BAD_ARGUMENTS, Status.UNKNOWN_FUNCTION,
        Status.OUTPUT_LIMIT, Status.FORBIDDEN, Status.MEMORY,
    )
)  # fmt: skip


class _Known:
    """A state with its hash; unknown if the tool is gone."""

    def __init__(self, state: State | None) -> None:
        self.error = "" if state is None else state.error
        self.known = state is not None and not state.error
        self.value = state.value if state is not None and self.known else None
        self.sha256 = state_sha256(self.value) if self.known else None


def state_sha256(state: Any) -> str:
    """Return the SHA-256 of the canonical JSON of a state."""
    return content_hash(canonical(state))


def is_error_result(result: Any) -> bool:
    """Return whether a result is an object, or a list beginning with one, that has the key ``error``."""
    first = result[0] if isinstance(result, list) and result else result
    return isinstance(first, dict) and "error" in first


def response(step: Step) -> str:
    """Return what the model reads: a text as it is, nothing as ``None``, everything else as JSON."""
    if step.status is not Status.OK:
        return json.dumps({"error": step.error or f"{step.status}: {step.message}"}, ensure_ascii=False)
    return response_to(step.result)


def response_to(result: Any) -> str:
    """Return what the model reads of the result of a call that returned."""
    if result is None:
        return "None"
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
