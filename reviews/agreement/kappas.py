"""Percent agreement, Cohen's kappa, Fleiss' kappa and Gwet's AC1, from pattern counts.

With p_o the share of agreement observed and p_e the share expected by chance each kappa is (p_o - p_e) / (1 - p_e);
they differ in what they take chance to be.
"""

import math
from collections import Counter
from collections.abc import Sequence

from reviews.agreement.figures import (
    LEVEL,
    ONE_UNIT,
    Figure,
    from_error,
    t_quantile,
    undefined,
    wilson,
    z_quantile,
)
from reviews.agreement.patterns import PatternCounts, Value

NO_UNITS = "No unit has been rated by two people yet."
ONE_VALUE = "Everybody gave the same single value, so agreement by chance is complete and the quotient is 0/0."

#: A unit's ratings as counts of values, how many there are of it.
_Row = tuple[Counter[Value], int]


def percent_agreement(counts: PatternCounts, level: float = LEVEL) -> Figure:
    """The share of pairs of ratings that agree, unit by unit, averaged over units with two ratings or more.

    Interval: Wilson's where every unit has two ratings, else Student's t on the mean of the units.
    """
    name = "Percent agreement"
    rows = [row for row in _rows(counts) if row[0].total() >= 2]
    n = sum(times for _, times in rows)
    if not n:
        return undefined(name, 0, NO_UNITS)
    if all(row.total() == 2 for row, _ in rows):
        return wilson(name, sum(times for row, times in rows if len(row) == 1), n, level)
    shares = [(_agreement(row), times) for row, times in rows]
    value = sum(share * times for share, times in shares) / n
    if n < 2:
        return Figure(name, value, n, interval=ONE_UNIT)
    variance = sum(times * (share - value) ** 2 for share, times in shares) / (n * (n - 1))
    method = "Student's t on the mean over units."
    return from_error(name, value, n, math.sqrt(variance), t_quantile(n - 1, level), method, least=0.0)


def cohen_kappa(counts: PatternCounts, level: float = LEVEL) -> Figure:
    """Cohen's kappa (Cohen 1960) of two fixed raters, from ordered patterns of length two.

    Chance: each rater's own shares of the values. Units that lack a rating are left out. Interval: normal, with the
    large-sample variance of Fleiss, Cohen and Everitt (1969). Raises ValueError for patterns of another length.
    """
    name = "Cohen's kappa"
    both: Counter[tuple[Value, Value]] = Counter()
    for pattern, times in counts.checked():
        if len(pattern) != 2:
            raise ValueError(f"Cohen's kappa takes two raters; {pattern} has {len(pattern)}.")
        left, right = pattern
        if left is not None and right is not None:
            both[left, right] += times
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
    spread = 0.0
    for (left, right), times in both.items():
        if left == right:
            term = (1 - expected) - (rows[left] + columns[left]) * (1 - observed)
        else:
            term = (1 - observed) * (columns[left] + rows[right])
        spread += times / n * term**2
    spread -= (observed * expected - 2 * expected + observed) ** 2
    error = math.sqrt(max(0.0, spread) / n) / (1 - expected) ** 2
    return from_error(name, kappa, n, error, z_quantile(level), "Normal, variance of Fleiss, Cohen and Everitt (1969).")


def fleiss_kappa(counts: PatternCounts, level: float = LEVEL) -> Figure:
    """Fleiss' kappa (Fleiss 1971) of interchangeable raters, carried over to units with unequally many ratings.

    Chance: the mean shares of the values over units. Where every unit has as many ratings it is the original. The
    extension and the interval (linearised variance, Student's t) are those of Gwet (2008, 2014).
    """
    name = "Fleiss' kappa"
    rows = _rows(counts)
    n = sum(times for row, times in rows if row.total() >= 2)
    if not n:
        return undefined(name, 0, NO_UNITS)
    shares = _shares(rows)
    if len(shares) == 1:
        return undefined(name, n, ONE_VALUE)
    expected = sum(share**2 for share in shares.values())
    chances = [sum(shares[value] * k for value, k in row.items()) / row.total() for row, _ in rows]
    return _linearised(name, rows, expected, chances, level)


def gwet_ac1(counts: PatternCounts, scale: Sequence[Value] | None = None, level: float = LEVEL) -> Figure:
    """Gwet's AC1 (Gwet 2008), which does not collapse where nearly everything gets one value.

    Chance: Σ π(1 - π) / (q - 1) with π the mean share of a value and q the number of values there are. ``scale``: the
    values that could be given; without it those that were. Interval: linearised variance of the same paper, Student's
    t. Raises ValueError for a rating that is not on the scale.
    """
    name = "Gwet's AC1"
    rows = _rows(counts)
    n = sum(times for row, times in rows if row.total() >= 2)
    if not n:
        return undefined(name, 0, NO_UNITS)
    shares = _shares(rows)
    values = list(dict.fromkeys(scale)) if scale is not None else list(shares)
    if strange := [value for value in shares if value not in values]:
        raise ValueError(f"{strange[0]!r} is not on the scale {values}.")
    q = len(values)
    if q < 2:
        return undefined(name, n, "Only one value is known, and with one value nobody could have disagreed.")
    expected = sum(share * (1 - share) for share in shares.values()) / (q - 1)
    chances = [sum((1 - shares[value]) * k for value, k in row.items()) / row.total() / (q - 1) for row, _ in rows]
    return _linearised(name, rows, expected, chances, level)


def _linearised(name: str, rows: list[_Row], expected: float, chances: list[float], level: float) -> Figure:
    """A kappa of interchangeable raters with Gwet's linearised variance.

    ``chances``: what each row contributes to the expected agreement, of which ``expected`` is the mean over units.
    """
    units = sum(times for _, times in rows)
    n = sum(times for row, times in rows if row.total() >= 2)
    agreements = [_agreement(row) if row.total() >= 2 else None for row, _ in rows]
    pairs = list(zip(agreements, chances, (times for _, times in rows), strict=True))
    observed = sum(agreement * times for agreement, _, times in pairs if agreement is not None) / n
    kappa = (observed - expected) / (1 - expected)
    if units < 2:
        return Figure(name, kappa, n, interval=ONE_UNIT)
    variance = 0.0
    for agreement, chance, times in pairs:
        own = 0.0 if agreement is None else units / n * (agreement - expected) / (1 - expected)
        own -= 2 * (1 - kappa) * (chance - expected) / (1 - expected)
        variance += times * (own - kappa) ** 2
    error = math.sqrt(variance / (units * (units - 1)))
    return from_error(
        name, kappa, n, error, t_quantile(units - 1, level), "Student's t, linearised variance (Gwet 2008)."
    )


def _rows(counts: PatternCounts) -> list[_Row]:
    return [(Counter(pattern), times) for pattern, times in counts.without_order().checked()]


def _agreement(row: Counter[Value]) -> float:
    """The share of a unit's pairs of ratings that agree; the unit has two ratings or more."""
    r = row.total()
    return sum(k * (k - 1) for k in row.values()) / (r * (r - 1))


def _shares(rows: list[_Row]) -> dict[Value, float]:
    """Each value's share of a unit's ratings, averaged over all units with a rating."""
    units = sum(times for _, times in rows)
    shares: dict[Value, float] = {}
    for row, times in rows:
        for value, k in row.items():
            shares[value] = shares.get(value, 0.0) + times * k / row.total() / units
    return shares
