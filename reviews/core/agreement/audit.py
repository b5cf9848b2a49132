"""Estimates the remaining errors from a stratified, audited random sample of a finite population.

Exact bounds of one stratum come from the hypergeometric distribution: they are valid for samples that are a large part
of the population, for small samples and for samples without errors.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from annotator.core.text import gettext_noop
from reviews.core.agreement.figures import LEVEL, Figure, undefined


@dataclass(frozen=True, slots=True)
class Stratum:
    """A part of the population from which a random sample was audited."""

    name: str
    population: int
    audited: int
    errors: int
    #: The draw of its sample.
    draw: str = ""
    #: The share to be drawn; None if unknown. Rounding can make it larger in a small stratum.
    share: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.errors <= self.audited <= self.population:
            raise ValueError(
                f"Stratum {self.name or 'without a name'}: {self.errors} errors in {self.audited} audited of "
                f"{self.population} is impossible."
            )


def error_bounds(population: int, audited: int, errors: int, level: float = LEVEL) -> tuple[int, int]:
    """Return bounds on the erroneous items in the whole population, including those found: least and most.

    Both tails of the hypergeometric distribution are inverted at (1 - level) / 2 each, so the bounds hold with at least
    ``level`` (Buonaccorsi 1987). Raises ValueError for impossible numbers.
    """
    Stratum("", population, audited, errors)
    # A tail of exactly this size excludes a number; sums of logarithms are not exact to the last digit.
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
    """What an audit says about the whole population."""

    #: Share of erroneous items before those found were fixed, strata weighted by their size.
    error_rate: Figure
    #: The same after they were fixed: what the population still contains.
    residual: Figure
    #: The error rate of each stratum, in the order in which they were given.
    strata: list[Figure]


def residual_error(strata: Sequence[Stratum], level: float = LEVEL) -> Residual:
    """Return the error rate of a population from the audit of its strata, before and after found errors were fixed.

    The estimate is Σ N_h · e_h / a_h / N. Its bounds: in a fully audited stratum the errors are known. Strata drawn at
    one rate, up to rounding, are bounded as one sample; this is our approximation, and strata that differ make it wider
    than necessary. With several rates, their bounds are summed, each at level^(1/rates), so that they hold jointly with
    at least ``level``; they are wide. n is the number of audited items.
    """
    name, left = gettext_noop("Error rate"), gettext_noop("Residual error rate")
    each = [_of_stratum(one, level) for one in strata]
    strata = [one for one in strata if one.population]
    audited = sum(one.audited for one in strata)
    missing = [one for one in strata if not one.audited]
    if not strata or missing:
        reason = gettext_noop("Nothing has been audited yet.")
        if audited:
            reason = f"Stratum {missing[0].name} has not been audited, so its error rate is unknown."
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
    method = gettext_noop("Exact hypergeometric bounds.")
    if any(len(sample) > 1 for sample in samples):
        method = gettext_noop("Exact hypergeometric bounds; strata drawn at the same rate count as one sample.")
    if len(samples) > 1:
        method = method.replace(".", ", summed over the rates so that they hold jointly.")
    # With rounding, the bounds of one sample may exclude the weighted estimate.
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
    """Group the strata by sampling rate: all in one group if rounding explains the differences."""
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
        return undefined(name, 0, gettext_noop("Nothing has been audited here yet."))
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
    """Return P(a sample without replacement holds at most ``found`` of the ``wrong`` items)."""
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
