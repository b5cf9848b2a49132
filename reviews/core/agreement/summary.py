"""Chooses the statistics of a label, for pages and exports, and says which intervals may be too narrow."""

from dataclasses import replace

from annotator.core.schema.documents import Information, Policy
from reviews.core.agreement.alpha import krippendorff_alpha
from reviews.core.agreement.clusters import FEW_DIALOGUES, MANY_DIALOGUES
from reviews.core.agreement.custom_fields import Level, RatedField, masi_distance, on_scale
from reviews.core.agreement.figures import LEVEL, Figure
from reviews.core.agreement.kappas import cohen_kappa, fleiss_kappa, gwet_ac1, percent_agreement
from reviews.core.agreement.overlaps import overlap_scores
from reviews.core.agreement.patterns import PatternCounts, Value
from reviews.core.agreement.units import OVERLAPPING, RATED
from reviews.core.protocols import Verdict

#: The possible values of each built-in label. None of them is ordered, so alpha is nominal.
SCALES: dict[str, tuple[Value, ...]] = {
    "verdict": tuple(map(str, Verdict)),
    "policy": tuple(map(str, Policy)),
    "information": tuple(map(str, Information)),
}


def summarise(
    label: str, counts: PatternCounts, *, pair: bool, level: float = LEVEL, field: RatedField | None = None
) -> list[Figure]:
    """Return the statistics of a label in the order in which they are shown.

    ``pair``: the patterns are those of two people in a fixed order, as Cohen's kappa, precision and recall need;
    otherwise reviewers are interchangeable. ``field``: how the label is rated, if it is a custom field. Raises
    ValueError for an unknown label or an impossible value.
    """
    if field is not None:
        counts = on_scale(counts, field)
    figures = _figures(label, counts, pair, level, field)
    # Units that are compared: those with two ratings, or with something in one of the sets.
    compared = (
        counts.changed(lambda one: one if any(one[1:3]) else None) if label in OVERLAPPING else counts.at_least(2)
    )
    dialogues = compared.dialogues()
    few = bool(compared.together()) and dialogues < MANY_DIALOGUES
    return [
        replace(
            figure, dialogues=dialogues, caution=FEW_DIALOGUES if few and figure.low is not None else figure.caution
        )
        for figure in figures
    ]


def _figures(label: str, counts: PatternCounts, pair: bool, level: float, field: RatedField | None) -> list[Figure]:
    if label in OVERLAPPING:
        scores = overlap_scores(counts, of=label, level=level)
        return [scores.precision, scores.recall, scores.f1] if pair else [scores.f1]
    if field is not None:
        if field.level is not Level.NOMINAL:
            order = field.values if field.level is Level.ORDINAL else None
            distance = masi_distance if field.level is Level.SET else None
            return [
                percent_agreement(counts, level),
                krippendorff_alpha(counts, order, distance=distance, level=level),
            ]
    elif label not in RATED:
        raise ValueError(f"There is no label {label}; it is one of {', '.join((*RATED, *OVERLAPPING))}.")
    kappa = cohen_kappa(counts, level) if pair else fleiss_kappa(counts, level)
    return [
        percent_agreement(counts, level),
        kappa,
        krippendorff_alpha(counts, level=level),
        gwet_ac1(counts, SCALES[label] if field is None else field.values, level),
    ]
