"""The history of a project, filtered, in pages and as a file."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Max, Min, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.schema.exact_json import dumps
from annotator.core.text import gettext_noop
from annotator.errors import Denied, Hidden, Invalid
from annotator.models import Dialogue, Event, Project, Role, User
from annotator.services.access.permissions import require_administrator, roles_in
from annotator.services.database.filters import one_of
from annotator.services.database.keyset import BY_KEY, KeyPage, read_page
from annotator.services.dialogues.changes_since import dialogues_changed_since
from reviews.services.history.dialogue_history import event_words
from reviews.services.protocols.versions import stage_titles
from reviews.services.transitions.sealing import reviewed_blind

PAGE = 50
FILTERS = ("kind", "person", "item", "since", "until")
#: The value of the filter for people that selects what Assay did itself.
PROGRAM = "program"
#: Events without a person that Assay did not cause either: somebody used a public link.
_BY_LINK = ("erratum.reported",)
#: The first part of an event's kind → its label; first those of the project, then those of items.
SETTINGS = {
    "project": gettext_noop("Project settings"),
    "guideline": gettext_noop("Guideline"),
    "protocol": gettext_noop("Protocol"),
    "membership": gettext_noop("Roles"),
    "invitation": gettext_noop("Invitations"),
    "token": gettext_noop("API tokens"),
    "import": gettext_noop("Imports"),
    "toolset": gettext_noop("Toolsets"),
    "release": gettext_noop("Releases"),
    "erratum": gettext_noop("Errata"),
    "errata": gettext_noop("Public links for error reports"),
    "job": gettext_noop("Jobs"),
    "webhook": gettext_noop("Webhooks"),
}
ITEMS = {
    "dialogue": gettext_noop("Dialogues"),
    "cycle": gettext_noop("Cycles"),
    "review": gettext_noop("Reviews"),
    "stage": gettext_noop("Finished stages"),
    "slot": gettext_noop("Assignments"),
    "draw": gettext_noop("Draws"),
    "audit": gettext_noop("Audits"),
    "feedback": gettext_noop("Feedback"),
    "daily_goal": gettext_noop("Daily goals"),
    "warning": gettext_noop("Waivers taken back"),
    "comment": gettext_noop("Edited comments"),
}
#: Keys whose values are public ids of people.
_PEOPLE = frozenset({"user", "person", "owner"})
_NAMES = {
    "sha256": "SHA-256",
    "hash": "SHA-256",
    "content_hash": gettext_noop("SHA-256 of the content"),
    "toolset_hash": gettext_noop("SHA-256 of the toolset"),
}
_ABSENT = object()


@dataclass(frozen=True)
class Filters:
    """The filters. Dates are days in the project's time zone, both included."""

    person: str = ""
    family: str = ""
    item: str = ""
    since: date | None = None
    until: date | None = None

    @property
    def active(self) -> dict[str, str]:
        """Return the filters that are set, as in a query string."""
        return {name: str(value) for name, value in vars(self).items() if value}


@dataclass(frozen=True)
class Value:
    """A value that changed, as text; None if there was or is none. ``mono``: it is JSON, not prose."""

    name: str
    before: str | None
    after: str | None
    mono: bool


@dataclass(frozen=True)
class Line:
    """An event, prepared for a page."""

    event: Event
    text: str
    values: list[Value]

    @property
    def by_link(self) -> bool:
        """Return whether somebody caused it by a public link."""
        return self.event.actor_id is None and self.event.kind in _BY_LINK

    @property
    def alone(self) -> list[Value]:
        """Return values that were added or removed."""
        return [value for value in self.values if value.before is None or value.after is None]

    @property
    def pairs(self) -> list[Value]:
        """Return values that changed from one to another."""
        return [value for value in self.values if value.before is not None and value.after is not None]


