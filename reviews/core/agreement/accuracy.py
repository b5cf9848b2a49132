"""Computes accuracy after each stage, and how many items were revised in which round.

Accuracy is agreement with the verified revision. Errors that the verified revision still contains are estimated by
``reviews.core.agreement.audit``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from annotator.core.text import gettext_noop
from reviews.core.agreement.clusters import differ_by_more_than_chance, effect_of_groups
from reviews.core.agreement.figures import LEVEL, Figure, Method, wilson

OF_OWNERS = gettext_noop("Wilson score interval (Wilson 1927), with the design effect of owners (Kish 1965).")


def accuracy_after(title: str, right: int, of: int, level: float = LEVEL, *, effect: float = 1.0) -> Figure:
    """Return the share of finished items that were correct after a point, with Wilson's interval.

    ``effect``: the design effect of items that are alike.
    """
    none = gettext_noop("No finished items yet.")
    return wilson(f"Accuracy after {title}", right, of, level, none=none, effect=effect)


def accuracy_with_other_owners(title: str, owners: Sequence[tuple[int, int]], level: float = LEVEL) -> Figure | None:
    """Return the accuracy with an interval for items of other owners, if owners differ by more than chance; else None.

    ``owners``: (right, of) of each. Their items are alike, so the interval is wider (Kish 1965).
    """
    if not differ_by_more_than_chance(owners):
        return None
    right, of = sum(one for one, _ in owners), sum(items for _, items in owners)
    figure = accuracy_after(title, right, of, level, effect=effect_of_groups(owners, level))
    return replace(figure, interval=OF_OWNERS, method=Method("wilson-by-owner"))


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
