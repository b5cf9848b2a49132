"""Write one event to each of many dialogues' chains."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any, TypeVar

from django.utils import timezone

from annotator.models import Event, Project, User
from annotator.services.database.bulk_insert import as_json, insert_rows
from annotator.services.history.events import event_digest
from annotator.services.history.outbox import Happened, is_published, write_messages

_Key = TypeVar("_Key")

#: Keys in one “IN” list; SQLite limits the number of values in a statement.
PORTION = 900


def in_portions(keys: Iterable[_Key], size: int = PORTION) -> Iterator[list[_Key]]:
    """Yield the keys in lists short enough for one statement."""
    rest = iter(keys)
    while portion := list(islice(rest, size)):
        yield portion


def extend_chains(
    *,
    actor: User | None,
    project: Project,
    kind: str,
    entries: Mapping[int, Mapping[str, Any]],
    new_at: datetime | None = None,
) -> None:
    """Append an event of one kind to each dialogue's chain. ``entries``: {dialogue id: its ``after``}.

    Runs in the caller's transaction. The dialogues' rows are locked or not yet visible to others. ``new_at``: the
    dialogues were written at this moment of the same transaction, and have no events yet.
    """
    now = new_at or timezone.now()
    stamp = now.isoformat(timespec="microseconds")
    actor_id = actor.pk if actor else None
    rows = []
    for portion in in_portions(sorted(entries)):
        last = dict.fromkeys(portion, (0, ""))
        if new_at is None:
            links = Event.objects.filter(dialogue_id__in=portion).order_by("dialogue_id", "number")
            for dialogue_id, number, digest in links.values_list("dialogue_id", "number", "hash"):
                last[dialogue_id] = (number or 0, digest)
        for dialogue_id in portion:
            number, previous = last[dialogue_id]
            after = dict(entries[dialogue_id])
            digest = event_digest(previous, project.pk, dialogue_id, number + 1, actor_id, kind, {}, after, stamp)
            rows.append((dialogue_id, number + 1, as_json(after), previous, digest))
    insert_rows(
        Event,
        ("dialogue_id", "number", "after", "previous_hash", "hash"),
        rows,
        constants={
            "project_id": project.pk,
            "actor_id": actor_id,
            "kind": kind,
            "before": "{}",
            "created_at": now,
            "sealed": False,
        },
    )
    if is_published(kind):
        write_messages(project, [Happened(kind, after, dialogue_id) for dialogue_id, after in entries.items()])
