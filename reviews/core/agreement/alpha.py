"""Krippendorff's alpha, nominal and ordinal, with missing ratings, from pattern counts."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate, permutations

from annotator.core.text import gettext_noop
from reviews.core.agreement.bootstrap import RESAMPLES, SEED, bootstrap
from reviews.core.agreement.bounds import Features, possible_patterns, score_interval
from reviews.core.agreement.clusters import design_effect
from reviews.core.agreement.figures import LEVEL, Figure, undefined
from reviews.core.agreement.kappas import NO_UNITS
from reviews.core.agreement.patterns import Pattern, PatternCounts, Value

#: The most steps of the interval of sets, and the fewest resamples from which there is one.
MOST_STEPS, FEWEST_RESAMPLES = 4_000_000, 200
TOO_MANY_VALUES = gettext_noop("No interval: there are too many different values to resample.")

#: {(place of one value, place of the other): how much a unit of a pattern adds to the coincidences of the two}
_Coincidences = dict[tuple[int, int], float]


def krippendorff_alpha(
    counts: PatternCounts,
    order: Sequence[Value] | None = None,
    *,
    distance: Callable[[Value, Value], float] | None = None,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Figure:
    """Return Krippendorff's alpha: 1 - observed disagreement / expected disagreement (Krippendorff 2011).

    ``order``: the values from lowest to highest, for the ordinal metric; without it values only agree or differ.
    ``distance``: how far two values differ, from 0 to 1, for values that are sets (MASI, Passonneau 2006). Units
    with fewer than two ratings do not count. Interval: for the nominal metric the score interval of
    ``reviews.core.agreement.bounds``; for the ordinal metric, whose distances depend on the data, a percentile unit
    bootstrap (our choice instead of Krippendorff's resampling of pairs, because pairs of one unit are not independent).
    Raises ValueError for a value missing in ``order``.
    """
    ordinal, nominal = gettext_noop("Krippendorff's alpha (ordinal)"), gettext_noop("Krippendorff's alpha (nominal)")
    name = nominal if order is None else ordinal
    if distance is not None:
        name = gettext_noop("Krippendorff's alpha (MASI)")
    counts = counts.without_order().at_least(2)
    pairable = counts.checked()
    n = sum(times for _, times in pairable)
    if not n:
        return undefined(name, 0, NO_UNITS)
    given = {value for pattern, _ in pairable for value in pattern}
    if order is not None and (strange := sorted(map(str, given - set(order)))):
        raise ValueError(f"{strange[0]!r} is not on the ordered scale {list(order)}.")
    values = list(order) if order is not None else sorted(given, key=str)
    if len(given) == 1:
        return undefined(
            name, n, gettext_noop("Undefined: everyone gave the same value, so the expected disagreement is 0.")
        )
    places = {value: place for place, value in enumerate(values)}
    units = [_coincidences(pattern, places) for pattern, _ in pairable]
    times = [count for _, count in pairable]

    metric: list[list[float]] | None = None
    if distance is not None:
        metric = [[distance(one, other) for other in values] for one in values]
        # Each resample takes steps with the square of the number of values.
        resamples = min(resamples, MOST_STEPS // len(values) ** 2)

    def statistic(drawn: Sequence[int]) -> float | None:
        return _alpha(units, drawn, len(values), ordinal=order is not None, metric=metric)

    value = statistic(times)
    if value is None:
        raise AssertionError("two different values have an expected disagreement above 0")
    if order is None and distance is None:
        return _nominal(name, value, n, counts, values, level)
    if resamples < FEWEST_RESAMPLES:
        return Figure(name, value, n, interval=TOO_MANY_VALUES)
    pairs = [(_coincidences(one, places), _coincidences(other, places), k) for one, other, k in counts.together()]
    effect = _effect(units, times, pairs, len(values), metric)
    return bootstrap(name, value, n, times, statistic, level=level, resamples=resamples, seed=seed, effect=effect)


def _nominal(name: str, alpha: float, n: int, counts: PatternCounts, values: Sequence[Value], level: float) -> Figure:
    """Return nominal alpha with its interval.

    The interval is that of 1 - D_o / D_e among infinitely many units; 1 / ratings corrects alpha for the finite number,
    and the bounds as well. Means of a unit: agreement, ratings, ratings of each value.
    """

    def features(pattern: Pattern) -> Features:
        row, r = Counter(pattern), len(pattern)
        return (sum(k * (k - 1) for k in row.values()) / (r - 1), float(r), *(float(row[value]) for value in values))

    def measure(mean: Sequence[float]) -> tuple[float, list[float]]:
        shares = [one / mean[1] for one in mean[2:]]
        observed, expected = 1 - mean[0] / mean[1], 1 - sum(share**2 for share in shares)
        ratio = observed / expected
        # The derivatives by each mean: of the observed and of the expected disagreement.
        down = [
            1 / expected / mean[1],
            -(1 - observed) / expected / mean[1] + 2 * ratio / expected / mean[1] * (1 - expected),
        ]
        return 1 - ratio, [*down, *(-2 * ratio / expected / mean[1] * share for share in shares)]

    pairable = counts.checked()
    ratings = sum(len(pattern) * times for pattern, times in pairable)
    there = {tuple(sorted(map(str, pattern))) for pattern, _ in pairable}
    unseen = [
        features(pattern)
        for size in sorted({len(pattern) for pattern, _ in pairable})
        for pattern in possible_patterns(values, size)
        if tuple(sorted(map(str, pattern))) not in there
    ]
    seen = [(features(pattern), times) for pattern, times in pairable]
    return score_interval(
        name, alpha, n, seen, unseen, measure, level=level, carry=lambda one: 1 - (1 - 1 / ratings) * (1 - one),
        together=[(features(one), features(other), times) for one, other, times in counts.together()],
    )  # fmt: skip


def _coincidences(pattern: Pattern, places: dict[Value, int]) -> _Coincidences:
    """Return each ordered pair of a unit's ratings, weighted so that every rating counts once."""
    out: _Coincidences = {}
    for one, other in permutations([places[value] for value in pattern], 2):
        out[one, other] = out.get((one, other), 0.0) + 1 / (len(pattern) - 1)
    return out


def _alpha(
    units: Sequence[_Coincidences],
    times: Sequence[int],
    size: int,
    *,
    ordinal: bool,
    metric: Sequence[Sequence[float]] | None = None,
) -> float | None:
    observed = _added_up(units, times)
    totals = _totals(observed, size)
    distance = _distance(totals, ordinal=ordinal, metric=metric)
    seen = sum(weight * distance(*pair) for pair, weight in observed.items() if pair[0] != pair[1])
    expected = sum(totals[one] * totals[other] * distance(one, other) for one, other in permutations(range(size), 2))
    return 1 - (sum(totals) - 1) * seen / expected if expected else None


def _effect(
    units: Sequence[_Coincidences],
    times: Sequence[int],
    pairs: Sequence[tuple[_Coincidences, _Coincidences, int]],
    size: int,
    metric: Sequence[Sequence[float]] | None,
) -> float:
    """Return the design effect of dialogues on an ordinal alpha, or on that of a metric.

    Among many units, alpha is 1 - N O / E with N = Σ ratings, O = Σ coincidences · distance and E = Σ totals · totals ·
    distance. Its derivative by the number of units of a pattern takes the distances as they are.
    """
    if not pairs:
        return 1.0
    observed = _added_up(units, times)
    totals = _totals(observed, size)
    distance = _distance(totals, ordinal=metric is None, metric=metric)
    far = [sum(totals[other] * distance(one, other) for other in range(size) if other != one) for one in range(size)]

    def parts(unit: _Coincidences) -> tuple[float, float, float]:
        """Return what a unit adds to N, to O, and to half of E."""
        return (
            sum(unit.values()),
            sum(weight * distance(*pair) for pair, weight in unit.items() if pair[0] != pair[1]),
            sum(weight * far[one] for (one, _), weight in unit.items()),
        )

    ratings, apart, expected = parts(observed)

    def influence(unit: _Coincidences) -> float:
        n, o, half = parts(unit)
        return (2 * half * ratings * apart / expected - n * apart - ratings * o) / expected

    return design_effect(
        [(influence(unit), count) for unit, count in zip(units, times, strict=True)],
        [(influence(one), influence(other), count) for one, other, count in pairs],
    )


def _added_up(units: Sequence[_Coincidences], times: Sequence[int]) -> _Coincidences:
    observed: _Coincidences = {}
    for unit, count in zip(units, times, strict=True):
        if count:
            for pair, weight in unit.items():
                observed[pair] = observed.get(pair, 0.0) + count * weight
    return observed


def _totals(observed: _Coincidences, size: int) -> list[float]:
    """Return how many ratings each value has."""
    totals = [0.0] * size
    for (one, _), weight in observed.items():
        totals[one] += weight
    return totals


def _distance(
    totals: Sequence[float], *, ordinal: bool, metric: Sequence[Sequence[float]] | None
) -> Callable[[int, int], float]:
    """Return the distance of two values, by their places."""
    below = [0.0, *accumulate(totals)]

    def distance(one: int, other: int) -> float:
        if metric is not None:
            return metric[one][other]
        if not ordinal:
            return 1.0
        low, high = min(one, other), max(one, other)
        return (below[high + 1] - below[low] - (totals[low] + totals[high]) / 2) ** 2

    return distance
