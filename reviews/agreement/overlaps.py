"""How far two reviewers' sets (calls of a task, edges of its graph) overlap: precision, recall and F1 from counts.

The definition is ours, after what the papers report as "F1 for task completion": counts are summed over tasks before
dividing (micro-averaged), and neither reviewer is the truth. F1 = 2 · matched / (left + right) is the same whichever
of the two is called left; precision and recall change places with them.
"""

import math
from dataclasses import dataclass

from reviews.agreement.figures import LEVEL, ONE_UNIT, Figure, from_error, t_quantile, undefined
from reviews.agreement.patterns import Pattern, PatternCounts

_EMPTY = "Neither reviewer has anything here in any task, so there is nothing that could match."


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two reviewers' sets of one task: how many members each has and how many are in both."""

    matched: int
    left: int
    right: int

    def __post_init__(self) -> None:
        if not 0 <= self.matched <= min(self.left, self.right):
            raise ValueError(f"{self.matched} cannot be in both of sets of {self.left} and {self.right}.")

    def pattern(self) -> Pattern:
        """(matched, left, right): counted like rating patterns."""
        return self.matched, self.left, self.right


@dataclass(frozen=True, slots=True)
class OverlapScores:
    """One reviewer's sets against the other's. Of precision and recall the left side counts as the reference."""

    precision: Figure
    recall: Figure
    f1: Figure


def overlap_scores(counts: PatternCounts, *, of: str = "calls", level: float = LEVEL) -> OverlapScores:
    """Precision, recall and F1 of sets, micro-averaged over tasks.

    ``counts``: of ``Overlap.pattern``. n is the number of tasks with a member on either side (for precision on the
    right, for recall on the left). Interval: ratio estimator over tasks, linearised variance (Cochran 1977, chapter 6),
    Student's t. Raises ValueError for patterns that are no overlaps.
    """
    tasks = [(_overlap(pattern), times) for pattern, times in counts.checked()]
    return OverlapScores(
        _ratio(f"Precision on {of}", [(one.matched, one.right, times) for one, times in tasks], level),
        _ratio(f"Recall on {of}", [(one.matched, one.left, times) for one, times in tasks], level),
        _ratio(f"F1 on {of}", [(2 * one.matched, one.left + one.right, times) for one, times in tasks], level),
    )


def _ratio(name: str, tasks: list[tuple[int, int, int]], level: float) -> Figure:
    """Σ top / Σ bottom over tasks (top, bottom, how many such tasks)."""
    n = sum(times for _, bottom, times in tasks if bottom)
    bottom_sum = sum(bottom * times for _, bottom, times in tasks)
    if not bottom_sum:
        return undefined(name, 0, _EMPTY)
    value = sum(top * times for top, _, times in tasks) / bottom_sum
    if n < 2:
        return Figure(name, value, n, interval=ONE_UNIT)
    # Summed exactly, so that the result does not depend on the order of the tasks.
    spread = math.fsum(times * (top - value * bottom) ** 2 for top, bottom, times in tasks)
    variance = spread * n / (n - 1) / bottom_sum**2
    method = "Student's t, linearised ratio estimator over tasks (Cochran 1977)."
    return from_error(name, value, n, math.sqrt(variance), t_quantile(n - 1, level), method, least=0.0)


def _overlap(pattern: Pattern) -> Overlap:
    if len(pattern) != 3:
        raise ValueError(f"{pattern} is no overlap: (matched, left, right) is expected.")
    matched, left, right = pattern
    if not (isinstance(matched, int) and isinstance(left, int) and isinstance(right, int)):
        raise ValueError(f"{pattern} is no overlap: three whole numbers are expected.")
    return Overlap(matched, left, right)
