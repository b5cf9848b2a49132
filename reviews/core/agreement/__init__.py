"""Agreement between reviewers and accuracy of items, computed from counts."""

from reviews.core.agreement.accuracy import (
    ContentHistory,
    PointCount,
    RevisionRates,
    accuracy_curve,
    count_content_histories,
    count_content_history,
    revision_rates,
)
from reviews.core.agreement.alpha import krippendorff_alpha
from reviews.core.agreement.audit import Residual, Stratum, error_bounds, residual_error
from reviews.core.agreement.figures import Figure, wilson
from reviews.core.agreement.item_history import Closeness, Visit, closeness, revised_rounds, round_points, stage_points
from reviews.core.agreement.kappas import cohen_kappa, fleiss_kappa, gwet_ac1, percent_agreement
from reviews.core.agreement.overlaps import Overlap, OverlapScores, added_up, overlap_scores
from reviews.core.agreement.patterns import Pattern, PatternCounts, ordered, pattern_key, read_pattern, unordered
from reviews.core.agreement.summary import SCALES, summarise
from reviews.core.agreement.units import (
    OVERLAPPING,
    RATED,
    RunFacts,
    SubmittedReview,
    Unit,
    count_units,
    exclusion_reason,
    rating_units,
)

__all__ = [
    "OVERLAPPING",
    "RATED",
    "SCALES",
    "Closeness",
    "ContentHistory",
    "Figure",
    "Overlap",
    "OverlapScores",
    "Pattern",
    "PatternCounts",
    "PointCount",
    "Residual",
    "RevisionRates",
    "RunFacts",
    "Stratum",
    "SubmittedReview",
    "Unit",
    "Visit",
    "accuracy_curve",
    "added_up",
    "closeness",
    "cohen_kappa",
    "count_content_histories",
    "count_content_history",
    "count_units",
    "error_bounds",
    "exclusion_reason",
    "fleiss_kappa",
    "gwet_ac1",
    "krippendorff_alpha",
    "ordered",
    "overlap_scores",
    "pattern_key",
    "percent_agreement",
    "rating_units",
    "read_pattern",
    "residual_error",
    "revised_rounds",
    "revision_rates",
    "round_points",
    "stage_points",
    "summarise",
    "unordered",
    "wilson",
]
