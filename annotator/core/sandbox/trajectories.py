"""Trajectories of stateful tools: several calls in one child, with the state after each."""

import json
import secrets
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from annotator.core.sandbox.channel import FRAME, Reading, failure, refuse_source, scrub, scrub_value
from annotator.core.sandbox.interpreter import GRACE, Interpreter
from annotator.core.sandbox.results import Limits, Status

#: Calls of one trajectory, and bytes of all its results and states.
MAX_CALLS = 1_000
MAX_BYTES = 16 << 20
#: The moment at which the clock stands if a task names none: 2025-01-01 00:00:00 UTC.
DEFAULT_NOW = 1_735_689_600.0
_ERROR = 4_000
#: Statuses that a child may report about loading the tool, and about a call.
_OF_LOADING = frozenset(
    (
        Status.SYNTAX_ERROR, Status.IMPORT_ERROR, Status.MISSING_CLASS, Status.MISSING_FUNCTION, Status.LOAD_FAILED,
        Status.MEMORY, Status.FORBIDDEN,
    )
)  # fmt: skip
_OF_CALLS = frozenset(
    (
        Status.OK, Status.EXCEPTION, Status.RESULT_NOT_JSON, Status.BAD_ARGUMENTS, Status.UNKNOWN_FUNCTION,
        Status.MEMORY, Status.OUTPUT_LIMIT, Status.FORBIDDEN,
    )
)  # fmt: skip
#: A run that was stopped is not repeated: the second need not come equally far.
_STOPPED = frozenset((Status.TIMEOUT_CPU, Status.TIMEOUT_WALL, Status.MEMORY, Status.CRASHED))


@dataclass(frozen=True, slots=True)
class Implementation:
    """A stateful tool: Python source with a class, or with plain functions if ``class_name`` is None.

    ``load`` names the method that gets the initial state; None if there is none.
    """

    source: str
    class_name: str | None = None
    load: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a trajectory; the arguments are JSON values."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Everything that decides what a trajectory comes to. ``now``: seconds since 1970."""

    implementation: Implementation
    #: The tool's functions; calls to others are refused.
    functions: frozenset[str]
    initial_state: Any
    calls: tuple[ToolCall, ...]
    seed: int = 0
    now: float = DEFAULT_NOW


@dataclass(frozen=True, slots=True)
class State:
    """The tool's public attributes as a JSON value, or in ``error`` why there is none."""

    value: Any = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """The outcome of one call.

    ``error`` is the type and text of an exception, ``message`` what went wrong in words for the tool's author.
    ``state`` is None if the state did not change. ``chance``: it used the system's source of randomness.
    """

    status: Status
    result: Any = None
    error: str = ""
    message: str = ""
    state: State | None = None
    hidden_changed: bool = False
    chance: bool = False


@dataclass(frozen=True, slots=True)
class TrajectoryRun:
    """The initial state (None if the tool could not be loaded), an outcome for each call, and what differs.

    ``differs`` is None if both runs were the same and no call used the system's randomness, else the index of the first
    call that differs or did; -1 if the tool already did when it was loaded.
    """

    initial: State | None
    steps: tuple[Step, ...]
    differs: int | None = None


def trajectory_to_json(trajectory: Trajectory) -> dict[str, Any]:
    """Return a trajectory as a JSON value, for the service."""
    return {**asdict(trajectory), "functions": sorted(trajectory.functions)}


def trajectory_from_json(value: Mapping[str, Any]) -> Trajectory:
    """Return the trajectory that ``trajectory_to_json`` wrote. Raises KeyError and TypeError."""
    read = {
        "implementation": Implementation(**value["implementation"]),
        "functions": frozenset(value["functions"]),
        "calls": tuple(ToolCall(**call) for call in value["calls"]),
    }
    return Trajectory(**{**value, **read})


