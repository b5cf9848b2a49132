"""The interval of a statistic of pattern counts, by Pearson's chi-square: Wilson's, extended to kappas and alpha.

A statistic is a function of the shares of the patterns. Its interval reaches from its lowest to its highest value among
all shares p that are compatible with the counts c of n units, that is, for which

    X²(p) = Σ (c - n p)² / (n p) ≤ z²

Of two patterns this is Wilson's interval (1927) of a proportion; of kappa with two values it is the goodness-of-fit
interval of Donner and Eliasziw (1992), with the frequency of the values free as well. In general it is a score interval
(Lang 2008), whose nuisance parameters are those of the least X².

p may give a share to patterns that could have occurred but did not. That matters if disagreements are few: with four of
them among forty units, and no unit in which both gave the rare value, the normal interval of kappa treats that unit as
impossible and is far too short. So does resampling the units.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, combinations_with_replacement

from annotator.core.text import gettext_noop
from reviews.core.agreement.clusters import design_effect
from reviews.core.agreement.figures import LEVEL, NO_SPREAD, ONE_UNIT, Figure, Method, z_quantile
from reviews.core.agreement.patterns import Value

METHOD = gettext_noop("Score interval (Wilson 1927, Donner and Eliasziw 1992, Lang 2008).")
METHOD_OF_DIALOGUES = gettext_noop(
    "Score interval (Wilson 1927, Donner and Eliasziw 1992, Lang 2008), with the design effect of dialogues "
    "(Rao and Scott 1992)."
)

#: What a pattern contributes to the sums that a statistic is computed from.
Features = Sequence[float]
#: From the mean of the features over units: the statistic, and how it changes with each of them.
Measure = Callable[[Sequence[float]], tuple[float, list[float]]]
#: The features of the patterns of two units of one dialogue, and how often they occur together.
Together = Sequence[tuple[Features, Features, int]]

#: Up to this many patterns of one length, all are considered; of longer ones only those with one or two values.
MAX_PATTERNS = 60
#: How far from the true bound, in units of the statistic, the search may end; and after how many steps it does.
NEAR, STEPS = 1e-6, 60


def score_interval(
    name: str,
    value: float,
    n: int,
    seen: Sequence[tuple[Features, int]],
    unseen: Sequence[Features],
    measure: Measure,
    *,
    together: Together = (),
    level: float = LEVEL,
    carry: Callable[[float], float] = float,
    least: float = -1.0,
) -> Figure:
    """Return a figure with its score interval.

    ``seen``: the features of each pattern that occurred, and how often. ``unseen``: those of possible patterns that did
    not. ``together``: pairs of units of one dialogue; their design effect raises the limit of X². ``carry``: an
    increasing function from the measure to the statistic as shown. ``least``: the lowest possible value; a kappa of
    units with fewer ratings than others may still be below it.
    """
    if n < 2:
        return Figure(name, value, n, interval=ONE_UNIT)
    counts = [times for _, times in seen] + [0] * len(unseen)
    features = [one for one, _ in seen] + list(unseen)
    bound = z_quantile(level) ** 2 * effect_of_dialogues(seen, together, measure)
    low, high = (carry(_farthest(counts, features, measure, bound, way)) for way in (-1, 1))
    # The value itself is never outside, not even by a rounding error.
    low, high = max(min(least, value), min(low, value)), min(1.0, max(high, value))
    if high - low < 1e-12:
        return Figure(name, value, n, interval=NO_SPREAD)
    if not together:
        return Figure(name, value, n, low, high, interval=METHOD, method=Method("score"))
    return Figure(name, value, n, low, high, interval=METHOD_OF_DIALOGUES, method=Method("score-by-dialogue"))


def effect_of_dialogues(seen: Sequence[tuple[Features, int]], together: Together, measure: Measure) -> float:
    """Return the design effect of dialogues on a measure, from its derivatives at the observed shares."""
    if not together:
        return 1.0
    total = sum(times for _, times in seen)
    mean = _mean([times / total for _, times in seen], [one for one, _ in seen])
    slope = measure(mean)[1]
    middle = _product(slope, mean)
    return design_effect(
        [(_product(slope, one) - middle, times) for one, times in seen],
        [(_product(slope, one) - middle, _product(slope, other) - middle, times) for one, other, times in together],
    )


def possible_patterns(values: Sequence[Value], size: int) -> Iterator[tuple[Value, ...]]:
    """Yield the unordered patterns of that many ratings.

    Of long patterns only those with at most two values: the bounds are reached if all agree or if there are two camps.
    """
    if math.comb(len(values) + size - 1, size) <= MAX_PATTERNS:
        yield from combinations_with_replacement(values, size)
        return
    yield from ((value,) * size for value in values)
    for one, other in combinations(values, 2):
        yield from ((one,) * k + (other,) * (size - k) for k in range(1, size))


def _farthest(counts: Sequence[int], features: Sequence[Features], measure: Measure, bound: float, way: int) -> float:
    """Return the highest (``way`` 1) or lowest (-1) value of the measure among shares with X² ≤ ``bound``.

    Each step linearises the measure, finds the farthest shares exactly, and moves there, or as far in that direction as
    the measure improves (Frank and Wolfe 1956). The share of unseen patterns is distributed among them in further steps
    of the same kind.
    """
    total = sum(counts)
    unseen = [place for place, count in enumerate(counts) if not count]
    shares = [count / total for count in counts]
    here = _mean(shares, features)
    value, slope = measure(here)
    for step in range(STEPS):
        gains = [way * _product(slope, one) for one in features]
        target, best = _linear(counts, gains, bound)
        held = sum(shares[place] for place in unseen)
        gap = _product(gains, target) - _product(gains, shares)
        if step and gap < NEAR:
            break
        if held > 0 and best is not None:
            # Keep the mixture found so far; it is corrected below.
            moved, target[best] = target[best], 0.0
            for place in unseen:
                target[place] = moved * shares[place] / held
        shares, here = _walk(shares, target, here, features, measure, way)
        if best is not None and held > 0:
            for _ in range(3):
                shares, here = _share_out(shares, here, unseen, features, measure, way)
        value, slope = measure(here)
    return value


def _linear(counts: Sequence[int], gains: Sequence[float], bound: float) -> tuple[list[float], int | None]:
    """Return the shares of greatest Σ gain · share with X² ≤ ``bound``, and the unseen pattern with a share, if any.

    They are proportional to c / √(η - gain), with η above every gain; if the greatest gain is that of an unseen
    pattern, it takes the rest.
    """
    total = sum(counts)
    rows = [(count, gain) for count, gain in zip(counts, gains, strict=True) if count]
    mean = sum(count * gain for count, gain in rows) / total
    place = max(range(len(gains)), key=lambda one: (gains[one], counts[one]))
    edge = gains[place]
    if edge - mean < 1e-12:
        return [count / total for count in counts], None

    def fit(eta: float) -> tuple[float, float]:
        """Return Σ c / √(η - gain), and 1 + X² / n of these shares."""
        roots = [(count, math.sqrt(eta - gain)) for count, gain in rows]
        weights = sum(count / root for count, root in roots)
        return weights, weights * sum(count * root for count, root in roots) / total**2

    def shares(eta: float, weights: float, part: float = 1.0) -> list[float]:
        return [
            part * count / math.sqrt(eta - gain) / weights if count else 0.0
            for count, gain in zip(counts, gains, strict=True)
        ]

    limit = 1 + bound / total
    if not counts[place] and edge > max(gain for _, gain in rows):
        weights, found = fit(edge)
        if found <= limit:
            out = shares(edge, weights, found / limit)
            out[place] = 1 - found / limit
            return out, place
    # X grows nearly in proportion to 1 / (η - mean): false position, with a step of bisection now and then.
    low, high, off = 0.0, 1 / (edge - mean), math.sqrt(bound / total)
    below, above, at = -off, math.inf, high / 2
    for step in range(60):
        weights, found = fit(mean + 1 / at)
        error = math.sqrt(max(0.0, found - 1)) - off
        if abs(error) < 1e-10 * off:
            break
        if error < 0:
            low, below = at, error
        else:
            high, above = at, error
        middle = (low + high) / 2
        at = middle if step % 3 == 2 or above == math.inf else low - below * (high - low) / (above - below)
    return shares(mean + 1 / at, weights), None


def _walk(
    shares: Sequence[float], target: Sequence[float], here: list[float], features: Sequence[Features],
    measure: Measure, way: int,
) -> tuple[list[float], list[float]]:  # fmt: skip
    """Move towards the target as far as the measure improves; return the shares and the mean of the features there."""
    there = _mean(target, features)
    ahead = [b - a for a, b in zip(here, there, strict=True)]
    if way * _product(measure(there)[1], ahead) >= 0:
        return list(target), there
    low, high = 0.0, 1.0
    for _ in range(24):
        part = (low + high) / 2
        slope = measure([a + part * step for a, step in zip(here, ahead, strict=True)])[1]
        low, high = (part, high) if way * _product(slope, ahead) > 0 else (low, part)
    return (
        [a + low * (b - a) for a, b in zip(shares, target, strict=True)],
        [a + low * step for a, step in zip(here, ahead, strict=True)],
    )


def _share_out(
    shares: Sequence[float], here: list[float], unseen: Sequence[int], features: Sequence[Features], measure: Measure,
    way: int,
) -> tuple[list[float], list[float]]:  # fmt: skip
    """Move shares from the worst unseen pattern to the best one, which does not change X²."""
    slope = measure(here)[1]
    gains = {place: way * _product(slope, features[place]) for place in unseen}
    best = max(gains, key=lambda place: gains[place])
    worst = min((place for place in unseen if shares[place] > 0), key=lambda place: gains[place], default=best)
    if gains[best] - gains[worst] < NEAR:
        return list(shares), here
    target = list(shares)
    target[best], target[worst] = shares[best] + shares[worst], 0.0
    return _walk(shares, target, here, features, measure, way)


def _mean(shares: Sequence[float], features: Sequence[Features]) -> list[float]:
    return [_product(shares, column) for column in zip(*features, strict=True)]


def _product(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))
