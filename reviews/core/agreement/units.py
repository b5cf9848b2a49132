"""From reviews to units: what independent reviewers said of the same item, place by place, and what of it counts."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from annotator.core.comparison import align
from annotator.core.schema.canonical import canonical
from reviews.core.agreement.overlaps import Overlap, added_up, read_overlap
from reviews.core.agreement.patterns import Pattern, PatternCounts, Value, ordered, unordered
from reviews.core.protocols import StageKind, Verdict

Document = dict[str, Any]

#: Labels whose patterns hold one rating for each reviewer.
RATED = ("verdict", "policy", "information")
#: Labels whose patterns are ``Overlap.pattern`` of two reviewers' sets.
OVERLAPPING = ("calls", "edges")

#: Who refuses an item vouches for nothing in it, so such a review rates nothing but the item as a whole.
_APPROVING = (Verdict.APPROVE, Verdict.FIX)


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Under which a stage run was reviewed, as far as it decides whether its reviews count for agreement."""

    kind: StageKind
    blind: bool
    reviews: int
    #: Of the stage within the cycle, and of the cycle among those of its item: 1 is the first.
    round: int = 1
    cycle: int = 1
    #: Whether the answer was known beforehand: scored, not compared.
    gold: bool = False


def exclusion_reason(run: RunFacts) -> str:
    """Why the reviews of a stage run do not count for agreement; empty where they do.

    Only independent first looks count: two or more reviews, blind to one another, of an item that nobody has reviewed
    in this stage before.
    """
    if run.gold:
        return "Gold items have a known answer; they measure a person against it, not people against one another."
    if run.kind is StageKind.EXPERT:
        return "An expert sees what the reviewers said, so this is no independent judgement."
    if run.reviews < 2:
        return "One review alone cannot agree or disagree with anything."
    if not run.blind:
        return "The stage is not blind: reviewers may have seen one another's work."
    if run.round > 1 or run.cycle > 1:
        return "This is a further review of an item that was reviewed here before; only first looks count."
    return ""


@dataclass(frozen=True, slots=True)
class SubmittedReview:
    """One reviewer's part of a stage run."""

    verdict: str
    #: The version the reviewer stands for: what was made, or else what was seen. Both raters saw the author's labels.
    document: Document


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing that was judged, and what all reviewers said of it; of overlapping sets, the sums of all pairs."""

    label: str
    #: The task's id; empty for the whole dialogue.
    task: str
    pattern: Pattern

    def without_reviewers(self) -> Pattern:
        """The pattern where reviewers are interchangeable: who said what, or is left or right, means nothing."""
        if self.label in OVERLAPPING:
            return read_overlap(self.pattern).without_sides().pattern()
        return unordered(self.pattern)


def rating_units(reviews: Sequence[SubmittedReview]) -> list[Unit]:
    """Every unit of a stage run, in the document's order.

    ``verdict``: one rating each. ``policy`` and ``information``: one for each task, None from whoever refused the item,
    left the label open or has no such task. ``calls`` and ``edges``: an overlap for each task, of the approving
    reviewers. Ratings stand in the order of ``reviews``: give them sorted by person where the pattern is to tell the
    two of a pair apart. Raises ValueError for fewer than two reviews.
    """
    if len(reviews) < 2:
        raise ValueError("Agreement takes two reviews or more.")
    units = [Unit("verdict", "", ordered([review.verdict for review in reviews]))]
    tasks = [_tasks(review.document) if review.verdict in _APPROVING else {} for review in reviews]
    task_ids = list(dict.fromkeys(key for of_reviewer in tasks for key in of_reviewer))
    for task in task_ids:
        for label in ("policy", "information"):
            ratings: list[Value] = [of_reviewer.get(task, {}).get(label) for of_reviewer in tasks]
            if any(rating is not None for rating in ratings):
                units.append(Unit(label, task, ordered(ratings)))
    approving = [review.document for review in reviews if review.verdict in _APPROVING]
    units.extend(_overlaps(approving))
    return units


def count_units(units: Sequence[Unit]) -> dict[str, PatternCounts]:
    """The pattern counts of each label that occurs."""
    by_label: dict[str, list[Pattern]] = {}
    for unit in units:
        by_label.setdefault(unit.label, []).append(unit.pattern)
    return {label: PatternCounts.of(patterns) for label, patterns in by_label.items()}


def _overlaps(documents: Sequence[Document]) -> Iterator[Unit]:
    """How far versions' calls and edges are the same, task by task, the pairs of more than two added up.

    Calls are the same where tool and arguments are, whatever their ids and their order; a call that occurs twice counts
    twice. Edges are the same where kind and both ends are, the ends as ``align`` recognises them.
    """
    pairs: dict[tuple[str, str], list[Overlap]] = {}
    for left, right in combinations(documents, 2):
        ours, theirs = _tasks(left), _tasks(align(left, right))
        for task in dict.fromkeys((*ours, *theirs)):
            one, other = ours.get(task, {}), theirs.get(task, {})
            for label, of in (("calls", _calls), ("edges", _edges)):
                here, there = of(one), of(other)
                if here or there:
                    found = Overlap((here & there).total(), here.total(), there.total())
                    pairs.setdefault((label, task), []).append(found)
    for (label, task), of_task in pairs.items():
        yield Unit(label, task, added_up(of_task, len(documents)).pattern())


def _tasks(document: Document) -> dict[str, Mapping[str, Any]]:
    return {task["id"]: task for task in document.get("tasks", [])}


def _calls(task: Mapping[str, Any]) -> Counter[Any]:
    return Counter(
        (step["name"], canonical(step["arguments"])) for step in task.get("steps", []) if step["type"] == "call"
    )


def _edges(task: Mapping[str, Any]) -> Counter[Any]:
    return Counter(
        {
            (edge["id"], step["id"], edge["kind"]): 1
            for step in task.get("steps", [])
            for edge in step["depends_on"] or ()
        }
    )
