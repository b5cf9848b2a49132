"""Unit bootstrap: draws units with replacement by drawing how often each pattern occurs.

Units of one dialogue are alike, so as many are drawn as independent units would tell as much: n / design effect.

Drawing n units one by one costs n steps for each resample. The counts of the patterns in a resample are multinomial, so
they are drawn as such: one binomial count for each pattern, however many units there are.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from annotator.core.text import gettext_noop
from reviews.core.agreement.figures import LEVEL, NO_SPREAD, ONE_UNIT, Figure, Method

RESAMPLES = 1000
#: With fewer independent units, percentile intervals are somewhat too narrow (docs/agreement.md).
MANY_UNITS = 200
FEW_UNITS = gettext_noop("With so few units, this interval may be too narrow: it has the percentiles of resamples.")
#: Fixed, so that a figure is the same on every page and in every export.
SEED = 1

#: Share of undefined resamples above which there is no interval.
MAX_UNDEFINED = 0.05


def bootstrap(
    name: str,
    value: float,
    n: int,
    counts: Sequence[int],
    statistic: Callable[[Sequence[int]], float | None],
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    effect: float = 1.0,
) -> Figure:
    """Return a figure with the percentile interval of the unit bootstrap (Efron 1979).

    ``counts``: of each pattern. ``statistic``: the value from such counts, None if it is undefined. Undefined resamples
    are ignored; if there are too many, the figure has no interval. ``effect``: the design effect of dialogues.
    """
    drawn = round(sum(counts) / effect)
    if n < 2 or drawn < 2:
        return Figure(name, value, n, interval=ONE_UNIT)
    values = map(statistic, multinomial(counts, resamples, seed, drawn))
    found = with_interval(name, value, n, values, level=level, resamples=resamples, seed=seed)
    if found.method is not None and drawn < MANY_UNITS:
        found = replace(found, caution=FEW_UNITS)
    if effect == 1 or found.method is None:
        return found
    said = found.interval.removesuffix(".") + ", with the design effect of dialogues (Rao and Scott 1992)."
    return replace(found, interval=said, method=Method("bootstrap-by-dialogue"))


def with_interval(
    name: str,
    value: float,
    n: int,
    values: Iterable[float | None],
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Figure:
    """Return a figure with the interval of its values in ``resamples`` resamples that were drawn already."""
    found = [one for one in values if one is not None]
    if len(found) < resamples * (1 - MAX_UNDEFINED):
        reason = f"No interval: the statistic is undefined in {resamples - len(found)} of {resamples} resamples."
        return Figure(name, value, n, interval=reason)
    found.sort()
    if found[-1] - found[0] <= 1e-12:
        return Figure(name, value, n, interval=NO_SPREAD)
    low, high = _percentile(found, (1 - level) / 2), _percentile(found, (1 + level) / 2)
    method = f"Percentile unit bootstrap (Efron 1979), {resamples} resamples, seed {seed}."
    return Figure(name, value, n, low, high, interval=method, method=Method("bootstrap"))


def multinomial(counts: Sequence[int], times: int, seed: int, size: int | None = None) -> Iterator[list[int]]:
    """Yield ``times`` resamples of ``size`` units (by default, as many as there are), as counts of the patterns."""
    rng = random.Random(seed)  # noqa: S311 - reproducible on purpose, nothing is kept secret by it
    total = sum(counts)
    for _ in range(times):
        left, rest = total if size is None else size, total
        drawn = []
        for count in counts:
            taken = binomial(left, count / rest, rng) if rest else 0
            drawn.append(taken)
            left -= taken
            rest -= count
        yield drawn


def binomial(n: int, p: float, rng: random.Random) -> int:
    """Draw how many of n trials of probability p succeed, in about log n steps.

    The i-th smallest of n uniform numbers has a beta distribution; it splits the trials into those below and above it,
    of which one part is known to succeed or to fail (Devroye 1986, X.4.3).
    """
    successes = 0
    while n > 24:
        if p <= 0.0:
            return successes
        if p >= 1.0:
            return successes + n
        i = (n + 1) // 2
        middle = rng.betavariate(i, n + 1 - i)
        if middle <= p:
            successes += i
            n, p = n - i, (p - middle) / (1 - middle)
        else:
            n, p = i - 1, p / middle
    return successes + sum(rng.random() < p for _ in range(n))


def _percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which this share of sorted values lies, interpolated between neighbours."""
    place = share * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    return values[below] + (place - below) * (values[above] - values[below])
