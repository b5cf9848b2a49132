"""Rating patterns counted as stages settle: what agreement is computed from, without ever reading all reviews.

A run that settles is put into an outbox in the transition's own transaction; a task counts its patterns and removes it
from there in one transaction, so that each run is counted once. Figures are those of the runs counted so far.
"""

from collections import Counter as Tally
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import combinations, islice
from zoneinfo import ZoneInfo

from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Sum

from annotator.models import Project
from annotator.models.content import SetApart
from annotator.services.database.statements import write
from reviews.core.agreement import (
    Circumstances,
    HandedIn,
    Pattern,
    PatternCounts,
    left_out,
    pattern_key,
    rating_units,
    read_pattern,
)
from reviews.core.protocols import StageKind
from reviews.models import AgreementCount, AgreementPending, Review, StageRun, StageRunState
from reviews.services.statistics.hidden_gold import hidden_runs
from reviews.services.statistics.item_history import describe

#: Runs that one transaction counts.
FOLD_SIZE = 100


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """What an ``AgreementCount`` of a project counts."""

    stage: str
    label: str
    pair: str
    week: date
    pattern: str


@dataclass(frozen=True, slots=True)
class Difference:
    """A count that is not what the reviews say."""

    key: Key
    stored: int
    right: int


def await_counting(*, run: StageRun, circumstances: Circumstances) -> None:
    """Put a run that settles into the outbox, if its reviews count; in the caller's transaction."""
    if not left_out(circumstances):
        write(
            "INSERT INTO reviews_agreementpending (stage_run_id, project_id) VALUES (%s, %s)", [run.pk, run.project_id]
        )


