"""The input of a rule: the round that it judges, and the rounds before."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from string import ascii_uppercase
from typing import Any

from annotator.core.schema.toolsets import CompiledToolset

#: Whether a validator accepts, and its message.
Verdict = tuple[bool, str]
#: ASCII capitals only: lower() may change a text's length.
_LOWER = {ord(capital): ord(capital.lower()) for capital in ascii_uppercase}


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call that a model attempts. ``arguments`` is None if a record has only tool names."""

    name: str
    arguments: dict[str, Any] | str | None = None


@dataclass(frozen=True, slots=True)
class Round:
    """One output of the model: parallel calls, or a final response."""

    calls: tuple[Call, ...] = ()
    final: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(call.name for call in self.calls)

    @property
    def response(self) -> str | None:
        """The final response as constraints judge it: without the model's thoughts."""
        return None if self.final is None else without_thinking(self.final)


def without_thinking(text: str) -> str:
    """Return a final response without its ``<think>…</think>`` and the white space around it.

    Ignores case and line breaks, like the published checker. If the closing tag is missing, nothing is removed.
    """
    kept, place = [], 0
    lowered = text.translate(_LOWER)
    while (begin := lowered.find("<think>", place)) >= 0 and (end := lowered.find("</think>", begin)) >= 0:
        kept.append(text[place:begin])
        place = end + len("</think>")
    return "".join((*kept, text[place:])).strip()


class Consequence(StrEnum):
    """The environment's response to a violation (paper, 3.1)."""

    IGNORED = "ignored"
    REJECTED = "rejected"
    DISABLED = "disabled"
    FAILED = "failed"
    #: The final response is returned and must be given again.
    RETURNED = "returned"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Breach:
    """One rule violated by one call (its position in the round), or by the final response or the round itself (None).

    ``label`` is the name in the published checker, if it has one; ``feedback`` is the message to the model.
    """

    label: str
    call: int | None
    feedback: str
    consequence: Consequence


@dataclass(frozen=True, slots=True)
class Judgement:
    """One rule on one round. ``applies`` is false if the rule does not concern the round."""

    applies: bool = True
    breaches: tuple[Breach, ...] = ()


#: The rule does not concern the round.
UNTOUCHED = Judgement(applies=False)


@dataclass(slots=True)
class Past:
    """The rounds before the one judged. Every attempt counts, even a refused one, as in the published checker.

    ``toolset`` checks calls, if it is known. ``widest_types`` and ``widest_calls`` are the most different tools, and
    the most calls, of any one round.
    """

    rounds: int = 0
    calls: int = 0
    per_tool: Counter[str] = field(default_factory=Counter)
    widest_types: int = 0
    widest_calls: int = 0
    #: The tools called in the first round that called any.
    first: tuple[str, ...] = ()
    answered: bool = False
    toolset: CompiledToolset | None = None
    #: Verdicts of validator code on a final response, by the code of the constraint; None if no code has run.
    verdict: Verdict | None = None

    def add(self, round_: Round) -> None:
        """Add a judged round."""
        names = round_.names
        self.rounds += 1
        self.calls += len(names)
        self.per_tool.update(names)
        self.widest_types = max(self.widest_types, len(set(names)))
        self.widest_calls = max(self.widest_calls, len(names))
        self.first = self.first or names
        self.answered = self.answered or round_.final is not None


@dataclass(frozen=True, slots=True)
class Limits:
    """What is allowed from now on; None for what is not limited. ``at_once`` counts the calls of one round,
    ``kinds_at_once`` the different tools.

    By tool: ``per_tool`` is the number of calls left, ``awaited`` the tools that must be called in an earlier round,
    and ``together`` the groups (including the tool) of which it must be called with one in parallel.
    """

    rounds: int | None = None
    calls: int | None = None
    at_once: int | None = None
    kinds_at_once: int | None = None
    per_tool: dict[str, int] = field(default_factory=dict)
    awaited: dict[str, tuple[str, ...]] = field(default_factory=dict)
    together: dict[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)

    @classmethod
    def strictest(cls, all_limits: "Iterable[Limits]") -> "Limits":
        """Return the strictest combination of several limits."""
        rounds: int | None = None
        calls: int | None = None
        at_once: int | None = None
        kinds_at_once: int | None = None
        per_tool: dict[str, int] = {}
        awaited: dict[str, tuple[str, ...]] = {}
        together: dict[str, tuple[tuple[str, ...], ...]] = {}
        for limits in all_limits:
            rounds = _least(rounds, limits.rounds)
            calls = _least(calls, limits.calls)
            at_once = _least(at_once, limits.at_once)
            kinds_at_once = _least(kinds_at_once, limits.kinds_at_once)
            for name, left in limits.per_tool.items():
                per_tool[name] = min(left, per_tool.get(name, left))
            for name, needed in limits.awaited.items():
                awaited[name] = tuple(dict.fromkeys((*awaited.get(name, ()), *needed)))
            for name, groups in limits.together.items():
                together[name] = (*together.get(name, ()), *groups)
        return cls(rounds, calls, at_once, kinds_at_once, per_tool, awaited, together)


def _least(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)
