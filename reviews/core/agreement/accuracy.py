"""Computes accuracy after each stage, and how many items were revised in which round.

Accuracy is agreement with the verified revision. Errors that the verified revision still contains are estimated by
``reviews.core.agreement.audit``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from annotator.core.text import gettext_noop
from reviews.core.agreement.figures import LEVEL, Figure, wilson


@dataclass(frozen=True, slots=True)
class ContentHistory:
    """The content of one item, as any hash, at each known point."""

    #: {point: content after it}. A skipped point has the content of the previous one.
    contents: Mapping[str, str]
    #: The verified content; None if the item was rejected, which makes it wrong at every point.
    verified: str | None
    #: Whether the item is finished. Unfinished items are left out: their stages would look better than they are.
    finished: bool = True


@dataclass(frozen=True, slots=True)
class PointCount:
    """How many of the finished items had their verified content at the end of a point. Adds up over items."""

    right: int = 0
    of: int = 0

    def __add__(self, other: "PointCount") -> "PointCount":
        return PointCount(self.right + other.right, self.of + other.of)

    def __sub__(self, other: "PointCount") -> "PointCount":
        return PointCount(self.right - other.right, self.of - other.of)


def count_content_history(history: ContentHistory, points: Sequence[str]) -> dict[str, PointCount]:
    """Return what one item adds to each point of the curve.

    ``points``: "baseline" and the stages (or rounds) in order. Empty for an unfinished item. Raises ValueError if the
    content at the first point is unknown.
    """
    if not history.finished:
        return {}
    if not points or points[0] not in history.contents:
        raise ValueError("The content of the item at the first point of the curve is unknown.")
    out, content = {}, None
    for point in points:
        content = history.contents.get(point, content)
        out[point] = PointCount(int(history.verified is not None and content == history.verified), 1)
    return out


def count_content_histories(histories: Iterable[ContentHistory], points: Sequence[str]) -> dict[str, PointCount]:
    """Return the sum of the counts of these items."""
    total = dict.fromkeys(points, PointCount())
    for history in histories:
        for point, count in count_content_history(history, points).items():
            total[point] += count
    return total


def accuracy_curve(counts: Mapping[str, PointCount], level: float = LEVEL) -> dict[str, Figure]:
    """Return the share of finished items that were correct after each point, with Wilson's interval."""
    return {
        point: wilson(
            f"Accuracy after {point}", count.right, count.of, level, none=gettext_noop("No finished items yet.")
        )
        for point, count in counts.items()
    }


@dataclass(frozen=True, slots=True)
class RevisionRates:
    """Items revised, by number of rounds (CCTU, table 3), as shares of all reviewed items."""

    by_rounds: dict[int, Figure]
    total: Figure


def revision_rates(revised: Mapping[int, int], items: int, level: float = LEVEL) -> RevisionRates:
    """Return the rates. ``revised``: {number of rounds, at least 1: items}; ``items``: all reviewed items.

    Raises ValueError for a round below 1, a negative count, or more revised items than there are.
    """
    if any(rounds < 1 for rounds in revised):
        raise ValueError("an item without a revision round was not revised; count rounds from 1")
    none = gettext_noop("No item reviewed in this stage is finished yet.")
    return RevisionRates(
        {
            rounds: wilson(f"Revised in {rounds} round{'s' if rounds > 1 else ''}", count, items, level, none=none)
            for rounds, count in sorted(revised.items())
        },
        wilson(gettext_noop("Revision rate"), sum(revised.values()), items, level, none=none),
    )
