"""Estimates the remaining errors from stratified, audited random samples of a finite population.

The bounds of one sample invert the tails of the hypergeometric distribution: they are valid for samples that are a
large part of the population, for small samples and for samples without errors. If it is known how many planted errors
the reviewers of the audit found, the errors that they overlook are included.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from annotator.core.text import gettext_noop
from reviews.core.agreement.figures import LEVEL, Figure, Method, undefined, wilson

OVERLOOKED = gettext_noop("Errors that the reviewers of the audit overlooked are not included.")
REDRAWN = gettext_noop(
    "Owners whose sample had too many errors were drawn again, but the others were not, so the samples of the others "
    "have fewer errors than their items. The estimate is corrected for this; the interval covers the case in which "
    "owners do not differ, and is therefore wide."
)
AS_KNOWN = gettext_noop(
    "The estimate includes errors that the reviewers overlooked, if these are as hard to see as the known errors."
)
FEW_KNOWN = gettext_noop("The number of known errors is too small for a reliable correction.")
#: Known errors from which on the correction is not called unreliable.
MANY_KNOWN = 10
BORROWED = gettext_noop(
    "None of an owner’s items in a draw has been audited yet. They count with the error rate of the others in the draw."
)


#: {(several strata are one sample, several samples are added): method}
_METHODS = {
    (False, False): gettext_noop("Exact hypergeometric bounds."),
    (True, False): gettext_noop(
        "Exact hypergeometric bounds; strata drawn at about the same rate count as one sample."
    ),
    (False, True): gettext_noop("Exact hypergeometric bounds, summed over the rates so that they hold jointly."),
    (True, True): gettext_noop(
        "Exact hypergeometric bounds; strata drawn at about the same rate count as one sample, summed over the rates "
        "so that they hold jointly."
    ),
}
#: Strata whose sampling rates differ by less than this factor are one sample.
_ALIKE = 1.5
#: With a sensitivity.
_AVERAGED = gettext_noop("Hypergeometric bounds, averaged over the sensitivity of the audit.")


@dataclass(frozen=True, slots=True)
class Stratum:
    """A part of the population from which a random sample was audited: the items of one owner in one draw."""

    name: str
    population: int
    audited: int
    errors: int
    #: The draw of its sample.
    draw: str = ""
    #: Whether the other items were sent back because of this sample. Only the audited ones are left in the stratum.
    sent_back: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.errors <= self.audited <= self.population:
            raise ValueError(
                f"Stratum {self.name or 'without a name'}: {self.errors} errors in {self.audited} audited of "
                f"{self.population} is impossible."
            )


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How many of the items with known errors the reviewers of an audit noticed."""

    found: int
    known: int

    def __post_init__(self) -> None:
        if not 0 <= self.found <= self.known:
            raise ValueError(f"{self.found} of {self.known} known errors is impossible.")

    @property
    def figure(self) -> Figure:
        """Return the share with Wilson's interval."""
        none = gettext_noop("The reviewers of the audit have not reviewed any item with a known error.")
        return wilson(gettext_noop("Sensitivity of the audit"), self.found, self.known, none=none)

    def at_most(self, found: int, most: int) -> list[float]:
        """Return P(at most ``found`` of k erroneous items are noticed) for k from 0 to ``most``.

        The sensitivity has the Beta distribution that Jeffreys' prior gives, so this is a beta-binomial tail: the exact
        mean over a parametric bootstrap of the sensitivity.
        """
        if found < 0:
            return [0.0] * (most + 1)
        noticed, missed = self.found + 0.5, self.known - self.found + 0.5
        tails = [1.0] * (min(found, most) + 1)
        # The probability that exactly ``found`` of k are noticed, from k to k + 1.
        exactly = math.exp(_log_beta(noticed + found, missed) - _log_beta(noticed, missed))
        for k in range(found, most):
            tails.append(tails[-1] - exactly * (noticed + found) / (noticed + missed + k))
            exactly *= (k + 1) / (k + 1 - found) * (missed + k - found) / (noticed + missed + k)
        return [max(0.0, one) for one in tails]