def run_from_json(value: Mapping[str, Any]) -> TrajectoryRun:
    """Return the run that ``asdict`` wrote. Raises KeyError and TypeError."""
    initial = value["initial"] and State(**value["initial"])
    steps = [
        Step(**{**step, "status": Status(step["status"]), "state": step["state"] and State(**step["state"])})
        for step in value["steps"]
    ]
    return TrajectoryRun(initial, tuple(steps), value["differs"])


def run_twice(
    interpreter: Interpreter, other: Interpreter | None, trajectory: Trajectory, limits: Limits
) -> TrajectoryRun:
    """Run a trajectory in a child of each interpreter; with one interpreter, once. Raises SandboxUnavailable."""
    unreadable = refuse_source(trajectory.implementation.source, limits)
    if unreadable is not None:
        return _not_loaded(trajectory, Step(unreadable.status, message=unreadable.message))
    if len(trajectory.calls) > MAX_CALLS:
        words = f"A trajectory has at most {MAX_CALLS:,} calls. This one has {len(trajectory.calls):,}. Remove some."
        return TrajectoryRun(None, tuple(Step(Status.NOT_RUN, message=words) for _ in trajectory.calls))
    run = _run(interpreter, trajectory, limits)
    if other is None or any(step.status in _STOPPED for step in run.steps):
        return run
    again = _run(other, trajectory, limits)
    found = [index for index in (run.differs, again.differs, _first_difference(run, again)) if index is not None]
    return TrajectoryRun(run.initial, run.steps, min(found, default=None))


def _run(interpreter: Interpreter, trajectory: Trajectory, limits: Limits) -> TrajectoryRun:
    tool = trajectory.implementation
    request = {
        "kind": "trajectory",
        "source": tool.source,
        "class": tool.class_name,
        "load": tool.load,
        "state": trajectory.initial_state,
        "seed": trajectory.seed,
        "now": trajectory.now,
        "result": limits.result,
    }
    # Serialise first: if one call cannot be serialised, nothing is started.
    data = json.dumps(request).encode()
    calls = [json.dumps({"name": call.name, "arguments": dict(call.arguments)}) for call in trajectory.calls]
    channel = interpreter.open_child(limits)
    try:
        return _Listening(interpreter, channel, trajectory, limits).run(data, calls)
    except BaseException:
        # The report of this child's end was not read; it would be mistaken for the next child's.
        interpreter.close()
        raise


class _Listening:
    """The conversation with one child."""

    def __init__(
        self, interpreter: Interpreter, channel: socket.socket, trajectory: Trajectory, limits: Limits
    ) -> None:
        self.interpreter, self.channel = interpreter, channel
        self.trajectory, self.limits = trajectory, limits
        self.steps: list[Step] = []
        self.initial: State | None = None
        self.failed: Step | None = None
        #: Whether loading used the system's randomness.
        self.chance = False
        #: Whether the child sent something else than an answer.
        self.forged = False
        self.bytes = 0

    def run(self, request: bytes, calls: list[str]) -> TrajectoryRun:
        limits = self.limits
        until = time.monotonic() + limits.wall + GRACE
        with self.channel:
            # A result, a state, and a message.
            reading = Reading(self.channel, until, 3 * limits.result + limits.message + FRAME)
            reading.send(request)
            self._listen(reading, calls)
            too_much = reading.too_much or self.bytes > MAX_BYTES
            if too_much or self.forged:
                self.interpreter.stop_child()
        end = self.interpreter.next_message(until - time.monotonic())
        if self.failed is not None:
            return _not_loaded(self.trajectory, self.failed)
        if self.initial is not None and len(self.steps) == len(calls):
            return self._told(tuple(self.steps))
        if self.forged:
            step = Step(
                Status.NO_RESULT, message="The code wrote something else than a result to the sandbox's channel."
            )
        else:
            result = failure(end, limits, too_much=too_much)
            step = Step(result.status, message=result.message)
        if self.initial is None:
            return _not_loaded(self.trajectory, step)
        rest = len(calls) - len(self.steps) - 1
        return self._told((*self.steps, step, *_not_run(rest)))

    def _told(self, steps: tuple[Step, ...]) -> TrajectoryRun:
        chance = next((index for index, step in enumerate(steps) if step.chance), None)
        return TrajectoryRun(self.initial, steps, -1 if self.chance else chance)

    def _listen(self, reading: Reading, calls: list[str]) -> None:
        frames = self._frames(reading)
        first = next(frames, None)
        if not self._read_load(first):
            self.forged = first is not None and self.failed is None
            return
        for call, text in zip(self.trajectory.calls, calls, strict=True):
            if call.name not in self.trajectory.functions or call.name.startswith("_"):
                words = f"The tool has no function {call.name}."
                self.steps.append(Step(Status.UNKNOWN_FUNCTION, message=words))
                continue
            # A child cannot answer a call that it was not sent: it does not know the token.
            token = secrets.token_hex(8)
            reading.send(f'{{"token": "{token}", {text[1:]}'.encode())
            frame = next(frames, None)
            step = _read_step(frame, token, self.limits)
            if step is None:
                self.forged = frame is not None
                return
            self.steps.append(step)

    def _frames(self, reading: Reading) -> Iterator[Any]:
        for frame, size in reading.sized_frames():
            self.bytes += size
            if self.bytes > MAX_BYTES:
                return
            yield frame

    def _read_load(self, frame: Any) -> bool:
        """Keep what the child reports about loading; return whether calls can follow."""
        if type(frame) is not list or len(frame) != 5 or frame[0] != "load" or type(frame[4]) is not bool:
            return False
        self.chance = frame[4]
        status, message = frame[1], frame[2]
        if type(status) is not str or type(message) is not str:
            return False
        if status == Status.OK:
            self.initial = _read_state(frame[3])
            return self.initial is not None
        if status in _OF_LOADING:
            self.failed = Step(Status(status), message=scrub(message[: self.limits.message]))
        return False


