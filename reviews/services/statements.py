"""Hand-written SQL, where the ORM has no such statement or takes too long.

A test compares each statement with the ORM's query (tests/reviews/queue/test_statements.py).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from annotator.core.abilities import ANYTHING, PREFIX, Abilities, tags_of
from annotator.models import Project, User
from annotator.models.content import GoldRole
from annotator.services.database.statements import Value, rows, write
from reviews.models import Priority, Slot, SlotState


def move_cursor(*, person: User, slot: Slot) -> None:
    """Move the person's cursor to this slot, and count the claim.

    The ORM can't insert a row or else increment its value in one statement.
    """
    write(
        "INSERT INTO reviews_queuecursor (person_id, project_id, stage, position, taken) VALUES (%s, %s, %s, %s, 1) "
        "ON CONFLICT (person_id, project_id, stage) DO UPDATE SET position = excluded.position, "
        "taken = reviews_queuecursor.taken + 1",
        [person.pk, slot.project_id, slot.stage, slot.position],
    )


# --- the queues -------------------------------------------------------------------------------------------------------
# The ORM takes 8 ms to compile the union of all queues, as long as a whole claim and its submission.

#: Slots of a queue that are considered before one is locked: more than people who claim at the same time.
DEPTH = 16

#: Stage → position.
Cursors = Mapping[str, int]


@dataclass(frozen=True)
class Queue:
    """One stage's queue for one person. ``versions``: only slots of these protocol versions (None: of all)."""

    stage: str
    versions: tuple[int, ...] | None
    most_reviewers: int
    not_earlier_reviewers: bool
    consecutive: bool = False
    #: Whether gold items that the person has released can come again.
    tests: bool = False


def take_first(
    *,
    person: User,
    project: Project,
    queues: Sequence[Queue],
    cursors: Cursors,
    skipped: bool = False,
    abilities: Abilities = ANYTHING,
) -> Slot | None:
    """Lock the first open slot that the person may claim, and assign it to them; return None if there is none.

    Reads slots after ``cursors``. What they have skipped is left out, whichever slot of the item it is; ``skipped``:
    it is included, and the item that they skipped last comes last. Runs in the caller's transaction.
    """
    heads, values = candidates(person, project, queues, cursors, DEPTH, with_skipped=skipped, abilities=abilities)
    free = "s.state = 'open' AND (s.reserved_for_id IS NULL OR s.reserved_for_id = %s)"
    values.append(person.pk)
    order = "c.priority, c.rank, c.position LIMIT 1"
    if skipped:
        order = f"{_SKIPPED_LAST}, {order}"
        values.append(person.pk)
    found = f"FROM reviews_slot s JOIN ({heads}) c ON c.id = s.id WHERE {free} ORDER BY {order}"
    if connection.vendor == "postgresql":
        fields = Slot._meta.concrete_fields
        taken = rows(
            "UPDATE reviews_slot SET state = 'claimed', holder_id = %s "  # noqa: S608 - no value is in it
            f"WHERE id = (SELECT s.id {found} FOR UPDATE OF s SKIP LOCKED) "
            f"RETURNING {', '.join(connection.ops.quote_name(str(field.column)) for field in fields)}",
            [person.pk, *values],
        )
        return Slot.from_db(None, [field.attname for field in fields], taken[0]) if taken else None
    # The transaction is immediate: nobody else writes between the two statements.
    slot = next(iter(Slot.objects.raw(f"SELECT s.* {found}", values)), None)
    if slot is not None:
        write("UPDATE reviews_slot SET state = 'claimed', holder_id = %s WHERE id = %s", [person.pk, slot.pk])
        slot.state, slot.holder_id = SlotState.CLAIMED, person.pk
    return slot


