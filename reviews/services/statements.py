"""Statements written out, for claim and submit: everything else asks the ORM.

The join of the work, the lock of the memberships and the queues each cost more than 15 % of claim and submit without
this. The others cost 4 to 9 % each, and a third together: without them eight people would hand in fewer than 85 items
a second, where 100 are promised. Times are of one core of which a claim and its submission take 10 ms. A test holds
each statement against the ORM's query (tests/reviews/queue/test_statements.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from annotator.models import Dialogue, Project, Revision, ToolsetRevision, User
from annotator.services.database.joined import Part, read_joined
from annotator.services.database.statements import Value, clock, locked, read_clock, rows, write
from reviews.models import Claim, Cycle, Priority, ProtocolVersion, Slot, SlotState, StageRun

_WORK = (
    Part("c", Claim),
    Part("s", Slot),
    Part("n", StageRun),
    Part("d", Dialogue, without=("search_text",)),
    Part("p", Project),
    Part("y", Cycle),
    Part("v", ProtocolVersion, without=("definition",)),
    Part("r", Revision),
    Part("t", ToolsetRevision),
)
_WORK_FROM = (
    "FROM reviews_claim c JOIN reviews_slot s ON s.id = c.slot_id JOIN reviews_stagerun n ON n.id = s.stage_run_id "
    "JOIN annotator_dialogue d ON d.id = s.dialogue_id JOIN annotator_project p ON p.id = s.project_id "
    "JOIN reviews_cycle y ON y.id = s.cycle_id JOIN reviews_protocolversion v ON v.id = s.protocol_id "
    "JOIN annotator_revision r ON r.id = s.revision_id "
    "JOIN annotator_toolsetrevision t ON t.id = r.toolset_revision_id "
    "WHERE s.public_id = %s AND c.person_id = %s AND s.state <> 'hidden' AND EXISTS (SELECT 1 "
    "FROM annotator_membership m WHERE m.project_id = s.project_id AND m.user_id = c.person_id AND m.ended_at IS NULL)"
)


def read_claim(*, person: User, slot: str, token: str | None = None) -> tuple[Claim, datetime] | None:
    """The person's latest claim on the slot with this public id (or the one with this token), and what time it is.

    With all that hangs on the slot, as ``select_related`` reads it: the ORM takes four times as long to put so many
    tables together, and every page, edit and submission begins with this.
    """
    named = "" if token is None else "AND c.token = %s"
    values: list[Value] = [slot, person.pk] if token is None else [slot, person.pk, token]
    found = read_joined(_WORK, f"{_WORK_FROM} {named} ORDER BY c.id DESC LIMIT 1", values, last=clock())
    if not found:
        return None
    claim, held, run, dialogue, project, cycle, protocol, revision, toolset_revision, now = found[0]
    claim.slot, claim.project = held, project
    held.stage_run, held.dialogue, held.project, held.cycle = run, dialogue, project, cycle
    held.protocol, held.revision = protocol, revision
    dialogue.project, revision.toolset_revision = project, toolset_revision
    return claim, read_clock(now)


def lock_memberships(*, person: User, project: Project) -> list[tuple[str, datetime, bool]]:
    """Lock a person's live memberships of a project: (role, what time it is, whether anything may restrain claims).

    Every claim and every submission begins with this: to put the two conditions together takes the ORM 1.5 ms.
    """
    held = rows(
        locked(
            f"SELECT m.role, {clock()}, EXISTS (SELECT 1 FROM reviews_pause p "  # noqa: S608 - no value is in it
            "WHERE p.project_id = m.project_id AND p.ended_at IS NULL) OR EXISTS (SELECT 1 FROM "
            "reviews_assignmentrules r WHERE r.project_id = m.project_id AND r.most_held IS NOT NULL) "
            "FROM annotator_membership m "
            "WHERE m.project_id = %s AND m.user_id = %s AND m.ended_at IS NULL ORDER BY m.id",
            "FOR NO KEY UPDATE OF m",
        ),
        [project.pk, person.pk],
    )
    return [(role, read_clock(now), bool(limited)) for role, now, limited in held]


def own_or_overdue_claims(*, person: User, project: Project, now: datetime) -> list[int]:
    """Keys of the live claims of a project that are the person's, or have run out.

    Every claim looks at them first: the ORM takes 0.6 ms more.
    """
    found = rows(
        "SELECT id FROM reviews_claim "
        "WHERE project_id = %s AND state = 'live' AND (person_id = %s OR expires_at <= %s)",
        [project.pk, person.pk, now],
    )
    return [key for (key,) in found]


def lock_dialogue_and_slot(slot: Slot, *, person: User) -> tuple[int | None, bool]:
    """Lock a slot's dialogue, then the slot, and bring up to date what may have changed of both since they were read.

    Returns the key of the guideline in force, and whether the person has filled in a form. Every submission does this
    while others wait for the dialogue: the ORM takes four statements, and 2 ms more.
    """
    dialogue = slot.dialogue
    statement = (
        "SELECT d.status, d.stage, d.owner_id, d.head_id, (SELECT g.id FROM annotator_guideline g "
        "WHERE g.project_id = d.project_id ORDER BY g.number DESC LIMIT 1), "
        "EXISTS (SELECT 1 FROM reviews_reviewdraft f WHERE f.slot_id = s.id AND f.person_id = %s), "
        "s.state, s.holder_id, s.reserved_for_id, s.owner_id, s.protocol_id "
        "FROM annotator_dialogue d JOIN reviews_slot s ON s.dialogue_id = d.id WHERE s.id = %s"
    )
    # In the order in which they are named.
    [row] = rows(locked(statement, "FOR UPDATE OF d, s"), [person.pk, slot.pk])
    dialogue.status, dialogue.stage, dialogue.owner_id, dialogue.head_id, guideline, has_form, *again = row
    slot.state, slot.holder_id, slot.reserved_for_id, slot.owner_id, slot.protocol_id = again
    return guideline, bool(has_form)


def read_positions(
    *, person: User, project: Project
) -> tuple[list[tuple[str, int, int]], list[tuple[str, float, str]]]:
    """The person's cursors, (stage, position, taken), and where gold items are in use, (stage, rate, secret).

    Every claim asks for both: the ORM takes three statements, and 0.8 ms more.
    """
    found = rows(
        "SELECT FALSE, stage, position, taken, 0.0, '' FROM reviews_queuecursor "
        "WHERE person_id = %s AND project_id = %s UNION ALL "
        "SELECT DISTINCT TRUE, i.stage, 0, 0, coalesce(r.rate, 0.0), coalesce(r.secret, '') "
        "FROM reviews_golditem i LEFT JOIN reviews_goldrate r ON r.project_id = i.project_id AND r.stage = i.stage "
        "WHERE i.project_id = %s AND i.retired_at IS NULL",
        [person.pk, project.pk, project.pk],
    )
    return (
        [(stage, position, taken) for gold, stage, position, taken, *_ in found if not gold],
        [(stage, float(rate), secret) for gold, stage, _, _, rate, secret in found if gold],
    )


def read_versions(project: Project) -> list[ProtocolVersion]:
    """All versions of the project's protocol, newest first, their definitions left out.

    Every claim asks for them: the ORM takes 0.4 ms more.
    """
    found = rows(
        "SELECT id, number, content_hash FROM reviews_protocolversion WHERE project_id = %s ORDER BY number DESC",
        [project.pk],
    )
    return [ProtocolVersion.from_db(connection.alias, ["id", "number", "content_hash"], row) for row in found]


def move_cursor(*, person: User, slot: Slot) -> None:
    """Remember that the person has got as far as this slot in its queue, and claimed once more.

    Every claim ends with this: the ORM takes two statements the first time, and 0.4 ms more each time.
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