def error_bounds(
    population: int, audited: int, errors: int, level: float = LEVEL, sensitivity: Sensitivity | None = None
) -> tuple[int, int]:
    """Return bounds on the erroneous items in the whole population, including those found: least and most.

    Both tails of the hypergeometric distribution are inverted at (1 - level) / 2 each, so the bounds hold with at least
    ``level`` (Buonaccorsi 1987). With a ``sensitivity``, the tails are those of the errors noticed, averaged over its
    distribution (Cousins and Highland 1992). Raises ValueError for impossible numbers.
    """
    Stratum("", population, audited, errors)
    # A tail of exactly this size excludes a number; sums of logarithms are not exact to the last digit.
    tail = (1 - level) / 2 * (1 + 1e-9)
    least, most = errors, population - (0 if sensitivity else audited - errors)
    at_most, fewer = (
        sensitivity.at_most(found, audited) if sensitivity else [float(k <= found) for k in range(audited + 1)]
        for found in (errors, errors - 1)
    )
    # P(at most this many found) falls as the population holds more errors, P(at least as many) rises.
    low, high = least, most
    while low < high:
        middle = (low + high + 1) // 2
        if _mean(at_most, population, middle, audited) > tail:
            low = middle
        else:
            high = middle - 1
    upper = low
    low, high = least, most
    while low < high:
        middle = (low + high) // 2
        if 1 - _mean(fewer, population, middle, audited) > tail:
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
    #: The error rate that was found in each stratum, in the order in which they were given.
    strata: list[Figure]
    #: What a reader must know so that the figures do not mislead; sentences.
    warnings: list[str] = field(default_factory=list)


def residual_error(strata: Sequence[Stratum], level: float = LEVEL, sensitivity: Sensitivity | None = None) -> Residual:
    """Return the error rate of a population from the audit of its strata, before and after found errors were fixed.

    The estimate is Σ N_h · e_h / a_h / N, divided by the sensitivity if that is known (Rogan and Gladen 1978, for
    reviewers who report no error that is not there). In draws in which strata were sent back, the rates of the others
    are shrunk towards that of the whole sample (see ``_rates``). n is the number of audited items.

    Bounds: strata drawn at about one rate are bounded as one sample; this is our approximation, and strata whose error
    rates differ make it wider than necessary. With several rates, their bounds are summed, each at level^(1/rates), so
    that they hold jointly with at least ``level``; they are wide. If strata were sent back, the bounds also include
    those of the whole sample with them, because the samples of the others were selected for having few errors.
    """
    name, left = gettext_noop("Error rate"), gettext_noop("Residual error rate")
    if sensitivity and not sensitivity.known:
        sensitivity = None
    each = [_of_stratum(one, level) for one in strata]
    strata = [one for one in strata if one.population]
    population, errors, audited = (
        sum(getattr(one, count) for one in strata) for count in ("population", "errors", "audited")
    )
    if reason := _no_estimate(strata, sensitivity):
        return Residual(undefined(name, audited, reason), undefined(left, audited, reason), each)
    noticed = sensitivity.found / sensitivity.known if sensitivity else 1.0
    wrong = min(float(population), math.fsum(_expected(strata)) / noticed)
    low, high, interval = _bounds(strata, level, sensitivity)
    method = Method("hypergeometric-averaged" if sensitivity else "hypergeometric", 2)
    # With rounding, the bounds of one sample may exclude the weighted estimate.
    low, high = min(low, math.floor(wrong)), min(population, max(high, math.ceil(wrong)))
    warnings = [AS_KNOWN] if sensitivity else [OVERLOOKED]
    if sensitivity and sensitivity.known < MANY_KNOWN:
        warnings.append(FEW_KNOWN)
    if any(one.sent_back for one in strata):
        warnings.append(REDRAWN)
    if not all(one.audited for one in strata):
        warnings.append(BORROWED)
    return Residual(
        Figure(
            name, wrong / population, audited, low / population, high / population, interval=interval, method=method
        ),
        Figure(
            left,
            max(0.0, wrong - errors) / population,
            audited,
            max(0, low - errors) / population,
            max(0, high - errors) / population,
            interval=interval,
            method=method,
        ),
        each,
        warnings,
    )


def _no_estimate(strata: Sequence[Stratum], sensitivity: Sensitivity | None) -> str:
    """Return why there is no estimate, as a sentence; blank if there is one."""
    if not any(one.audited for one in strata):
        return gettext_noop("Nothing has been audited yet.")
    if not all(any(one.audited for one in found) for found in _by_draw(strata).values()):
        return gettext_noop("Nothing of one of the draws has been audited yet, so its error rate is unknown.")
    if sensitivity and not sensitivity.found:
        return gettext_noop("The reviewers of the audit noticed none of the known errors.")
    return ""


def _by_draw(strata: Iterable[Stratum]) -> dict[str, list[Stratum]]:
    draws: dict[str, list[Stratum]] = {}
    for one in strata:
        draws.setdefault(one.draw, []).append(one)
    return draws


