"""Computes accuracy after each stage, and how many items were revised in which round.

Accuracy is agreement with the verified revision. Errors that the verified revision still contains are estimated by
``reviews.core.agreement.audit``.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from annotator.core.text import gettext_noop
from reviews.core.agreement.figures import LEVEL, Figure, wilson


def accuracy_after(title: str, right: int, of: int, level: float = LEVEL) -> Figure:
    """Return the share of finished items that were correct after a point, with Wilson's interval."""
    return wilson(f"Accuracy after {title}", right, of, level, none=gettext_noop("No finished items yet."))


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