def count_waiting(
    *,
    person: User,
    project: Project,
    queues: Sequence[Queue],
    cursors: Cursors,
    limit: int,
    abilities: Abilities = ANYTHING,
) -> dict[str, int]:
    """Return how many items of each stage the person could claim, counted up to ``limit`` in each queue.

    An item with several reviewers has a slot for each. A person can take only one of them, so the item counts once.
    """
    # Enough slots for ``limit`` items.
    depth = limit * max((queue.most_reviewers for queue in queues), default=1)
    heads, values = candidates(person, project, queues, cursors, depth, abilities=abilities)
    counts = rows(
        "SELECT s.stage, count(DISTINCT s.stage_run_id) FROM reviews_slot s "  # noqa: S608
        f"JOIN ({heads}) c ON c.id = s.id GROUP BY s.stage",
        values,
    )
    return {stage: min(int(count), limit) for stage, count in counts}


# These use counts: with EXISTS, a planner may choose a join that reads everything a person ever claimed.
#: The table's own constraints, checked before they would fail, and the co-authors. Has three marks for the person.
_NOT_OWN = (
    "(s.stage_kind = 'self_check' OR ((s.revision_author_id IS NULL OR s.revision_author_id <> %s) "
    "AND (s.owner_id IS NULL OR s.owner_id <> %s) AND (SELECT count(*) FROM reviews_coauthor a "
    "WHERE a.dialogue_id = s.dialogue_id AND a.person_id = %s) = 0))"
)
# Each mark is the person.
_NOT_IN_RUN = (
    "(SELECT count(*) FROM reviews_slot o WHERE o.stage_run_id = s.stage_run_id AND o.id <> s.id "
    "AND (o.holder_id = %s OR (o.reserved_for_id = %s AND o.state = 'open'))) = 0"
)
#: If the person has skipped or released another slot of the run and can still claim it, they don't get this one: it
#: would be the same dialogue without their draft.
_NOT_BESIDE_OWN = (
    "(SELECT count(*) FROM reviews_slot o JOIN reviews_claim c ON c.slot_id = o.id AND c.person_id = %s "
    "WHERE o.stage_run_id = s.stage_run_id AND o.id <> s.id AND o.state = 'open' "
    "AND (o.reserved_for_id IS NULL OR o.reserved_for_id = %s)) = 0"
)
_NOT_IN_CYCLE = "(SELECT count(*) FROM reviews_slot o WHERE o.cycle_id = s.cycle_id AND o.holder_id = %s) = 0"
#: Nobody approves the same revision twice in a row.
_NOT_CONFIRMED = (
    "(s.confirms = 0 OR (SELECT count(*) FROM reviews_slot o WHERE o.cycle_id = s.cycle_id AND o.stage = s.stage "
    "AND o.round >= s.round - s.confirms AND o.round < s.round AND o.holder_id = %s) = 0)"
)


#: The slot of a gold item comes again only to the person who released it, while the item is in use (that of a training
#: item comes from ``queue.training_claims``). Uses a count, as
#: above. Has one mark for the person.
_ORDINARY_OR_GIVEN_BACK = (
    "(NOT s.is_gold OR ("
    "(SELECT count(*) FROM reviews_claim c WHERE c.slot_id = s.id AND c.person_id = %s) > 0 AND "
    "(SELECT count(*) FROM reviews_golditem g WHERE g.stage_run_id = s.stage_run_id AND g.retired_at IS NULL "
    "AND g.training_place IS NULL) > 0))"
)


#: Latest skips of a person that are remembered; what they skipped earlier comes in its turn again.
SKIPS = 200
#: The person has not skipped the item, in this slot or another one of its run. Read once for all slots, from the index
#: of skipped claims. Its marks are the person and the project.
_NOT_SKIPPED = (
    "s.stage_run_id NOT IN (SELECT o.stage_run_id FROM (SELECT c.slot_id FROM reviews_claim c WHERE c.person_id = %s "  # noqa: S608
    f"AND c.project_id = %s AND c.state = 'skipped' ORDER BY c.id DESC LIMIT {SKIPS:d}) k "
    "JOIN reviews_slot o ON o.id = k.slot_id)"
)
#: An order: first what the person has not skipped, then by their last skip. Its mark is the person.
_SKIPPED_LAST = (
    "COALESCE((SELECT max(k.id) FROM reviews_slot o JOIN reviews_claim k ON k.slot_id = o.id AND k.person_id = %s "
    "AND k.state = 'skipped' WHERE o.stage_run_id = s.stage_run_id), 0)"
)


