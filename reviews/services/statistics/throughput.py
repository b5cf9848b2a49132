"""Reads the figures of the progress page: reviews over time, time per item, error types and estimated completion.

Everything is read from counts that are updated as reviews are submitted (``statistics.workload``) and from counters,
except remaining reviews of rounds and approvals in a row, which are counted from the items in progress.
"""

from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property, partial
from typing import NamedTuple
from zoneinfo import ZoneInfo

from django.db.models import Count, Q, QuerySet, Sum
from django.utils.translation import gettext as _

from annotator.models import Project, User
from annotator.services.database.snapshot import one_snapshot
from reviews.core.agreement.forecasting import Forecast, forecast, quartiles
from reviews.core.protocols import EntryMode, Outcome, Protocol, Stage
from reviews.models import Review, Slot, SlotState, StageRun, StageRunState, WorkloadCount, WorkloadPending
from reviews.services.protocols.versions import current_protocol, stage_titles
from reviews.services.statistics.counters import read_counters
from reviews.services.statistics.hidden_gold import hidden_runs
from reviews.services.statistics.workload import Key, count_hidden, count_named, count_unsettled

#: Days from which the pace is computed, and days shown one by one before weeks are shown.
PACE_DAYS = 28
SHOWN_DAYS = 28
SHOWN_WEEKS = 26
#: Items that must have left a stage before their outcomes are used for the forecast.
MIN_SETTLED = 5


@dataclass(frozen=True)
class StageThroughput:
    """Reviews of one stage, a count for each of ``Throughput.starts``."""

    stage: str
    title: str
    counts: list[int]


@dataclass(frozen=True)
class Throughput:
    """Reviews per day or week (``step`` is 1 or 7 days), by stage; the last period is not over yet."""

    starts: list[date]
    step: int
    #: The stages with any review, in order.
    stages: list[StageThroughput]

    @property
    def total(self) -> int:
        return sum(sum(one.counts) for one in self.stages)


@dataclass(frozen=True)
class StageTime:
    """Seconds of activity in a stage's reviews. ``n``: reviews with a known time."""

    stage: str
    title: str
    n: int
    low: float
    median: float
    high: float


@dataclass(frozen=True)
class ErrorTypeCount:
    """How often an error type was named, by stage."""

    kind: str
    label: str
    by_stage: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.by_stage.values())


@dataclass(frozen=True)
class PersonWork:
    """How much one person reviewed, by stage."""

    pseudonym: str
    by_stage: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.by_stage.values())


@dataclass(frozen=True)
class PersonTimes:
    """How long one person takes: median seconds for an item and for a question of the checklist, None if unknown."""

    pseudonym: str
    items: int
    per_item: float | None
    questions: int
    per_question: float | None
    #: Of the questions: how many were answered together with others, by one key.
    together: int


class Days(NamedTuple):
    """When the work will be done; ``latest`` is None if the pace varies too much for a bound."""

    expected: date
    earliest: date
    latest: date | None


@dataclass(frozen=True)
class Outlook:
    """When the work will be done."""

    #: Reviews still to do: those that are open now, and those expected in later stages.
    open: int
    following: float
    forecast: Forecast
    today: date

    @property
    def remaining(self) -> float:
        return self.open + self.following

    @cached_property
    def dates(self) -> Days | None:
        """Return the expected, earliest and latest day; None if unknown or far in the future."""
        days = self.forecast.days
        if days is None or self.forecast.low is None or days > 3650:
            return None
        high = self.forecast.high
        return Days(
            self.today + timedelta(days=round(days)),
            self.today + timedelta(days=round(self.forecast.low)),
            None if high is None or high > 3650 else self.today + timedelta(days=round(high)),
        )