def _expected(strata: Sequence[Stratum]) -> list[float]:
    """Return the errors that reviewers would notice if they reviewed everything, of each stratum."""
    out = []
    for found in _by_draw(strata).values():
        rates = _rates(found)
        out += [one.errors + (one.population - one.audited) * rate for one, rate in zip(found, rates, strict=True)]
    return out


def _rates(strata: Sequence[Stratum]) -> list[float]:
    """Return the error rate of the items that were not audited, for each stratum of one draw.

    It is the rate of the stratum's sample, or that of the whole draw if nothing of the stratum was audited. If strata
    were sent back, it is w · own rate + (1 - w) · rate of the draw with w = τ² / (τ² + p(1 - p) / a): selection by the
    samples does not bias this, because all samples, also those of strata sent back, are used. τ² is the variance
    between strata by the method of moments (Cochran 1954).
    """
    audited = [one for one in strata if one.audited]
    total = sum(one.audited for one in audited)
    mean = sum(one.errors for one in audited) / total
    if not any(one.sent_back for one in strata):
        return [one.errors / one.audited if one.audited else mean for one in strata]
    spread = math.fsum(one.audited * (one.errors / one.audited - mean) ** 2 for one in audited)
    weight = total - sum(one.audited**2 for one in audited) / total
    noise = mean * (1 - mean)
    between = max(0.0, (spread - (len(audited) - 1) * noise) / weight) if weight else 0.0
    rates = []
    for one in strata:
        own = between / (between + noise / one.audited) if one.audited and between else 0.0
        rates.append(own * one.errors / one.audited + (1 - own) * mean if one.audited else mean)
    return rates


def _bounds(strata: Sequence[Stratum], level: float, sensitivity: Sensitivity | None) -> tuple[int, int, str]:
    """Return the least and most erroneous items, including those found, and the method."""
    samples = _samples([one for one in strata if one.audited < one.population])
    known = [one for one in strata if one.audited == one.population]
    # Reviewers overlook errors in what they have audited, too.
    parts = len(samples) + (1 if known and sensitivity else 0)
    each = level ** (1 / max(1, parts))
    low = high = 0
    for sample in samples:
        least, most = _of_sample(sample, each, sensitivity)
        draws = {one.draw for one in sample}
        sent = [one for one in known if one.sent_back and one.draw in draws]
        if sent:
            found = sum(one.errors for one in sent)
            together = _of_sample([*sample, *sent], each, sensitivity)
            least, most = min(least, together[0] - found), max(most, together[1] - found)
        low, high = low + max(0, least), high + min(most, sum(one.population for one in sample))
    if known:
        least, most = _of_sample(known, each, sensitivity)
        low, high = low + least, high + most
    if sensitivity:
        return low, high, _AVERAGED
    return low, high, _METHODS[any(len(sample) > 1 for sample in samples), parts > 1]


def _of_sample(sample: Sequence[Stratum], level: float, sensitivity: Sensitivity | None) -> tuple[int, int]:
    population, audited, errors = (
        sum(getattr(one, count) for one in sample) for count in ("population", "audited", "errors")
    )
    return error_bounds(population, audited, errors, level, sensitivity)


def _samples(strata: list[Stratum]) -> list[list[Stratum]]:
    """Group the strata by sampling rate: those whose rates differ by less than the factor ``_ALIKE``.

    The draw takes at least one item of each stratum, so small strata can have a much higher rate than the others; as
    one sample with them, they would count too much. A stratum of which nothing was audited is in a group of its draw.
    """
    groups: list[list[Stratum]] = []
    for one in sorted((one for one in strata if one.audited), key=_rate):
        if groups and _rate(one) < _ALIKE * _rate(groups[-1][0]):
            groups[-1].append(one)
        else:
            groups.append([one])
    for one in strata:
        if not one.audited:
            same_draw = (group for group in groups if any(other.draw == one.draw for other in group))
            group = next(same_draw, None)
            if group is None:
                groups.append([one])
            else:
                group.append(one)
    return groups


def _rate(one: Stratum) -> float:
    return one.audited / one.population


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


def _mean(value: Sequence[float], population: int, wrong: int, drawn: int) -> float:
    """Return the mean of ``value[k]`` over the number k of wrong items in a sample without replacement."""
    first, last = max(0, drawn - (population - wrong)), min(drawn, wrong)
    whole = _log_choose(population, drawn)
    return min(
        1.0,
        math.fsum(
            math.exp(_log_choose(wrong, k) + _log_choose(population - wrong, drawn - k) - whole) * value[k]
            for k in range(first, last + 1)
            if value[k]
        ),
    )


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
