"""Which statistics a label of a stage, or of a pair, has: what a page or an export lists."""

from annotator.core.schema.documents import Information, Policy
from reviews.core.agreement.alpha import krippendorff_alpha
from reviews.core.agreement.figures import LEVEL, Figure
from reviews.core.agreement.kappas import cohen_kappa, fleiss_kappa, gwet_ac1, percent_agreement
from reviews.core.agreement.overlaps import overlap_scores
from reviews.core.agreement.patterns import PatternCounts, Value
from reviews.core.agreement.units import OVERLAPPING, RATED
from reviews.core.protocols import Verdict

#: The values a reviewer could give. None of these labels is ordered, so alpha is nominal.
SCALES: dict[str, tuple[Value, ...]] = {
    "verdict": tuple(map(str, Verdict)),
    "policy": tuple(map(str, Policy)),
    "information": tuple(map(str, Information)),
}


def summarise(label: str, counts: PatternCounts, *, pair: bool, level: float = LEVEL) -> list[Figure]:
    """The statistics of a label, in the order they are shown.

    ``pair``: the patterns are those of two people in a fixed order, which Cohen's kappa, precision and recall take;
    otherwise reviewers are interchangeable. Raises ValueError for an unknown label or a value that it cannot have.
    """
    if label in OVERLAPPING:
        scores = overlap_scores(counts, of=label, level=level)
        return [scores.precision, scores.recall, scores.f1] if pair else [scores.f1]
    if label not in RATED:
        raise ValueError(f"There is no label {label}; it is one of {', '.join((*RATED, *OVERLAPPING))}.")
    kappa = cohen_kappa(counts, level) if pair else fleiss_kappa(counts, level)
    return [
        percent_agreement(counts, level),
        kappa,
        krippendorff_alpha(counts, level=level),
        gwet_ac1(counts, SCALES[label], level),
    ]
