"""Measures how far two reviewers' sets (calls of a task, edges of its graph) overlap: precision, recall and F1.

We chose this definition for what papers report as "F1 for task completion": counts are summed over tasks before
dividing (micro-average), and neither reviewer is the truth. F1 = 2 · matched / (left + right) does not depend on which
reviewer is left; precision and recall swap. With three reviewers or more, the pairs of a task are summed to one unit,
because pairs with the same reviewer are not independent.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from annotator.core.text import gettext_noop
from reviews.core.agreement.bounds import score_interval
from reviews.core.agreement.figures import LEVEL, Figure, undefined
from reviews.core.agreement.patterns import Pattern, PatternCounts

#: Names of the scores of each kind of sets: precision, recall and F1.
_NAMES = {
    "calls": (gettext_noop("Precision on calls"), gettext_noop("Recall on calls"), gettext_noop("F1 on calls")),
    "edges": (gettext_noop("Precision on edges"), gettext_noop("Recall on edges"), gettext_noop("F1 on edges")),
}
_EMPTY = gettext_noop("Undefined: no task has anything to compare in either reviewer’s version.")


@dataclass(frozen=True, slots=True)
class Overlap:
    """The sizes of two reviewers' sets in one task and of their intersection; or the sums over all pairs."""

    matched: int
    left: int
    right: int
    #: The number of reviewers; with more than two, left and right are no particular reviewer.
    reviewers: int = 2

    def __post_init__(self) -> None:
        if not 0 <= self.matched <= min(self.left, self.right):
            raise ValueError(f"Sets of {self.left} and {self.right} cannot have {self.matched} in common.")

    def pattern(self) -> Pattern:
        """Return (matched, left, right), then the number of reviewers unless it is two; counted like ratings."""
        sums = self.matched, self.left, self.right
        return sums if self.reviewers == 2 else (*sums, self.reviewers)

    def without_sides(self) -> "Overlap":
        """Return the same with interchangeable reviewers."""
        return Overlap(self.matched, min(self.left, self.right), max(self.left, self.right), self.reviewers)


def added_up(pairs: Sequence[Overlap], reviewers: int) -> Overlap:
    """Add up a task's pairs to one unit; the pair itself if there are two reviewers."""
    if reviewers == 2:
        return pairs[0]
    bare = [pair.without_sides() for pair in pairs]
    return Overlap(
        sum(one.matched for one in bare), sum(one.left for one in bare), sum(one.right for one in bare), reviewers
    )


def read_overlap(pattern: Pattern) -> Overlap:
    """Return the overlap of a pattern. Raises ValueError for a pattern of something else."""
    if len(pattern) not in (3, 4):
        raise ValueError(
            f"{pattern} is not an overlap. Expected: (matched, left, right), then the number of reviewers unless it "
            "is two."
        )
    numbers = [value for value in pattern if isinstance(value, int)]
    if len(numbers) < len(pattern):
        raise ValueError(f"{pattern} is not an overlap. Expected: whole numbers.")
    return Overlap(*numbers)


@dataclass(frozen=True, slots=True)
class OverlapScores:
    """Scores of one reviewer's sets against the other's. For precision and recall, the left side is the reference."""

    precision: Figure
    recall: Figure
    f1: Figure


def overlap_scores(counts: PatternCounts, *, of: str = "calls", level: float = LEVEL) -> OverlapScores:
    """Return precision, recall and F1 of sets, micro-averaged over tasks.

    ``counts``: of ``Overlap.pattern``. n is the number of tasks with a member on either side (for precision on the
    right, for recall on the left). Interval: ``core.agreement.bounds``; the possible tasks include those with one match
    more or less than observed ones. Raises ValueError for patterns that are not overlaps.
    """
    precision, recall, f1 = _NAMES[of]
    return OverlapScores(
        _ratio(precision, counts, lambda one: (one.matched, one.right), level),
        _ratio(recall, counts, lambda one: (one.matched, one.left), level),
        _ratio(f1, counts, lambda one: (2 * one.matched, one.left + one.right), level),
    )


def _ratio(name: str, counts: PatternCounts, parts: Callable[[Overlap], tuple[int, int]], level: float) -> Figure:
    """Return Σ top / Σ bottom over tasks. ``parts``: the two of a task."""
    seen: Counter[tuple[int, int]] = Counter()
    possible = set()
    for pattern, times in counts.checked():
        one = read_overlap(pattern)
        if parts(one)[1]:
            seen[parts(one)] += times
            possible |= {parts(other) for other in _one_more_or_less(one)}
    n = seen.total()
    if not n:
        return undefined(name, 0, _EMPTY)
    value = sum(top * times for (top, _), times in seen.items()) / sum(b * times for (_, b), times in seen.items())
    unseen = sorted(possible - set(seen))

    def measure(mean: Sequence[float]) -> tuple[float, list[float]]:
        ratio = mean[0] / mean[1]
        return ratio, [1 / mean[1], -ratio / mean[1]]

    known = {pattern: parts(read_overlap(pattern)) for pattern in counts}
    pairs = [(known[one], known[other], times) for one, other, times in counts.together()]
    together = [(one, other, times) for one, other, times in pairs if one[1] and other[1]]
    return score_interval(
        name, value, n, sorted(seen.items()), unseen, measure, together=together, level=level, least=0.0
    )


def _one_more_or_less(one: Overlap) -> Iterator[Overlap]:
    """Yield the same sets with one match less, and one more, between a reviewer and each of the others."""
    step = one.reviewers - 1
    if one.matched:
        yield replace(one, matched=max(0, one.matched - step))
    if one.matched < min(one.left, one.right):
        yield replace(one, matched=min(one.left, one.right, one.matched + step))
