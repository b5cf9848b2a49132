"""All counts together: count what waits, or compare with a recount."""

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
    """Count one portion of every outbox; return the number of rows."""
    return sum(counting.fold() for counting in COUNTINGS)


def fold_all() -> None:
    """Count everything that waits."""
    while fold():
        pass


def recount(project: Project, *, repair: bool = False) -> Iterator[Difference]:
    """Return the counts that differ from the rows; correct them if ``repair``."""
    for counting in COUNTINGS:
        yield from counting.recount(project, repair=repair)
