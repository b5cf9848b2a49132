"""Counts rating patterns of settled stages, so that agreement needs no reading of reviews.

A run is put into the outbox when it settles (see ``counting``). Figures include the runs counted so far.
"""

from collections import Counter as Tally
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, timedelta
from itertools import combinations
from typing import NamedTuple
from zoneinfo import ZoneInfo

from django.db.models import Exists, OuterRef, Q, QuerySet, Sum

from annotator.models import Project
from annotator.models.content import GoldRole
from reviews.core.agreement import (
    Pattern,
    PatternCounts,
    RunFacts,
    SubmittedReview,
    dialogue_keys,
    exclusion_reason,
    rating_units,
    read_counts,
)
from reviews.core.protocols import StageKind
from reviews.models import AgreementCount, AgreementPending, Review, StageRun, StageRunState
from reviews.services.protocols.versions import newest_stages
from reviews.services.statistics.counting import Counting
from reviews.services.statistics.hidden_gold import hidden_runs


class Key(NamedTuple):
    """The key of an ``AgreementCount`` within a project."""

    stage: str
    label: str
    pair: str
    week: date
    pattern: str


class _Agreement(Counting[int, Key]):
    counts, key = AgreementCount, Key._fields
    outbox, item = AgreementPending, ("stage_run_id",)

    def items(self, project: Project) -> Iterable[int]:
        return _may_count(project).values_list("pk", flat=True)

    def count(self, project: Project, items: Sequence[int]) -> dict[int, Tally[Key]]:
        """Return the patterns of each run and the pairs of them: of all its reviewers, and of each two."""
        reviews = (
            Review.objects.filter(stage_run__in=items)
            .select_related("stage_run__cycle", "dialogue__project", "seen_revision", "made_revision")
            .defer("dialogue__search_text")
            .order_by("stage_run_id", "person_id")
        )
        by_run: dict[int, list[Review]] = {}
        for review in reviews:
            by_run.setdefault(review.stage_run_id, []).append(review)
        return {run: _tally(of_run) for run, of_run in by_run.items() if not exclusion_reason(run_facts(of_run))}


AGREEMENT = _Agreement()


def await_counting(*, run: StageRun, run_facts: RunFacts) -> None:
    """Put a run that settles into the outbox if its reviews count, in the caller's transaction."""
    if not exclusion_reason(run_facts):
        AGREEMENT.enqueue(run.project_id, [run.pk])


def read_agreement(
    *,
    project: Project,
    stage: str,
    label: str,
    pair: tuple[int, int] | None = None,
    since: date | None = None,
    until: date | None = None,
    less: Mapping[Key, int] | None = None,
) -> PatternCounts:
    """Return the pattern counts of a label in a stage, of all reviewers or of two people by their ids.

    ``since`` and ``until``: days in the first and the last week. The patterns of a pair are in the order of their ids,
    whatever the order of the arguments. ``less``: ``hidden_patterns``, for people who must not know those runs.
    """
    counts = AgreementCount.objects.filter(
        project=project, stage=stage, label=label, pair=pair_key(*pair) if pair else ""
    )
    if since is not None:
        counts = counts.filter(week__gte=monday(since))
    if until is not None:
        counts = counts.filter(week__lte=monday(until))
    totals = dict(counts.values_list("pattern").annotate(total=Sum("count")).order_by())
    first, last = (None if day is None else monday(day) for day in (since, until))
    for key, count in (less or {}).items():
        fits = (key.stage, key.label, key.pair) == (stage, label, pair_key(*pair) if pair else "")
        if fits and key.pattern in totals and (first or key.week) <= key.week <= (last or key.week):
            totals[key.pattern] -= count
    return read_counts({key: int(total) for key, total in totals.items() if total > 0})


def hidden_patterns(project: Project, *, public: Collection[int] = ()) -> Mapping[Key, int]:
    """Return what the known answers of gold items add to the counts. Reads their reviews, as many as gold items.

    ``public``: keys of answers that are about to become public.
    """
    runs = [run.pk for run in hidden_runs(project, public=public)]
    return AGREEMENT.tally(project, _may_count(project).filter(pk__in=runs).values_list("pk", flat=True))


