"""The order of the queues, and each person's position in them.

A queue contains the open slots of one (project, stage) in the order of ``position``: the time of their creation in
microseconds, plus an index within a batch. Clocks of several machines differ a little, which only swaps neighbours.
Slots reserved for a person form a queue of their own, and so do slots with a priority other than normal. There
are few of these, so they are read from the start each time.

Each person has a cursor in each stage's queue, so that a claim does not read again what they have reviewed or can't
claim. A cursor can pass slots that they could claim later: one whose transaction committed late, one that was locked or
came back to its old position, one whose owner changed. Such slots are not lost: if there is nothing after the cursors,
the search starts again from the beginning, and every hour all cursors are reset.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import OuterRef, Q, QuerySet, Subquery, TextField, Value

from annotator.models import Project, User
from annotator.services.access.permissions import OVERSEERS
from annotator.services.database.compiled import compiled
from reviews.core.protocols import Stage
from reviews.models import GoldItem, GoldRate, Priority, ProtocolVersion, QueueCursor, Slot, SlotState
from reviews.services import statements
from reviews.services.protocols.versions import parse
from reviews.services.statements import Queue


def new_position(index: int = 0) -> int:
    """Return a position at the end of a queue."""
    return time.time_ns() // 1000 + index


def queues_for(*, roles: Iterable[str], versions: Sequence[ProtocolVersion], stage: str | None) -> list[Queue]:
    """Return the queues of a person with these roles, the most urgent first: stages nearest to the end.

    ``versions``: all of the project's protocol, newest first. ``stage``: only this stage.
    """
    held = set(roles)
    meanings: dict[str, list[tuple[int, Stage]]] = {}
    for version in versions:
        for one in reversed(parse(version).stages):
            if stage is None or one.key == stage:
                meanings.setdefault(one.key, []).append((version.pk, one))
    out = []
    for key, stages in meanings.items():
        allowed = [(pk, one) for pk, one in stages if held & set(one.eligible.roles)]
        if allowed:
            out.append(
                Queue(
                    stage=key,
                    versions=None if len(allowed) == len(versions) else tuple(pk for pk, _ in allowed),
                    most_reviewers=max(one.reviewers for _, one in allowed),
                    not_earlier_reviewers=any(one.eligible.not_earlier_reviewers for _, one in allowed),
                    consecutive=any(one.consecutive > 1 for _, one in allowed),
                    # A gold item that they released before they could see its answer does not come back.
                    tests=not held & OVERSEERS and any(one.reviewers > 1 for _, one in allowed),
                )
            )
    return out


def read_versions(project: Project) -> list[ProtocolVersion]:
    """Return all versions of the project's protocol, newest first, without their definitions."""
    return _versions(project.pk)


@compiled
def _versions(project_id: int) -> QuerySet[ProtocolVersion]:
    return ProtocolVersion.objects.filter(project=project_id).only("number", "content_hash").order_by("-number")


@dataclass(frozen=True)
class QueuePositions:
    """A person's positions in the queues of a project, and its rates of gold items."""

    cursors: dict[str, int]
    #: Stage → number of claims so far.
    taken: dict[str, int]
    #: Stage → (rate, secret), for stages with gold items.
    gold: dict[str, tuple[float, str]]


def read_positions(*, actor: User, project: Project) -> QueuePositions:
    """Return the actor's position in each queue."""
    found = _positions(project.pk, actor.pk)
    mine = [(stage, position, taken) for stage, position, taken, *_ in found if position is not None]
    return QueuePositions(
        cursors={stage: position for stage, position, _ in mine},
        taken={stage: taken for stage, _, taken in mine},
        gold={stage: (rate or 0.0, secret or "") for stage, position, _, rate, secret in found if position is None},
    )


@compiled
def _positions(project_id: int, person_id: int) -> QuerySet[Any, Any]:
    """Return (stage, position, taken, None, None) of cursors, and (stage, None, None, rate, secret) of gold rates."""
    none = Value(None, TextField())
    mine = QueueCursor.objects.filter(project=project_id, person=person_id)
    items = GoldItem.objects.filter(project=project_id, retired_at=None).order_by()
    rates = GoldRate.objects.filter(project=OuterRef("project"), stage=OuterRef("stage"))
    gold = items.values_list("stage", none, none, Subquery(rates.values("rate")), Subquery(rates.values("secret")))
    return mine.values_list("stage", "position", "taken", none, none).union(gold)


def in_common_queue(slot: Slot) -> bool:
    """Return whether a slot is in the common queue of its stage: not reserved, and of normal priority."""
    return slot.reserved_for_id is None and slot.priority == Priority.NORMAL


def move_cursor(*, actor: User, slot: Slot) -> None:
    """Move the actor's cursor to this slot, and count the claim."""
    if in_common_queue(slot):
        statements.move_cursor(person=actor, slot=slot)


def come_back_to(*, actor: User, slot: Slot) -> None:
    """Move the actor's cursor back before this slot, so that they get it next."""
    passed = QueueCursor.objects.filter(person=actor, project=slot.project_id, stage=slot.stage)
    passed.filter(position__gte=slot.position).update(position=slot.position - 1)


def rewind_cursors() -> int:
    """Reset every cursor, so that no slot behind it waits for long; return how many."""
    return QueueCursor.objects.filter(position__gt=0).update(position=0)


def other_started_slot(*, actor: User, slot: Slot) -> Slot | None:
    """Return another slot of the run that the actor has worked on and can still claim, as the queues do."""
    others = Slot.objects.filter(stage_run_id=slot.stage_run_id, state=SlotState.OPEN, claims__person=actor)
    return others.filter(Q(reserved_for=None) | Q(reserved_for=actor)).exclude(pk=slot.pk).first()
