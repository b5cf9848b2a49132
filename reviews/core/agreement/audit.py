"""How many errors are left, from an audited random sample of a finite population, stratified.

Exact bounds of one stratum come from the hypergeometric distribution: they allow for the sample being a good part of
the population, and hold for small samples and for samples without any error.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from reviews.core.agreement.figures import LEVEL, Figure, undefined


@dataclass(frozen=True, slots=True)
class Stratum:
    """A part of the population from which a random sample was audited."""

    name: str
    population: int
    audited: int
    errors: int
    #: Of which sample it is.
    draw: str = ""
    #: The share that was to be drawn; None where nobody knows. Rounding makes more of a small stratum.
    share: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.errors <= self.audited <= self.population:
            raise ValueError(
                f"Stratum {self.name or 'without a name'}: {self.errors} errors in {self.audited} audited of "
                f"{self.population} cannot be."
            )


def error_bounds(population: int, audited: int, errors: int, level: float = LEVEL) -> tuple[int, int]:
    """How many erroneous items the whole population may hold, those found included: least and most.

    Both tails of the hypergeometric distribution are inverted at (1 - level) / 2 each, so the bounds hold with at least
    ``level`` (Buonaccorsi 1987). Raises ValueError for impossible numbers.
    """
    Stratum("", population, audited, errors)
    # A tail that is just so large leaves a number out; sums of logarithms are not exact to the last digit.
    tail = (1 - level) / 2 * (1 + 1e-9)
    least, most = errors, population - (audited - errors)
    # P(at most this many found) falls as the population holds more errors, P(at least as many) rises.
    low, high = least, most
    while low < high:
        middle = (low + high + 1) // 2
        if _at_most(errors, population, middle, audited) > tail:
            low = middle
        else:
            high = middle - 1
    upper = low
    low, high = least, most
    while low < high:
        middle = (low + high) // 2
        if 1 - _at_most(errors - 1, population, middle, audited) > tail:
            high = middle
        else:
            low = middle + 1
    return low, upper


@dataclass(frozen=True, slots=True)
class Residual:
    """What an audit says of the whole population."""

    #: Share of erroneous items before those found were mended, strata weighted by their size.
    error_rate: Figure
    #: The same after they were: what the population still holds.
    residual: Figure
    #: The error rate of each stratum, in the order in which they were given.
    strata: list[Figure]


def residual_error(strata: Sequence[Stratum], level: float = LEVEL) -> Residual:
    """The error rate of a population from the audit of its strata, before and after the found errors were mended.

    The estimate is Σ N_h · e_h / a_h / N. Its bounds: of a stratum that was audited as a whole the errors are known.
    What was drawn at one rate, up to rounding, is bounded as one sample from all of it, an approximation of ours that
    strata which differ make wider than need be. Where there are several rates their bounds are summed, each at
    level^(1/rates), so that they hold together with at least ``level``; they are wide. n is the number of audited
    items.
    """
    name, left = "Error rate", "Residual error rate"
    each = [_of_stratum(one, level) for one in strata]
    strata = [one for one in strata if one.population]
    audited = sum(one.audited for one in strata)
    missing = [one for one in strata if not one.audited]
    if not strata or missing:
        reason = "Nothing has been audited yet."
        if audited:
            reason = f"Nothing has been audited of stratum {missing[0].name}, so nothing is known of it."
        return Residual(undefined(name, audited, reason), undefined(left, audited, reason), each)
    population, errors = sum(one.population for one in strata), sum(one.errors for one in strata)
    wrong = sum(one.population * one.errors / one.audited for one in strata)
    samples = _samples([one for one in strata if one.audited < one.population])
    low = high = sum(one.errors for one in strata if one.audited == one.population)
    for sample in samples:
        least, most = error_bounds(
            sum(one.population for one in sample),
            sum(one.audited for one in sample),
            sum(one.errors for one in sample),
            level ** (1 / len(samples)),
        )
        low, high = low + least, high + most
    method = "Exact hypergeometric bounds."
    if any(len(sample) > 1 for sample in samples):
        method = "Exact hypergeometric bounds; strata drawn at one rate are taken as one sample."
    if len(samples) > 1:
        method = method.replace(".", ", summed over the rates so that they hold together.")
    # With rounding, one sample from the whole may be bounded on the near side of the weighted estimate.
    low, high = min(low, math.floor(wrong)), max(high, math.ceil(wrong))
    return Residual(
        Figure(name, wrong / population, audited, low / population, high / population, interval=method),
        Figure(
            left,
            (wrong - errors) / population,
            audited,
            max(0, low - errors) / population,
            max(0, high - errors) / population,
            interval=method,
        ),
        each,
    )


def _samples(strata: list[Stratum]) -> list[list[Stratum]]:
    """The strata in groups, each drawn at one rate: all in one where rounding explains how their rates differ."""
    population, audited = sum(one.population for one in strata), sum(one.audited for one in strata)
    if all(abs(one.audited - audited * one.population / population) < 1 for one in strata):
        return [strata] if strata else []
    groups: dict[object, list[Stratum]] = {}
    for number, one in enumerate(strata):
        groups.setdefault(one.share if one.share is not None else f"stratum {number}", []).append(one)
    return list(groups.values())


def _of_stratum(one: Stratum, level: float) -> Figure:
    name = f"Error rate of {one.name}" if one.name else "Error rate"
    if not one.audited:
        return undefined(name, 0, "Nothing has been audited here yet.")
    low, high = error_bounds(one.population, one.audited, one.errors, level)
    return Figure(
        name,
        one.errors / one.audited,
        one.audited,
        low / one.population,
        high / one.population,
        interval="Exact hypergeometric bounds.",
    )


def _at_most(found: int, population: int, wrong: int, drawn: int) -> float:
    """P(a sample without replacement holds at most ``found`` of the ``wrong`` items)."""
    first, last = max(0, drawn - (population - wrong)), min(drawn, wrong)
    if found >= last:
        return 1.0
    whole = _log_choose(population, drawn)
    return min(
        1.0,
        math.fsum(
            math.exp(_log_choose(wrong, k) + _log_choose(population - wrong, drawn - k) - whole)
            for k in range(first, found + 1)
        ),
    )


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
