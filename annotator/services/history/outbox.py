"""Messages to webhooks, written in the transaction of the event that they are about.

An app registers a writer for each kind of event that webhooks publish. A message has ids, counts and addresses, never
content, and never who did something: its reader may review blind.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotator.core.schema.exact_json import dumps
from annotator.models import DeliveryState, Dialogue, Project, Webhook, WebhookDelivery, WebhookEvent
from annotator.models.content import GoldRole
from annotator.models.keys import new_public_ids
from annotator.services.broker import wake_task
from annotator.services.database.bulk_insert import insert_rows
from annotator.services.database.compiled import compiled
from annotator.services.database.statements import insert
from annotator.services.notices.addresses import absolute_url

TASK = "annotator.tasks.send_webhooks"
#: The version of all messages: it changes when a field is renamed or removed.
VERSION = 1
#: Dialogues read, and rows written, at once.
_PORTION = 900
#: Rows that one prepared statement writes, which is faster: a review holds locks meanwhile.
_FEW = 16

#: Returns the data of a message beside the dialogue's; None if there is no message.
Writer = Callable[[Project, Mapping[str, Any]], Mapping[str, Any] | None]


@dataclass(frozen=True, slots=True)
class _Rule:
    event: WebhookEvent
    when: Callable[[Mapping[str, Any]], bool]
    write: Writer


@dataclass(frozen=True, slots=True)
class Happened:
    """An event of a project or dialogue, and its ``after``."""

    kind: str
    after: Mapping[str, Any]
    dialogue_id: int | None = None


_RULES: dict[str, list[_Rule]] = {}


def publishes(
    kind: str, event: WebhookEvent, *, when: Callable[[Mapping[str, Any]], bool] = lambda after: True
) -> Callable[[Writer], Writer]:
    """Register the writer of the messages about events of a kind. ``when`` gets the event's ``after``."""

    def register(write: Writer) -> Writer:
        _RULES.setdefault(kind, []).append(_Rule(event, when, write))
        return write

    return register


def is_published(kind: str) -> bool:
    """Return whether webhooks publish events of a kind."""
    return kind in _RULES


def write_messages(project: Project, events: Iterable[Happened], *, dialogue: Dialogue | None = None) -> None:
    """Write the messages about events for the project's webhooks, in the caller's transaction.

    A project without webhooks costs one indexed query if an event is published, and nothing otherwise. ``dialogue``:
    that of the events, if the caller has it.
    """
    due = [(one, rule) for one in events for rule in _RULES.get(one.kind, ()) if rule.when(one.after)]
    hooks = _usable(project.pk) if due else []
    wanted = {event for hook in hooks for event in hook.events}
    due = [(one, rule) for one, rule in due if rule.event in wanted]
    if not due:
        return
    now = timezone.now()
    if dialogue is None:
        shown = _shown(project, {one.dialogue_id for one, _rule in due if one.dialogue_id is not None})
    else:
        shown = {} if dialogue.gold_role == GoldRole.GOLD else {dialogue.pk: _dialogue_data(project, dialogue)}
    write_deliveries(_rows(project, due, hooks, shown, now), now=now)


def write_deliveries(rows: Iterable[tuple[int, str, str]], *, now: datetime) -> list[str]:
    """Write messages: (webhook's key, event, body). A worker sends them after the commit. Returns their public ids."""
    written: list[str] = []
    rest = iter(rows)
    names, fixed = ("public_id", "webhook_id", "event", "body"), {"next_try_at": now, "created_at": now}
    while portion := list(islice(rest, _PORTION)):
        ids = new_public_ids(len(portion))
        named = [(one, *row) for one, row in zip(ids, portion, strict=True)]
        if len(named) <= _FEW:
            insert([WebhookDelivery(**dict(zip(names, row, strict=True)), **fixed) for row in named])
        else:
            insert_rows(WebhookDelivery, names, named, constants=fixed | {"state": DeliveryState.WAITING.value})
        written += ids
    if written:
        transaction.on_commit(_wake, robust=True)
    return written


def message_body(project: Project, event: WebhookEvent, data: Mapping[str, Any], *, now: datetime) -> str:
    """Return a message as JSON."""
    message = {
        "type": event.value,
        "version": VERSION,
        "timestamp": now.isoformat(timespec="milliseconds"),
        "project": {
            "id": project.public_id, "slug": project.slug, "url": absolute_url(project.get_absolute_url()),
        },
        "data": dict(data),
    }  # fmt: skip
    return dumps(message).decode()


def _rows(
    project: Project,
    due: Iterable[tuple[Happened, _Rule]],
    hooks: Sequence[Webhook],
    shown: Mapping[int, Mapping[str, Any]],
    now: datetime,
) -> Iterator[tuple[int, str, str]]:
    for one, rule in due:
        data = rule.write(project, one.after)
        if one.dialogue_id is not None and data is not None:
            # Gold items are in no figure and no release, so they are in no message.
            data = {"dialogue": shown[one.dialogue_id], **data} if one.dialogue_id in shown else None
        if data is not None:
            body = message_body(project, rule.event, data, now=now)
            yield from ((hook.pk, rule.event.value, body) for hook in hooks if rule.event in hook.events)


def _shown(project: Project, keys: Iterable[int]) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    rest = iter(sorted(keys))
    while portion := list(islice(rest, _PORTION)):
        rows = Dialogue.objects.filter(pk__in=portion).counted().only("public_id", "external_id")
        found |= {one.pk: _dialogue_data(project, one) for one in rows}
    return found


def _dialogue_data(project: Project, dialogue: Dialogue) -> dict[str, Any]:
    page = Dialogue(project=project, public_id=dialogue.public_id)
    return {
        "id": dialogue.public_id, "external_id": dialogue.external_id, "url": absolute_url(page.get_absolute_url())
    }  # fmt: skip


@compiled
def _usable(project_id: int) -> QuerySet[Webhook]:
    return Webhook.objects.usable().filter(project=project_id).order_by("pk")


def _wake() -> None:
    wake_task(TASK)
