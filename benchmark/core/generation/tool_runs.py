"""Results of functions that have code: run in the sandbox instead of simulated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from annotator.core.execution.running import Outcome, Runner, Start, StatefulTool, execute
from annotator.core.execution.signatures import function_names
from annotator.core.sandbox.results import Status
from annotator.core.sandbox.trajectories import Implementation, ToolCall
from annotator.core.schema.canonical import canonical
from annotator.core.schema.exact_json import dumps, loads
from annotator.core.schema.value_words import cut
from annotator.core.text import Message, message
from benchmark.core.generation.state import Stage, State
from benchmark.core.generation.turns import open_calls

#: How a call can end so that the model reads something: a result, or the error of a call that it can correct.
_READ = frozenset((Status.OK, Status.EXCEPTION, Status.BAD_ARGUMENTS))


class CannotRun(ValueError):
    """The code gave no result that can be used; ``message`` is a sentence."""

    def __init__(self, text: Message) -> None:
        self.message = text
        super().__init__(str(text))


@dataclass(frozen=True)
class ToolCode:
    """The code of functions: an ``implementation`` of a toolset, which may keep a state between its calls, or the
    source of each function, which keeps none (``codes``).
    """

    implementation: Mapping[str, Any] | None = None
    codes: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def names(self) -> frozenset[str]:
        """The functions that have code."""
        if self.implementation is None:
            return frozenset(self.codes)
        return function_names(_implementation(self.implementation))


def calls_to_run(state: State, code: ToolCode) -> list[dict[str, Any]]:
    """Return the calls that wait for their results and have code; none if the results shall be simulated."""
    if not state.setup.run_tools or state.stage is not Stage.OBSERVE:
        return []
    return [call for call in open_calls(state) if call["name"] in code.names]


def run_calls(runner: Runner, state: State, code: ToolCode) -> str:
    """Run the calls that wait, after all earlier ones of the dialogue; return the program's answer for ``advance``.

    ``runner`` runs each trajectory twice, so that results that differ are found. Raises CannotRun, and
    SandboxUnavailable.
    """
    waiting = calls_to_run(state, code)
    if code.implementation is None:
        codes = [Implementation(code.codes[one["name"]]) for one in waiting]
        found = [_run(runner, state, each, [one])[-1] for one, each in zip(waiting, codes, strict=True)]
    else:
        earlier, past = _calls_with_results(state.tasks, code), _calls_with_results(state.setup.past, code)
        ran = _run(runner, state, _implementation(code.implementation), [*earlier, *waiting])
        _require_same(past, ran)
        found = ran[len(earlier) :]
    results = {one["id"]: _result(outcome) for one, outcome in zip(waiting, found, strict=True)}
    return dumps({"results": results}).decode()


def _calls_with_results(tasks: Sequence[Mapping[str, Any]], code: ToolCode) -> list[dict[str, Any]]:
    calls = [step for task in tasks for step in task["steps"] if step["type"] == "call"]
    return [one for one in calls if one["observation"] is not None and one["name"] in code.names]


def _require_same(past: Sequence[Mapping[str, Any]], ran: Sequence[Outcome]) -> None:
    """Raise CannotRun if the calls of verified tasks return something else, so that what follows would not fit."""
    for call, outcome in zip(past, ran, strict=False):
        if outcome.status not in _READ or canonical([_result(outcome)]) != canonical([call["observation"]]):
            raise CannotRun(
                message(
                    "The code returns something else than the verified result of %(name)s, for example because it "
                    "began with another state or seed. Write the result.",
                    name=call["name"],
                )
            )  # fmt: skip


def _run(
    runner: Runner, state: State, implementation: Implementation, calls: Sequence[Mapping[str, Any]]
) -> list[Outcome]:
    tool = StatefulTool(implementation, frozenset(one["name"] for one in calls))
    start = Start(state.setup.initial_state, state.setup.seed)
    ran = execute(runner, tool, start, [ToolCall(one["name"], one["arguments"]) for one in calls])
    if ran.differs is not None:
        name = calls[max(ran.differs, 0)]["name"]
        raise CannotRun(
            message("The code of %(name)s returns something else when it is run again. Write the result.", name=name)
        )
    return list(ran.outcomes)


def _result(outcome: Outcome) -> Any:
    """Return what the model reads of a call."""
    if outcome.status not in _READ:
        raise CannotRun(
            message(
                "The call of %(name)s could not be run. %(why)s %(details)s",
                name=outcome.name, why=outcome.status.words,
                details=cut(outcome.message.removeprefix(outcome.status.words).strip(), 300),
            )
        )  # fmt: skip
    if outcome.status is Status.OK:
        return "None" if outcome.result is None else outcome.result
    return loads(outcome.response)


def _implementation(stored: Mapping[str, Any]) -> Implementation:
    return Implementation(stored["source"], stored["class"], stored["load"])
