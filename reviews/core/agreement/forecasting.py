"""When the work will be done, from what is left and how fast it has gone of late."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from reviews.core.agreement.figures import LEVEL, t_quantile

#: Days, counted from the first review, before anything is foretold.
MIN_DAYS = 10


@dataclass(frozen=True, slots=True)
class Forecast:
    """In how many days from now the work will be done, or why that cannot be said."""

    #: None with a reason.
    days: float | None = None
    #: Earliest and latest; the latest is None where the pace varies so much that there is no bound.
    low: float | None = None
    high: float | None = None
    #: Reviews a day, on average of the days looked at.
    pace: float = 0.0
    reason: str = ""


def forecast(remaining: float, daily: Sequence[int], level: float = LEVEL) -> Forecast:
    """``remaining``: reviews still to come; ``daily``: those of the last days, today left out, days of rest as zeros.

    What n days with mean m and deviation s foretell of the sum over the D days to come is D·m ± t·s·√(D + D²/n), as for
    any prediction from a mean; the bounds are the D at which the ends of that reach ``remaining``, with D under the
    root taken as remaining/m (an approximation of ours). Days of rest make s larger, so weekends are allowed for.
    """
    if remaining <= 0:
        return Forecast(reason="Nothing is left to review.")
    n = len(daily)
    if n < MIN_DAYS:
        return Forecast(reason=f"A forecast takes {MIN_DAYS} whole days of reviews; there are {n} so far.")
    mean = sum(daily) / n
    if not mean:
        return Forecast(reason=f"Nobody has handed in a review in the last {n} days, so there is no pace to go by.")
    deviation = math.sqrt(sum((count - mean) ** 2 for count in daily) / (n - 1))
    days = remaining / mean
    reach = t_quantile(n - 1, level) * deviation * math.sqrt(1 / days + 1 / n)
    high = remaining / (mean - reach) if mean > reach else None
    return Forecast(days, remaining / (mean + reach), high, mean)


def quartiles(counts: Sequence[tuple[int, int]]) -> tuple[float, float, float] | None:
    """Lower quartile, median and upper quartile of (value, how often): the values at those shares, halfway between two.

    None where there is none.
    """
    rows = sorted((value, count) for value, count in counts if count > 0)
    n = sum(count for _, count in rows)
    if not n:
        return None
    return _at(rows, n, 0.25), _at(rows, n, 0.5), _at(rows, n, 0.75)


def _at(rows: Sequence[tuple[int, int]], n: int, share: float) -> float:
    """Hyndman and Fan's definition 7, the usual one: linear between the two neighbours of (n - 1) · share."""
    place = (n - 1) * share
    below, part = math.floor(place), place - math.floor(place)
    low, high = _nth(rows, below), _nth(rows, min(below + 1, n - 1))
    return low + (high - low) * part


def _nth(rows: Sequence[tuple[int, int]], place: int) -> int:
    for value, count in rows:
        if place < count:
            return value
        place -= count
    raise ValueError("There are not so many values.")
