"""Rating patterns: the ratings of one unit, and how often each combination occurs.

A unit is one thing that several people judged independently: an item, and the place of a label. Every statistic is
computed from counts of patterns. There are as many patterns as combinations of values, however many reviews there are.
Counts can be added and subtracted, so they are updated review by review.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Self

#: One rater's value; None if the rater has none (did not rate the unit, or left the label open).
Value = str | int | None
#: The values of all raters of a unit. The order matters only if the raters are the same people in every unit.
Pattern = tuple[Value, ...]


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


class PatternCounts:
    """How many units have each pattern. Immutable: sums are new objects. Statistics refuse negative counts."""

    __slots__ = ("_counts",)

    def __init__(self, counts: Mapping[Pattern, int] | None = None) -> None:
        self._counts = {pattern: count for pattern, count in (counts or {}).items() if count}

    @classmethod
    def of(cls, patterns: Iterable[Pattern]) -> Self:
        """Return the counts of these units' patterns."""
        counts: dict[Pattern, int] = {}
        for pattern in patterns:
            counts[pattern] = counts.get(pattern, 0) + 1
        return cls(counts)

    @classmethod
    def from_json(cls, counts: Mapping[str, int]) -> Self:
        """Return counts from the result of ``to_json``. Raises ValueError for a key that is not a pattern."""
        return cls({read_pattern(key): count for key, count in counts.items()})

    def to_json(self) -> dict[str, int]:
        """Return {key of the pattern: count}, sorted, so that equal counts give equal texts."""
        return dict(sorted((pattern_key(pattern), count) for pattern, count in self._counts.items()))

    def without_order(self) -> "PatternCounts":
        """Return the same units with interchangeable raters, without units that have no rating."""
        counts: dict[Pattern, int] = {}
        for pattern, count in self._counts.items():
            if bare := unordered(pattern):
                counts[bare] = counts.get(bare, 0) + count
        return PatternCounts(counts)

    def checked(self) -> list[tuple[Pattern, int]]:
        """Return patterns with their counts, in one order. Raises ValueError for a negative count."""
        for pattern, count in self._counts.items():
            if count < 0:
                raise ValueError(
                    f"The pattern {pattern_key(pattern)} has the count {count}. Run recount_statistics --repair."
                )
        return sorted(self._counts.items(), key=lambda one: pattern_key(one[0]))

    def __add__(self, other: "PatternCounts") -> "PatternCounts":
        counts = dict(self._counts)
        for pattern, count in other._counts.items():
            counts[pattern] = counts.get(pattern, 0) + count
        return PatternCounts(counts)

    def __iter__(self) -> Iterator[Pattern]:
        return iter(self._counts)

    def __getitem__(self, pattern: Pattern) -> int:
        return self._counts.get(pattern, 0)

    def __len__(self) -> int:
        """Return the number of different patterns."""
        return len(self._counts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PatternCounts) and self._counts == other._counts

    def __repr__(self) -> str:
        return f"PatternCounts({self._counts!r})"