def read_each_pair(
    *, project: Project, stage: str, label: str, since: date | None = None, until: date | None = None
) -> dict[tuple[int, int], PatternCounts]:
    """Return ``read_agreement`` for each pair of people who reviewed items together, by their ids."""
    counts = AgreementCount.objects.filter(project=project, stage=stage, label=label).exclude(pair="")
    if since is not None:
        counts = counts.filter(week__gte=monday(since))
    if until is not None:
        counts = counts.filter(week__lte=monday(until))
    found: dict[tuple[int, int], dict[str, int]] = {}
    for pair, pattern, total in counts.values_list("pair", "pattern").annotate(total=Sum("count")).order_by():
        one, other = map(int, pair.split(":"))
        found.setdefault((one, other), {})[pattern] = int(total)
    return {pair: read_counts(patterns) for pair, patterns in sorted(found.items())}


def compared_reviewers(project: Project, stage: str = "") -> int:
    """Return how many reviewers a stage compares; without one, the first stage that compares any. Otherwise two."""
    compared = [one for one in newest_stages(project).values() if one.blind and one.reviewers > 1]
    return next((one.reviewers for one in compared if stage in ("", one.key)), 2)


def pair_key(one: int, other: int) -> str:
    """Return the key of a pair: the lower id first."""
    return f"{min(one, other)}:{max(one, other)}"


def monday(day: date) -> date:
    """Return the first day of a day's week."""
    return day - timedelta(days=day.weekday())


def _may_count(project: Project) -> QuerySet[StageRun]:
    """Return runs that may count; ``exclusion_reason`` decides."""
    # In a stage with draws, rounds belong to the draws, not to the item: see ``StageRun.look``.
    earlier = Review.objects.filter(
        stage_run__cycle=OuterRef("cycle"), stage_run__stage=OuterRef("stage"), stage_run__round__lt=OuterRef("round")
    )
    first = Q(looks=0) | Q(looks=None, round=1) | Q(~Exists(earlier), looks=None, round__gt=1)
    runs = StageRun.objects.filter(first, project=project, state=StageRunState.SETTLED, blind=True, cycle__number=1)
    runs = runs.exclude(cycle__dialogue__gold_role=GoldRole.GOLD)
    # Runs with one review have no number of discrepancies.
    return runs.filter(discrepancy_count__isnull=False).order_by("pk")


def run_facts(reviews: Sequence[Review]) -> RunFacts:
    """Return how a settled run was reviewed. ``reviews``: all of the run."""
    run = reviews[0].stage_run
    return RunFacts(
        kind=StageKind(reviews[0].stage_kind),
        blind=run.blind,
        reviews=len(reviews),
        round=run.look,
        cycle=run.cycle.number,
        gold=reviews[0].dialogue.gold_role == GoldRole.GOLD,
    )


def _tally(reviews: Sequence[Review]) -> Tally[Key]:
    run = reviews[0].stage_run
    if run.settled_at is None:
        raise ValueError(f"Stage run {run.pk} has not ended, so its reviews cannot be compared yet.")
    week = monday(run.settled_at.astimezone(ZoneInfo(reviews[0].dialogue.project.time_zone)).date())
    said = [(review.person_id, _submitted(review)) for review in reviews]
    patterns: dict[tuple[str, str], list[Pattern]] = {}
    for unit in rating_units([one for _, one in said]):
        patterns.setdefault((unit.label, ""), []).append(unit.without_reviewers())
    for (one, left), (other, right) in combinations(said, 2):
        for unit in rating_units([left, right]):
            patterns.setdefault((unit.label, pair_key(one, other)), []).append(unit.pattern)
    return Tally(
        {
            Key(run.stage, label, pair, week, key): times
            for (label, pair), of_label in patterns.items()
            for key, times in dialogue_keys(of_label).items()
        }
    )


def _submitted(review: Review) -> SubmittedReview:
    return SubmittedReview(review.verdict, (review.made_revision or review.seen_revision).document())
