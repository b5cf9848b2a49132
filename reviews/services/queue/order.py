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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.models import Q

from annotator.models import Project, User
from annotator.services.access.permissions import OVERSEERS
from annotator.services.database.statements import Value, rows, write
from reviews.core.protocols import Stage
from reviews.models import Claim, Priority, ProtocolVersion, QueueCursor, Slot, SlotState
from reviews.services.protocols.versions import parse

#: How many slots of a queue are looked at before one of them is locked: more than people who claim at one moment.
DEPTH = 16
#: How many of a person's latest claims are looked at for what they have given back.
RECENT = 100

#: Slots that no queue offers to all: those of gold items, made for one person each. Their position is the place that
#: they would have as ordinary ones, with a minus before it: given back, they come to that person again as those do.
ASIDE = Q(position__lt=0)

#: Stage → position.
Cursors = Mapping[str, int]


def new_position(index: int = 0) -> int:
    """A place at the end of a queue."""
    return time.time_ns() // 1000 + index


def place_of(slot: Slot) -> int:
    """Where a slot stands in its queue, or would stand if it were for all."""
    return abs(slot.position)


@dataclass(frozen=True)
class Queue:
    """One stage's slots as one person may take them: of these protocol versions (None: of all)."""

    stage: str
    versions: tuple[int, ...] | None
    most_reviewers: int
    not_earlier_reviewers: bool
    consecutive: bool = False
    #: Whether gold items may come from it again that the person has given back.
    tests: bool = False


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
    found = rows(
        "SELECT id, number, content_hash FROM reviews_protocolversion WHERE project_id = %s ORDER BY number DESC",
        [project.pk],
    )
    return [ProtocolVersion.from_db(connection.alias, ["id", "number", "content_hash"], row) for row in found]


@dataclass(frozen=True)
class Turns:
    """Where one person stands in the queues of a project, and how often gold items are mixed into them."""

    cursors: dict[str, int]
    #: Stage → claims so far.
    taken: dict[str, int]
    #: Stage → (rate, secret), where gold items are in use.
    gold: dict[str, tuple[float, str]]


def read_turns(*, actor: User, project: Project) -> Turns:
    """The actor's place in each queue. One statement: a project without gold items does not pay for them."""
    found = rows(
        "SELECT stage, position, taken, 0.0, '' FROM reviews_queuecursor WHERE person_id = %s AND project_id = %s "
        "UNION ALL SELECT DISTINCT i.stage, -1, 0, coalesce(r.rate, 0.0), coalesce(r.secret, '') "
        "FROM reviews_golditem i LEFT JOIN reviews_goldrate r ON r.project_id = i.project_id AND r.stage = i.stage "
        "WHERE i.project_id = %s AND i.retired_at IS NULL",
        [actor.pk, project.pk, project.pk],
    )
    mine = [row for row in found if row[1] >= 0]
    return Turns(
        cursors={stage: position for stage, position, *_ in mine},
        taken={stage: taken for stage, _, taken, *_ in mine},
        gold={stage: (float(rate), secret) for stage, position, _, rate, secret in found if position < 0},
    )


def before_what_was_given_back(*, actor: User, project: Project, cursors: Cursors) -> dict[str, int]:
    """The cursors, set back to where what the actor has given back of late still stands: it is to come again.

    Of their latest claims: within the hour all cursors go back by themselves.
    """
    recent = Claim.objects.filter(person=actor).order_by("-pk").values("slot")[:RECENT]
    kept = Slot.objects.filter(pk__in=recent, project=project, state=SlotState.OPEN)
    out = dict(cursors)
    for stage, position in kept.values_list("stage", "position"):
        out[stage] = min(out.get(stage, 0), abs(position) - 1)
    return out


def in_turn(slot: Slot) -> bool:
    """Whether a slot stands in the common queue of its stage: reserved for nobody, and not out of turn."""
    return slot.reserved_for_id is None and slot.priority == Priority.NORMAL


def move_cursor(*, actor: User, slot: Slot) -> None:
    """Remember that the actor has got as far as this slot, and claimed once more."""
    if in_turn(slot):
        write(
            "INSERT INTO reviews_queuecursor (person_id, project_id, stage, position, taken) "
            "VALUES (%s, %s, %s, %s, 1) ON CONFLICT (person_id, project_id, stage) DO UPDATE "
            "SET position = excluded.position, taken = reviews_queuecursor.taken + 1",
            [actor.pk, slot.project_id, slot.stage, place_of(slot)],
        )


