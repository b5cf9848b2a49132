"""The day of a team: who is active, what each person has done, and items that are held for long.

For people who oversee a project; only administrators see who holds which item. Like the page of assignments, it leaves
out gold items, and counts a review in a blind stage when the stage has ended.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models import Count
from django.utils.translation import gettext as _

from annotator.errors import Conflict, Hidden
from annotator.models import DraftStep, Project, Role, User
from annotator.models.content import StepState
from annotator.services.access.permissions import OVERSEERS, require_role
from annotator.services.dialogues.revisions import lock_dialogue
from reviews.models import Claim, ClaimState, Slot, SlotState
from reviews.services.assignments.changes import free_claim, reassign
from reviews.services.assignments.lists import MANY, PersonLoad, read_people
from reviews.services.assignments.takers import read_takers
from reviews.services.protocols.versions import stage_titles
from reviews.services.queue.claim_rows import lock_slot
from reviews.services.queue.goals import read_goals
from reviews.services.statements import count_recent_reviews, count_recent_skips
from reviews.services.statistics.my_day import start_of_day
from reviews.services.statistics.throughput import read_times

#: Somebody whose last sign of work is not older is active; an open page gives one every minute.
ACTIVE = timedelta(minutes=5)
#: An item is held long after this many times the median of its stage, if that many reviews have a known time.
LONG, MIN_TIMES = 3, 5
#: Undone edits of one item, and skipped items of a day, that are shown as many.
MANY_UNDONE, MANY_SKIPPED = 15, 5


@dataclass(frozen=True)
class Held:
    """An item that somebody holds."""

    claim: Claim
    stage: str
    #: Seconds since it was claimed.
    age: int
    #: Median seconds of active work in a review of the stage; None: not known.
    median: float | None
    #: Edits that were undone in its draft.
    undone: int
    #: People to whom it can be reassigned, by name.
    takers: list[User]

    @property
    def long(self) -> bool:
        """Return whether the work on it takes much longer than usual in the stage."""
        return self.median is not None and self.claim.active_seconds > LONG * self.median

    @property
    def often_undone(self) -> bool:
        return self.undone >= MANY_UNDONE


@dataclass(frozen=True)
class MemberDay:
    """One person's day."""

    load: PersonLoad
    active: bool
    #: Submitted today and since Monday, in the project's time zone; at most ``MANY``.
    today: int
    week: int
    goal: int | None
    #: Items skipped today; at most ``MANY``.
    skipped: int
    held: list[Held] = field(default_factory=list)

    @property
    def person(self) -> User:
        return self.load.person

    @property
    def share(self) -> int:
        """Return today's reviews in per cent of the goal, at most 100."""
        return min(100, round(100 * self.today / self.goal)) if self.goal else 0

    @property
    def today_words(self) -> str:
        return f"{self.today}+" if self.today >= MANY else str(self.today)

    @property
    def week_words(self) -> str:
        return f"{self.week}+" if self.week >= MANY else str(self.week)

    @property
    def often_skipped(self) -> bool:
        return self.skipped >= MANY_SKIPPED

    @property
    def may_need_help(self) -> bool:
        return self.often_skipped or any(one.long or one.often_undone for one in self.held)


def read_team_day(*, actor: User, project: Project, now: datetime) -> list[MemberDay]:
    """Return every member's day: those who may need help, then active people, then by name. Raises Denied."""
    roles = require_role(actor=actor, project=project, roles=OVERSEERS)
    loads = {load.person.pk: load for load in read_people(project)}
    zone = ZoneInfo(project.time_zone)
    today = start_of_day(now, zone)
    monday = start_of_day(now, zone, back=now.astimezone(zone).weekday())
    done = count_recent_reviews(project=project, people=loads, since=today, limit=MANY)
    week = count_recent_reviews(project=project, people=loads, since=monday, limit=MANY)
    skipped = count_recent_skips(project=project, people=loads, since=today, limit=MANY)
    goals = read_goals(project=project, people=loads)
    held = _held(project, actor, now, list(loads.values())) if Role.ADMINISTRATOR in roles else {}
    days = [
        MemberDay(
            load=load,
            active=now - load.seen_at <= ACTIVE,
            today=done.get(key, 0),
            week=week.get(key, 0),
            goal=goals.get(key),
            skipped=skipped.get(key, 0),
            held=held.get(key, []),
        )
        for key, load in loads.items()
    ]
    return sorted(days, key=lambda day: (not day.may_need_help, not day.active))


def _held(project: Project, actor: User, now: datetime, loads: Sequence[PersonLoad]) -> dict[int, list[Held]]:
    """Return {person: the items that they hold, the oldest first}; there are only as many as people with claims."""
    live = Claim.objects.filter(project=project, state=ClaimState.LIVE, slot__is_gold=False)
    live = live.select_related("slot__dialogue", "slot__protocol")
    live = live.defer("slot__dialogue__search_text", "slot__protocol__definition")
    claims = list(live.order_by("created_at"))
    if not claims:
        return {}
    titles = stage_titles(project)
    medians = {one.stage: one.median for one in read_times(project=project, viewer=actor) if one.n >= MIN_TIMES}
    undone = DraftStep.objects.filter(
        draft__dialogue__in={claim.slot.dialogue_id for claim in claims},
        draft__author__in={claim.person_id for claim in claims},
        draft__closed_at=None,
        state__in=[StepState.UNDONE, StepState.GONE],
    )
    counts = {
        (dialogue, author): count
        for dialogue, author, count in undone.values_list("draft__dialogue", "draft__author")
        .annotate(Count("pk"))
        .order_by()
    }
    people = [(load.person, frozenset(load.roles)) for load in loads]
    takers = read_takers(project, [claim.slot for claim in claims], people)
    out: dict[int, list[Held]] = {}
    for claim in claims:
        one = Held(
            claim=claim,
            stage=titles.get(claim.stage, claim.stage),
            age=max(0, round((now - claim.created_at).total_seconds())),
            median=medians.get(claim.stage),
            undone=counts.get((claim.slot.dialogue_id, claim.person_id), 0),
            takers=[person for person, roles in people if not takers.why_not(claim.slot, person, roles)],
        )
        out.setdefault(claim.person_id, []).append(one)
    return out


def take_from(*, actor: User, project: Project, slot: str, holder: str, to: User | None) -> Slot:
    """Take an item from the person who holds it, and assign it to somebody or (``to`` None) open it to everyone.

    ``slot`` and ``holder``: public ids, as the page showed them. The draft is kept. Raises Denied, Hidden, Invalid if
    ``to`` may not review it, or Conflict if the person does not hold it any more.
    """
    require_role(actor=actor, project=project, roles={Role.ADMINISTRATOR})
    found = Slot.objects.filter(project=project, public_id=slot, is_gold=False).select_related("project").first()
    if found is None:
        raise Hidden(_("This item doesn’t exist."))
    with transaction.atomic():
        lock_dialogue(found.dialogue_id)
        locked = lock_slot(found.pk)
        if locked.holder is None or locked.state != SlotState.CLAIMED or locked.holder.public_id != holder:
            raise Conflict(_("This person doesn’t hold the item any more. Nothing was changed."))
        if to is None:
            return free_claim(actor=actor, slot=locked)
        return reassign(actor=actor, slot=locked, to=to)
