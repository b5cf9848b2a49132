"""Rating patterns: the ratings of one unit, and how often each combination occurs.

A unit is one thing that several people judged independently: an item, and the place of a label. Every statistic is
computed from counts of patterns. There are as many patterns as combinations of values, however many reviews there are.
Counts can be added and subtracted, so they are updated review by review.

Units of one dialogue are alike, so it is also counted how often two patterns occur in one dialogue.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import combinations
from typing import Self

#: One rater's value; None if the rater has none (did not rate the unit, or left the label open).
Value = str | int | None
#: The values of all raters of a unit. The order matters only if the raters are the same people in every unit.
Pattern = tuple[Value, ...]
#: The patterns of two units of one dialogue, in the order of ``in_order``.
Pair = tuple[Pattern, Pattern]

#: Before the key of a pair, and between its two parts.
_PAIR = "&"
#: Patterns of one dialogue, the most frequent ones, whose pairs are counted.
MAX_PATTERNS_PAIRED = 40


def ordered(ratings: Sequence[Value]) -> Pattern:
    """Return the pattern of the same raters in the same order in every unit; None marks a missing rating."""
    return tuple(ratings)


def unordered(ratings: Iterable[Value]) -> Pattern:
    """Return the pattern of interchangeable raters: the given values, sorted."""
    return tuple(sorted((value for value in ratings if value is not None), key=lambda value: (str(type(value)), value)))


def pattern_key(pattern: Pattern) -> str:
    """Return a pattern as JSON text, e.g. ``["approve","fix"]``: one text for each, usable as a database key."""
    return json.dumps(pattern, ensure_ascii=False, separators=(",", ":"))


def read_pattern(key: str) -> Pattern:
    """Return the pattern of a key. Raises ValueError unless it is a list of texts, whole numbers and nulls."""
    values = json.loads(key)
    if not isinstance(values, list) or not all(
        value is None or (isinstance(value, str | int) and not isinstance(value, bool)) for value in values
    ):
        raise ValueError(f"{key!r} is not a rating pattern: a JSON list of texts, whole numbers and nulls is expected.")
    return tuple(values)


def in_order(one: Pattern, other: Pattern) -> Pair:
    """Return two patterns as a pair, in one order."""
    return (one, other) if repr(one) <= repr(other) else (other, one)


def dialogue_keys(patterns: Iterable[Pattern]) -> Counter[str]:
    """Return what the units of one dialogue add to the stored counts: keys of patterns, and of pairs of them.

    The key of a pair contains a digest of each pattern, because two long patterns do not fit into a database key.
    """
    counts = PatternCounts.of_dialogues([patterns])
    keys = Counter({pattern_key(pattern): count for pattern, count in counts.checked()})
    for one, other, times in counts.together():
        keys[_PAIR.join(("", *sorted((_digest(one), _digest(other)))))] += times
    return keys


def read_counts(stored: Mapping[str, int]) -> "PatternCounts":
    """Return the counts of the sums of ``dialogue_keys``. Sums without pairs count each unit as a dialogue of its own.

    Raises ValueError for a key that is neither a pattern nor a pair.
    """
    counts = {read_pattern(key): count for key, count in stored.items() if not key.startswith(_PAIR)}
    named = {_digest(pattern): pattern for pattern in counts}
    together = {}
    for key, count in stored.items():
        if key.startswith(_PAIR):
            one, other = (named.get(digest) for digest in key[1:].split(_PAIR))
            # A pair without its patterns is one of runs that are left out.
            if one is not None and other is not None:
                together[in_order(one, other)] = count
    return PatternCounts(counts, together)


def _digest(pattern: Pattern) -> str:
    return blake2b(pattern_key(pattern).encode(), digest_size=8).hexdigest()


class PatternCounts:
    """How many units have each pattern, and how many pairs of units of one dialogue have each two patterns.

    Immutable: sums are new objects. Statistics refuse negative counts.
    """

    __slots__ = ("_counts", "_together")

    def __init__(self, counts: Mapping[Pattern, int] | None = None, together: Mapping[Pair, int] | None = None) -> None:
        self._counts = {pattern: count for pattern, count in (counts or {}).items() if count}
        self._together = {pair: count for pair, count in (together or {}).items() if count}

    @classmethod
    def of(cls, patterns: Iterable[Pattern]) -> Self:
        """Return the counts of these units' patterns, each unit of another dialogue."""
        return cls(Counter(patterns))

    @classmethod
    def of_dialogues(cls, dialogues: Iterable[Iterable[Pattern]]) -> Self:
        """Return the counts of the patterns of the units of each dialogue.

        Of a dialogue with many different patterns, only the most frequent ones are paired.
        """
        counts: Counter[Pattern] = Counter()
        together: Counter[Pair] = Counter()
        for patterns in dialogues:
            here = Counter(patterns)
            counts.update(here)
            if len(here) > MAX_PATTERNS_PAIRED:
                here = Counter(dict(here.most_common(MAX_PATTERNS_PAIRED)))
            together.update({(one, one): times * (times - 1) // 2 for one, times in here.items()})
            for one, other in combinations(here, 2):
                together[in_order(one, other)] += here[one] * here[other]
        return cls(counts, together)

    @classmethod
    def from_json(cls, counts: Mapping[str, int]) -> Self:
        """Return counts from the result of ``to_json``. Raises ValueError for a key that is not a pattern."""
        return cls({read_pattern(key): count for key, count in counts.items()})

    def to_json(self) -> dict[str, int]:
        """Return {key of the pattern: count}, sorted, so that equal counts give equal texts. Pairs are left out."""
        return dict(sorted((pattern_key(pattern), count) for pattern, count in self._counts.items()))

    def changed(self, change: Callable[[Pattern], Pattern | None]) -> "PatternCounts":
        """Return the same units with other patterns; without those whose pattern is None."""
        known = {pattern: change(pattern) for pattern in self._counts}
        counts: Counter[Pattern] = Counter()
        together: Counter[Pair] = Counter()
        for pattern, new in known.items():
            if new is not None:
                counts[new] += self._counts[pattern]
        for (one, other), count in self._together.items():
            left, right = known.get(one), known.get(other)
            if left is not None and right is not None:
                together[in_order(left, right)] += count
        return PatternCounts(counts, together)

    def without_order(self) -> "PatternCounts":
        """Return the same units with interchangeable raters, without units that have no rating."""
        return self.changed(lambda pattern: unordered(pattern) or None)

    def at_least(self, ratings: int) -> "PatternCounts":
        """Return the units that have so many ratings."""
        return self.changed(lambda one: one if sum(value is not None for value in one) >= ratings else None)

    def together(self) -> list[tuple[Pattern, Pattern, int]]:
        """Return how many pairs of units of one dialogue have each two patterns, in any order."""
        return [(one, other, count) for (one, other), count in self._together.items()]

    def dialogues(self) -> float:
        """Return how many dialogues there are, if all have as many units; fewer if some have more (n² / Σ n_i²)."""
        n = sum(self._counts.values())
        return n * n / (n + 2 * sum(self._together.values())) if n else 0.0

    def checked(self) -> list[tuple[Pattern, int]]:
        """Return patterns with their counts, in one order. Raises ValueError for a negative count."""
        for pattern, count in self._counts.items():
            if count < 0:
                raise ValueError(
                    f"The pattern {pattern_key(pattern)} has the count {count}. Run recount_statistics --repair."
                )
        return sorted(self._counts.items(), key=lambda one: pattern_key(one[0]))

    def __add__(self, other: "PatternCounts") -> "PatternCounts":
        counts, together = Counter(self._counts), Counter(self._together)
        counts.update(other._counts)
        together.update(other._together)
        return PatternCounts(counts, together)

    def __iter__(self) -> Iterator[Pattern]:
        return iter(self._counts)

    def __getitem__(self, pattern: Pattern) -> int:
        return self._counts.get(pattern, 0)

    def __len__(self) -> int:
        """Return the number of different patterns."""
        return len(self._counts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PatternCounts) and self._counts == other._counts and self._together == other._together

    def __repr__(self) -> str:
        return f"PatternCounts({self._counts!r}, {self._together!r})"
