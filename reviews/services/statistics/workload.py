"""Who reviewed how much, how long it took and which faults were named: counted from an outbox.

A review is put into the outbox as it is handed in, in the same transaction; what it says of faults is counted only when
its stage has settled, so that nothing of a blind stage can be read off the counts. ``person`` is a pseudonym. Reviews
of gold items are no work on the benchmark: they are counted apart (``gold_day``, ``gold_time``), for those who take
them for ordinary ones. Keys:

    day      the day of the project's zone on which the reviewer handed in
    time     seconds of activity, to a second up to a minute, to 5 up to ten minutes, to 30 beyond; of no use where 0
    named    a kind of the taxonomy, once for each fault or ruling of the reviewer
    received a kind of the taxonomy, once for each fault named in a version that this person wrote
"""

from collections import Counter as Tally
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import Case, Count, F, Q, QuerySet, Value, When
from django.db.models.functions import TruncDate

from annotator.models import Project, User
from annotator.models.content import SetApart
from annotator.services.database.statements import write
from annotator.services.history.event_chain import in_portions
from reviews.models import Review, WorkCount, WorkPending
from reviews.services.statistics.hidden_gold import hidden_runs
from reviews.services.statistics.item_history import describe

#: Rows of the outbox that one transaction counts.
FOLD_SIZE = 500

#: what, stage, person, key
Key = tuple[str, str, str, str]
#: The key of a review, and whether its faults are meant instead of its time: a row of the outbox.
Part = tuple[int, bool]


@dataclass(frozen=True, slots=True)
class Difference:
    """A count that is not what the reviews say."""

    key: Key
    stored: int
    right: int


