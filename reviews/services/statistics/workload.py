"""Counts reviews per person, their time and the errors they name, from an outbox.

A review is put into the outbox when it is submitted (see ``counting``). Its errors are counted only after its stage has
settled, so that the counts reveal nothing about a blind stage. ``person`` is a pseudonym. Reviews of gold items are not
work on the benchmark and have their own keys (``gold_day``, ``gold_time`` …), for people who must not know gold items.
Keys:

    day      the day of the submission in the project's time zone
    time     seconds of activity, in steps of 1 below a minute, 5 below ten minutes, else 30; 0 means unknown
    asked    tenths of a second for a question of the checklist, in steps of 1 below ten seconds, 5 below a minute, else
             50; once for each answer whose time is known
    bulk     blank: how many of these answers one key gave together
    named    an error type, once for each error or ruling of the reviewer
    received an error type, once for each error named in a revision that this person wrote
"""

from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Case, Count, F, Q, QuerySet, Value, When
from django.db.models.functions import TruncDate

from annotator.models import Project, User
from annotator.models.content import GoldRole
from reviews.models import Review, WorkloadCount, WorkloadPending
from reviews.services.statistics.counting import Counting
from reviews.services.statistics.hidden_gold import hidden_runs

#: what, stage, person, key
Key = tuple[str, str, str, str]
#: The key of a review, and whether its errors rather than its time are counted: a row of the outbox.
Part = tuple[int, bool]


class _Work(Counting[Part, Key]):
    counts, key = WorkloadCount, ("what", "stage", "person", "key")
    outbox, item = WorkloadPending, ("review_id", "errors")
    #: Errors in a blind stage wait until it has ended.
    ready = Q(errors=False) | Q(review__sealed=False)
    portion = 500

    def items(self, project: Project) -> Iterable[Part]:
        reviews = Review.objects.filter(project=project).values_list("pk", flat=True)
        return ((review, errors) for review in reviews for errors in (False, True))

    def count(self, project: Project, items: Sequence[Part]) -> dict[Part, Tally[Key]]:
        counted: dict[Part, Tally[Key]] = {item: Tally() for item in items}
        reviews = Review.objects.filter(pk__in=[review for review, errors in items if not errors])
        for what in ("day", "time"):
            for [review], key, count in _of_reviews(project, reviews, what, "pk"):
                counted[review, False][key] += count
        for review, key, count in _of_answers(reviews):
            counted[review, False][key] += count
        for review, key in _of_errors(Review.objects.filter(pk__in=[review for review, errors in items if errors])):
            counted[review, True][key] += 1
        return counted


WORK = _Work()


def await_work_count(*, review: Review, errors: bool) -> None:
    """Put a review that is being submitted into the outbox; ``errors``: whether it names any."""
    WORK.enqueue(review.project_id, [(review.pk, False), (review.pk, True)] if errors else [(review.pk, False)])


def withdraw_work_count(*, review: Review) -> None:
    """Remove a review that is being taken back from the outbox, or from the counts if it is counted already."""
    WORK.withdraw(review.project, [(review.pk, False), (review.pk, True)])


def count_unsettled(project: Project, person: User | None, *, what: str, viewer: User | None = None) -> Tally[Key]:
    """Return counts of reviews in blind stages that have not ended, without gold items: colleagues can't see them
    yet.

    ``what``: ``day``, ``time``, ``asked`` or ``bulk``. The viewer's own reviews are not included.
    """
    held = Review.objects.filter(project=project, sealed=True).exclude(dialogue__gold_role=GoldRole.GOLD)
    if person is not None:
        held = held.filter(person=person)
    if viewer is not None:
        held = held.exclude(person=viewer)
    waiting = WorkloadPending.objects.filter(errors=False).values("review")
    return _added_up(project, held.exclude(pk__in=waiting), what)


def count_hidden(project: Project, *, what: str, viewer: User) -> Tally[Key]:
    """Return counts of reviews of known answers, which seem to be waiting to people who must not know gold items.

    ``what``: ``day`` or ``time``. The viewer's own reviews are not included.
    """
    waiting = WorkloadPending.objects.filter(errors=False).values("review")
    reviews = Review.objects.filter(stage_run__in=hidden_runs(project)).exclude(person=viewer)
    return _added_up(project, reviews.exclude(pk__in=waiting), what)


