"""Append-only history. Each dialogue's events form a hash chain, so that missing events are detected."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from annotator.core.schema import canonical
from annotator.core.schema.canonical import without_kinds
from annotator.models import Dialogue, Event, Project, User
from annotator.services.database.compiled import compiled
from annotator.services.database.statements import insert
from annotator.services.history.outbox import Happened, write_messages
from annotator.services.notices.notices import notify_of_events


@dataclass(frozen=True, slots=True)
class EventLine:
    """The content of an event before it is added to a chain."""

    kind: str
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)
    sealed: bool = False


def append_event(
    *,
    actor: User | None,
    project: Project,
    kind: str,
    dialogue: Dialogue | None = None,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    sealed: bool = False,
) -> Event:
    """Write one event in the caller's transaction.

    The caller locks the dialogue's row if transitions of it can run in parallel. A unique number prevents forks of the
    chain in any case.
    """
    line = EventLine(kind, before or {}, after or {}, sealed)
    return append_events(actor=actor, project=project, dialogue=dialogue, lines=[line])[0]


def append_events(
    *, actor: User | None, project: Project, dialogue: Dialogue | None, lines: Sequence[EventLine]
) -> list[Event]:
    """Write the events of one transition, in order, in the caller's transaction; see ``append_event``."""
    number, last_hash = 0, ""
    if dialogue is not None:
        [(number, last_hash)] = _last_link(dialogue.pk) or [(0, "")]
    now, events = timezone.now(), []
    for line in lines:
        number += 1
        event = _chained(
            Event(
                project=project,
                dialogue=dialogue,
                number=None if dialogue is None else number,
                actor=actor,
                kind=line.kind,
                before=line.before,
                after=line.after,
                created_at=now,
                sealed=line.sealed,
            ),
            last_hash,
        )
        if dialogue is not None:
            last_hash = event.hash
        events.append(event)
    notify_of_events(events)
    insert(events)
    key = None if dialogue is None else dialogue.pk
    happened = [Happened(line.kind, line.after, key) for line in lines if not line.sealed]
    write_messages(project, happened, dialogue=dialogue)
    return events


@compiled
def _last_link(dialogue_id: int) -> QuerySet[Event, Any]:
    # Each event of a dialogue has a number.
    return Event.objects.filter(dialogue=dialogue_id).order_by("-number").values_list("number", "hash")[:1]


def broken_links(dialogue: Dialogue) -> list[int]:
    """Return the numbers of events at which the dialogue's chain is broken; empty if nothing was removed or changed.

    Only the project's checkpoints detect a removed end: see ``annotator.services.integrity.checkpoints``.
    """
    problems = _problems(Event.objects.filter(dialogue=dialogue).order_by("number"))
    return list(dict.fromkeys(number for number, _ in problems))


def chain_problems(dialogues: Sequence[int]) -> Iterable[tuple[int, str]]:
    """Yield (key, sentence) for each event that was removed, changed or inserted in the chains of dialogues."""
    events = Event.objects.filter(dialogue__in=dialogues).select_related("dialogue")
    events = events.defer(*(f"dialogue__{name}" for name in ("search_text", "policies", "topologies", "information")))
    chains = groupby(events.order_by("dialogue_id", "number").iterator(2000), key=lambda event: event.dialogue)
    for dialogue, links in chains:
        if dialogue is not None:
            for _, problem in _problems(links):
                yield dialogue.pk, f"dialogue {dialogue.external_id}: {problem}"


def loose_problems(project: Project) -> Iterable[str]:
    """Yield a sentence for each changed event that belongs to no dialogue.

    They are in no chain: checkpoints, which have the hashes of all events, detect missing ones.
    """
    for event in Event.objects.filter(project=project, dialogue=None).order_by("pk").iterator(2000):
        if event.hash != _digest(event):
            yield f"event {event.pk} of the project ({event.kind}, {event.created_at:%Y-%m-%d %H:%M} UTC) was changed"


def _problems(events: Iterable[Event]) -> Iterable[tuple[int, str]]:
    """Yield the number of an event, and a sentence, for each place where the chain is broken."""
    expected, last = 1, ""
    for event in events:
        number = event.number or 0
        named = f"event {number} ({event.kind}, {event.created_at:%Y-%m-%d %H:%M} UTC)"
        if number > expected:
            gone = f"event {expected} was" if number == expected + 1 else f"events {expected} to {number - 1} were"
            yield number, f"{gone} removed"
        if event.hash != _digest(event):
            yield number, f"{named} was changed"
        elif number < expected or (number == expected and event.previous_hash != last):
            yield number, f"{named} does not match the event before it: one of the two was replaced"
        expected, last = number + 1, event.hash


def _chained(event: Event, previous_hash: str) -> Event:
    event.previous_hash = previous_hash
    event.hash = _digest(event)
    return event


def _digest(event: Event) -> str:
    return event_digest(
        event.previous_hash, event.project_id, event.dialogue_id, event.number, event.actor_id, event.kind,
        event.before, event.after, event.created_at.isoformat(timespec="microseconds"),
    )  # fmt: skip


def event_digest(
    previous_hash: str,
    project_id: int,
    dialogue_id: int | None,
    number: int | None,
    actor_id: int | None,
    kind: str,
    before: dict[str, Any],
    after: dict[str, Any],
    created_at: str,
) -> str:
    """Return the hash of one link of a chain (docs/history.md); ``created_at`` in ISO form with microseconds."""
    body = canonical(
        without_kinds([previous_hash, project_id, dialogue_id, number, actor_id, kind, before, after, created_at])
    )
    return hashlib.sha256(body.encode()).hexdigest()
