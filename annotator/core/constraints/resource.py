"""Resource constraints: rounds and calls (paper, 3.1)."""

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from annotator.core.constraints.model import Ceiling, Count, Dimension, Parameters, ToolName
from annotator.core.constraints.rounds import UNTOUCHED, Breach, Consequence, Judgement, Limits, Past, Round
from annotator.core.constraints.taxonomy import Category, register
from annotator.core.constraints.wording import above, named, ranged
from annotator.core.wording import counted


class RoundBounds(Parameters):
    min_round: Count = Field(0, title="At least")
    max_round: Ceiling = Field("inf", title="At most")


@register
class InteractionRounds(Category[RoundBounds]):
    """How many outputs the model may produce, including the final response."""

    id = "interaction rounds"
    dimension = Dimension.RESOURCE
    labels = (("Interact", "Round"),)
    model = RoundBounds

    def usual(self, tools: Sequence[str]) -> dict[str, Any]:
        return {"min_round": 0, "max_round": 20}

    def sentence(self, parameters: RoundBounds) -> str:
        rounds = ranged(parameters.min_round, parameters.max_round, "interaction round")
        return f"Take {rounds}, including the final response."

    def judge(self, parameters: RoundBounds, past: Past, round_: Round) -> Judgement:
        number = past.rounds + 1
        if above(number, parameters.max_round):
            limit = counted(int(parameters.max_round), "interaction round")
            told = f"The limit of {limit} has been reached. The task ends."
            return Judgement(breaches=(Breach("MAX ROUND", None, told, Consequence.ENDED),))
        if round_.final is None:
            return Judgement()
        if number < parameters.min_round:
            told = (
                f"This final response comes in round {number}, but at least {parameters.min_round} "
                "rounds are required. Continue the task before you answer."
            )
            return Judgement(breaches=(Breach("MIN ROUND", None, told, Consequence.RETURNED),))
        return Judgement()

    def open(self, parameters: RoundBounds, past: Past) -> str:
        missing = parameters.min_round - past.rounds
        return f"{counted(missing, 'more round')} must be taken." if missing > 0 else ""

    def limits(self, parameters: RoundBounds, past: Past) -> Limits:
        return Limits(rounds=_left(parameters.max_round, past.rounds))


class CallBounds(Parameters):
    min_callTimes: Count = Field(0, title="At least")
    max_callTimes: Ceiling = Field("inf", title="At most")


@register
class ToolCallCount(Category[CallBounds]):
    """How many tool calls are allowed in total."""

    id = "tool call count"
    dimension = Dimension.RESOURCE
    labels = (("Interact", "Call Times"),)
    model = CallBounds

    def usual(self, tools: Sequence[str]) -> dict[str, Any]:
        return {"min_callTimes": 0, "max_callTimes": 5}

    def sentence(self, parameters: CallBounds) -> str:
        return f"Make {ranged(parameters.min_callTimes, parameters.max_callTimes, 'tool call')} in total."

    def judge(self, parameters: CallBounds, past: Past, round_: Round) -> Judgement:
        if round_.final is not None:
            if past.calls >= parameters.min_callTimes:
                return Judgement()
            told = (
                f"Only {counted(past.calls, 'tool call')} {'was' if past.calls == 1 else 'were'} made, but at "
                f"least {parameters.min_callTimes} are required. Call more tools before you answer."
            )
            return Judgement(breaches=(Breach("MIN CALL TIMES", None, told, Consequence.RETURNED),))
        most = counted(parameters.max_callTimes, "tool call") if isinstance(parameters.max_callTimes, int) else ""
        breaches = tuple(
            Breach(
                "MAX CALL TIMES",
                i,
                f"This call to {call.name} was ignored: the limit of {most} is used up. Answer with what you know.",
                Consequence.IGNORED,
            )
            for i, call in enumerate(round_.calls)
            if above(past.calls + i + 1, parameters.max_callTimes)
        )
        return Judgement(breaches=breaches)

    def open(self, parameters: CallBounds, past: Past) -> str:
        missing = parameters.min_callTimes - past.calls
        return f"{counted(missing, 'more tool call')} must be made." if missing > 0 else ""

    def limits(self, parameters: CallBounds, past: Past) -> Limits:
        return Limits(calls=_left(parameters.max_callTimes, past.calls))


class CallsPerTool(Parameters):
    max_calls_per_tool: dict[ToolName, Count] = Field(default_factory=dict, title="Maximum calls")


@register
class SpecificToolCallCount(Category[CallsPerTool]):
    """How often certain tools may be called."""

    id = "specific tool call count"
    dimension = Dimension.RESOURCE
    labels = (("Tool", "Max Calls Per Tool"),)
    model = CallsPerTool

    def usual(self, tools: Sequence[str]) -> dict[str, Any]:
        return {"max_calls_per_tool": dict.fromkeys(tools[:1], 1)}

    def sentence(self, parameters: CallsPerTool) -> str:
        by_count: dict[int, list[str]] = {}
        for name, most in parameters.max_calls_per_tool.items():
            by_count.setdefault(most, []).append(name)
        parts = [
            f"at most {counted(most, 'call')} to {'each of ' if len(names) > 1 else ''}{named(names)}"
            for most, names in by_count.items()
        ]
        return f"Make {'; '.join(parts)}." if parts else "Call each tool as often as you like."

    def judge(self, parameters: CallsPerTool, past: Past, round_: Round) -> Judgement:
        breaches = []
        now = past.per_tool.copy()
        for i, call in enumerate(round_.calls):
            now[call.name] += 1
            most = parameters.max_calls_per_tool.get(call.name)
            if most is not None and now[call.name] > most:
                told = (
                    f"{call.name} may be called at most {counted(most, 'time')}, so it is no longer "
                    "available. Use other tools."
                )
                breaches.append(Breach("MAX CALLS PER TOOL", i, told, Consequence.DISABLED))
        return Judgement(breaches=tuple(breaches)) if round_.calls or round_.final is not None else UNTOUCHED

    def limits(self, parameters: CallsPerTool, past: Past) -> Limits:
        left = {name: max(0, most - past.per_tool[name]) for name, most in parameters.max_calls_per_tool.items()}
        return Limits(per_tool=left)

    def tools(self, parameters: CallsPerTool) -> tuple[str, ...]:
        return tuple(parameters.max_calls_per_tool)


def _left(most: int | str, used: int) -> int | None:
    return max(0, most - used) if isinstance(most, int) else None
