"""Agreement between reviewers and accuracy of items, computed from counts."""

from reviews.core.agreement.acceptance import Acceptance, acceptance
from reviews.core.agreement.accuracy import RevisionRates, accuracy_after, revision_rates
from reviews.core.agreement.alpha import krippendorff_alpha
from reviews.core.agreement.audit import Residual, Sensitivity, Stratum, error_bounds, residual_error
from reviews.core.agreement.custom_fields import RatedField, rated_fields
from reviews.core.agreement.figures import Figure, Method, wilson
from reviews.core.agreement.item_history import Closeness, Visit, closeness, revised_rounds, round_points, stage_points
from reviews.core.agreement.kappas import cohen_kappa, fleiss_kappa, gwet_ac1, percent_agreement
from reviews.core.agreement.overlaps import Overlap, OverlapScores, added_up, overlap_scores
from reviews.core.agreement.patterns import (
    Pattern,
    PatternCounts,
    dialogue_keys,
    ordered,
    pattern_key,
    read_counts,
    read_pattern,
    unordered,
)
from reviews.core.agreement.planning import dialogues_needed, more_dialogues, roughly
from reviews.core.agreement.summary import SCALES, summarise
from reviews.core.agreement.units import (
    OVERLAPPING,
    RATED,
    RunFacts,
    SubmittedReview,
    Unit,
    exclusion_reason,
    rating_units,
)