def fold_agreement() -> int:
    """Count one portion of each project's outbox; returns how many runs. Safe beside other folders."""
    waiting = AgreementPending.objects.filter(problem="")
    projects = waiting.values_list("project_id", flat=True).distinct().order_by("project_id")
    return sum(_fold(project_id) for project_id in projects)


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
    """The pattern counts of a label in a stage; of all reviewers, or of two people by their ids.

    ``since`` and ``until``: from the week of the one up to and including the week of the other. The patterns of a pair
    stand in the order of their ids, whichever way round they are given. ``less``: ``hidden_patterns``, for who is not
    to know the runs in them.
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
    return PatternCounts({read_pattern(key): int(total) for key, total in totals.items() if total > 0})


def hidden_patterns(project: Project, *, public: Collection[int] = ()) -> Mapping[Key, int]:
    """What the known answers of gold items add to the counts. Reads their reviews; there are as many as gold items.

    ``public``: keys of answers that are about to be open to all.
    """
    runs = [run.pk for run in hidden_runs(project, public=public)]
    return _tally_countable(list(_countable(project).filter(pk__in=runs).values_list("pk", flat=True)))[0]


def read_pairs(*, project: Project, stage: str) -> list[tuple[int, int]]:
    """The people who reviewed items of the stage together, by their ids, the lower first."""
    pairs = AgreementCount.objects.filter(project=project, stage=stage).exclude(pair="")
    found = (tuple(map(int, pair.split(":"))) for pair in pairs.values_list("pair", flat=True).distinct().order_by())
    return sorted((left, right) for left, right in found)


def read_each_pair(
    *, project: Project, stage: str, label: str, since: date | None = None, until: date | None = None
) -> dict[tuple[int, int], PatternCounts]:
    """What ``read_agreement`` gives for each pair, in one statement; in the order of ``read_pairs``."""
    counts = AgreementCount.objects.filter(project=project, stage=stage, label=label).exclude(pair="")
    if since is not None:
        counts = counts.filter(week__gte=monday(since))
    if until is not None:
        counts = counts.filter(week__lte=monday(until))
    found: dict[tuple[int, int], dict[Pattern, int]] = {}
    for pair, pattern, total in counts.values_list("pair", "pattern").annotate(total=Sum("count")).order_by():
        one, other = map(int, pair.split(":"))
        found.setdefault((one, other), {})[read_pattern(pattern)] = int(total)
    return {pair: PatternCounts(patterns) for pair, patterns in sorted(found.items())}


def read_set_aside(project: Project) -> list[str]:
    """Why runs cannot be counted, one sentence for each that was set aside; the others went on."""
    return list(
        AgreementPending.objects.filter(project=project)
        .exclude(problem="")
        .order_by("pk")
        .values_list("problem", flat=True)
    )


def pair_key(one: int, other: int) -> str:
    """How the pair of two people is written: the lower id first."""
    return f"{min(one, other)}:{max(one, other)}"


def monday(day: date) -> date:
    """The first day of its week."""
    return day - timedelta(days=day.weekday())


def recount_agreement(project: Project, *, repair: bool = False) -> list[Difference]:
    """Compare the counts with what all reviews say, and with ``repair`` put right what differs.

    What waits in the outbox is not missed: it will be counted. What was set aside is not missed either, unless it can
    be counted after all. Reads every review once, most of it without a lock.
    """
    right: Tally[Key] = Tally()
    seen: set[int] = set()
    bad: set[int] = set()
    for portion in _portions(_countable(project).values_list("pk", flat=True).iterator()):
        seen.update(portion)
        tally, problems = _tally_countable(portion)
        right.update(tally)
        bad.update(problems)
    with transaction.atomic():
        _lock(project.pk)
        # Runs before their outbox: what settles between the two is in neither, instead of in the first alone.
        settled = set(_countable(project).values_list("pk", flat=True))
        outbox = AgreementPending.objects.filter(project=project)
        pending = set(outbox.filter(problem="").values_list("pk", flat=True))
        for portion in _portions(sorted(settled - seen - pending)):
            right.update(_tally_countable(portion)[0])
        for portion in _portions(sorted((pending & seen) - bad)):
            right.subtract(_tally(portion))
        stored = _stored(project)
        wrong = sorted(key for key in right.keys() | stored.keys() if right[key] != stored[key])
        if repair:
            _add(project.pk, [(key, right[key] - stored[key]) for key in wrong])
            AgreementCount.objects.filter(project=project, count=0).delete()
            for portion in _portions(sorted(seen - bad)):
                outbox.exclude(problem="").filter(pk__in=portion).delete()
    return [Difference(key, stored[key], right[key]) for key in wrong]


def _fold(project_id: int) -> int:
    waiting = AgreementPending.objects.filter(project_id=project_id, problem="")
    # Reviews of a settled run never change, so comparing them needs no lock.
    tallies: dict[int, Tally[Key]] = {}
    problems: dict[int, str] = {}
    for run in waiting.order_by("pk").values_list("pk", flat=True)[:FOLD_SIZE]:
        tallies[run], found = _tally_countable([run])
        problems.update(found)
    with transaction.atomic():
        _lock(project_id)
        mine = list(waiting.filter(pk__in=tallies).values_list("pk", flat=True))
        total: Tally[Key] = Tally()
        for run in mine:
            total.update(tallies[run])
        _add(project_id, sorted(total.items()))
        for run in set(mine) & problems.keys():
            waiting.filter(pk=run).update(problem=problems[run])
        waiting.filter(pk__in=[run for run in mine if run not in problems]).delete()
    return len(mine)


def _tally_countable(run_ids: Sequence[int]) -> tuple[Tally[Key], dict[int, str]]:
    """The pattern counts of the runs that can be counted, and why the others cannot."""
    try:
        return _tally(run_ids), {}
    except (DatabaseError, InterfaceError, MemoryError):
        # Not the run's fault: try again later.
        raise
    except Exception as problem:
        if len(run_ids) == 1:
            return Tally(), {run_ids[0]: describe(problem)}
    total: Tally[Key] = Tally()
    problems: dict[int, str] = {}
    for run in run_ids:
        tally, found = _tally_countable([run])
        total.update(tally)
        problems.update(found)
    return total, problems


def _lock(project_id: int) -> None:
    """Let nobody else fold or repair this project's counts until the transaction ends; others do not wait for it."""
    list(Project.objects.select_for_update(no_key=True).filter(pk=project_id).values_list("pk", flat=True))


