"""Statistics of single entries over many runs: difficulty, discrimination, and references that are perhaps wrong."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import sqrt
from typing import Any

from annotator.core.schema.canonical import canonical, content_hash, without_kinds
from annotator.core.schema.errors import SchemaProblem
from annotator.core.schema.exact_json import loads

#: Runs from which an entry can be suspected, and have a discrimination.
MIN_RUNS = 3
#: Standard errors below no correlation from which “better runs fail” is more than chance: of 1,000 entries, one.
_STANDARD_ERRORS = 3.0
#: Characters of a fingerprint.
FINGERPRINT = 16


class Flag(StrEnum):
    """What is notable about an entry; the first that holds."""

    #: More than half of the runs gave one and the same answer, and it is not the reference.
    SAME_ANSWER = "same_answer"
    NONE_RIGHT = "none_right"
    #: The better runs fail it more often.
    NEGATIVE = "negative"
    ALL_RIGHT = "all_right"
    NOTHING = ""


def dialogue_of(family: str, entry: str) -> str:
    """Return the dialogue, case or composite of an entry: ``dialogue#task``, ``case@attempt``, ``composite@delay``."""
    return entry.rpartition("@" if family in ("cctu", "async") else "#")[0]


@dataclass(frozen=True, slots=True)
class Answer:
    """What one run made of an entry. ``said``: a fingerprint of the answer, blank if answers are not compared."""

    run: int
    right: bool
    said: str


@dataclass(frozen=True, slots=True)
class EntryStatistics:
    """``right`` of ``runs``; ``agreeing``: the most wrong runs with the same answer; ``discrimination``: see below."""

    runs: int
    right: int
    agreeing: int
    discrimination: float | None

    @property
    def flag(self) -> Flag:
        if self.runs < MIN_RUNS:
            return Flag.NOTHING
        if 2 * self.agreeing > self.runs:
            return Flag.SAME_ANSWER
        if not self.right:
            return Flag.NONE_RIGHT
        if self.discrimination is not None and self.discrimination * sqrt(self.runs) <= -_STANDARD_ERRORS:
            return Flag.NEGATIVE
        return Flag.ALL_RIGHT if self.right == self.runs else Flag.NOTHING


def statistics_of(entries: Mapping[str, Sequence[Answer]]) -> dict[str, EntryStatistics]:
    """Return the statistics of each entry over the runs that answered it.

    Discrimination is the corrected point-biserial correlation: of being right here with the number of *other* entries
    that the run has right. None below ``MIN_RUNS`` runs, or where one of the two does not vary.
    """
    totals: Counter[int] = Counter()
    for answers in entries.values():
        totals.update({one.run: int(one.right) for one in answers})
    found = {}
    for name, answers in entries.items():
        wrong = Counter(one.said for one in answers if not one.right and one.said)
        found[name] = EntryStatistics(
            len(answers),
            sum(one.right for one in answers),
            max(wrong.values(), default=0),
            _correlation([(float(one.right), float(totals[one.run] - one.right)) for one in answers]),
        )
    return found


def _correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    n = len(pairs)
    if n < MIN_RUNS:
        return None
    first, second = (sum(pair[place] for pair in pairs) / n for place in (0, 1))
    spread = [sum((pair[place] - mean) ** 2 for pair in pairs) for place, mean in ((0, first), (1, second))]
    if min(spread) <= 0:
        return None
    together = sum((one - first) * (other - second) for one, other in pairs)
    return together / sqrt(spread[0] * spread[1])


def fingerprint(rounds: Any) -> str:
    """Return a short hash of a model's rounds that is the same for equal calls: in any order within a round, with keys
    in any order. What a text says does not count.
    """
    said = []
    for one in rounds or ():
        calls = sorted(_call(call["name"], call["arguments"]) for call in one["calls"])
        said.append(calls or ("text" if one["content"] else one["error"] or "nothing"))
    return content_hash(canonical(said))[:FINGERPRINT]


def _call(name: str, arguments: str) -> str:
    try:
        return canonical([name, without_kinds(loads(arguments))])
    except (ValueError, SchemaProblem, RecursionError):
        # No JSON, or a value that no reference can have: then the spelling counts.
        return json.dumps([name, arguments])
