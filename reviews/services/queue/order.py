"""The order of work, and how a person gets the next slot of it.

A queue is the open slots of one (project, stage) in the order of ``position``: microseconds of the clock when the slot
came in, plus its index within a batch. Clocks of several machines differ a little; that only means that two items
change places. Slots reserved for a person form a queue of that person's own, and so do those with a priority other than
the normal one, which are few: they are read from the beginning each time.

Each person has a cursor in each stage's queue, so that nobody's claim walks again over what they have already done or
may not do. A cursor can pass over something that is theirs after all: a slot whose transaction committed late, one that
was locked at that moment or came back to its old place, an owner who changed. Nothing is lost by it: who finds nothing
beyond the cursors looks once more from the beginning, and every hour all cursors go back there.
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
from reviews.models import Claim, GoldItem, GoldRate, Priority, ProtocolVersion, QueueCursor, Slot, SlotState
from reviews.services import statements
from reviews.services.protocols.versions import parse
from reviews.services.statements import Cursors, Queue

#: How many of a person's latest claims are looked at for what they have given back.
RECENT = 100


def new_position(index: int = 0) -> int:
    """A place at the end of a queue."""
    return time.time_ns() // 1000 + index


def queues_for(*, roles: Iterable[str], versions: Sequence[ProtocolVersion], stage: str | None) -> list[Queue]:
    """The queues a person with these roles works in, the most urgent first: what is nearest to its end comes first.

    ``versions``: all of the project's protocol, newest first. ``stage``: of that stage only.
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
                    # One that was given back before its answer was theirs to see comes no more.
                    tests=not held & OVERSEERS and any(one.reviewers > 1 for _, one in allowed),
                )
            )
    return out


def read_versions(project: Project) -> list[ProtocolVersion]:
    """All versions of the project's protocol, newest first, their definitions left out."""
    return _versions(project.pk)


@compiled
def _versions(project_id: int) -> QuerySet[ProtocolVersion]:
    return ProtocolVersion.objects.filter(project=project_id).only("number", "content_hash").order_by("-number")


@dataclass(frozen=True)
class QueuePositions:
    """Where one person stands in the queues of a project, and how often gold items are mixed into them."""

    cursors: dict[str, int]
    #: Stage → claims so far.
    taken: dict[str, int]
    #: Stage → (rate, secret), where gold items are in use.
    gold: dict[str, tuple[float, str]]


def read_positions(*, actor: User, project: Project) -> QueuePositions:
    """The actor's place in each queue."""
    found = _positions(project.pk, actor.pk)
    mine = [(stage, position, taken) for stage, position, taken, *_ in found if position is not None]
    return QueuePositions(
        cursors={stage: position for stage, position, _ in mine},
        taken={stage: taken for stage, _, taken in mine},
        gold={stage: (rate or 0.0, secret or "") for stage, position, _, rate, secret in found if position is None},
    )


@compiled
def _positions(project_id: int, person_id: int) -> QuerySet[Any, Any]:
    """(stage, position, taken, None, None) of each cursor; (stage, None, None, rate, secret) where gold is in use."""
    none = Value(None, TextField())
    mine = QueueCursor.objects.filter(project=project_id, person=person_id)
    items = GoldItem.objects.filter(project=project_id, retired_at=None).order_by()
    rates = GoldRate.objects.filter(project=OuterRef("project"), stage=OuterRef("stage"))
    gold = items.values_list("stage", none, none, Subquery(rates.values("rate")), Subquery(rates.values("secret")))
    return mine.values_list("stage", "position", "taken", none, none).union(gold)


def rewound_to_released(*, actor: User, project: Project, cursors: Cursors) -> dict[str, int]:
    """The cursors, set back to where what the actor has given back of late still stands: it is to come again.

    Of their latest claims: within the hour all cursors go back by themselves.
    """
    recent = Claim.objects.filter(person=actor).order_by("-pk").values("slot")[:RECENT]
    kept = Slot.objects.filter(pk__in=recent, project=project, state=SlotState.OPEN)
    out = dict(cursors)
    for stage, position in kept.values_list("stage", "position"):
        out[stage] = min(out.get(stage, 0), position - 1)
    return out


def in_common_queue(slot: Slot) -> bool:
    """Whether a slot stands in the common queue of its stage: reserved for nobody, and not out of turn."""
    return slot.reserved_for_id is None and slot.priority == Priority.NORMAL


def move_cursor(*, actor: User, slot: Slot) -> None:
    """Remember that the actor has got as far as this slot, and claimed once more."""
    if in_common_queue(slot):
        statements.move_cursor(person=actor, slot=slot)


def rewind_cursors() -> int:
    """Send every cursor back to the beginning, so that nothing they passed over waits for long; returns how many."""
    return QueueCursor.objects.filter(position__gt=0).update(position=0)


def other_started_slot(*, actor: User, slot: Slot) -> Slot | None:
    """Another place of the slot's run that the actor has begun on and may still take; the queues ask the same."""
    others = Slot.objects.filter(stage_run_id=slot.stage_run_id, state=SlotState.OPEN, claims__person=actor)
    return others.filter(Q(reserved_for=None) | Q(reserved_for=actor)).exclude(pk=slot.pk).first()
