"""What the constraints of cases consist of."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotator.core.constraints.model import Dimension
from annotator.core.constraints.taxonomy import categories, find_category
from annotator.core.mergeable import Distribution, Mergeable, as_pairs


@dataclass
class ConstraintStatistics(Mergeable):
    """Counts over constrained cases. A category or dimension that the taxonomy does not have counts as none."""

    cases: int = 0
    constraints: int = 0
    #: Constraints without a category.
    unlabelled: int = 0
    #: Category → cases with at least one such constraint.
    cases_by_category: Counter[str] = field(default_factory=Counter)
    #: Dimension, or "none" → constraints.
    by_dimension: Counter[str] = field(default_factory=Counter)
    #: Number of different categories → cases.
    cases_by_categories: Counter[int] = field(default_factory=Counter)
    #: Number of constraints → cases.
    cases_by_constraints: Counter[int] = field(default_factory=Counter)
    #: Characters of the sentences that state the constraints.
    lengths: Distribution = field(default_factory=Distribution)

    def add(self, constraints: Sequence[Mapping[str, Any]]) -> None:
        """Count a case, given its constraints with ``dimension``, ``category`` and ``text``, which may be missing."""
        named = [str(found.id) for one in constraints if (found := find_category(one.get("category")))]
        self.cases += 1
        self.constraints += len(constraints)
        self.unlabelled += len(constraints) - len(named)
        self.cases_by_category.update(set(named))
        self.cases_by_categories[len(set(named))] += 1
        self.cases_by_constraints[len(constraints)] += 1
        for one in constraints:
            dimension = one.get("dimension")
            self.by_dimension[dimension if dimension in set(Dimension) else "none"] += 1
            if one.get("text"):
                self.lengths.add(len(one["text"]))

    def summary(self) -> dict[str, Any]:
        """Return the counts as JSON. Categories and dimensions are in the order of the taxonomy."""
        known = [one.id for one in categories()]
        return {
            "cases": self.cases,
            "constraints": self.constraints,
            "unlabelled": self.unlabelled,
            "cases_by_category": [[name, self.cases_by_category[name]] for name in known],
            "by_dimension": [
                [name, self.by_dimension[name]] for name in (*map(str, Dimension), "none") if self.by_dimension[name]
            ],
            "cases_by_categories": as_pairs(self.cases_by_categories),
            "cases_by_constraints": as_pairs(self.cases_by_constraints),
            "lengths": self.lengths.summary(),
        }
