"""All that is counted as people work: fold it, or compare it with a recount."""

from collections.abc import Iterator
from typing import Any

from annotator.models import Project
from reviews.services.statistics.agreement import AGREEMENT
from reviews.services.statistics.counters import COUNTERS
from reviews.services.statistics.counting import Counting, Difference
from reviews.services.statistics.item_history import ITEM_HISTORY
from reviews.services.statistics.workload import WORK

COUNTINGS: tuple[Counting[Any, Any], ...] = (COUNTERS, AGREEMENT, ITEM_HISTORY, WORK)


def fold() -> int:
    """Count a portion of what waits; returns how many rows of outboxes."""
    return sum(counting.fold() for counting in COUNTINGS)


def fold_all() -> None:
    """Count all that waits."""
    while fold():
        pass


def recount(project: Project, *, repair: bool = False) -> Iterator[Difference]:
    """The counts that are not what the rows say, put right where ``repair``."""
    for counting in COUNTINGS:
        yield from counting.recount(project, repair=repair)