def _read_step(frame: Any, token: str, limits: Limits) -> Step | None:
    """Return the outcome in a frame of a child; None if it is not the answer to the call with this token."""
    if type(frame) is not list or len(frame) != 7 or frame[0] != token:
        return None
    status, result, message, state, hidden, chance = frame[1:]
    if type(status) is not str or status not in _OF_CALLS or type(message) is not str:
        return None
    if type(hidden) is not bool or type(chance) is not bool:
        return None
    read = None if state is None else _read_state(state)
    if state is not None and read is None:
        return None
    message = scrub(message[: limits.message])
    if status == Status.OK:
        try:
            return Step(Status.OK, result=scrub_value(result), state=read, hidden_changed=hidden, chance=chance)
        except (ValueError, RecursionError):
            return None
    error = scrub(result[:_ERROR]) if type(result) is str else ""
    return Step(Status(status), error=error, message=message, state=read, hidden_changed=hidden, chance=chance)


def _read_state(frame: Any) -> State | None:
    if type(frame) is not dict or len(frame) != 1:
        return None
    if "state" in frame:
        try:
            return State(scrub_value(frame["state"]))
        except (ValueError, RecursionError):
            return None
    error = frame.get("error")
    return State(error=scrub(error[:_ERROR])) if type(error) is str and error else None


def _not_loaded(trajectory: Trajectory, step: Step) -> TrajectoryRun:
    """Return the run of a tool that could not be loaded: the first call tells why, the others did not run."""
    count = len(trajectory.calls)
    return TrajectoryRun(None, (step, *_not_run(count - 1)) if count else ())


def _not_run(count: int) -> tuple[Step, ...]:
    return tuple(Step(Status.NOT_RUN, message=Status.NOT_RUN.words) for _ in range(count))


def _first_difference(run: TrajectoryRun, again: TrajectoryRun) -> int | None:
    if run.initial != again.initial:
        return -1
    for index, (one, other) in enumerate(zip(run.steps, again.steps, strict=True)):
        if _seen(one) != _seen(other):
            return index
    return None


def _seen(step: Step) -> tuple[Any, ...]:
    """Return what a model or a score can see of a step."""
    return step.status, json.dumps(step.result, sort_keys=True), step.error, json.dumps(step.state and step.state.value)