def _head(rank: str) -> str:
    return (
        f"SELECT s.id, s.priority, s.position, {rank} AS rank FROM reviews_slot s "  # noqa: S608 - no value is in it
        "WHERE s.state = 'open' AND s.project_id = %s"
    )


def candidates(
    person: User,
    project: Project,
    queues: Sequence[Queue],
    cursors: Cursors,
    depth: int,
    *,
    with_skipped: bool = True,
    abilities: Abilities = ANYTHING,
) -> tuple[str, list[Value]]:
    """Return a statement that reads the heads of all queues, as (id, priority, position, rank), and its values.

    It applies the rules of ``eligibility.refusal`` in SQL, and to slots that are not reserved those of ``abilities``
    (see ``queue.abilities``). ``with_skipped``: also what the person has skipped.
    """
    parts: list[str] = []
    values: list[Value] = []
    kept, of_kept = ("", []) if with_skipped else (f" AND {_NOT_SKIPPED}", [person.pk, project.pk])

    def add(rank: str, condition: str, order: str, given: Sequence[Value]) -> None:
        parts.append(f"{_head(rank)} AND {condition}{kept} ORDER BY {order} LIMIT {depth:d}")
        values.extend([project.pk, *given, *of_kept])

    me = person.pk
    stages: list[Value] = [queue.stage for queue in queues]
    marks = ", ".join(["%s"] * len(stages))
    own = f"s.reserved_for_id = %s AND s.stage IN ({marks}) AND {_NOT_OWN} AND {_NOT_IN_RUN}"
    add("-1", own, "s.priority, s.position", [me, *stages, me, me, me, me, me])

    ranks = " ".join(f"WHEN %s THEN {rank:d}" for rank in range(len(queues)))
    bars = [_bars(me, queue, abilities) for queue in queues]
    any_stage = " OR ".join(f"(s.stage = %s AND {condition})" for condition, _ in bars)
    # Written as in the index: with “<>”, SQLite does not use it and reads all slots.
    out_of_turn = f"s.reserved_for_id IS NULL AND NOT (s.priority = {Priority.NORMAL:d}) AND ({any_stage})"
    by_stage = [value for queue, (_, given) in zip(queues, bars, strict=True) for value in (queue.stage, *given)]
    rank_of_stage = f"CASE s.stage {ranks} END"
    parts.append(f"{_head(rank_of_stage)} AND {out_of_turn}{kept} ORDER BY s.priority, s.position LIMIT {depth:d}")
    values.extend([*stages, project.pk, *by_stage, *of_kept])

    for rank, (queue, (condition, given)) in enumerate(zip(queues, bars, strict=True)):
        in_common_queue = f"s.reserved_for_id IS NULL AND s.priority = {Priority.NORMAL:d} AND s.stage = %s"
        offered, tested = (_ORDINARY_OR_GIVEN_BACK, [me]) if queue.tests else ("NOT s.is_gold", [])
        reached = cursors.get(queue.stage, 0)
        beyond = f"{in_common_queue} AND s.position > %s AND {offered} AND {condition}"
        add(f"{rank:d}", beyond, "s.position", [queue.stage, reached, *tested, *given])
    # SQLite allows a limit only within a nested select.
    return " UNION ALL ".join(f"SELECT * FROM ({part}) q{n}" for n, part in enumerate(parts)), values  # noqa: S608


def _bars(me: int, queue: Queue, abilities: Abilities) -> tuple[str, list[Value]]:
    """Return the further conditions under which the person may claim a slot of this stage."""
    conditions = [_NOT_OWN]
    given: list[Value] = [me, me, me]
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
    for condition, some in _fits(abilities):
        conditions.append(condition)
        given += some
    return " AND ".join(conditions), given