def rewind_cursors() -> int:
    """Send every cursor back to the beginning, so that nothing they passed over waits for long; returns how many."""
    return QueueCursor.objects.filter(position__gt=0).update(position=0)


def take_first(*, actor: User, project: Project, queues: Sequence[Queue], cursors: Cursors) -> Slot | None:
    """Lock the first open slot the actor may take and give it to them; None where there is none.

    Reads what stands beyond ``cursors``. Runs in the caller's transaction.
    """
    candidates, values = _candidates(actor, project, queues, cursors, DEPTH)
    free = "s.state = 'open' AND (s.reserved_for_id IS NULL OR s.reserved_for_id = %s)"
    order = "ORDER BY c.priority, c.rank, c.position LIMIT 1"
    found = f"FROM reviews_slot s JOIN ({candidates}) c ON c.id = s.id WHERE {free} {order}"
    values.append(actor.pk)
    if connection.vendor == "postgresql":
        fields = Slot._meta.concrete_fields
        taken = rows(
            "UPDATE reviews_slot SET state = 'claimed', holder_id = %s "  # noqa: S608 - no value is in it
            f"WHERE id = (SELECT s.id {found} FOR UPDATE OF s SKIP LOCKED) "
            f"RETURNING {', '.join(connection.ops.quote_name(str(field.column)) for field in fields)}",
            [actor.pk, *values],
        )
        return Slot.from_db(None, [field.attname for field in fields], taken[0]) if taken else None
    # An immediate transaction: nobody else writes between these two.
    slot = next(iter(Slot.objects.raw(f"SELECT s.* {found}", values)), None)
    if slot is not None:
        write("UPDATE reviews_slot SET state = 'claimed', holder_id = %s WHERE id = %s", [actor.pk, slot.pk])
        slot.state, slot.holder_id = SlotState.CLAIMED, actor.pk
    return slot


def begun_beside(*, actor: User, slot: Slot) -> Slot | None:
    """Another place of the slot's run that the actor has begun on and may still take: see _NOT_BESIDE_OWN."""
    others = Slot.objects.filter(stage_run_id=slot.stage_run_id, state=SlotState.OPEN, claims__person=actor)
    return others.filter(Q(reserved_for=None) | Q(reserved_for=actor)).exclude(pk=slot.pk).first()


def count_waiting(
    *, actor: User, project: Project, queues: Sequence[Queue], cursors: Cursors, limit: int
) -> dict[str, int]:
    """How many items of each stage wait for the actor, counted up to ``limit`` a queue.

    An item that several people review has a slot for each of them, of which nobody takes two: it counts once.
    """
    # As many slots as hold ``limit`` items.
    depth = limit * max((queue.most_reviewers for queue in queues), default=1)
    candidates, values = _candidates(actor, project, queues, cursors, depth)
    counts = rows(
        "SELECT s.stage, count(DISTINCT s.stage_run_id) FROM reviews_slot s "  # noqa: S608
        f"JOIN ({candidates}) c ON c.id = s.id GROUP BY s.stage",
        values,
    )
    return {stage: min(int(count), limit) for stage, count in counts}


#: The table's own constraints, asked before they would refuse. Takes the person twice.
_NOT_OWN = (
    "(s.stage_kind = 'self_check' OR ((s.revision_author_id IS NULL OR s.revision_author_id <> %s) "
    "AND (s.owner_id IS NULL OR s.owner_id <> %s)))"
)
# These are counted, not asked for existence: a planner that made a join of them would read all that a person ever held.
# Each takes the person as often as it has marks.
_NOT_IN_RUN = (
    "(SELECT count(*) FROM reviews_slot o WHERE o.stage_run_id = s.stage_run_id AND o.id <> s.id "
    "AND (o.holder_id = %s OR (o.reserved_for_id = %s AND o.state = 'open'))) = 0"
)
#: Who passed over or gave back one place of a run, and may still take that one, gets no other: it would be the same
#: dialogue again, with a draft that knows nothing of theirs.
_NOT_BESIDE_OWN = (
    "(SELECT count(*) FROM reviews_slot o JOIN reviews_claim c ON c.slot_id = o.id AND c.person_id = %s "
    "WHERE o.stage_run_id = s.stage_run_id AND o.id <> s.id AND o.state = 'open' "
    "AND (o.reserved_for_id IS NULL OR o.reserved_for_id = %s)) = 0"
)
_NOT_IN_CYCLE = "(SELECT count(*) FROM reviews_slot o WHERE o.cycle_id = s.cycle_id AND o.holder_id = %s) = 0"
#: Nobody approves the same version twice: who has just approved it in this stage leaves the next word to another.
_NOT_CONFIRMED = (
    "(s.confirms = 0 OR (SELECT count(*) FROM reviews_slot o WHERE o.cycle_id = s.cycle_id AND o.stage = s.stage "
    "AND o.round >= s.round - s.confirms AND o.round < s.round AND o.holder_id = %s) = 0)"
)


