"""Estimates when the work will be done, from the remaining reviews and the recent pace."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from annotator.core.text import gettext_noop
from reviews.core.agreement.figures import LEVEL, t_quantile

#: Days, counted from the first review, before there is a forecast.
MIN_DAYS = 10


@dataclass(frozen=True, slots=True)
class Forecast:
    """In how many days the work will be done, or why there is no forecast."""

    #: None with a reason.
    days: float | None = None
    #: Earliest and latest; the latest is None if the pace varies too much for a bound.
    low: float | None = None
    high: float | None = None
    #: Average reviews per day.
    pace: float = 0.0
    reason: str = ""


def forecast(remaining: float, daily: Sequence[int], level: float = LEVEL) -> Forecast:
    """Forecast the end. ``remaining``: reviews to do; ``daily``: those of the last days without today, 0 for days off.

    From n days with mean m and deviation s, the prediction interval of the sum over the next D days is
    D·m ± t·s·√(D + D²/n). The bounds are the D at which its ends reach ``remaining``, with D under the root taken as
    remaining/m (our approximation). Days off make s larger, which accounts for weekends.
    """
    if remaining <= 0:
        return Forecast(reason=gettext_noop("Nothing left to review."))
    n = len(daily)
    if n < MIN_DAYS:
        return Forecast(reason=f"A forecast needs {MIN_DAYS} full days of reviews. There are {n} so far.")
    mean = sum(daily) / n
    if not mean:
        return Forecast(reason=f"No reviews in the last {n} days, so there is no pace to estimate from.")
    deviation = math.sqrt(sum((count - mean) ** 2 for count in daily) / (n - 1))
    days = remaining / mean
    reach = t_quantile(n - 1, level) * deviation * math.sqrt(1 / days + 1 / n)
    high = remaining / (mean - reach) if mean > reach else None
    return Forecast(days, remaining / (mean + reach), high, mean)


def quartiles(counts: Sequence[tuple[int, int]]) -> tuple[float, float, float] | None:
    """Return lower quartile, median and upper quartile of (value, count); None if there are no values."""
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
    raise ValueError("there are fewer values")