def read_throughput(
    *,
    project: Project,
    now: datetime,
    person: User | None = None,
    by_week: bool,
    shown_to: User | None = None,
    settled: bool = False,
) -> Throughput:
    """Return reviews per day of the last four weeks, or per week (from Monday) of the last half year, in local time.

    Periods before the first review are left out. ``shown_to``: somebody who must not know gold items; their own reviews
    of them count, those of others and of the known answers do not. ``settled``: without reviews in blind stages that
    have not ended, for the person's colleagues.
    """
    today = now.astimezone(ZoneInfo(project.time_zone)).date()
    step, most = (7, SHOWN_WEEKS) if by_week else (1, SHOWN_DAYS)
    last = today - timedelta(days=today.weekday()) if by_week else today
    starts = [last - timedelta(days=step * back) for back in reversed(range(most))]
    days = _days(project, person, starts[0], shown_to, settled)
    if not days:
        return Throughput([], step, [])
    first = min(days)[0]
    starts = [start for start in starts if start + timedelta(days=step) > first]
    by_stage: dict[str, list[int]] = defaultdict(lambda: [0] * len(starts))
    for (day, stage), count in days.items():
        place = (day - starts[0]).days // step
        # Clocks may differ: a review submitted “tomorrow” counts as today's.
        by_stage[stage][min(max(place, 0), len(starts) - 1)] += count
    titles = stage_titles(project)
    stages = [StageThroughput(key, title, by_stage[key]) for key, title in titles.items() if key in by_stage]
    return Throughput(starts, step, stages)


def read_times(
    *, project: Project, viewer: User | None = None, person: User | None = None, shown_to: User | None = None
) -> list[StageTime]:
    """Return quartiles of the time of reviews, by stage, in the protocol's order. ``shown_to`` as above.

    In a blind stage that has not ended only the viewer's own reviews count. Otherwise the change after a colleague's
    review would reveal how long it took.
    """
    counts: dict[str, list[tuple[int, int]]] = defaultdict(list)
    less = _less(project, person, "time", shown_to)
    held = partial(count_unsettled, project, person, what="time", viewer=viewer)
    for (stage, key), count in _sums(_rows(project, "time", person, shown_to), "stage", "key", less, held):
        counts[stage].append((int(key), count))
    out = []
    for stage, title in stage_titles(project).items():
        found = quartiles(counts[stage])
        if found is not None:
            out.append(StageTime(stage, title, sum(count for _, count in counts[stage]), *found))
    return out


def read_error_types(
    *, project: Project, person: User | None = None, received: bool = False, hide_answers: bool = False
) -> list[ErrorTypeCount]:
    """Return how often each error type was named, the most frequent first.

    For one person: errors named by them, or (``received``) in revisions that they wrote. ``hide_answers``: for people
    who must not know gold items, without errors in reviews of known answers, which seem to wait in their stage.
    """
    protocol = current_protocol(project)
    labels = {kind.key: kind.label for kind in protocol.taxonomy} if protocol else {}
    counts: dict[str, Tally[str]] = defaultdict(Tally)
    rows = _rows(project, "received" if received else "named", person)
    less = count_named(Review.objects.filter(stage_run__in=hidden_runs(project))) if hide_answers else Tally[Key]()
    if person is not None:
        less = Tally({key: count for key, count in less.items() if key[_PLACES["person"]] == person.pseudonym})
    for (stage, kind), count in _sums(rows, "stage", "key", less):
        counts[kind][stage] += count
    errors = [ErrorTypeCount(kind, labels.get(kind, kind), dict(stages)) for kind, stages in counts.items()]
    return sorted(errors, key=lambda one: (-one.total, one.label))


def read_people(*, project: Project) -> list[PersonWork]:
    """Return how much each person reviewed, most first. For people who oversee the project.

    Reviews in a blind stage count after it has ended; before, the figure would reveal who is done.
    """
    counts: dict[str, Tally[str]] = defaultdict(Tally)
    held = partial(count_unsettled, project, None, what="day")
    for (pseudonym, stage), count in _sums(_rows(project, "day", None), "person", "stage", held=held):
        counts[pseudonym][stage] += count
    people = [PersonWork(pseudonym, dict(stages)) for pseudonym, stages in counts.items()]
    return sorted(people, key=lambda one: (-one.total, one.pseudonym))