#: A gold item's slot that the person has given back, while the item is in use; counted as above. Takes the person.
_GIVEN_BACK = (
    "s.position < 0 AND (SELECT count(*) FROM reviews_claim c WHERE c.slot_id = s.id AND c.person_id = %s) > 0 AND "
    "(SELECT count(*) FROM reviews_golditem g WHERE g.stage_run_id = s.stage_run_id AND g.retired_at IS NULL) > 0"
)


def _head(rank: str, position: str = "s.position") -> str:
    return (
        f"SELECT s.id, s.priority, {position} AS position, {rank} AS rank FROM reviews_slot s "  # noqa: S608 - no value is in it
        "WHERE s.state = 'open' AND s.project_id = %s"
    )


def _candidates(
    actor: User, project: Project, queues: Sequence[Queue], cursors: Cursors, depth: int
) -> tuple[str, list[Value]]:
    """One statement that reads the heads of all queues: (id, priority, position, rank)."""
    parts: list[str] = []
    values: list[Value] = []

    def add(rank: str, condition: str, order: str, given: Sequence[Value]) -> None:
        parts.append(f"{_head(rank)} AND {condition} ORDER BY {order} LIMIT {depth:d}")
        values.extend([project.pk, *given])

    me = actor.pk
    stages: list[Value] = [queue.stage for queue in queues]
    marks = ", ".join(["%s"] * len(stages))
    own = f"s.reserved_for_id = %s AND s.stage IN ({marks}) AND {_NOT_OWN} AND {_NOT_IN_RUN}"
    add("-1", own, "s.priority, s.position", [me, *stages, me, me, me, me])

    ranks = " ".join(f"WHEN %s THEN {rank:d}" for rank in range(len(queues)))
    bars = [_bars(me, queue) for queue in queues]
    any_stage = " OR ".join(f"(s.stage = %s AND {condition})" for condition, _ in bars)
    out_of_turn = f"s.reserved_for_id IS NULL AND s.priority <> {Priority.NORMAL:d} AND ({any_stage})"
    by_stage = [value for queue, (_, given) in zip(queues, bars, strict=True) for value in (queue.stage, *given)]
    rank_of_stage = f"CASE s.stage {ranks} END"
    parts.append(f"{_head(rank_of_stage)} AND {out_of_turn} ORDER BY s.priority, s.position LIMIT {depth:d}")
    values.extend([*stages, project.pk, *by_stage])

    for rank, (queue, (condition, given)) in enumerate(zip(queues, bars, strict=True)):
        in_turn = f"s.reserved_for_id IS NULL AND s.priority = {Priority.NORMAL:d} AND s.stage = %s"
        reached = cursors.get(queue.stage, 0)
        add(f"{rank:d}", f"{in_turn} AND s.position > %s AND {condition}", "s.position", [queue.stage, reached, *given])
        if queue.tests:
            again = f"{in_turn} AND s.position < %s AND {_GIVEN_BACK} AND {condition}"
            parts.append(f"{_head(f'{rank:d}', '-s.position')} AND {again} ORDER BY s.position DESC LIMIT {depth:d}")
            values.extend([project.pk, queue.stage, -reached, me, *given])
    # SQLite takes a limit only within a nested select.
    return " UNION ALL ".join(f"SELECT * FROM ({part}) q{n}" for n, part in enumerate(parts)), values  # noqa: S608


def _bars(me: int, queue: Queue) -> tuple[str, list[Value]]:
    """What else must be true of a slot of this stage for the person to take it."""
    conditions = [_NOT_OWN]
    given: list[Value] = [me, me]
    if queue.most_reviewers > 1:
        conditions += [_NOT_IN_RUN, _NOT_BESIDE_OWN]
        given += [me, me, me, me]
    if queue.not_earlier_reviewers:
        conditions.append(_NOT_IN_CYCLE)
        given.append(me)
    if queue.consecutive:
        conditions.append(_NOT_CONFIRMED)
        given.append(me)
    if queue.versions is not None:
        conditions.append(f"s.protocol_id IN ({', '.join(['%s'] * len(queue.versions))})")
        given += queue.versions
    return " AND ".join(conditions), given
