"""Gold items: when people get one, and how a review compares with the known answer."""

from reviews.core.gold.scheduling import is_due, keyed_random, reason_against_gold
from reviews.core.gold.scoring import RESULT_LABELS, AnchorResult, Score, ScoredAnchor, errors_in, score
