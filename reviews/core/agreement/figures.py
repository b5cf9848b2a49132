"""What a statistic gives back, the interval of a proportion, and the quantiles that intervals take."""

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

LEVEL = 0.95

NO_SPREAD = "No interval: the units do not differ from one another, so their spread says nothing."
ONE_UNIT = "No interval: it takes two units to see how far they spread."


@dataclass(frozen=True, slots=True)
class Figure:
    """One statistic: its value with an interval, or the reason why there is none."""

    #: What is measured, as it is shown: "Cohen's kappa".
    name: str
    #: None where the statistic is undefined.
    value: float | None
    #: Units the value rests on.
    n: int
    #: Bounds of the interval; None where there is none.
    low: float | None = None
    high: float | None = None
    #: The sentence that says why there is no value; empty where there is one.
    undefined: str = ""
    #: How the interval was made and after whom, or the sentence that says why there is none.
    interval: str = ""


def undefined(name: str, n: int, reason: str) -> Figure:
    """A figure without a value. ``reason``: a sentence."""
    return Figure(name, None, n, undefined=reason)


def z_quantile(level: float = LEVEL) -> float:
    """How many standard errors a two-sided normal interval of this level reaches: 1.96 for 0.95."""
    return NormalDist().inv_cdf((1 + level) / 2)


@lru_cache(maxsize=256)
def t_quantile(freedom: int, level: float = LEVEL) -> float:
    """The same for Student's t with ``freedom`` degrees of freedom, at least 1.

    Up to 200 degrees by bisection on the finite series of Abramowitz and Stegun (26.7.3 and 26.7.4); above by their
    expansion 26.7.5, whose error there is below 1e-9.
    """
    if freedom < 1:
        raise ValueError("Student's t takes at least one degree of freedom.")
    z = z_quantile(level)
    if freedom > 200:
        terms = (
            z,
            (z**3 + z) / 4,
            (5 * z**5 + 16 * z**3 + 3 * z) / 96,
            (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
            (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
        )
        return math.fsum(term / math.pow(freedom, power) for power, term in enumerate(terms))
    low, high = 0.0, 1.0
    while _t_within(high, freedom) < level:
        low, high = high, high * 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if _t_within(middle, freedom) < level else (low, middle)
    return high


def _t_within(t: float, freedom: int) -> float:
    """P(|T| < t)."""
    angle = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    total, term = 0.0, 1.0 if freedom % 2 == 0 else cosine
    for k in range(1 if freedom % 2 == 0 else 2, freedom, 2):
        total += term
        term *= k / (k + 1) * cosine * cosine
    if freedom % 2 == 0:
        return sine * total
    return 2 / math.pi * (angle + sine * total)


def wilson(name: str, successes: int, n: int, level: float = LEVEL, *, none: str = "") -> Figure:
    """A proportion with Wilson's score interval (Wilson 1927), without continuity correction.

    ``none``: the sentence for n = 0. Raises ValueError unless 0 ≤ successes ≤ n.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} of {n} is not a proportion.")
    if n == 0:
        return undefined(name, 0, none or "There is nothing to count yet.")
    z = z_quantile(level)
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    # At the ends the bound is the end itself; the subtraction would leave a rounding error there.
    low = 0.0 if successes == 0 else centre - reach
    high = 1.0 if successes == n else centre + reach
    return Figure(name, share, n, low, high, interval="Wilson score interval (Wilson 1927).")
