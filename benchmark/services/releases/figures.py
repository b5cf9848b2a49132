"""Figures on the quality of a release: agreement between independent reviewers, and the accuracy curve.

Computed once, when a release is frozen, and stored with it, since the project's figures keep changing.
"""

from collections.abc import Collection, Iterable
from dataclasses import asdict
from typing import Any

from annotator.models import Project
from annotator.services.custom_fields import fields_of
from reviews.core.agreement import OVERLAPPING, RATED, Figure, rated_fields, summarise
from reviews.services.statistics.access import read_compared_stages
from reviews.services.statistics.accuracy import PointAccuracy, read_accuracy, revisions_of_repeating
from reviews.services.statistics.agreement import hidden_patterns, read_agreement

#: Digits that are kept; more would be false precision.
DIGITS = 6

NOTES = {
    "agreement": (
        "First verdicts of independent reviewers in blind stages. Both reviewers saw the "
        "author's labels, so they agree more than people who start from nothing. Percent agreement and AC1 stay high "
        "where nearly all labels have one value; kappa and alpha fall, because chance explains more of the agreement. "
        "Intervals, 95 %, of labels of tasks take into account that the tasks of a dialogue are alike."
    ),
    "f1": (
        "F1 on calls and edges is micro-averaged over tasks, comparing one reviewer with the "
        "other: Assay's own definition."
    ),
    "accuracy": (
        "The share of finished dialogues whose revision after a stage equals the verified "
        "one. Rejected ones count as wrong, unfinished ones are left out. After the last stage, this is so by "
        "definition; see the residual errors for what is left. Wilson intervals, 95 %, for independent dialogues of "
        "these owners: for other owners, or if near-duplicates are right or wrong together, they are too narrow."
    ),
    "audits": (
        "Errors left in undisputed finished dialogues, estimated from a random sample by owner and draw. 95 % bounds."
    ),
    "revision_rounds": (
        "The share of finished dialogues that were changed in a stage which repeats until nothing changes, by number "
        "of rounds. Dialogues that were not reviewed in the stage are left out. Wilson intervals, 95 %, for "
        "independent dialogues of these owners."
    ),
}


def read_figures(project: Project, *, public: Collection[int] = ()) -> dict[str, Any]:
    """Return accuracy, revisions and agreement of a project now, as JSON values.

    Gold answers are left out, as on pages for people who must not know them: comparing the two figures would tell how
    each was verified. ``public``: keys of those that the release is about to publish.
    """
    accuracy = read_accuracy(project=project, hide_answers=True, public=public)
    less = hidden_patterns(project, public=public)
    fields = rated_fields(fields_of(project))
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
                    "sensitivity": _figure(one.sensitivity.figure),
                    "warnings": one.residual.warnings,
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
            for one in revisions_of_repeating(project, accuracy)
        ],
        "agreement": [
            {
                "stage": stage,
                "label": label,
                "figures": [
                    _figure(figure)
                    for figure in summarise(
                        label,
                        read_agreement(project=project, stage=stage, label=label, less=less),
                        pair=False,
                        field=fields.get(label),
                    )
                ],
            }
            for stage in read_compared_stages(project=project)
            for label in (*RATED, *OVERLAPPING, *fields)
        ],
    }  # fmt: skip


def _points(points: Iterable[PointAccuracy]) -> list[dict[str, Any]]:
    return [
        {
            "key": one.key, "title": one.title, "right": one.right, "of": one.of, "accuracy": _figure(one.figure),
            "without_messages": _figure(one.without_messages),
            "without_missing_labels": _figure(one.without_missing_labels),
        }
        for one in points
    ]  # fmt: skip


def _figure(figure: Figure) -> dict[str, Any]:
    method = None if figure.low is None else figure.method
    return {
        "name": figure.name,
        "n": figure.n,
        "value": _rounded(figure.value),
        "low": _rounded(figure.low),
        "high": _rounded(figure.high),
        "undefined": figure.undefined,
        "interval": None if method is None else asdict(method),
        "caution": figure.caution,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)
