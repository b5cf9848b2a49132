"""Turns reviews into units: the ratings of independent reviewers of the same item, and which of them count."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from annotator.core.comparison import align
from annotator.core.schema.canonical import canonical
from reviews.core.agreement.custom_fields import field_ratings
from reviews.core.agreement.overlaps import Overlap, added_up, read_overlap
from reviews.core.agreement.patterns import Pattern, Value, ordered, unordered
from reviews.core.protocols import StageKind, Verdict

Document = dict[str, Any]

#: Labels whose patterns contain one rating for each reviewer.
RATED = ("verdict", "policy", "information")
#: Labels whose patterns are ``Overlap.pattern`` of two reviewers' sets.
OVERLAPPING = ("calls", "edges")

#: A reviewer who rejects an item does not approve anything in it, so such a review rates only the item as a whole.
_APPROVING = (Verdict.APPROVE, Verdict.FIX)


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The facts of a stage run that decide whether its reviews count for agreement."""

    kind: StageKind
    blind: bool
    reviews: int
    #: The number of the round in the cycle, and of the cycle of the item; 1 is the first.
    round: int = 1
    cycle: int = 1
    #: Whether the answer was known before; such reviews are scored, not compared.
    gold: bool = False


def exclusion_reason(run: RunFacts) -> str:
    """Return why the reviews of a stage run do not count for agreement; empty if they do.

    Only independent first reviews count: two or more reviews, blind to one another, of an item that nobody has reviewed
    in this stage before.
    """
    if run.gold:
        return "Gold items compare people with a known answer, not with one another."
    if run.kind is StageKind.EXPERT:
        return "Senior reviewers see the earlier reviews here, so their review is not independent."
    if run.reviews < 2:
        return "There is only one review to compare."
    if not run.blind:
        return "The stage is not blind, so reviewers may have seen each other's work."
    if run.round > 1 or run.cycle > 1:
        return "The item was reviewed in this stage before. Only first reviews count."
    return ""


@dataclass(frozen=True, slots=True)
class SubmittedReview:
    """One reviewer's part of a stage run."""

    verdict: str
    #: The revision the reviewer approved: the submitted one, or else the one seen. Both raters saw the author's labels.
    document: Document


@dataclass(frozen=True, slots=True)
class Unit:
    """One rated thing with all reviewers' ratings; for overlapping sets, the sums over all pairs."""

    label: str
    #: The task's id, or the anchor of a part with custom fields; empty for the whole dialogue.
    task: str
    pattern: Pattern

    def without_reviewers(self) -> Pattern:
        """Return the pattern for interchangeable reviewers: who gave which rating does not matter."""
        if self.label in OVERLAPPING:
            return read_overlap(self.pattern).without_sides().pattern()
        return unordered(self.pattern)


def rating_units(reviews: Sequence[SubmittedReview]) -> list[Unit]:
    """Return every unit of a stage run, in the document's order.

    ``verdict``: one rating each. ``policy`` and ``information``: one for each task; None from a reviewer who rejected
    the item, left the label empty or has no such task. ``field:KEY``: the same for each part with a custom field.
    ``calls`` and ``edges``: an overlap for each task, of the approving reviewers. Ratings are in the order of
    ``reviews``: sort them by person if the pattern must tell the two of a pair apart. Raises ValueError for fewer than
    two reviews.
    """
    if len(reviews) < 2:
        raise ValueError("Agreement needs two or more reviews.")
    units = [Unit("verdict", "", ordered([review.verdict for review in reviews]))]
    tasks = [_tasks(review.document) if review.verdict in _APPROVING else {} for review in reviews]
    task_ids = list(dict.fromkeys(key for of_reviewer in tasks for key in of_reviewer))
    for task in task_ids:
        for label in ("policy", "information"):
            ratings: list[Value] = [of_reviewer.get(task, {}).get(label) for of_reviewer in tasks]
            if any(rating is not None for rating in ratings):
                units.append(Unit(label, task, ordered(ratings)))
    documents = [review.document if review.verdict in _APPROVING else None for review in reviews]
    units.extend(Unit(label, anchor, ordered(ratings)) for label, anchor, ratings in field_ratings(documents))
    approving = [review.document for review in reviews if review.verdict in _APPROVING]
    units.extend(_overlaps(approving))
    return units


def _overlaps(documents: Sequence[Document]) -> Iterator[Unit]:
    """Compare revisions' calls and edges, task by task, with the pairs of more than two added up.

    Calls are the same if tool and arguments are, regardless of ids and order; a call that occurs twice counts twice.
    Edges are the same if kind and both ends are, with the ends as ``align`` matches them.
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
