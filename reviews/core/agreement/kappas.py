"""Percent agreement, Cohen's kappa, Fleiss' kappa and Gwet's AC1, from pattern counts.

With p_o the share of agreement observed and p_e the share expected by chance each kappa is (p_o - p_e) / (1 - p_e);
they differ in how they define chance. Intervals: ``reviews.core.agreement.bounds``.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import product

from annotator.core.text import gettext_noop
from reviews.core.agreement.bounds import (
    Features,
    Measure,
    Together,
    effect_of_dialogues,
    possible_patterns,
    score_interval,
)
from reviews.core.agreement.figures import LEVEL, Figure, undefined, wilson
from reviews.core.agreement.patterns import PatternCounts, Value

NO_UNITS = gettext_noop("No unit has been rated by two people yet.")
ONE_VALUE = gettext_noop("Undefined: everyone gave the same value, so expected agreement is 100 % (0/0).")

#: A unit's ratings as counts of values, how many there are of it.
_Row = tuple[Counter[Value], int]


def percent_agreement(counts: PatternCounts, level: float = LEVEL) -> Figure:
    """Return the share of pairs of ratings that agree, averaged over units with two ratings or more.

    Interval: Wilson's if every unit has two ratings, else the score interval.
    """
    name = gettext_noop("Percent agreement")
    counts = counts.without_order().at_least(2)
    rows = _rows(counts)
    n = sum(times for _, times in rows)
    if not n:
        return undefined(name, 0, NO_UNITS)

    def features(row: Counter[Value]) -> Features:
        return (_agreement(row),)

    def measure(mean: Sequence[float]) -> tuple[float, list[float]]:
        return mean[0], [1.0]

    seen = [(features(row), times) for row, times in rows]
    together = _together(counts, features)
    if all(row.total() == 2 for row, _ in rows):
        agreed = sum(times for row, times in rows if len(row) == 1)
        return wilson(name, agreed, n, level, effect=effect_of_dialogues(seen, together, measure))
    value = sum(_agreement(row) * times for row, times in rows) / n
    # If everyone gave one value, they could have given another one.
    given = _given(rows) if len(_given(rows)) > 1 else [0, 1]
    unseen = [features(row) for row in _unseen(rows, given)]
    return score_interval(name, value, n, seen, unseen, measure, together=together, level=level, least=0.0)


def cohen_kappa(counts: PatternCounts, level: float = LEVEL) -> Figure:
    """Return Cohen's kappa (Cohen 1960) of two fixed raters, from ordered patterns of length two.

    Chance: each rater's own shares of the values. Units that lack a rating are left out. Raises ValueError for patterns
    of another length.
    """
    name = gettext_noop("Cohen's kappa")
    if strange := [pattern for pattern in counts if len(pattern) != 2]:
        raise ValueError(f"Cohen's kappa takes two raters; {strange[0]} has {len(strange[0])}.")
    counts = counts.at_least(2)
    both = Counter({(left, right): times for (left, right), times in counts.checked()})
    n = both.total()
    if not n:
        return undefined(name, 0, NO_UNITS)
    values = sorted({value for pair in both for value in pair}, key=str)
    rows = {value: sum(times for (left, _), times in both.items() if left == value) / n for value in values}
    columns = {value: sum(times for (_, right), times in both.items() if right == value) / n for value in values}
    observed = sum(both[value, value] for value in values) / n
    expected = sum(rows[value] * columns[value] for value in values)
    if len(values) == 1:
        return undefined(name, n, ONE_VALUE)
    kappa = (observed - expected) / (1 - expected)
    size = len(values)

    def features(left: Value, right: Value) -> Features:
        return (
            float(left == right),
            *(float(left == value) for value in values),
            *(float(right == value) for value in values),
        )

    def measure(mean: Sequence[float]) -> tuple[float, list[float]]:
        agreed, left, right = mean[0], mean[1 : 1 + size], mean[1 + size :]
        chance = sum(one * other for one, other in zip(left, right, strict=True))
        down = -(1 - agreed) / (1 - chance) ** 2
        return (agreed - chance) / (1 - chance), [1 / (1 - chance), *(down * one for one in (*right, *left))]

    seen = [(features(*pair), times) for pair, times in both.items()]
    unseen = [features(*pair) for pair in product(values, repeat=2) if pair not in both]
    together = [(features(*one), features(*other), times) for one, other, times in counts.together()]
    return score_interval(name, kappa, n, seen, unseen, measure, together=together, level=level)


def fleiss_kappa(counts: PatternCounts, level: float = LEVEL) -> Figure:
    """Return Fleiss' kappa (Fleiss 1971) of interchangeable raters, extended to unequal numbers of ratings.

    Chance: the mean shares of the values over units. If every unit has the same number of ratings, it is the original.
    The extension is that of Gwet (2014).
    """
    name = gettext_noop("Fleiss' kappa")
    counts = counts.without_order()
    rows = _rows(counts)
    n = sum(times for row, times in rows if row.total() >= 2)
    if not n:
        return undefined(name, 0, NO_UNITS)
    values = _given(rows)
    if len(values) == 1:
        return undefined(name, n, ONE_VALUE)

    def measure(mean: Sequence[float]) -> tuple[float, list[float]]:
        expected = sum(share**2 for share in mean[2:])
        return _kappa(mean, expected, [2 * share for share in mean[2:]])

    return _with_interval(name, counts, n, values, measure, level)


def gwet_ac1(counts: PatternCounts, scale: Sequence[Value] | None = None, level: float = LEVEL) -> Figure:
    """Return Gwet's AC1 (Gwet 2008), which stays informative if nearly all ratings have one value.

    Chance: Σ π(1 - π) / (q - 1) with π the mean share of a value and q the number of values there are. ``scale``: the
    values that could be given; without it those that were. Raises ValueError for a rating that is not on the scale.
    """
    name = gettext_noop("Gwet's AC1")
    counts = counts.without_order()
    rows = _rows(counts)
    n = sum(times for row, times in rows if row.total() >= 2)
    if not n:
        return undefined(name, 0, NO_UNITS)
    given = _given(rows)
    values = list(dict.fromkeys(scale)) if scale is not None else given
    if strange := [value for value in given if value not in values]:
        raise ValueError(f"{strange[0]!r} is not on the scale {values}.")
    q = len(values)
    if q < 2:
        return undefined(name, n, gettext_noop("Undefined: there is only one value, so reviewers can’t disagree."))

    def measure(mean: Sequence[float]) -> tuple[float, list[float]]:
        expected = sum(share * (1 - share) for share in mean[2:]) / (q - 1)
        return _kappa(mean, expected, [(1 - 2 * share) / (q - 1) for share in mean[2:]])

    return _with_interval(name, counts, n, values, measure, level)


def _with_interval(
    name: str, counts: PatternCounts, n: int, values: Sequence[Value], measure: Measure, level: float
) -> Figure:
    """Return a kappa of interchangeable raters. Means: agreement, whether there is any, the share of each value."""
    rows = _rows(counts)

    def features(row: Counter[Value]) -> Features:
        r = row.total()
        shares = (row[value] / r for value in values)
        return (_agreement(row), 1.0, *shares) if r >= 2 else (0.0, 0.0, *shares)

    seen = [(features(row), times) for row, times in rows]
    units = sum(times for _, times in rows)
    means = [sum(column) / units for column in zip(*([x * times for x in one] for one, times in seen), strict=True)]
    unseen = [features(row) for row in _unseen(rows, values)]
    together = _together(counts, features)
    return score_interval(name, measure(means)[0], n, seen, unseen, measure, together=together, level=level)


def _kappa(mean: Sequence[float], expected: float, slopes: Sequence[float]) -> tuple[float, list[float]]:
    """Return (p_o - p_e) / (1 - p_e) and its derivatives. ``slopes``: those of p_e by the share of each value."""
    observed = mean[0] / mean[1]
    down = -(1 - observed) / (1 - expected) ** 2
    up = 1 / (mean[1] * (1 - expected))
    return (observed - expected) / (1 - expected), [up, -observed * up, *(down * slope for slope in slopes)]


def _rows(counts: PatternCounts) -> list[_Row]:
    """Return the rows of counts without order."""
    return [(Counter(pattern), times) for pattern, times in counts.checked()]


def _together(counts: PatternCounts, features: Callable[[Counter[Value]], Features]) -> Together:
    """Return the pairs of units of one dialogue as features."""
    known = {pattern: features(Counter(pattern)) for pattern in counts}
    return [(known[one], known[other], times) for one, other, times in counts.together()]


def _agreement(row: Counter[Value]) -> float:
    """Return the share of a unit's pairs of ratings that agree; the unit has two ratings or more."""
    r = row.total()
    return sum(k * (k - 1) for k in row.values()) / (r * (r - 1))


def _given(rows: list[_Row]) -> list[Value]:
    """Return the values that were given, sorted."""
    return sorted({value for row, _ in rows for value in row}, key=lambda value: (str(type(value)), str(value)))


def _unseen(rows: list[_Row], values: Sequence[Value]) -> Iterator[Counter[Value]]:
    """Yield the possible units that did not occur, for every number of ratings that a unit has."""
    there = {tuple(row[value] for value in values) for row, _ in rows}
    for size in sorted({row.total() for row, _ in rows}):
        for pattern in possible_patterns(values, size):
            row = Counter(pattern)
            if tuple(row[value] for value in values) not in there:
                yield row