def check_filters(query: Mapping[str, str], *, project: Project) -> tuple[Filters, dict[str, str]]:
    """Return filters from a query string, and {field: error} for invalid days. Raises UnknownFilter."""
    days: dict[str, date | None] = {}
    wrong = {}
    for name in ("since", "until"):
        raw = query.get(name, "").strip()
        try:
            days[name] = date.fromisoformat(raw) if raw else None
        except ValueError:
            wrong[name] = _("“%(text)s” isn’t a date. Use the form 2026-05-31.") % {"text": raw[:40]}

    def people() -> Iterable[str]:
        members = User.objects.filter(memberships__project=project).distinct().order_by("public_id")
        return [PROGRAM, *members.values_list("public_id", flat=True)]

    filters = Filters(
        person=one_of(query, "person", people),
        family=one_of(query, "kind", [*SETTINGS, *ITEMS]),
        item=query.get("item", "").strip()[:200],
        **days,
    )
    return filters, wrong


def read_filters(query: Mapping[str, str], *, project: Project) -> Filters:
    """Return filters from a query string. Raises UnknownFilter, and Invalid for an invalid day."""
    filters, wrong = check_filters(query, project=project)
    for name, sentence in wrong.items():
        raise Invalid(sentence, field=name)
    return filters


def visible_events(*, actor: User, project: Project) -> QuerySet[Event]:
    """Return the events that the actor may see: all for administrators, those of items for senior reviewers.

    Nobody sees events of other people's reviews in an open blind stage, events of a dialogue they review blind
    themselves (a filter would show who did what), or events of an unfinished import. Raises Hidden for outsiders,
    Denied for annotators.
    """
    roles = roles_in(project, actor)
    if not roles:
        raise Hidden(_("This project doesn’t exist, or you aren’t a member of it."))
    rows = Event.objects.filter(Q(sealed=False) | Q(actor=actor), project=project)
    rows = rows.exclude(dialogue__in=reviewed_blind(actor, project))
    if Role.ADMINISTRATOR in roles:
        return rows.filter(Q(dialogue=None) | Q(dialogue__published=True))
    if Role.SENIOR_REVIEWER in roles:
        return rows.filter(dialogue__published=True)
    raise Denied(
        _(
            "Only administrators and senior reviewers can see the project’s history. A dialogue’s page has its own "
            "history."
        )
    )


def filtered_events(*, actor: User, project: Project, filters: Filters) -> QuerySet[Event]:
    """Return those of the ``visible_events`` that match, with their people and dialogues. Raises Hidden, Denied."""
    rows = _filtered(visible_events(actor=actor, project=project), project, filters)
    return rows.select_related("actor", "dialogue").defer("dialogue__search_text")


def events_changed_since(project: Project) -> Callable[[QuerySet[Event], datetime], QuerySet[Event]]:
    """Return a function that narrows events down to those since a moment.

    Also all of a dialogue that has changed since: the end of a blind stage or an import shows earlier events.
    """

    def changed(rows: QuerySet[Event], moment: datetime) -> QuerySet[Event]:
        dialogues = dialogues_changed_since(project)(Dialogue.objects.filter(project=project), moment)
        return rows.filter(Q(created_at__gte=moment) | Q(dialogue__in=dialogues))

    return changed


def list_events(
    *, actor: User, project: Project, filters: Filters, before: str | None = None, after: str | None = None
) -> KeyPage[Line]:
    """Return a page of the history. The cost does not depend on the page."""
    rows = filtered_events(actor=actor, project=project, filters=filters)
    page = read_page(rows, before=before, after=after, size=PAGE, newest_first=True, by=BY_KEY)
    titles, names = stage_titles(project), _names(page.rows)
    lines = [Line(one, event_words(one, titles), _values(one, names)) for one in page.rows]
    return KeyPage(lines, page.before, page.after)


