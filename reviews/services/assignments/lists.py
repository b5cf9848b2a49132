"""Reads claims, waiting items and each person's load, with the indexes that claiming uses.

Nothing here counts a large table: waiting items come from the counters, claims are as few as there are people, and the
items reserved for one person are counted up to ``MANY``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.text import gettext_noop
from annotator.errors import Invalid
from annotator.models import Dialogue, Event, Membership, Project, Role, User
from annotator.services.database.filters import no_place, one_of
from annotator.services.dialogues import listing
from annotator.services.dialogues.listing import filter_dialogues, searched
from reviews.models import Claim, ClaimState, Pause, Priority, Slot, SlotState
from reviews.services.protocols.versions import stage_titles
from reviews.services.queue.absence import last_seen
from reviews.services.queue.pauses import live_pauses
from reviews.services.statements import count_recent_reviews, count_reserved
from reviews.services.statistics.counters import read_counters

#: Rows of a page; and the count at which figures stop and show “+”.
PAGE_SIZE, MANY = 50, 200
FILTERS = ("state", "stage", "person", "priority", "q")
STATES = {
    "held": gettext_noop("In progress"),
    "reserved": gettext_noop("Assigned"),
    "waiting": gettext_noop("Unassigned"),
}


@dataclass(frozen=True)
class PersonLoad:
    """One person's share of the work."""

    person: User
    roles: list[Role]
    held: int
    #: Reserved for them; at most ``MANY``.
    waiting: int
    #: Submitted during the last seven days, without gold items and sealed reviews; at most ``MANY``.
    done: int
    seen_at: datetime
    pause: Pause | None

    @property
    def waiting_words(self) -> str:
        return f"{self.waiting}+" if self.waiting >= MANY else str(self.waiting)

    @property
    def done_words(self) -> str:
        return f"{self.done}+" if self.done >= MANY else str(self.done)


@dataclass(frozen=True)
class StageLoad:
    """Waiting and claimed slots in one stage, including reserved ones."""

    key: str
    title: str
    open: int
    claimed: int
    pooled: int
    pause: Pause | None


@dataclass(frozen=True)
class Filters:
    """What the list shows."""

    state: str = "held"
    stage: str = ""
    person: str = ""
    priority: str = ""
    #: An id, or words of the dialogue, as in the list of dialogues.
    q: str = ""

    @classmethod
    def of(cls, query: Mapping[str, Any], *, project: Project, stages: Iterable[str]) -> "Filters":
        """Read filters from a query string's values; ``stages``: the keys of the project's. Raises UnknownFilter."""

        def people() -> Iterable[str]:
            members = User.objects.filter(memberships__project=project).distinct().order_by("public_id")
            return members.values_list("public_id", flat=True)

        return cls(
            state=one_of(query, "state", STATES, otherwise=cls.state),
            stage=one_of(query, "stage", stages),
            person=one_of(query, "person", people),
            priority=one_of(query, "priority", [str(one.value) for one in Priority]),
            q=searched(query),
        )

    @property
    def query(self) -> dict[str, str]:
        """The filters as values of a query string."""
        return {name: value for name, value in vars(self).items() if value}


@dataclass(frozen=True)
class Row:
    """One slot with its claim."""

    slot: Slot
    claim: Claim | None
    overdue: bool = False


@dataclass(frozen=True)
class Page:
    rows: list[Row] = field(default_factory=list)
    #: The key of the next page; blank on the last.
    after: str = ""
    #: The search finds more than ``MANY`` dialogues; only slots of the first ``MANY`` are listed.
    cut: bool = False


def read_people(project: Project) -> list[PersonLoad]:
    """Return everyone in the project, by name."""
    people: dict[int, User] = {}
    roles: dict[int, list[Role]] = {}
    members = Membership.objects.active().filter(project=project).select_related("user")
    for member in members.order_by("user__display_name", "user_id", "role"):
        people[member.user_id] = member.user
        roles.setdefault(member.user_id, []).append(Role(member.role))
    held: dict[int, int] = {}
    # Gold items are not part of the lists on this page.
    live = Claim.objects.filter(project=project, state=ClaimState.LIVE, slot__is_gold=False)
    for key in live.values_list("person_id", flat=True):
        held[key] = held.get(key, 0) + 1
    waiting = count_reserved(project=project, people=people, limit=MANY)
    week = timezone.now() - timedelta(days=7)
    done = count_recent_reviews(project=project, people=people, since=week, limit=MANY)
    signs = last_seen(project)
    pauses = {one.person_id: one for one in live_pauses(project).filter(person__isnull=False)}
    return [
        PersonLoad(
            person=person,
            roles=roles[key],
            held=held.get(key, 0),
            waiting=waiting.get(key, 0),
            done=done.get(key, 0),
            seen_at=signs[key],
            pause=pauses.get(key),
        )
        for key, person in people.items()
    ]


def read_stages(project: Project) -> list[StageLoad]:
    """Return every stage of the project's protocols, in order."""
    counts = read_counters(project)
    pauses = {one.stage: one for one in live_pauses(project).exclude(stage="")}
    return [
        StageLoad(
            key=key,
            title=title,
            open=counts.get(f"stage:{key}:open", 0),
            claimed=counts.get(f"stage:{key}:claimed", 0),
            pooled=counts.get(f"stage:{key}:pooled", 0),
            pause=pauses.get(key),
        )
        for key, title in stage_titles(project).items()
    ]