def count_named(reviews: QuerySet[Review]) -> Tally[Key]:
    """Return counts of the errors named in these reviews."""
    waiting = WorkloadPending.objects.filter(errors=True).values("review")
    return Tally(key for _, key in _of_errors(reviews.exclude(pk__in=waiting)))


def seconds_key(seconds: int) -> str:
    """Return the time as a key: fine enough for quartiles, coarse enough to give few keys."""
    step = 1 if seconds < 60 else 5 if seconds < 600 else 30
    return str((seconds + step // 2) // step * step)


def tenths_key(tenths: int) -> str:
    """Return the time of an answer as a key, in tenths of a second."""
    step = 1 if tenths < 100 else 5 if tenths < 600 else 50
    return str((tenths + step // 2) // step * step)


def _added_up(project: Project, reviews: QuerySet[Review], what: str) -> Tally[Key]:
    """Add up in the database, because many reviews may wait in a blind stage."""
    out: Tally[Key] = Tally()
    if what in ("asked", "bulk"):
        for _, key, count in _of_answers(reviews):
            if key[0].removeprefix("gold_") == what:
                out[key] += count
        return out
    for _, key, count in _of_reviews(project, reviews, what):
        out[key] += count
    return out


def _of_reviews(
    project: Project, reviews: QuerySet[Review], what: str, *by: str
) -> Iterator[tuple[list[Any], Key, int]]:
    """Return how many reviews have each key, for each value of the fields ``by``."""
    # The history of a gold item is a copy of work that is counted in its dialogue. Training (its dialogues are not
    # published) is no work on the benchmark.
    done = reviews.filter(~Q(dialogue__gold_role=GoldRole.GOLD) | Q(slot__is_gold=True, dialogue__published=True))
    key: TruncDate | F = F("seconds")
    if what == "day":
        key = TruncDate("created_at", tzinfo=ZoneInfo(project.time_zone))
    else:
        done = done.filter(seconds__gt=0)
    gold = Case(When(slot__is_gold=True, then=Value("gold_")), default=Value(""))
    rows = done.values_list(*by, gold, "stage_run__stage", "person__pseudonym", key).annotate(Count("pk")).order_by()
    for *group, prefix, stage, person, found, count in rows:
        value = found.isoformat() if what == "day" else seconds_key(found)
        yield group, (f"{prefix}{what}", stage, person, value), count


def _of_answers(reviews: QuerySet[Review]) -> Iterator[tuple[int, Key, int]]:
    """Yield how often each review answered a question in each time, and how many answers it gave together."""
    done = reviews.filter(~Q(dialogue__gold_role=GoldRole.GOLD) | Q(slot__is_gold=True), answer_times__isnull=False)
    rows = done.values_list("pk", "stage_run__stage", "person__pseudonym", "slot__is_gold", "answer_times").order_by()
    for review, stage, person, is_gold, times in rows.iterator(chunk_size=500):
        found: dict[str, Any] = times or {}
        prefix = "gold_" if is_gold else ""
        for tenths in chain.from_iterable(answers.values() for answers in found["tenths"].values()):
            yield review, (f"{prefix}asked", stage, person, tenths_key(tenths)), 1
        together = sum(len(keys) for keys in found["together"].values())
        if together:
            yield review, (f"{prefix}bulk", stage, person, ""), together


def _of_errors(reviews: QuerySet[Review]) -> Iterator[tuple[int, Key]]:
    """Yield the keys of the errors that each review names."""
    reviews = reviews.exclude(dialogue__gold_role=GoldRole.GOLD)
    found = reviews.filter(errors__isnull=False).values_list(
        "pk", "stage_run__stage", "person__pseudonym", "seen_author__pseudonym", "errors__kind"
    )
    for review, stage, person, author, kind in found:
        yield review, ("named", stage, person, kind)
        yield review, ("received", stage, author or "", kind)
    # A ruling decides between two revisions and itself says whose was wrong, whoever wrote the revision that was
    # reviewed.
    ruled = reviews.filter(rulings__isnull=False).values_list(
        "pk", "stage_run__stage", "person__pseudonym", "rulings__reason_kind"
    )
    for review, stage, person, kind in ruled:
        if kind:
            yield review, ("named", stage, person, kind)