def read_person_times(
    *, project: Project, viewer: User, person: User | None = None, shown_to: User | None = None
) -> list[PersonTimes]:
    """Return how long each person takes for items and questions, or one person, in the order of their pseudonyms.

    In a blind stage that has not ended only the viewer's own reviews count, as in ``read_times``. ``shown_to``: as for
    ``read_throughput``.
    """
    found: dict[str, dict[str, list[tuple[int, int]]]] = {}
    for what in ("time", "asked", "bulk"):
        by_person = found.setdefault(what, defaultdict(list))
        less = _less(project, person, what, shown_to)
        held = partial(count_unsettled, project, person, what=what, viewer=viewer)
        for (pseudonym, key), count in _sums(_rows(project, what, person, shown_to), "person", "key", less, held):
            by_person[pseudonym].append((int(key or 0), count))
    out = []
    for pseudonym in sorted(found["time"].keys() | found["asked"].keys()):
        items, questions = found["time"].get(pseudonym, []), found["asked"].get(pseudonym, [])
        per_item, per_question = quartiles(items), quartiles(questions)
        out.append(
            PersonTimes(
                pseudonym,
                sum(count for _, count in items),
                None if per_item is None else per_item[1],
                sum(count for _, count in questions),
                None if per_question is None else per_question[1] / 10,
                sum(count for _, count in found["bulk"].get(pseudonym, [])),
            )
        )
    return out


def read_outlook(*, project: Project, now: datetime, shown_to: User | None = None) -> Outlook:
    """Return when the project's work will be done at the pace of the last four weeks.

    ``shown_to``: as for ``read_throughput``; the remaining work is the one on the project's page.
    """
    today = now.astimezone(ZoneInfo(project.time_zone)).date()
    protocol = current_protocol(project)
    counters = read_counters(project, with_gold=shown_to is not None, viewer=shown_to)
    left = {
        stage.key: counters.get(f"stage:{stage.key}:open", 0) + counters.get(f"stage:{stage.key}:claimed", 0)
        for stage in (protocol.stages if protocol else ())
    }
    following = 0.0
    if protocol:
        unseen, confirmed = _unseen(project, protocol), _confirmed(project, protocol)
        following = expected_to_follow(protocol, left, counters, unseen=unseen, confirmed=confirmed)
    since = today - timedelta(days=PACE_DAYS)
    days: Tally[date] = Tally()
    for (day, __), count in _days(project, None, since, shown_to).items():
        days[day] += count
    first = min(days, default=today)
    # Days before the first review say nothing about the pace, and today is not over.
    daily = [
        days[since + timedelta(days=place)] for place in range(PACE_DAYS) if since + timedelta(days=place) >= first
    ]
    if not days and WorkloadCount.objects.filter(project=project, what="day").exists():
        daily = [0] * PACE_DAYS
    open_now = sum(left.values())
    if not any(key.startswith("status:") for key in counters):
        return Outlook(0, 0.0, Forecast(reason=_("No dialogues yet, so there is no forecast.")), today)
    return Outlook(open_now, following, forecast(open_now + following, daily), today)


def count_waiting_work(project: Project) -> int:
    """Return the number of reviews that wait to be counted, without errors that wait for a blind stage to settle."""
    return WorkloadPending.objects.filter(project=project, errors=False, problem="").count()


def expected_to_follow(
    protocol: Protocol,
    left: Mapping[str, int],
    counters: Mapping[str, int],
    *,
    unseen: Mapping[str, int] | None = None,
    confirmed: Mapping[str, int] | None = None,
) -> float:
    """Return how many reviews in later stages the open ones will lead to, based on the outcomes so far.

    Uses the share of items leaving a stage that entered a later one; with fewer than five such items, the protocol's
    rule (all, or the drawn fraction). Items in a pool enter its stage at its fraction; in rounds, all items not seen
    there (``unseen``: how many wait, by stage). In a stage that repeats, an item has as many reviews as those that left
    it, or with fewer than five the approvals in a row that it needs; ``confirmed``: approvals that items in progress
    already have. Items that go back to their author are not included.
    """
    stages = protocol.stages

    def went_on(stage: Stage) -> int:
        """Return the items that left a stage for good."""
        again = (counters.get(f"outcome:{stage.key}:{outcome}", 0) for outcome in (Outcome.CONFIRM, Outcome.RESTART))
        return counters.get(f"settled:{stage.key}", 0) - sum(again)

    def looks(stage: Stage) -> float:
        """Return how often an item is reviewed before it leaves a stage."""
        if not stage.repeats:
            return 1.0
        done = went_on(stage)
        return counters.get(f"settled:{stage.key}", 0) / done if done >= MIN_SETTLED else stage.consecutive

    out = 0.0
    for place, stage in enumerate(stages):
        pooled = counters.get(f"stage:{stage.key}:pooled", 0) * stage.entry.fraction
        if stage.in_rounds:
            pooled = (unseen or {}).get(stage.key, 0)
        out += pooled * stage.reviewers * looks(stage)
        under_way = left.get(stage.key, 0) / stage.reviewers
        out += max(0.0, under_way * (looks(stage) - 1) - (confirmed or {}).get(stage.key, 0)) * stage.reviewers
        items = under_way + pooled
        for later in stages[place + 1 :]:
            done = went_on(stage)
            if later.in_rounds or (done < MIN_SETTLED and later.entry.mode is EntryMode.ALL):
                share = 1.0
            elif done >= MIN_SETTLED:
                reached = went_on(later) - counters.get(f"outcome:{later.key}:not_drawn", 0)
                share = min(1.0, reached / done)
            else:
                share = later.entry.fraction
            out += items * share * later.reviewers * looks(later)
    return out