def export_events(*, actor: User, project: Project, filters: Filters) -> Iterator[bytes]:
    """Return the history as JSON lines, oldest first, with everything that enters each hash. For administrators.

    A dialogue under blind review is exported up to its first sealed event; a gap in the numbers would reveal the
    others.
    """
    require_administrator(actor=actor, project=project)
    rows = filtered_events(actor=actor, project=project, filters=filters)
    # Later events are left to the next export: they could follow a sealed event that this one does not know.
    last = rows.aggregate(last=Max("pk"))["last"] or 0
    sealed = Event.objects.filter(project=project, sealed=True).exclude(actor=actor).order_by()
    first_sealed = dict(sealed.values_list("dialogue").annotate(Min("number")))
    rows = rows.filter(pk__lte=last).order_by("pk")
    return (_exported(event) for event in rows.iterator(2000) if _is_open(event, first_sealed))


def _is_open(event: Event, first_sealed: dict[int, int]) -> bool:
    """Return whether no sealed event comes before this one in its chain."""
    return event.dialogue_id is None or (event.number or 0) < first_sealed.get(event.dialogue_id, 2**63)


def _exported(event: Event) -> bytes:
    line = {
        "dialogue": event.dialogue.external_id if event.dialogue else None,
        "actor": event.actor.pseudonym if event.actor else None,
        # The hash covers these values, with the keys of the database. docs/history.md describes it.
        "previous_hash": event.previous_hash,
        "project_id": event.project_id,
        "dialogue_id": event.dialogue_id,
        "number": event.number,
        "actor_id": event.actor_id,
        "kind": event.kind,
        "before": event.before,
        "after": event.after,
        "created_at": event.created_at.isoformat(timespec="microseconds"),
        "hash": event.hash,
    }
    return dumps(line) + b"\n"


def _filtered(rows: QuerySet[Event], project: Project, filters: Filters) -> QuerySet[Event]:
    if filters.person == PROGRAM:
        rows = rows.filter(actor=None).exclude(kind__in=_BY_LINK)
    elif filters.person:
        rows = rows.filter(actor__public_id=filters.person)
    if filters.family:
        rows = rows.filter(kind__startswith=f"{filters.family}.")
        if filters.family in SETTINGS:
            # Uses the index of events without a dialogue.
            rows = rows.filter(dialogue=None)
    if filters.item:
        rows = rows.filter(dialogue__external_id=filters.item)
    zone = ZoneInfo(project.time_zone)
    if filters.since is not None:
        rows = rows.filter(created_at__gte=_midnight(filters.since, zone))
    if filters.until is not None and filters.until < _LAST:
        rows = rows.filter(created_at__lt=_midnight(filters.until + timedelta(days=1), zone))
    return rows


#: Days at the limits of ``date`` can be out of range in some time zones, so these are a little inside.
_FIRST, _LAST = date(1000, 1, 1), date(9000, 1, 1)


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return timezone.make_aware(datetime.combine(min(max(day, _FIRST), _LAST), time.min), zone)


def _names(events: Iterable[Event]) -> dict[str, str]:
    """Return public id → name of the people in the events' values."""
    ids = {
        str(value)
        for event in events
        for side in (event.before, event.after)
        for key, value in side.items()
        if key in _PEOPLE
    }
    return {person.public_id: str(person) for person in User.objects.filter(public_id__in=ids)} if ids else {}


def _values(event: Event, names: dict[str, str]) -> list[Value]:
    """Return the values of an event that changed, by key."""
    out = []
    for key in sorted({*event.before, *event.after}):
        was, now = event.before.get(key, _ABSENT), event.after.get(key, _ABSENT)
        if was == now:
            continue
        mono = any(not isinstance(value, str) for value in (was, now) if value is not _ABSENT)
        out.append(
            Value(
                _(_NAMES[key]) if key in _NAMES else key.replace("_", " "),
                _text(key, was, names),
                _text(key, now, names),
                mono,
            )
        )
    return out


def _text(key: str, value: Any, names: dict[str, str]) -> str | None:
    if value is _ABSENT:
        return None
    if isinstance(value, str):
        return names.get(value, value) if key in _PEOPLE else value
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True)
