"""Draw the constraints of a case, and draw again or drop those in which the filter finds something."""

import random
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from annotator.core.case_construction.context import with_rules
from annotator.core.case_construction.filtering import problems_of
from annotator.core.case_construction.query import CannotConstruct, Query
from annotator.core.case_construction.responses import NotDrawable
from annotator.core.case_construction.rules import DRAWN, Rule, draw, excluded
from annotator.core.schema import read_document

#: Draws of one constraint before it is dropped. So the filter ends after ``len(DRAWN) * MAX_DRAWS`` passes.
MAX_DRAWS = 3
ON_REQUEST = "Left out on request."
NOT_DRAWN = "Not drawn."
NOTHING_DRAWN = "No constraint remains with this seed. Use another seed, or a higher probability."


@dataclass(frozen=True)
class LeftOut:
    """A category that a case lacks, and why, as a sentence."""

    category: str
    reason: str


@dataclass(frozen=True)
class Change:
    """A constraint that the filter drew again or dropped: its sentence then, and what was wrong with it."""

    category: str
    text: str
    dropped: bool
    reason: str


@dataclass(frozen=True)
class Constructed:
    """A case. ``left_out``: the categories that it lacks, and why; ``changes``: what the filter did, in order."""

    document: dict[str, Any]
    left_out: tuple[LeftOut, ...]
    changes: tuple[Change, ...]


def construct(
    query: Query, *, name: str, seed: int, probability: float = 0.5, without: Collection[str] = ()
) -> Constructed:
    """Return a case made from a query; the same arguments give the same case.

    ``name`` and ``seed`` choose the random numbers, separately for each category, so that leaving one out changes no
    other. Raises CannotConstruct if no constraint remains.
    """
    chances = {one: random.Random(f"{seed}:{name}:{one}") for one in DRAWN}  # noqa: S311 - can be repeated
    rules: dict[str, Rule] = {}
    left_out: list[LeftOut] = []
    for category, chance in chances.items():
        reason = _why_not(category, query, chance, probability, without)
        if not reason:
            try:
                rules[category] = draw(category, query, chance)
                continue
            except NotDrawable as problem:
                reason = str(problem)
        left_out.append(LeftOut(category, reason))
    document, changes = _filtered(query, rules, chances)
    left_out += [LeftOut(change.category, change.reason) for change in changes if change.dropped]
    order = list(DRAWN)
    return Constructed(document, tuple(sorted(left_out, key=lambda one: order.index(one.category))), tuple(changes))


def _why_not(category: str, query: Query, chance: random.Random, probability: float, without: Collection[str]) -> str:
    # Always drawn, so that the other numbers of the category stay the same.
    drawn = chance.random() < probability
    if category in without:
        return ON_REQUEST
    return excluded(category, query.scenario) if drawn else NOT_DRAWN


def _filtered(
    query: Query, rules: dict[str, Rule], chances: dict[str, random.Random]
) -> tuple[dict[str, Any], list[Change]]:
    """Return the case without problems, and what was changed for that. Empties ``rules`` of what is dropped."""
    changes: list[Change] = []
    draws = dict.fromkeys(rules, 1)
    while rules:
        document = _document(query, list(rules.values()))
        problems = problems_of(document, query.toolset)
        if not problems:
            return document, changes
        drawn = list(rules.values())
        for position, reason in sorted(problems.items()):
            rule = drawn[position]
            draws[rule.category] += 1
            again = None
            if draws[rule.category] <= MAX_DRAWS:
                with suppress(NotDrawable):
                    again = draw(rule.category, query, chances[rule.category])
            changes.append(Change(rule.category, rule.text, again is None, reason))
            if again is None:
                del rules[rule.category]
            else:
                rules[rule.category] = again
    raise CannotConstruct(NOTHING_DRAWN)


def _document(query: Query, rules: list[Rule]) -> dict[str, Any]:
    stated = with_rules(query.document["system_prompt"], [rule.text for rule in rules])
    constraints = [rule.as_constraint(f"c{number}") for number, rule in enumerate(rules)]
    return read_document({**query.document, "system_prompt": stated, "constraints": constraints})