def _unseen(project: Project, protocol: Protocol) -> dict[str, int]:
    """Return how many items wait for their first review without a dispute, by stage with rounds."""
    stages = [stage.key for stage in protocol.stages if stage.in_rounds]
    runs = StageRun.objects.filter(project=project, stage__in=stages, state=StageRunState.POOLED, seen=False)
    return dict(runs.values_list("stage").annotate(Count("id")).order_by()) if stages else {}


def _confirmed(project: Project, protocol: Protocol) -> dict[str, int]:
    """Return how many approvals the current revisions of items in progress have, by stage with approvals in a row."""
    stages = [stage.key for stage in protocol.stages if stage.consecutive > 1]
    slots = Slot.objects.filter(project=project, stage__in=stages, state__in=[SlotState.OPEN, SlotState.CLAIMED])
    return dict(slots.values_list("stage").annotate(Sum("confirms")).order_by()) if stages else {}


def _days(
    project: Project, person: User | None, since: date, shown_to: User | None = None, settled: bool = False
) -> dict[tuple[date, str], int]:
    rows = _rows(project, "day", person, shown_to).filter(key__gte=since.isoformat())
    less = _less(project, person, "day", shown_to)
    held = partial(count_unsettled, project, person, what="day") if settled else Tally
    return {(date.fromisoformat(day), stage): count for (day, stage), count in _sums(rows, "key", "stage", less, held)}


def _less(project: Project, person: User | None, what: str, shown_to: User | None) -> Tally[Key]:
    if shown_to is None or person is not None:
        return Tally()
    return count_hidden(project, what=what, viewer=shown_to)


#: Position of a column in a key of ``workload``.
_PLACES = {"stage": 1, "person": 2, "key": 3}


def _sums(
    rows: QuerySet[WorkloadCount],
    one: str,
    other: str,
    less: Mapping[Key, int] | None = None,
    held: Callable[[], Tally[Key]] = Tally,
) -> Iterator[tuple[tuple[str, str], int]]:
    """Return sums of counts by two columns, added up by the database, because there is a row for each person and day.

    ``less``: counts to subtract if there are rows of their kind; ``held`` reads more of them.
    """
    summed = rows.values_list("what", one, other).annotate(total=Sum("count")).order_by()
    # In one snapshot, so that a fold between two reads does not show.
    with one_snapshot():
        found, off = list(summed), Tally(less or {}) + held()
    total: dict[str, Tally[tuple[str, str]]] = defaultdict(Tally)
    for what, first, second, count in found:
        total[what][first, second] += int(count)
    for key, count in off.items():
        place = key[_PLACES[one]], key[_PLACES[other]]
        if place in total.get(key[0], ()):
            total[key[0]][place] -= count
    together: Tally[tuple[str, str]] = Tally()
    for counts in total.values():
        together.update(counts)
    yield from ((place, count) for place, count in together.items() if count)


def _rows(project: Project, what: str, person: User | None, shown_to: User | None = None) -> QuerySet[WorkloadCount]:
    kinds = Q(what=what)
    if shown_to is not None:
        kinds |= Q(what=f"gold_{what}", person=shown_to.pseudonym)
    rows = WorkloadCount.objects.filter(kinds, project=project, count__gt=0)
    return rows if person is None else rows.filter(person=person.pseudonym)
