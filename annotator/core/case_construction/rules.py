"""Draw the parameters of one constraint so that the trajectory of a query satisfies it.

Limits leave room for other solutions: they do not prescribe the steps of the trajectory (paper, F).
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from annotator.core.case_construction.query import Query
from annotator.core.case_construction.responses import NotDrawable, draw_content, draw_format, draw_length
from annotator.core.constraints import (
    InteractionRounds,
    ParallelCallsCount,
    ParallelDependencies,
    SequentialDependencies,
    SpecificToolCallCount,
    ToolCallCount,
)
from annotator.core.constraints.case import MULTI_HOP, PARALLEL_SINGLE_HOP, SINGLE_HOP
from annotator.core.constraints.response import Content, Format, Length
from annotator.core.constraints.taxonomy import find_category, proposed_text

#: Tools that one order, or one parallel group, names at most.
_MOST_NAMED = 3
#: Rounds of the shortest solution, by the number of hops (one or several).
_ONE_HOP, _SEVERAL_HOPS = 2, 3


@dataclass(frozen=True)
class Rule:
    """A drawn constraint: its category, its sentence, and its parameters or its built-in validator."""

    category: str
    text: str
    parameters: dict[str, Any] | None = None
    validator: dict[str, Any] | None = None

    def as_constraint(self, key: str) -> dict[str, Any]:
        """Return the constraint of a document."""
        category = find_category(self.category)
        return {
            "id": key,
            "dimension": category.dimension.value if category else None,
            "category": self.category,
            "text": self.text,
            "parameters": self.parameters,
            "validator": self.validator,
        }


def excluded(category: str, scenario: str) -> str:
    """Return why a scenario excludes a category (paper, 3.2), as a sentence; blank if it does not."""
    if category == SequentialDependencies.id and scenario in (SINGLE_HOP, PARALLEL_SINGLE_HOP):
        return "The scenario has a single hop, so there is no order of calls."
    if category in (ParallelDependencies.id, ParallelCallsCount.id) and scenario in (SINGLE_HOP, MULTI_HOP):
        return "The scenario has no parallel calls."
    return ""


def draw(category: str, query: Query, chance: random.Random) -> Rule:
    """Return a constraint of a category that the trajectory satisfies. Raises NotDrawable with the reason."""
    drawn = DRAWN[category](query, chance)
    if isinstance(drawn, dict):
        return Rule(category, proposed_text(category, drawn), parameters=drawn)
    text, form, parameters, bad = drawn
    return Rule(category, text, validator={"form": form, "parameters": parameters, "bad": bad})


def _rounds(query: Query, chance: random.Random) -> dict[str, Any]:
    used = len(query.rounds)
    shortest = _ONE_HOP if query.scenario in (SINGLE_HOP, PARALLEL_SINGLE_HOP) else _SEVERAL_HOPS
    low = chance.choice((0, 0, min(used, shortest)))
    return {"min_round": low, "max_round": max(used, shortest) + chance.randint(1, max(2, used // 2))}


def _calls(query: Query, chance: random.Random) -> dict[str, Any]:
    used = query.calls.total()
    low = chance.choice((0, 0, chance.randint(1, query.needed)))
    return {"min_callTimes": low, "max_callTimes": used + chance.randint(0, max(1, used // 2))}


def _calls_per_tool(query: Query, chance: random.Random) -> dict[str, Any]:
    tools = list(query.rounds_of_tools)
    if not tools:
        raise NotDrawable("The trajectory calls no tool of the toolset.")
    chosen = chance.sample(tools, chance.randint(1, min(_MOST_NAMED, len(tools))))
    return {"max_calls_per_tool": {name: query.calls[name] + chance.randint(0, 1) for name in sorted(chosen)}}


def _order(query: Query, chance: random.Random) -> dict[str, Any]:
    """Prefer tools of which one takes what another returned."""
    chain = _fed_chain(query.feeds, chance)
    if not chain:
        by_round: dict[int, list[str]] = {}
        for name, rounds in query.rounds_of_tools.items():
            by_round.setdefault(rounds[0], []).append(name)
        if len(by_round) < 2:
            raise NotDrawable("The trajectory first calls all its tools in one round.")
        places = sorted(chance.sample(sorted(by_round), chance.randint(2, min(_MOST_NAMED, len(by_round)))))
        chain = [chance.choice(by_round[place]) for place in places]
    return {"order_constraints": [chain]}


def _fed_chain(feeds: list[tuple[str, str]], chance: random.Random) -> list[str]:
    if not feeds:
        return []
    chain = list(chance.choice(feeds))
    while len(chain) < _MOST_NAMED:
        following = [after for before, after in feeds if before == chain[-1]]
        if not following or chance.random() < 0.5:
            break
        chain.append(chance.choice(following))
    return chain


def _groups(query: Query, chance: random.Random) -> dict[str, Any]:
    """Group tools that are called in the same rounds, always."""
    together: dict[tuple[int, ...], list[str]] = {}
    for name, rounds in query.rounds_of_tools.items():
        together.setdefault(tuple(rounds), []).append(name)
    groups = [names for names in together.values() if len(names) > 1]
    if not groups:
        raise NotDrawable("The trajectory has no two tools that it only calls together.")
    group = chance.choice(groups)
    return {"parallel_groups": [sorted(chance.sample(group, chance.randint(2, min(_MOST_NAMED, len(group)))))]}


def _at_once(query: Query, chance: random.Random) -> dict[str, Any]:
    unit = chance.choice(("type", "num"))
    widest = max(len(set(each.names) if unit == "type" else each.names) for each in query.rounds)
    if widest < 2:
        raise NotDrawable("The trajectory makes no parallel calls.")
    low = chance.choice((0, chance.randint(2, widest)))
    high = widest + chance.randint(0, 1)
    return {"min_parallelCallTypes": low, "max_parallelCallTypes": high, "unit": unit}


#: How a constraint of each category is drawn, in the order of the taxonomy: parameters, or a sentence with a built-in
#: validator (its name, its parameters, responses that it must reject). The tools' schemas bring the toolset categories.
DRAWN: dict[str, Callable[[Query, random.Random], Any]] = {
    InteractionRounds.id: _rounds,
    ToolCallCount.id: _calls,
    SpecificToolCallCount.id: _calls_per_tool,
    SequentialDependencies.id: _order,
    ParallelDependencies.id: _groups,
    ParallelCallsCount.id: _at_once,
    Length.id: draw_length,
    Format.id: draw_format,
    Content.id: draw_content,
}
