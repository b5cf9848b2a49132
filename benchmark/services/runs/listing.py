"""Lists of runs and scores for programs, and which rows may have changed since a moment."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from django.db.models import Prefetch, Q, QuerySet

from annotator.models import Job, User
from benchmark.models import Figure, Release, Run, ScoreSet
from benchmark.services.runs.boards import COLUMNS, newest_sets
from benchmark.services.runs.rescoring import KIND

#: Rows and a moment → those that may have changed since.
Since = Callable[[QuerySet[Any], datetime], QuerySet[Any]]

#: The figures of leaderboards, of all families.
_LEADING = sorted({name for columns in COLUMNS.values() for name, _cell in columns})


def list_runs(*, actor: User, release: Release, family: str = "") -> QuerySet[Run]:
    """Return the complete runs of a release, of all families or of one."""
    found = Run.objects.visible_to(actor).filter(release=release).select_related("file")
    return found.filter(family=family) if family else found


def with_scores(runs: Iterable[Run]) -> list[ScoreSet]:
    """Return the newest scores of runs, in their order, with the figures of the leaderboard prefetched."""
    wanted = list(runs)
    figures = Figure.objects.filter(name__in=_LEADING).order_by("name", "cell")
    sets = newest_sets().filter(run__in=wanted).prefetch_related(Prefetch("figures", figures))
    by_run: dict[int, ScoreSet] = {one.run_id: one for one in sets}
    found = []
    for run in wanted:
        if run.pk in by_run:
            by_run[run.pk].run = run
            found.append(by_run[run.pk])
    return found


def leading_figures(score_set: ScoreSet) -> list[Figure]:
    """Return the figures of the leaderboard, in its order, of scores that ``with_scores`` returned."""
    by_column = {(one.name, one.cell): one for one in score_set.figures.all()}
    return [by_column[column] for column in COLUMNS[score_set.run.family] if column in by_column]


def runs_changed_since(release: Release) -> Since:
    """Return a function that returns all runs of a release if scoring changed some of them since a moment, because
    it changes figures of several runs; else those that were stored since.
    """

    def changed(rows: QuerySet[Any], moment: datetime) -> QuerySet[Any]:
        return rows if _scored_since(release, moment) else rows.filter(created_at__gte=moment)

    return changed


def scores_changed_since(release: Release) -> Since:
    """Return a function that returns all scores of a run if the release was scored since a moment, else none."""

    def changed(rows: QuerySet[Any], moment: datetime) -> QuerySet[Any]:
        return rows if _scored_since(release, moment) else rows.none()

    return changed


def _scored_since(release: Release, moment: datetime) -> bool:
    """Return whether a job that scores a release has ended since a moment or has not ended."""
    own = Q(prediction_file__release=release) | Q(inference__release=release) | Q(recount__release=release)
    again = Q(kind=KIND, project=release.project_id)
    return Job.objects.filter(Q(ended_at__gte=moment) | Q(ended_at=None)).filter(own | again).exists()
