"""Rating patterns: what the raters of one unit said together, and how often each combination came up.

A unit is one thing that several people judged independently: (item, place of a label). Every statistic is computed from
the counts of patterns: there are as many of those as there are combinations of values, however many reviews there are.
Counts add up and can be taken away again, so they are kept up to date review by review.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Self

#: One rater's value; None where this rater has none (did not rate the unit, or left the label open).
Value = str | int | None
#: The values of all raters of a unit. The order means something only where the raters are the same people throughout.
Pattern = tuple[Value, ...]


def ordered(ratings: Sequence[Value]) -> Pattern:
    """The pattern of raters who are the same people in the same order in every unit; None marks a missing rating."""
    return tuple(ratings)


def unordered(ratings: Iterable[Value]) -> Pattern:
    """The pattern of raters who are interchangeable: the values that were given, sorted."""
    return tuple(sorted((value for value in ratings if value is not None), key=lambda value: (str(type(value)), value)))


def pattern_key(pattern: Pattern) -> str:
    """A pattern as JSON text, e.g. ``["approve","fix"]``: one text for each pattern, fit for a database key."""
    return json.dumps(pattern, ensure_ascii=False, separators=(",", ":"))


def read_pattern(key: str) -> Pattern:
    """The pattern of a key. Raises ValueError for a text that is no list of texts, whole numbers and nulls."""
    values = json.loads(key)
    if not isinstance(values, list) or not all(
        value is None or (isinstance(value, str | int) and not isinstance(value, bool)) for value in values
    ):
        raise ValueError(f"{key!r} is not a rating pattern: a JSON list of texts, whole numbers and nulls is expected.")
    return tuple(values)


class PatternCounts:
    """How many units show each pattern. Never changed: sums and differences are new objects.

    A difference may hold negative counts while changes wait to be added up; statistics refuse those.
    """

    __slots__ = ("_counts",)

    def __init__(self, counts: Mapping[Pattern, int] | None = None) -> None:
        self._counts = {pattern: count for pattern, count in (counts or {}).items() if count}

    @classmethod
    def of(cls, patterns: Iterable[Pattern]) -> Self:
        """The counts of these units' patterns."""
        counts: dict[Pattern, int] = {}
        for pattern in patterns:
            counts[pattern] = counts.get(pattern, 0) + 1
        return cls(counts)

    @classmethod
    def from_json(cls, counts: Mapping[str, int]) -> Self:
        """Counts from what ``to_json`` made. Raises ValueError for a key that is no pattern."""
        return cls({read_pattern(key): count for key, count in counts.items()})

    def to_json(self) -> dict[str, int]:
        """{key of the pattern: count}, sorted, so that equal counts give equal texts."""
        return dict(sorted((pattern_key(pattern), count) for pattern, count in self._counts.items()))

    def without_order(self) -> "PatternCounts":
        """The same units with their raters taken as interchangeable; units without any rating are dropped."""
        counts: dict[Pattern, int] = {}
        for pattern, count in self._counts.items():
            if bare := unordered(pattern):
                counts[bare] = counts.get(bare, 0) + count
        return PatternCounts(counts)

    def checked(self) -> list[tuple[Pattern, int]]:
        """Patterns with their counts, in one order. Raises ValueError where a count is negative."""
        for pattern, count in self._counts.items():
            if count < 0:
                raise ValueError(
                    f"The pattern {pattern_key(pattern)} is counted {count} times; count again from the reviews."
                )
        return sorted(self._counts.items(), key=lambda one: pattern_key(one[0]))

    def __add__(self, other: "PatternCounts") -> "PatternCounts":
        return self._combined(other, 1)

    def __sub__(self, other: "PatternCounts") -> "PatternCounts":
        return self._combined(other, -1)

    def _combined(self, other: "PatternCounts", sign: int) -> "PatternCounts":
        counts = dict(self._counts)
        for pattern, count in other._counts.items():
            counts[pattern] = counts.get(pattern, 0) + sign * count
        return PatternCounts(counts)

    def __iter__(self) -> Iterator[Pattern]:
        return iter(self._counts)

    def __getitem__(self, pattern: Pattern) -> int:
        return self._counts.get(pattern, 0)

    def __len__(self) -> int:
        """How many different patterns there are."""
        return len(self._counts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PatternCounts) and self._counts == other._counts

    def __hash__(self) -> int:
        return hash(frozenset(self._counts.items()))

    def __repr__(self) -> str:
        return f"PatternCounts({self._counts!r})"
