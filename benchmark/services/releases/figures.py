"""What a release says of how it was verified: agreement between independent reviewers, and the accuracy curve.

Read once, when a release is frozen, and stored with it: the figures of a project go on changing.
"""

from collections.abc import Collection, Iterable
from typing import Any

from annotator.models import Project
from reviews.core.agreement import OVERLAPPING, RATED, Figure, summarise
from reviews.services.statistics.access import read_compared_stages
from reviews.services.statistics.accuracy import PointAccuracy, read_accuracy
from reviews.services.statistics.agreement import hidden_patterns, read_agreement
from reviews.services.statistics.revision_rates import read_revision_rounds

#: Digits that are kept: more would only say that they were computed.
DIGITS = 6

NOTES = {
    "agreement": "Independent first looks of blind stages. Both reviewers saw the author's labels, so they agree more "
    "than people would who began from nothing.",
    "f1": "F1 on calls and edges is micro-averaged over tasks, one reviewer's against the other's: a definition of "
    "Assay's own.",
    "accuracy": "The share of finished dialogues that were, at the end of a stage, what was verified in the end. "
    "Rejected ones count as wrong, unfinished ones are left out. Intervals are Wilson's, of 95 %.",
    "revision_rounds": "Finished dialogues that were changed in a stage that goes on until reviewers change nothing, "
    "by the number of rounds it took, of those that somebody looked at there. Intervals are Wilson's, of 95 %.",
}


def read_figures(project: Project, *, public: Collection[int] = ()) -> dict[str, Any]:
    """Accuracy, revisions and agreement of a project now, as JSON values.

    Known answers of gold items are left out as on the pages of people who are not to know them: beside those, figures
    with them would say how each was verified. ``public``: keys of those that the release is about to open to all.
    """
    accuracy = read_accuracy(project=project, hide_answers=True, public=public)
    less = hidden_patterns(project, public=public)
    return {
        "notes": NOTES,
        "accuracy": {
            "finished": accuracy.finished,
            "verified": accuracy.verified,
            "rejected": accuracy.rejected,
            "by_stage": _points(accuracy.by_stage),
            "by_round": [{"stage": one.stage, "rounds": _points(one.rounds)} for one in accuracy.by_round],
            "revisions": [
                {
                    "stage": one.stage, "items": one.items, "not_drawn": one.not_drawn,
                    "revised": _figure(one.rates.total),
                }
                for one in accuracy.revisions
            ],
            "audits": [
                {
                    "stage": one.stage, "population": one.population, "audited": one.audited, "errors": one.errors,
                    "residual": _figure(one.residual.residual),
                }
                for one in accuracy.audits
            ],
        },
        "revision_rounds": [
            {
                "stage": one.stage, "title": one.title, "items": one.items, "not_drawn": one.not_drawn,
                "revised": {str(rounds): count for rounds, count in one.revised.items()},
                "rate": _figure(one.rates.total),
            }
            for one in read_revision_rounds(project, hide_answers=True, public=public)
        ],
        "agreement": [
            {
                "stage": stage,
                "label": label,
                "figures": [
                    _figure(figure)
                    for figure in summarise(
                        label, read_agreement(project=project, stage=stage, label=label, less=less), pair=False
                    )
                ],
            }
            for stage in read_compared_stages(project=project)
            for label in (*RATED, *OVERLAPPING)
        ],
    }  # fmt: skip


def _points(points: Iterable[PointAccuracy]) -> list[dict[str, Any]]:
    return [
        {
            "key": one.key, "title": one.title, "right": one.right, "of": one.of, "accuracy": _figure(one.figure),
            "without_messages": _figure(one.without_messages),
        }
        for one in points
    ]  # fmt: skip


def _figure(figure: Figure) -> dict[str, Any]:
    return {
        "name": figure.name,
        "n": figure.n,
        "value": _rounded(figure.value),
        "low": _rounded(figure.low),
        "high": _rounded(figure.high),
        "undefined": figure.undefined,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)
