"""Compares planted with measured figures."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reviews.core.agreement import (
    Figure,
    Pattern,
    PatternCounts,
    RunFacts,
    SubmittedReview,
    exclusion_reason,
    rating_units,
)

#: Digits to keep, so that rounding does not change the summary of a seed.
DIGITS = 6


def holds(figure: Figure, truth: float) -> bool | None:
    """Return whether the figure's interval contains the true value; None without an interval."""
    if figure.low is None or figure.high is None:
        return None
    return figure.low - 1e-9 <= truth <= figure.high + 1e-9


def compared(figure: Figure, planted: float | None) -> dict[str, Any]:
    """Return {"planted", "measured", "n", "low", "high", "covers"}; missing values are None."""
    return {
        "planted": _rounded(planted),
        "measured": _rounded(figure.value),
        "n": figure.n,
        "low": _rounded(figure.low),
        "high": _rounded(figure.high),
        "covers": None if planted is None else holds(figure, planted),
    }


def planted_patterns(runs: Iterable[tuple[RunFacts, Sequence[SubmittedReview]]]) -> dict[str, PatternCounts]:
    """Return {label: pattern counts} of the submitted reviews, as a recount would find them."""
    patterns: dict[str, list[Pattern]] = {}
    for run_facts, reviews in runs:
        if exclusion_reason(run_facts):
            continue
        for unit in rating_units(reviews):
            patterns.setdefault(unit.label, []).append(unit.without_reviewers())
    return {label: PatternCounts.of(found) for label, found in patterns.items()}


def share(right: Mapping[str, bool]) -> float | None:
    """Return the share of true values; None if there are none."""
    return sum(right.values()) / len(right) if right else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)
