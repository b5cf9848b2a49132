"""A dialogue between a model and the environment, round by round.

A call is run when it is made. With a delay of d, the reply to message r + d brings its result.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotator.core.composites.delays import Delay
from annotator.core.composites.messages import Message, MessageKind, read_message
from annotator.core.execution.call_text import write_call
from annotator.core.execution.numbers import whole_numbers
from annotator.core.execution.running import response_to
from annotator.core.sandbox.results import Status
from annotator.core.sandbox.trajectories import ToolCall

WAIT = json.dumps({"wait": "The current function is being executed."})
IDLE = json.dumps({"idle": "No function is being executed."})
#: Rounds that a dialogue may have beyond four for each call of the tasks.
SPARE_ROUNDS, ROUNDS_PER_CALL = 10, 4


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What a call came to. ``response`` is what the model reads.

    ``state``: the task's state after the call, with ``state_sha256``; None if it is not known.
    """

    status: str
    result: Any
    response: str
    state_changed: bool
    state_sha256: str | None = None
    state: Any = None


#: Returns what the last of a task's calls comes to, after the earlier ones.
Environment = Callable[[str, Sequence[ToolCall]], CallOutcome]


@dataclass(slots=True)
class MadeCall:
    """A call that names a task of the dialogue. ``due``: the round whose reply brings the result."""

    number: int
    round: int
    task: str
    name: str
    arguments: Mapping[str, Any]
    due: int
    outcome: CallOutcome
    #: The round whose reply brought the result; None while it is pending.
    shown: int | None = None


@dataclass(frozen=True, slots=True)
class Round:
    """One message of the model and the reply to it; ``call`` is the number of the call that it made.

    ``pending``: the numbers of calls whose results the reply did not bring yet.
    """

    number: int
    text: str
    message: Message
    reply: tuple[dict[str, Any], ...]
    call: int | None
    pending: tuple[int, ...]


@dataclass(slots=True)
class Dialogue:
    """The state of a dialogue. ``ended`` is empty, ``completed`` or ``ceiling``."""

    tasks: tuple[str, ...]
    delay: Delay
    max_rounds: int
    environment: Environment
    rounds: list[Round] = field(default_factory=list)
    calls: list[MadeCall] = field(default_factory=list)
    ended: str = ""

    def say(self, text: str) -> Round:
        """Take the model's next message and return the round with the reply. Raises ValueError if it has ended."""
        if self.ended:
            raise ValueError("The dialogue has ended.")
        number = len(self.rounds) + 1
        message = read_message(text)
        if message.kind is MessageKind.COMPLETED:
            self.ended = "completed"
            return self._keep(number, text, message, [], None)
        reply: list[dict[str, Any]] = []
        call = None
        if message.kind is MessageKind.FORMAT:
            reply.append(_content({"error": f"{message.problem} Answer with exactly one JSON object."}))
        elif message.kind is MessageKind.CALL and message.task not in self.tasks:
            reply.append(_content({"error": f"There is no task {message.task}."}))
        elif message.kind is MessageKind.CALL:
            call = self._call(number, message)
            if call.due > number:
                reply.append({"role": "tool", "content": WAIT})
        for one in self.calls:
            if one.shown is None and one.due <= number:
                one.shown = number
                reply.append(_result(one))
        if not reply:
            waiting = any(one.shown is None for one in self.calls)
            reply.append({"role": "tool", "content": WAIT if waiting else IDLE})
        if number >= self.max_rounds:
            self.ended = "ceiling"
        return self._keep(number, text, message, reply, call)

    def _call(self, number: int, message: Message) -> MadeCall:
        arguments = whole_numbers(dict(message.arguments or {}))
        earlier = [ToolCall(one.name, one.arguments) for one in self.calls if one.task == message.task]
        outcome = self.environment(message.task, [*earlier, ToolCall(message.name, arguments)])
        index = len(self.calls)
        due = number + self.delay.of(index)
        call = MadeCall(index, number, message.task, message.name, arguments, due, outcome)
        self.calls.append(call)
        return call

    def _keep(
        self, number: int, text: str, message: Message, reply: list[dict[str, Any]], call: MadeCall | None
    ) -> Round:
        pending = tuple(one.number for one in self.calls if one.shown is None)
        found = Round(number, text, message, tuple(reply), call.number if call else None, pending)
        self.rounds.append(found)
        return found

    @property
    def pending(self) -> list[MadeCall]:
        """The calls whose results did not come, or not yet."""
        return [one for one in self.calls if one.shown is None]

    def finals(self) -> dict[str, str | None]:
        """Return the hash of each task's state after its last call; tasks without calls are left out."""
        return {one.task: one.outcome.state_sha256 for one in self.calls}


def play(dialogue: Dialogue, messages: Iterable[str]) -> Dialogue:
    """Say messages until the dialogue has ended, or there are no more; return the dialogue."""
    for text in messages:
        if dialogue.ended:
            break
        dialogue.say(text)
    return dialogue


def most_rounds(gold_calls: int) -> int:
    """Return the ceiling of a dialogue whose tasks have so many gold calls."""
    return SPARE_ROUNDS + ROUNDS_PER_CALL * gold_calls


def recorded(outcomes: Iterable[Sequence[Any]]) -> Environment:
    """Return an environment that gives recorded outcomes ``[round, task, status, due, state_changed, result]`` in the
    order of the calls.

    Raises ValueError when asked for a call that was not recorded.
    """
    rest = iter(outcomes)

    def environment(task: str, calls: Sequence[ToolCall]) -> CallOutcome:
        found = next(rest, None)
        if found is None or found[1] != task:
            raise ValueError(f"No outcome is recorded for call {len(calls)} of the task {task}.")
        _, _, status, _, changed, result = found
        text = response_to(result) if status == Status.OK else json.dumps({"error": status})
        return CallOutcome(status, result, text, changed)

    return environment


def _content(value: dict[str, str]) -> dict[str, Any]:
    return {"role": "tool", "content": json.dumps(value, ensure_ascii=False)}


def _result(call: MadeCall) -> dict[str, Any]:
    return {
        "role": "tool",
        "id": call.task,
        "function name": write_call(call.name, call.arguments),
        "response": call.outcome.response,
    }