def _countable(project: Project) -> QuerySet[StageRun]:
    """Runs that may count; ``left_out`` has the last word."""
    # Where a stage goes by draws its rounds are theirs, not the item's: see ``StageRun.look``.
    earlier = Review.objects.filter(
        stage_run__cycle=OuterRef("cycle"), stage_run__stage=OuterRef("stage"), stage_run__round__lt=OuterRef("round")
    )
    first = Q(looks=0) | Q(looks=None, round=1) | Q(~Exists(earlier), looks=None, round__gt=1)
    runs = StageRun.objects.filter(first, project=project, state=StageRunState.SETTLED, blind=True, cycle__number=1)
    runs = runs.exclude(cycle__dialogue__set_apart=SetApart.GOLD)
    # Runs with one review have no number of discrepancies.
    return runs.filter(discrepancy_count__isnull=False).order_by("pk")


def _tally(run_ids: Sequence[int]) -> Tally[Key]:
    """The pattern counts of these runs: for all reviewers, and for each pair of them."""
    reviews = (
        Review.objects.filter(stage_run__in=run_ids)
        .select_related("stage_run__cycle", "dialogue__project", "seen_revision", "made_revision")
        .defer("dialogue__search_text")
        .order_by("stage_run_id", "person_id")
    )
    by_run: dict[int, list[Review]] = {}
    for review in reviews:
        by_run.setdefault(review.stage_run_id, []).append(review)
    out: Tally[Key] = Tally()
    for of_run in by_run.values():
        if not left_out(circumstances(of_run)):
            out.update(_keys(of_run))
    return out


def circumstances(reviews: Sequence[Review]) -> Circumstances:
    """Under which a settled run was reviewed. ``reviews``: all of the run."""
    run = reviews[0].stage_run
    return Circumstances(
        kind=StageKind(reviews[0].stage_kind),
        blind=run.blind,
        reviews=len(reviews),
        round=run.look,
        passage=run.cycle.number,
        gold=reviews[0].dialogue.set_apart == SetApart.GOLD,
    )


def _keys(reviews: Sequence[Review]) -> Iterator[Key]:
    run = reviews[0].stage_run
    if run.settled_at is None:
        raise ValueError(f"Stage run {run.pk} has not settled, so its reviews cannot be compared yet.")
    week = monday(run.settled_at.astimezone(ZoneInfo(reviews[0].dialogue.project.time_zone)).date())
    said = [(review.person_id, _handed_in(review)) for review in reviews]
    for unit in rating_units([one for _, one in said]):
        yield Key(run.stage, unit.label, "", week, pattern_key(unit.of_anybody()))
    for (one, left), (other, right) in combinations(said, 2):
        for unit in rating_units([left, right]):
            yield Key(run.stage, unit.label, pair_key(one, other), week, pattern_key(unit.pattern))


def _handed_in(review: Review) -> HandedIn:
    return HandedIn(review.verdict, (review.made_revision or review.seen_revision).document())


def _stored(project: Project) -> Tally[Key]:
    rows = AgreementCount.objects.filter(project=project).values_list(
        "stage", "label", "pair", "week", "pattern", "count"
    )
    return Tally({Key(*row[:5]): row[5] for row in rows.iterator()})


def _add(project_id: int, changes: Iterable[tuple[Key, int]]) -> None:
    adapt = connection.ops.adapt_datefield_value
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO reviews_agreementcount (project_id, stage, label, pair, week, pattern, count) "
            "VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (project_id, stage, label, pair, week, pattern) "
            "DO UPDATE SET count = reviews_agreementcount.count + excluded.count",
            [
                (project_id, key.stage, key.label, key.pair, adapt(key.week), key.pattern, change)
                for key, change in changes
                if change
            ],
        )


def _portions(ids: Iterable[int]) -> Iterator[list[int]]:
    ids = iter(ids)
    while portion := list(islice(ids, FOLD_SIZE)):
        yield portion
