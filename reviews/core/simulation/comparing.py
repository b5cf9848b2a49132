"""Planted beside measured: whether an interval holds what is known to be true, and how to say so as data."""

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

#: Digits that are kept: a rounding error must not make two summaries of one seed differ.
DIGITS = 6


def holds(figure: Figure, truth: float) -> bool | None:
    """Whether the figure's interval holds this value; None where there is no interval."""
    if figure.low is None or figure.high is None:
        return None
    return figure.low - 1e-9 <= truth <= figure.high + 1e-9


def compared(figure: Figure, planted: float | None) -> dict[str, Any]:
    """{"planted", "measured", "n", "low", "high", "covers"}: null where there is none."""
    return {
        "planted": _rounded(planted),
        "measured": _rounded(figure.value),
        "n": figure.n,
        "low": _rounded(figure.low),
        "high": _rounded(figure.high),
        "covers": None if planted is None else holds(figure, planted),
    }


def planted_patterns(runs: Iterable[tuple[RunFacts, Sequence[SubmittedReview]]]) -> dict[str, PatternCounts]:
    """{label: pattern counts} of what the people of a simulation really handed in, as a recount would find them."""
    patterns: dict[str, list[Pattern]] = {}
    for run_facts, reviews in runs:
        if exclusion_reason(run_facts):
            continue
        for unit in rating_units(reviews):
            patterns.setdefault(unit.label, []).append(unit.without_reviewers())
    return {label: PatternCounts.of(found) for label, found in patterns.items()}


def share(right: Mapping[str, bool]) -> float | None:
    """The share of what is true; None of nothing."""
    return sum(right.values()) / len(right) if right else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)
