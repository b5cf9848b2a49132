"""Known answers mixed into people's work: whose turn it is, how a review compares. Pure."""

from reviews.core.gold.keyed_turns import draw_number, is_due, why_not
from reviews.core.gold.scoring import FATES, Fate, Place, Score, errors_in, score

__all__ = [
    "FATES",
    "Fate",
    "Place",
    "Score",
    "draw_number",
    "errors_in",
    "is_due",
    "score",
    "why_not",
]