def _fits(abilities: Abilities) -> Iterator[tuple[str, list[Value]]]:
    """Yield conditions, with their values, for dialogues that are for a person with these languages and skills."""
    if abilities.languages:
        marks = ", ".join(["%s"] * len(abilities.languages))
        language = "(SELECT d.language FROM annotator_dialogue d WHERE d.id = s.dialogue_id)"
        yield f"{language} IN ('', {marks})", [*sorted(abilities.languages)]
    if abilities.skills:
        marks = ", ".join(["%s"] * len(abilities.skills))
        # A count, as above. Not LIKE, whose sign is also that of a mark.
        lacking = (
            "SELECT count(*) FROM annotator_dialoguetag t WHERE t.dialogue_id = s.dialogue_id "  # noqa: S608
            f"AND substr(t.name, 1, {len(PREFIX):d}) = %s AND t.name NOT IN ({marks})"
        )
        yield f"({lacking}) = 0", [PREFIX, *tags_of(abilities.skills)]


# --- people's load ----------------------------------------------------------------------------------------------------
# The ORM can't count several limited queries in one statement (and on SQLite can't combine them).


def count_reserved(*, project: Project, people: Iterable[int], limit: int) -> dict[int, int]:
    """Return {person: number of open slots reserved for them}, each counted up to ``limit``."""
    select = (
        "SELECT reserved_for_id AS person FROM reviews_slot WHERE state = 'open' AND reserved_for_id = %s "
        "AND project_id = %s"
    )
    return _count_each(select, [[key, project.pk] for key in people], limit)


def count_recent_reviews(*, project: Project, people: Iterable[int], since: datetime, limit: int) -> dict[int, int]:
    """Return {person: number of their reviews since then}, each among their latest ``limit``.

    Like the statistics, it leaves out sealed reviews and those of gold items.
    """
    latest = (
        "SELECT r.person_id AS person, r.created_at FROM reviews_review r WHERE r.project_id = %s AND r.person_id = %s "  # noqa: S608
        "AND NOT r.sealed AND (SELECT d.gold_role FROM annotator_dialogue d WHERE d.id = r.dialogue_id) <> %s "
        f"ORDER BY r.id DESC LIMIT {limit:d}"
    )
    select = f"SELECT person FROM ({latest}) latest WHERE created_at >= %s"  # noqa: S608 - no value is in it
    return _count_each(select, [[project.pk, key, GoldRole.GOLD.value, since] for key in people], limit)


def count_recent_skips(*, project: Project, people: Iterable[int], since: datetime, limit: int) -> dict[int, int]:
    """Return {person: number of items they skipped since then}, each among their latest ``limit`` claims.

    Without gold items.
    """
    latest = (
        "SELECT c.person_id AS person, c.project_id, c.slot_id, c.state, c.ended_at FROM reviews_claim c "  # noqa: S608
        f"WHERE c.person_id = %s ORDER BY c.id DESC LIMIT {limit:d}"
    )
    select = (
        f"SELECT person FROM ({latest}) latest WHERE project_id = %s AND state = 'skipped' AND ended_at >= %s "  # noqa: S608
        "AND NOT (SELECT s.is_gold FROM reviews_slot s WHERE s.id = slot_id)"
    )
    return _count_each(select, [[key, project.pk, since] for key in people], limit)


def _count_each(select: str, values: list[list[Value]], limit: int) -> dict[int, int]:
    """Return {person: rows of their selection}, each counted up to ``limit``."""
    out: dict[int, int] = {}
    for start in range(0, len(values), 50):
        some = values[start : start + 50]
        parts = [f"SELECT * FROM ({select} LIMIT {limit:d}) q{n}" for n in range(len(some))]  # noqa: S608
        statement = f"SELECT person, count(*) FROM ({' UNION ALL '.join(parts)}) a GROUP BY person"  # noqa: S608
        out |= {int(person): int(count) for person, count in rows(statement, [one for row in some for one in row])}
    return out
