"""Statements written out for claim and submit, where the ORM has none or takes too long; everything else asks the ORM.

A test holds each of them against the ORM's query (tests/reviews/queue/test_statements.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import connection

from annotator.models import Project, User
from annotator.services.database.statements import Value, rows, write
from reviews.models import Priority, Slot, SlotState


def move_cursor(*, person: User, slot: Slot) -> None:
    """Remember that the person has got as far as this slot in its queue, and claimed once more.

    The ORM has no statement that adds to a row, or writes it where there is none.
    """
    write(
        "INSERT INTO reviews_queuecursor (person_id, project_id, stage, position, taken) VALUES (%s, %s, %s, %s, 1) "
        "ON CONFLICT (person_id, project_id, stage) DO UPDATE SET position = excluded.position, "
        "taken = reviews_queuecursor.taken + 1",
        [person.pk, slot.project_id, slot.stage, slot.position],
    )


# --- the queues -------------------------------------------------------------------------------------------------------
# The ORM takes 8 ms to put the heads of all queues together, as long as a claim and its submission take in all.

#: How many slots of a queue are looked at before one of them is locked: more than people who claim at one moment.
DEPTH = 16

#: Stage → position.
Cursors = Mapping[str, int]


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


def take_first(*, person: User, project: Project, queues: Sequence[Queue], cursors: Cursors) -> Slot | None:
    """Lock the first open slot the person may take and give it to them; None where there is none.

    Reads what stands beyond ``cursors``. Runs in the caller's transaction.
    """
    heads, values = candidates(person, project, queues, cursors, DEPTH)
    free = "s.state = 'open' AND (s.reserved_for_id IS NULL OR s.reserved_for_id = %s)"
    order = "ORDER BY c.priority, c.rank, c.position LIMIT 1"
    found = f"FROM reviews_slot s JOIN ({heads}) c ON c.id = s.id WHERE {free} {order}"
    values.append(person.pk)
    if connection.vendor == "postgresql":
        fields = Slot._meta.concrete_fields
        taken = rows(
            "UPDATE reviews_slot SET state = 'claimed', holder_id = %s "  # noqa: S608 - no value is in it
            f"WHERE id = (SELECT s.id {found} FOR UPDATE OF s SKIP LOCKED) "
            f"RETURNING {', '.join(connection.ops.quote_name(str(field.column)) for field in fields)}",
            [person.pk, *values],
        )
        return Slot.from_db(None, [field.attname for field in fields], taken[0]) if taken else None
    # An immediate transaction: nobody else writes between these two.
    slot = next(iter(Slot.objects.raw(f"SELECT s.* {found}", values)), None)
    if slot is not None:
        write("UPDATE reviews_slot SET state = 'claimed', holder_id = %s WHERE id = %s", [person.pk, slot.pk])
        slot.state, slot.holder_id = SlotState.CLAIMED, person.pk
    return slot


def count_waiting(
    *, person: User, project: Project, queues: Sequence[Queue], cursors: Cursors, limit: int
) -> dict[str, int]:
    """How many items of each stage wait for the person, counted up to ``limit`` a queue.

    An item that several people review has a slot for each of them, of which nobody takes two: it counts once.
    """
    # As many slots as hold ``limit`` items.
    depth = limit * max((queue.most_reviewers for queue in queues), default=1)
    heads, values = candidates(person, project, queues, cursors, depth)
    counts = rows(
        "SELECT s.stage, count(DISTINCT s.stage_run_id) FROM reviews_slot s "  # noqa: S608
        f"JOIN ({heads}) c ON c.id = s.id GROUP BY s.stage",
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


#: A gold item's slot comes to the one person who has given it back, while the item is in use; counted as above. Takes
#: the person.
_ORDINARY_OR_GIVEN_BACK = (
    "(NOT s.is_gold OR ("
    "(SELECT count(*) FROM reviews_claim c WHERE c.slot_id = s.id AND c.person_id = %s) > 0 AND "
    "(SELECT count(*) FROM reviews_golditem g WHERE g.stage_run_id = s.stage_run_id AND g.retired_at IS NULL) > 0))"
)


def _head(rank: str) -> str:
    return (
        f"SELECT s.id, s.priority, s.position, {rank} AS rank FROM reviews_slot s "  # noqa: S608 - no value is in it
        "WHERE s.state = 'open' AND s.project_id = %s"
    )


def candidates(
    person: User, project: Project, queues: Sequence[Queue], cursors: Cursors, depth: int
) -> tuple[str, list[Value]]:
    """A statement that reads the heads of all queues, (id, priority, position, rank), and its values.

    It says in SQL what ``eligibility.refusal`` says of one slot.
    """
    parts: list[str] = []
    values: list[Value] = []

    def add(rank: str, condition: str, order: str, given: Sequence[Value]) -> None:
        parts.append(f"{_head(rank)} AND {condition} ORDER BY {order} LIMIT {depth:d}")
        values.extend([project.pk, *given])

    me = person.pk
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
        in_common_queue = f"s.reserved_for_id IS NULL AND s.priority = {Priority.NORMAL:d} AND s.stage = %s"
        offered, tested = (_ORDINARY_OR_GIVEN_BACK, [me]) if queue.tests else ("NOT s.is_gold", [])
        reached = cursors.get(queue.stage, 0)
        beyond = f"{in_common_queue} AND s.position > %s AND {offered} AND {condition}"
        add(f"{rank:d}", beyond, "s.position", [queue.stage, reached, *tested, *given])
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