def await_work_count(*, review: Review, faults: bool) -> None:
    """Put a review that is being handed in into the outbox; ``faults``: whether it names any."""
    values: list[int | bool] = [review.pk, review.project_id, False]
    if faults:
        values += [review.pk, review.project_id, True]
    marks = ", ".join(["(%s, %s, %s)"] * (len(values) // 3))
    write(f"INSERT INTO reviews_workpending (review_id, project_id, faults) VALUES {marks}", values)  # noqa: S608


def fold_work() -> int:
    """Count one portion of each project's outbox; returns how many rows it took. Safe beside other folders."""
    projects = Project.objects.filter(pk__in=_ready().values("project"))
    return sum(_fold(project) for project in projects.order_by("pk"))


def read_work_set_aside(project: Project, *, person: User | None = None) -> list[str]:
    """Why reviews cannot be counted, one sentence for each that was set aside; the others went on."""
    rows = WorkPending.objects.filter(project=project).exclude(problem="")
    if person is not None:
        rows = rows.filter(review__person=person)
    return sorted(rows.values_list("problem", flat=True))


def recount_work(project: Project, *, repair: bool = False) -> list[Difference]:
    """Compare the counts with what all reviews say, and with ``repair`` put right what differs.

    What waits in the outbox is not missed. What was set aside is not missed either, unless it can be counted after all.
    Reads every review once, under the lock that other folders wait for; whoever hands in does not.
    """
    with transaction.atomic():
        _lock(project.pk)
        outbox = WorkPending.objects.filter(project=project)
        waiting = {(review, faults) for review, faults in outbox.filter(problem="").values_list("review", "faults")}
        bad: set[Part] = set()
        stored = _stored(project)
        right: Tally[Key] = Tally()
        keys = Review.objects.filter(project=project).order_by("pk").values_list("pk", flat=True)
        for portion in in_portions(list(keys), FOLD_SIZE):
            parts = [(key, faults) for key in portion for faults in (False, True) if (key, faults) not in waiting]
            tally, problems = _countable(project, parts)
            right.update(tally)
            bad.update(problems)
        wrong = sorted(key for key in right.keys() | stored.keys() if right[key] != stored[key])
        if repair:
            _add(project.pk, [(key, right[key] - stored[key]) for key in wrong])
            WorkCount.objects.filter(project=project, count=0).delete()
            aside = outbox.exclude(problem="").values_list("pk", "review", "faults")
            well = [key for key, review, faults in aside if (review, faults) not in bad]
            for portion in in_portions(well, FOLD_SIZE):
                outbox.filter(pk__in=portion).delete()
    return [Difference(key, stored[key], right[key]) for key in wrong]


def count_unsettled(project: Project, person: User | None, *, what: str, viewer: User | None = None) -> Tally[Key]:
    """What is counted of reviews in blind stages that have not settled, gold items apart: not for colleagues yet.

    ``what``: ``day`` or ``time``. What the viewer did is theirs to know.
    """
    held = _counted().filter(project=project, sealed=True)
    if person is not None:
        held = held.filter(person=person)
    if viewer is not None:
        held = held.exclude(person=viewer)
    waiting = WorkPending.objects.filter(faults=False).values("review")
    return _added_up(project, held.exclude(pk__in=waiting), what)


def count_hidden(project: Project, *, what: str, viewer: User) -> Tally[Key]:
    """What is counted of reviews of known answers: people who are not to know gold items think that these wait.

    ``what``: ``day`` or ``time``. What the viewer did is theirs to know.
    """
    waiting = WorkPending.objects.filter(faults=False).values("review")
    reviews = Review.objects.filter(stage_run__in=hidden_runs(project)).exclude(person=viewer)
    return _added_up(project, reviews.exclude(pk__in=waiting), what)


def count_named(reviews: QuerySet[Review]) -> Tally[Key]:
    """What is counted of the faults that these reviews name."""
    waiting = WorkPending.objects.filter(faults=True).values("review")
    return _of_faults(list(reviews.exclude(pk__in=waiting).values_list("pk", flat=True)))


def seconds_key(seconds: int) -> str:
    """The time as it is counted: fine enough for quartiles, coarse enough that there are few."""
    step = 1 if seconds < 60 else 5 if seconds < 600 else 30
    return str((seconds + step // 2) // step * step)


def _ready() -> QuerySet[WorkPending]:
    """Faults of a blind stage wait until it has settled."""
    return WorkPending.objects.filter(Q(faults=False) | Q(review__sealed=False), problem="")


def _fold(project: Project) -> int:
    with transaction.atomic():
        _lock(project.pk)
        rows = list(
            _ready().filter(project=project).order_by("pk").values_list("pk", "review_id", "faults")[:FOLD_SIZE]
        )
        total, problems = _countable(project, [(review, faults) for _, review, faults in rows])
        _add(project.pk, sorted(total.items()))
        for key, review, faults in rows:
            if (review, faults) in problems:
                WorkPending.objects.filter(pk=key).update(problem=problems[review, faults])
        done = [key for key, review, faults in rows if (review, faults) not in problems]
        WorkPending.objects.filter(pk__in=done).delete()
    return len(rows)


def _countable(project: Project, parts: Sequence[Part]) -> tuple[Tally[Key], dict[Part, str]]:
    """What those say that can be counted, and why the others cannot."""
    try:
        total = _of_reviews(project, [review for review, faults in parts if not faults])
        total.update(_of_faults([review for review, faults in parts if faults]))
        return total, {}
    except (DatabaseError, InterfaceError, MemoryError):
        # Not the reviews' fault: try again later.
        raise
    except Exception as problem:
        if len(parts) == 1:
            return Tally(), {parts[0]: describe(problem)}
    total, problems = Tally[Key](), {}
    for part in parts:
        tally, found = _countable(project, [part])
        total.update(tally)
        problems.update(found)
    return total, problems


def _lock(project_id: int) -> None:
    """Let nobody else fold or repair this project's counts until the transaction ends; others do not wait for it."""
    list(Project.objects.select_for_update(no_key=True).filter(pk=project_id).values_list("pk", flat=True))


def _of_reviews(project: Project, review_ids: Sequence[int]) -> Tally[Key]:
    reviews = Review.objects.filter(pk__in=review_ids)
    return _added_up(project, reviews, "day") + _added_up(project, reviews, "time")


def _added_up(project: Project, reviews: QuerySet[Review], what: str) -> Tally[Key]:
    """The database adds up: a project may have very many reviews that wait in a blind stage."""
    # The past that a gold item has is a copy of work that is counted where it was done.
    done = reviews.filter(~Q(dialogue__set_apart=SetApart.GOLD) | Q(slot__position__lt=0))
    key: TruncDate | F = F("seconds")
    if what == "day":
        key = TruncDate("created_at", tzinfo=ZoneInfo(project.time_zone))
    else:
        done = done.filter(seconds__gt=0)
    gold = Case(When(slot__position__lt=0, then=Value("gold_")), default=Value(""))
    rows = done.values_list(gold, "stage_run__stage", "person__pseudonym", key).annotate(Count("pk")).order_by()
    out: Tally[Key] = Tally()
    for prefix, stage, person, found, count in rows:
        out[f"{prefix}{what}", stage, person, found.isoformat() if what == "day" else seconds_key(found)] += count
    return out


def _of_faults(review_ids: Sequence[int]) -> Tally[Key]:
    reviews = _counted().filter(pk__in=review_ids)
    out: Tally[Key] = Tally()
    found = reviews.filter(findings__isnull=False).values_list(
        "stage_run__stage", "person__pseudonym", "seen_author__pseudonym", "findings__kind"
    )
    for stage, person, author, kind in found:
        out["named", stage, person, kind] += 1
        out["received", stage, author or "", kind] += 1
    # A ruling decides between two versions; whose was wrong is said by the ruling, not by who wrote what came in.
    ruled = reviews.filter(rulings__isnull=False)
    for stage, person, kind in ruled.values_list("stage_run__stage", "person__pseudonym", "rulings__reason_kind"):
        if kind:
            out["named", stage, person, kind] += 1
    return out


def _counted() -> QuerySet[Review]:
    return Review.objects.exclude(dialogue__set_apart=SetApart.GOLD)


def _stored(project: Project) -> Tally[Key]:
    rows = WorkCount.objects.filter(project=project).values_list("what", "stage", "person", "key", "count")
    return Tally({(row[0], row[1], row[2], row[3]): row[4] for row in rows.iterator()})


def _add(project_id: int, changes: Iterable[tuple[Key, int]]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO reviews_workcount (project_id, what, stage, person, key, count) "
            "VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (project_id, what, stage, person, key) "
            "DO UPDATE SET count = reviews_workcount.count + excluded.count",
            [(project_id, *key, change) for key, change in changes if change],
        )
