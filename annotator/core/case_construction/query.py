"""A query with its tools, its expected answer and a trajectory that solves it: the source of constrained cases."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from annotator.core.case_construction.context import context_of
from annotator.core.constraints.case import (
    MULTI_HOP,
    PARALLEL_MULTI_HOP,
    PARALLEL_SINGLE_HOP,
    SINGLE_HOP,
)
from annotator.core.constraints.reading_case import constraints_of, replay_of, rounds_of
from annotator.core.constraints.rounds import Round, without_thinking
from annotator.core.constraints.solving import UnsolvedSet, text_of
from annotator.core.schema.native_notes import NATIVE
from annotator.core.schema.toolsets import CompiledToolset
from annotator.core.schema.value_words import cut

#: Tools, values of a call, and characters of an observation, of which it is searched what feeds what.
_MOST_TOOLS, _MOST_VALUES, _SEARCHED = 50, 20, 4_000


class CannotConstruct(ValueError):
    """No case can be made from a source; the text is a sentence."""


@dataclass(frozen=True)
class Query:
    """``document``: a constrained document without constraints; its prompt is the task context, its trajectory has the
    calls that ran and the accepted response.
    """

    document: Mapping[str, Any]
    toolset: CompiledToolset
    scenario: str

    @cached_property
    def rounds(self) -> list[Round]:
        return rounds_of(self.document)

    @property
    def final(self) -> str:
        """The accepted response, as validators get it."""
        return without_thinking(self.rounds[-1].final or "")

    @cached_property
    def calls(self) -> Counter[str]:
        """The number of calls of each tool."""
        return Counter(name for each in self.rounds for name in each.names)

    @cached_property
    def rounds_of_tools(self) -> dict[str, list[int]]:
        """The rounds that call each tool of the toolset, by the first one."""
        found: dict[str, list[int]] = {}
        for number, each in enumerate(self.rounds):
            for name in dict.fromkeys(each.names):
                if name in self.toolset.tools:
                    found.setdefault(name, []).append(number)
        return found

    @property
    def needed(self) -> int:
        """The calls that every solution makes."""
        expected = sum(len(texts) for texts in (self.document["unsolved_set"] or {}).values())
        return max(1, min(expected, self.calls.total()))

    @cached_property
    def feeds(self) -> list[tuple[str, str]]:
        """Pairs of tools: a text or number that the first one returned is an argument of the other's first call, in a
        later round.
        """
        first = {name: rounds[0] for name, rounds in list(self.rounds_of_tools.items())[:_MOST_TOOLS]}
        seen: list[tuple[str, str]] = []
        found: dict[tuple[str, str], None] = {}
        for number, each in enumerate(self.document["reference_trajectory"]):
            calls = {call["name"]: call for call in each["calls"] if first.get(call["name"]) == number}
            for name, call in calls.items():
                values = [value for value in _leaves(call["arguments"]) if len(value) > 1][:_MOST_VALUES]
                for earlier, result in seen:
                    if any(value in result for value in values):
                        found[earlier, name] = None
            seen += [(name, text_of(call["observation"])[:_SEARCHED]) for name, call in calls.items()]
        return list(found)


def read_query(document: Mapping[str, Any], toolset: CompiledToolset) -> Query:
    """Return the query of a constrained document. Its own constraints are left out, with the calls and responses that
    they refused, and with the sentences of the prompt that state them.

    Raises CannotConstruct if a part is missing or the trajectory does not solve the query.
    """
    if document["kind"] != "constrained":
        raise CannotConstruct("Only constrained cases have a query, a reference trajectory and the code of tools.")
    for field, sentence in _REQUIRED.items():
        if not document[field]:
            raise CannotConstruct(sentence)
    trajectory = _what_ran(document)
    if len(trajectory) < 2 or not without_thinking(trajectory[-1]["final"] or ""):
        raise CannotConstruct("The reference trajectory has no call, or no accepted response at its end.")
    called = dict.fromkeys(call["name"] for each in trajectory for call in each["calls"])
    lacking = next((name for name in called if name in toolset.tools and name not in document["tool_codes"]), None)
    if lacking is not None:
        raise CannotConstruct(f"The tool {lacking} has no code.")
    _require_solved(document["unsolved_set"], trajectory)
    scenario = document["scenario"] or _scenario_of(trajectory)
    kept = {
        "constraints": [],
        "reference_trajectory": trajectory,
        "scenario": scenario,
        "system_prompt": context_of(document["system_prompt"] or "", constraints_of(document)),
        "extra": {key: value for key, value in document["extra"].items() if key != NATIVE},
    }
    return Query({**document, **kept}, toolset, scenario)


_REQUIRED = {
    "user_query": "The case has no query.",
    "answer": "The case has no reference answer.",
    "unsolved_set": "The case does not say what its tools must return.",
    "reference_trajectory": "The case has no reference trajectory.",
}


def _what_ran(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rounds without refused calls and responses; responses before the last one are left out."""
    rounds = document["reference_trajectory"]
    replayed = replay_of(document)
    if replayed is None:
        raise CannotConstruct("The constraints of the case cannot be read, so its trajectory cannot be judged.")
    out = []
    for number, (each, turn) in enumerate(zip(rounds, replayed.turns, strict=True)):
        calls = [each["calls"][position] for position in turn.executed]
        if calls:
            out.append({**each, "calls": calls})
        elif each["final"] is not None and number == len(rounds) - 1:
            out.append(each)
    return out if out and out[-1]["final"] is not None else []


def _require_solved(unsolved_set: Mapping[str, Sequence[Any]], trajectory: Sequence[Mapping[str, Any]]) -> None:
    expected = UnsolvedSet(unsolved_set)
    for number, each in enumerate(trajectory):
        for position, call in enumerate(each["calls"]):
            expected.tick(call["name"], text_of(call["observation"]), round_=number, call=position)
    open_ = next((one for one in expected.texts if one.round is None), None)
    if open_ is not None:
        raise CannotConstruct(
            f"The reference trajectory does not solve the query: no call of {open_.tool} returns “{cut(open_.text)}”."
        )


def _scenario_of(trajectory: Sequence[Mapping[str, Any]]) -> str:
    """Return the scenario that a trajectory shows: calls in one round or more, one or more in a round."""
    sizes = [len(each["calls"]) for each in trajectory if each["calls"]]
    parallel = max(sizes) > 1
    if len(sizes) == 1:
        return PARALLEL_SINGLE_HOP if parallel else SINGLE_HOP
    return PARALLEL_MULTI_HOP if parallel else MULTI_HOP


def _leaves(value: Any) -> list[str]:
    """Return the texts and numbers in arguments, as text."""
    if isinstance(value, dict):
        return [leaf for each in value.values() for leaf in _leaves(each)]
    if isinstance(value, list):
        return [leaf for each in value for leaf in _leaves(each)]
    return [] if value is None or isinstance(value, bool) else [str(value)]
