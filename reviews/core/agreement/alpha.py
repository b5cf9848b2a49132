"""Krippendorff's alpha, nominal, ordinal and of sets, with missing ratings, from pattern counts."""

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
#: How far any two values differ; 0 from themselves.
_Metric = Sequence[Sequence[float]]


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
    with fewer than two ratings do not count. Interval: the score interval of ``reviews.core.agreement.bounds``; for
    sets, of which there can be many, a percentile unit bootstrap (our choice instead of Krippendorff's resampling of
    pairs, because pairs of one unit are not independent). ``resamples`` and ``seed`` are those of the bootstrap.
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
    # Values of the scale without a rating add nothing to distances.
    values = [value for value in order if value in given] if order is not None else sorted(given, key=str)
    if len(given) == 1:
        return undefined(
            name, n, gettext_noop("Undefined: everyone gave the same value, so the expected disagreement is 0.")
        )
    places = {value: place for place, value in enumerate(values)}
    units = [_coincidences(pattern, places) for pattern, _ in pairable]
    times = [count for _, count in pairable]
    metric: list[list[float]]
    if distance is not None:
        metric = [[distance(one, other) for other in values] for one in values]
    elif order is not None:
        metric = _ordinal(_totals(_added_up(units, times), len(values)))
    else:
        metric = [[float(one != other) for other in values] for one in values]
    value = _alpha(units, times, metric)
    if value is None:
        raise AssertionError("two different values have an expected disagreement above 0")
    if distance is None:
        return _with_bounds(name, value, n, counts, values, metric, level)
    # Each resample takes steps with the square of the number of values.
    resamples = min(resamples, MOST_STEPS // len(values) ** 2)
    if resamples < FEWEST_RESAMPLES:
        return Figure(name, value, n, interval=TOO_MANY_VALUES)
    pairs = [(_coincidences(one, places), _coincidences(other, places), k) for one, other, k in counts.together()]
    effect = _effect(units, times, pairs, metric)

    def statistic(drawn: Sequence[int]) -> float | None:
        return _alpha(units, drawn, metric)

    return bootstrap(name, value, n, times, statistic, level=level, resamples=resamples, seed=seed, effect=effect)


def _ordinal(totals: Sequence[float]) -> list[list[float]]:
    """Return the ordinal distances: the squared differences of mean ranks, as shares of the most distant pair."""
    ranks = [up_to - own / 2 for up_to, own in zip(accumulate(totals), totals, strict=True)]
    return [[((one - other) / (ranks[-1] - ranks[0])) ** 2 for other in ranks] for one in ranks]


def _with_bounds(
    name: str, alpha: float, n: int, counts: PatternCounts, values: Sequence[Value], metric: _Metric, level: float
) -> Figure:
    """Return alpha with its score interval, which takes distances as fixed.

    The interval is that of 1 - D_o / D_e among infinitely many units; 1 / ratings corrects alpha for the finite number,
    and the bounds as well. Means of a unit: disagreement, ratings, ratings of each value.
    """
    places = {value: place for place, value in enumerate(values)}

    def features(pattern: Pattern) -> Features:
        row = Counter(pattern)
        apart = sum(weight * metric[one][other] for (one, other), weight in _coincidences(pattern, places).items())
        return (apart, float(len(pattern)), *(float(row[value]) for value in values))

    def measure(mean: Sequence[float]) -> tuple[float, list[float]]:
        shares = [one / mean[1] for one in mean[2:]]
        # Half of the derivative of the expected disagreement by each share.
        far = [sum(share * one for share, one in zip(shares, row, strict=True)) for row in metric]
        expected = sum(share * one for share, one in zip(shares, far, strict=True))
        ratio = mean[0] / mean[1] / expected
        down = [-1 / expected / mean[1], -ratio / mean[1]]
        return 1 - ratio, [*down, *(2 * ratio / expected / mean[1] * one for one in far)]

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


def _alpha(units: Sequence[_Coincidences], times: Sequence[int], metric: _Metric) -> float | None:
    observed = _added_up(units, times)
    totals = _totals(observed, len(metric))
    seen = sum(weight * metric[one][other] for (one, other), weight in observed.items())
    expected = sum(
        total * other * distance
        for total, row in zip(totals, metric, strict=True)
        for other, distance in zip(totals, row, strict=True)
    )
    return 1 - (sum(totals) - 1) * seen / expected if expected else None


def _effect(
    units: Sequence[_Coincidences],
    times: Sequence[int],
    pairs: Sequence[tuple[_Coincidences, _Coincidences, int]],
    metric: _Metric,
) -> float:
    """Return the design effect of dialogues on the alpha of a metric.

    Among many units, alpha is 1 - N O / E with N = Σ ratings, O = Σ coincidences · distance and E = Σ totals · totals ·
    distance.
    """
    if not pairs:
        return 1.0
    observed = _added_up(units, times)
    totals = _totals(observed, len(metric))
    far = [sum(total * one for total, one in zip(totals, row, strict=True)) for row in metric]

    def parts(unit: _Coincidences) -> tuple[float, float, float]:
        """Return what a unit adds to N, to O, and to half of E."""
        return (
            sum(unit.values()),
            sum(weight * metric[one][other] for (one, other), weight in unit.items()),
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
