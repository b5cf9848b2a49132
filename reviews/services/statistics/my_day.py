"""What one person did today and in the last seven days, counted in their time zone from one indexed query."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from statistics import median
from zoneinfo import ZoneInfo

from django.db.models import Q

from annotator.models import NoticeSettings, User
from annotator.models.content import GoldRole
from annotator.services.notices.time_zones import zone_of
from reviews.models import Claim, Review

DAYS = 7
#: Reviews of a week that are counted, the newest first.
MAX_COUNTED = 5_000


@dataclass(frozen=True)
class Day:
    """One day: submitted reviews, and seconds of active work in them."""

    day: date
    done: int
    seconds: int
    #: ``done`` in per cent of the best day, for a bar.
    share: int


@dataclass(frozen=True)
class MyDay:
    """A person's week; the last of ``days`` is today."""

    days: list[Day]
    #: Key of the project → reviews submitted today.
    by_project: Mapping[int, int]
    #: Seconds of active work in a review of today; None if none has a known time.
    median: float | None
    #: The time zone whose days these are, such as Europe/Kyiv.
    zone: str
    #: The person's goal of today, added up over projects; 0: none.
    goal: int = 0

    @property
    def today(self) -> Day:
        return self.days[-1]

    @property
    def share(self) -> int:
        """Return today's reviews in per cent of the goal, at most 100."""
        return min(100, round(100 * self.today.done / self.goal)) if self.goal else 0


def start_of_day(now: datetime, zone: ZoneInfo, *, back: int = 0) -> datetime:
    """Return the moment when the day began in a time zone, or the one ``back`` days before."""
    day = now.astimezone(zone).date() - timedelta(days=back)
    return datetime.combine(day, time(), tzinfo=zone)


def read_my_day(*, person: User, now: datetime, goals: Mapping[int, int], held: Iterable[Claim]) -> MyDay:
    """Return the person's last seven days. ``held``: their live claims, whose time today counts, too.

    All their reviews count, in blind stages and of hidden known answers, because they are the person's own; those of
    training items, which are not published, don't.
    """
    zone = zone_of(person, NoticeSettings.objects.filter(person=person).first())
    # The history of a gold item is a copy of other people's work.
    own = Review.objects.filter(
        ~Q(dialogue__gold_role=GoldRole.GOLD) | Q(slot__is_gold=True), person=person, dialogue__published=True
    )
    since = start_of_day(now, zone, back=DAYS - 1)
    found = own.filter(created_at__gte=since).order_by("-created_at").values_list("project_id", "created_at", "seconds")
    today = now.astimezone(zone).date()
    days = {today - timedelta(days=back): [0, 0] for back in reversed(range(DAYS))}
    by_project: dict[int, int] = {}
    times: list[int] = []
    for project, moment, seconds in found[:MAX_COUNTED]:
        # Clocks may differ: a review submitted “tomorrow” counts as today's.
        day = min(moment.astimezone(zone).date(), today)
        days[day][0] += 1
        days[day][1] += seconds
        if day == today:
            by_project[project] = by_project.get(project, 0) + 1
            times += [seconds] if seconds else []
    days[today][1] += sum(claim.active_seconds for claim in held if claim.heartbeat_at >= start_of_day(now, zone))
    most = max(done for done, _ in days.values()) or 1
    return MyDay(
        days=[Day(day, done, seconds, round(100 * done / most)) for day, (done, seconds) in days.items()],
        by_project=by_project,
        median=median(times) if times else None,
        zone=zone.key,
        goal=sum(goals.values()),
    )
