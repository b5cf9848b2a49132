"""The result of a statistic, the interval of a proportion, and the quantiles of intervals."""

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

from annotator.core.text import gettext_noop

LEVEL = 0.95

WILSON = gettext_noop("Wilson score interval (Wilson 1927).")
WILSON_OF_DIALOGUES = gettext_noop(
    "Wilson score interval (Wilson 1927), with the design effect of dialogues (Rao and Scott 1992)."
)
NO_SPREAD = gettext_noop("No interval: all units are the same, so there is no variation to estimate from.")
ONE_UNIT = gettext_noop("No interval: at least two units are needed.")


@dataclass(frozen=True, slots=True)
class Method:
    """How an interval is computed, for programs. The version rises if the same counts get another interval."""

    name: str
    version: int = 1


@dataclass(frozen=True, slots=True)
class Figure:
    """One statistic: its value with an interval, or the reason why there is none."""

    #: What is measured, as it is shown: "Cohen's kappa".
    name: str
    #: None if the statistic is undefined.
    value: float | None
    #: Units that the value is computed from.
    n: int
    #: Bounds of the interval; None if there is none.
    low: float | None = None
    high: float | None = None
    #: Why there is no value; empty if there is one.
    undefined: str = ""
    #: The method of the interval and its source, or why there is no interval.
    interval: str = ""
    #: The same for programs; None if there is no interval, or if it needs no name.
    method: Method | None = None
    #: Why the interval may be too narrow: a sentence; empty if there is no reason.
    caution: str = ""
    #: Of how many dialogues of equal size the units are: n² / Σ n_i² with n_i units of dialogue i. None if unknown.
    dialogues: float | None = None


def undefined(name: str, n: int, reason: str) -> Figure:
    """Return a figure without a value. ``reason``: a sentence."""
    return Figure(name, None, n, undefined=reason)


def z_quantile(level: float = LEVEL) -> float:
    """Return the number of standard errors in a two-sided normal interval of this level: 1.96 for 0.95."""
    return NormalDist().inv_cdf((1 + level) / 2)


@lru_cache(maxsize=256)
def t_quantile(freedom: int, level: float = LEVEL) -> float:
    """Return the same for Student's t with ``freedom`` degrees of freedom, at least 1.

    Up to 200 degrees by bisection on the finite series of Abramowitz and Stegun (26.7.3 and 26.7.4); above by their
    expansion 26.7.5, whose error there is below 1e-9.
    """
    if freedom < 1:
        raise ValueError("Student's t needs at least one degree of freedom.")
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
    """Return P(|T| < t)."""
    angle = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    total, term = 0.0, 1.0 if freedom % 2 == 0 else cosine
    for k in range(1 if freedom % 2 == 0 else 2, freedom, 2):
        total += term
        term *= k / (k + 1) * cosine * cosine
    if freedom % 2 == 0:
        return sine * total
    return 2 / math.pi * (angle + sine * total)


def wilson(name: str, successes: int, n: int, level: float = LEVEL, *, none: str = "", effect: float = 1.0) -> Figure:
    """Return a proportion with Wilson's score interval (Wilson 1927), without continuity correction.

    ``none``: the sentence for n = 0. ``effect``: the design effect of units that are alike; n units tell as much as
    n / effect independent ones. Raises ValueError unless 0 ≤ successes ≤ n.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} of {n} is not a proportion.")
    if n == 0:
        return undefined(name, 0, none or gettext_noop("Nothing to count yet."))
    z = z_quantile(level) * math.sqrt(effect)
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    # At 0 and 1 the bound is exact; the subtraction would leave a rounding error.
    low = 0.0 if successes == 0 else centre - reach
    high = 1.0 if successes == n else centre + reach
    if effect == 1:
        return Figure(name, share, n, low, high, interval=WILSON, method=Method("wilson"))
    return Figure(name, share, n, low, high, interval=WILSON_OF_DIALOGUES, method=Method("wilson-by-dialogue"))