def project_pause(project: Project) -> Pause | None:
    """Return the pause of the whole project, if any."""
    return live_pauses(project).filter(person=None, stage="").select_related("actor").first()


def list_slots(
    *, project: Project, filters: Filters, after: str = "", size: int = PAGE_SIZE, since: datetime | None = None
) -> Page:
    """Return a page of slots, the most urgent first. ``after``: the key of the page before. Raises UnknownFilter.

    ``since``: only slots that were opened or claimed since, or whose dialogue has an event since.
    """
    among = _found_dialogues(project, filters)
    found = _found(project, filters, among, after, size + 1, since=since)
    more, found = len(found) > size, found[:size]
    claims = {
        claim.slot_id: claim
        for claim in Claim.objects.filter(slot__in=[slot.pk for slot in found], state=ClaimState.LIVE)
    }
    now = timezone.now()
    rows = [
        Row(slot, claim := claims.get(slot.pk), overdue=claim is not None and claim.expires_at <= now) for slot in found
    ]
    last = found[-1] if found else None
    return Page(
        rows, f"{last.priority}.{last.position}.{last.pk}" if last is not None and more else "", len(among or ()) > MANY
    )


def matching(*, project: Project, filters: Filters, limit: int) -> list[int]:
    """Return the keys of all slots that the list would show, at most ``limit`` of them and one more.

    Raises Invalid if there are none.
    """
    among = _found_dialogues(project, filters)
    keys = [slot.pk for slot in _found(project, filters, among, "", limit + 1, bare=True)]
    if not keys:
        raise Invalid(_("No item matches the filters any more. Choose other filters in the list."))
    return keys


# --- in detail --------------------------------------------------------------------------------------------------------


def _found_dialogues(project: Project, filters: Filters) -> list[int] | None:
    """Return keys of the dialogues that the search finds, oldest first: ``MANY`` and one more. None: no search."""
    if not filters.q:
        return None
    rows = Dialogue.objects.filter(project=project, published=True)
    rows = filter_dialogues(rows, listing.Filters(text=filters.q), project=project)
    return list(rows.order_by("pk").values_list("pk", flat=True)[: MANY + 1])


def _found(
    project: Project,
    filters: Filters,
    among: list[int] | None,
    after: str,
    size: int,
    *,
    bare: bool = False,
    since: datetime | None = None,
) -> list[Slot]:
    """Return slots by priority, each in the order of its queue, so that an index serves each of them."""
    key = _key(after)
    priorities = [int(filters.priority)] if filters.priority else list(Priority.values)
    out: list[Slot] = []
    of_state = _of_state(project, filters)
    if since is not None:
        of_state = _changed_since(of_state, since)
    for priority in priorities:
        if key is not None and priority < key[0]:
            continue
        slots = of_state.filter(priority=priority)
        if among is not None:
            slots = slots.filter(dialogue__in=among[:MANY])
        if key is not None and priority == key[0]:
            slots = slots.filter(position__gte=key[1]).exclude(position=key[1], pk__lte=key[2])
        if bare:
            slots = slots.only("pk", "priority", "position")
        else:
            slots = slots.select_related("dialogue__owner", "holder", "reserved_for").defer("dialogue__search_text")
        out += slots.order_by("position", "pk")[: size - len(out)]
        if len(out) >= size:
            break
    return out


def _of_state(project: Project, filters: Filters) -> QuerySet[Slot]:
    slots = Slot.objects.filter(project=project, is_gold=False)
    if filters.stage:
        slots = slots.filter(stage=filters.stage)
    if filters.state == "held":
        # Found by the claims, because there are only as many as people with claims.
        live = Claim.objects.filter(project=project, state=ClaimState.LIVE)
        if filters.person:
            live = live.filter(person__public_id=filters.person)
        return slots.filter(pk__in=list(live.values_list("slot_id", flat=True)), state=SlotState.CLAIMED)
    slots = slots.filter(state=SlotState.OPEN)
    if filters.state == "waiting":
        return slots.filter(reserved_for__isnull=True)
    if filters.person:
        return slots.filter(reserved_for__in=list(User.objects.filter(public_id=filters.person)))
    return slots.filter(reserved_for__isnull=False)


def _changed_since(slots: QuerySet[Slot], moment: datetime) -> QuerySet[Slot]:
    events = Event.objects.filter(dialogue=OuterRef("dialogue")).order_by("-number")
    claimed = Claim.objects.filter(Q(created_at__gte=moment) | Q(ended_at__gte=moment), slot=OuterRef("pk"))
    # One look into an index for each slot, in its order.
    slots = slots.alias(last_event_at=Subquery(events.values("created_at")[:1]))
    return slots.filter(Q(created_at__gte=moment) | Q(last_event_at__gte=moment) | Exists(claimed))


def is_place(after: str) -> bool:
    """Return whether this is the key of a page."""
    parts = after.split(".")
    return len(parts) == 3 and all(part.isascii() and part.isdigit() and len(part) < 19 for part in parts)


def _key(after: str) -> tuple[int, int, int] | None:
    if not after:
        return None
    if not is_place(after):
        raise no_place("after")
    parts = after.split(".")
    return int(parts[0]), int(parts[1]), int(parts[2])
