"""What became of the items, counted once each has ended: what accuracy is computed from, without reading documents.

An item whose way ends, or begins again, is put into an outbox in the transition's own transaction; a task works out its
course and counts it. An item that is reopened is taken out of the counts until it has ended again.

An item's course is its way up to its first end: from the content that came into the first passage in which a stage was
settled, to how it left each stage. It is held against the content of its *last* passage, so that an erratum shows what
the first passage had overlooked. A record that an import put in the place of another begins its way anew: what stood
there before is not what was verified in the end. Keys, each counted once an item, ``stratum`` being the owner's
pseudonym:

    item    ""               verified | rejected
    stage   <stage>          right | message | wrong (``Closeness``); also "baseline" and "verified"
    round   <stage>:<round>  the same after each round of a stage; round 0 is how the item came there
    ended   <stage>:<round>  the same for the item's last round there
    revised <stage>          in how many of the stage's rounds the content was changed, of items that were looked at
    not_drawn <stage>        (blank) of items that came there and that nobody looked at
    audit   <stage>:<draw>   passed_over | right | error, of items that were in the population of a draw (its number)
"""

from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import QuerySet

from annotator.models import Dialogue, Project, Revision
from annotator.services.database.bulk_insert import insert_rows
from annotator.services.database.statements import write
from annotator.services.history.event_chain import in_portions
from reviews.core.agreement import Closeness
from reviews.core.agreement.item_history import VERIFIED, Visit, closeness, revised_rounds, round_points, stage_points
from reviews.core.protocols import Outcome
from reviews.core.protocols.drawing import ROUNDS
from reviews.models import CourseCount, CoursePending, Cycle, CycleState, ItemCourse, StageRun, StageRunState
from reviews.services.protocols.versions import parse
from reviews.services.statistics.audits import IS_ERROR

#: Rows of the outbox that one transaction counts.
FOLD_SIZE = 100

#: axis, point, stratum, value
Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Difference:
    """A count that is not what the items say."""

    key: Key
    stored: int
    right: int


@dataclass(slots=True)
class _Way:
    """What is read of one item."""

    stratum: str
    cycles: list[Cycle] = field(default_factory=list)
    runs: dict[int, list[StageRun]] = field(default_factory=dict)
    #: Keys of the runs of drawn items that held an error.
    errors: set[int] = field(default_factory=set)


def await_course(*, dialogue_id: int, project_id: int) -> None:
    """Put an item whose way ends or begins again into the outbox, in the caller's transaction."""
    write("INSERT INTO reviews_coursepending (dialogue_id, project_id) VALUES (%s, %s)", [dialogue_id, project_id])


def await_courses(*, dialogue_ids: Sequence[int], project_id: int) -> None:
    """The same for many items."""
    insert_rows(
        CoursePending,
        ("dialogue_id",),
        [(dialogue_id,) for dialogue_id in dialogue_ids],
        constants={"project_id": project_id, "problem": ""},
    )


def fold_courses() -> int:
    """Count one portion of each project's outbox; returns how many rows it took. Safe beside other folders."""
    waiting = CoursePending.objects.filter(problem="")
    projects = waiting.values_list("project_id", flat=True).distinct().order_by("project_id")
    return sum(_fold(project_id) for project_id in projects)


def recount_courses(project: Project, *, repair: bool = False) -> list[Difference]:
    """Compare the counts with what all items say, and with ``repair`` put right what differs.

    What waits in the outbox is not missed; what was set aside is tried again. Reads every ended item once.
    """
    ended = Cycle.objects.filter(project=project, state__in=[CycleState.VERIFIED, CycleState.REJECTED])
    everybody = set(ended.values_list("dialogue_id", flat=True))
    everybody.update(ItemCourse.objects.filter(project=project).values_list("pk", flat=True))
    found: dict[int, list[Key]] = {}
    for portion in in_portions(sorted(everybody), FOLD_SIZE):
        courses, _ = read_courses(portion)
        found.update(courses)
    with transaction.atomic():
        _lock(project.pk)
        pending = CoursePending.objects.filter(project=project)
        waiting = set(pending.filter(problem="").values_list("dialogue_id", flat=True))
        stored = _stored_courses(ItemCourse.objects.filter(project=project))
        # What waits will be counted as it is by then; until then what is stored of it is right.
        right: Tally[Key] = Tally()
        for dialogue_id in found.keys() | stored.keys():
            right.update(stored.get(dialogue_id, []) if dialogue_id in waiting else found.get(dialogue_id, []))
        counts = _stored_counts(project)
        wrong = sorted(key for key in right.keys() | counts.keys() if right[key] != counts[key])
        if repair:
            _add(project.pk, [(key, right[key] - counts[key]) for key in wrong])
            CourseCount.objects.filter(project=project, count=0).delete()
            changed = {one: keys for one, keys in found.items() if one not in waiting and keys != stored.get(one, [])}
            _store(project.pk, changed)
            pending.exclude(problem="").filter(dialogue_id__in=found).delete()
    return [Difference(key, counts[key], right[key]) for key in wrong]


def read_courses(dialogue_ids: Sequence[int]) -> tuple[dict[int, list[Key]], dict[int, str]]:
    """The keys under which each item counts, empty where it has not ended; and why some cannot be counted."""
    ways = _ways(dialogue_ids)
    found: dict[int, list[Key]] = {}
    problems: dict[int, str] = {}
    for dialogue_id in dialogue_ids:
        try:
            found[dialogue_id] = sorted(_keys(ways[dialogue_id])) if dialogue_id in ways else []
        except (DatabaseError, InterfaceError, MemoryError):
            # Not the item's fault: try again later.
            raise
        except Exception as problem:
            problems[dialogue_id] = describe(problem)
    return found, problems


def as_visit(run: StageRun) -> Visit:
    """What a settled run says of its item's way."""
    origin = run.escalated_from
    # As rounds count it: of a stage that goes by rounds, whatever follows; elsewhere, where the item goes back.
    back = origin is not None and (origin.looks is not None or run.outcome == Outcome.RETURN)
    return Visit(
        run.stage,
        run.round,
        run.entry_revision.content_hash,
        _exit(run).content_hash,
        looked=run.outcome != "not_drawn",
        settles=origin.stage if origin is not None and back else "",
    )


def describe(problem: Exception) -> str:
    """An exception as one line that is kept."""
    return f"{type(problem).__name__}: {problem}".strip(": ").replace("\x00", "")[:500]


def _fold(project_id: int) -> int:
    waiting = CoursePending.objects.filter(project_id=project_id, problem="").order_by("pk")
    rows = dict(waiting.values_list("pk", "dialogue_id")[:FOLD_SIZE])
    # Worked out without a lock. Whoever changes an item meanwhile leaves a further row, so it is worked out again.
    found, problems = read_courses(sorted(set(rows.values())))
    with transaction.atomic():
        _lock(project_id)
        mine = set(waiting.filter(pk__in=rows).values_list("pk", flat=True))
        dialogues = {rows[key] for key in mine}
        stored = _stored_courses(ItemCourse.objects.filter(pk__in=dialogues))
        total: Tally[Key] = Tally()
        for dialogue_id in dialogues:
            total.update(found.get(dialogue_id, []))
            total.subtract(stored.get(dialogue_id, []))
        _add(project_id, sorted(total.items()))
        _store(project_id, {one: found.get(one, []) for one in dialogues})
        taken = CoursePending.objects.filter(pk__in=mine)
        for dialogue_id in sorted(dialogues & problems.keys()):
            taken.filter(dialogue_id=dialogue_id).update(problem=problems[dialogue_id])
        taken.exclude(dialogue_id__in=problems).delete()
    return len(mine)


def _lock(project_id: int) -> None:
    """Let nobody else fold or repair this project's counts until the transaction ends; others do not wait for it."""
    list(Project.objects.select_for_update(no_key=True).filter(pk=project_id).values_list("pk", flat=True))


def _ways(dialogue_ids: Sequence[int]) -> dict[int, _Way]:
    dialogues = Dialogue.objects.filter(pk__in=dialogue_ids, published=True).counted()
    ways = {key: _Way(owner or "") for key, owner in dialogues.values_list("pk", "owner__pseudonym")}
    cycles = (
        Cycle.objects.filter(dialogue__in=ways)
        .select_related("protocol", "entry_revision", "exit_revision")
        .defer("protocol__definition", "entry_revision__content", "exit_revision__content")
    )
    by_cycle: dict[int, _Way] = {}
    for cycle in cycles.order_by("dialogue_id", "number"):
        by_cycle[cycle.pk] = way = ways[cycle.dialogue_id]
        way.cycles.append(cycle)
        way.runs[cycle.pk] = []
    runs = (
        StageRun.objects.filter(cycle__in=by_cycle, state=StageRunState.SETTLED)
        .select_related("entry_revision", "exit_revision", "escalated_from", "draw_item__draw")
        .defer("entry_revision__content", "exit_revision__content")
    )
    for run in runs.order_by("pk"):
        by_cycle[run.cycle_id].runs[run.cycle_id].append(run)
    sampled = StageRun.objects.filter(cycle__in=by_cycle, state=StageRunState.SETTLED, entered_as="sampled")
    for key, cycle_id in sampled.filter(IS_ERROR).values_list("pk", "cycle"):
        by_cycle[cycle_id].errors.add(key)
    return ways


def _keys(way: _Way) -> Iterator[Key]:
    ended = (CycleState.VERIFIED, CycleState.REJECTED)
    if not way.cycles or way.cycles[-1].state not in ended:
        return
    last, cycles = way.cycles[-1], _since_import(way.cycles)
    first_end = next(place for place, cycle in enumerate(cycles) if cycle.state in ended)
    passages = cycles[: first_end + 1]
    begun = next((cycle for cycle in passages if way.runs[cycle.pk]), passages[-1])
    runs = [run for cycle in passages for run in way.runs[cycle.pk]]
    visits = [as_visit(run) for run in runs]
    stages = [stage.key for stage in parse(passages[-1].protocol).stages]
    compare = _Comparison(way, last.exit_revision)

    def key(axis: str, point: str, value: str) -> Key:
        return axis, point, way.stratum, value

    yield key("item", "", last.state)
    for point, content in stage_points(stages, begun.entry_revision.content_hash, visits).items():
        yield key("stage", point, compare.closeness(content))
    yield key("stage", VERIFIED, Closeness.RIGHT if last.state == CycleState.VERIFIED else Closeness.WRONG)
    for stage in dict.fromkeys(visit.stage for visit in visits):
        contents = round_points(stage, visits)
        for place, content in enumerate(contents):
            yield key("round", f"{stage}:{place}", compare.closeness(content))
        yield key("ended", f"{stage}:{len(contents) - 1}", compare.closeness(contents[-1]))
        revised = revised_rounds(stage, visits)
        yield key("not_drawn", stage, "") if revised is None else key("revised", stage, str(revised))
    # The audit is of the population as it was drawn from last. Where items are drawn round after round, it is none.
    # What an expert has changed may come to experts again, undrawn: it stays in its sample, as it was found there. So
    # it does where the stage takes every item since.
    drawn = {run.stage: run for run in way.runs[last.pk] if hasattr(run, "draw_item")}
    for stage, run in drawn.items():
        if run.draw_item.draw.algorithm != ROUNDS:
            outcome = "passed_over" if run.entered_as != "sampled" else "error" if run.pk in way.errors else "right"
            yield "audit", f"{stage}:{run.draw_item.draw.number}", run.draw_item.stratum, outcome


def _since_import(cycles: list[Cycle]) -> list[Cycle]:
    """The cycles since the one in which the newest of the imported records came to be reviewed."""
    entries = [cycle.entry_revision for cycle in cycles]
    imported = [entry.pk for entry in entries if entry.batch_id is not None and entry.parent_id is not None]
    return cycles[[entry.pk for entry in entries].index(imported[-1]) :] if imported else cycles


def _exit(run: StageRun) -> Revision:
    return run.exit_revision or run.entry_revision


class _Comparison:
    """Compares an item's versions with the verified one; documents are read only where hashes differ."""

    def __init__(self, way: _Way, verified: Revision | None) -> None:
        self._way = way
        self._verified = verified
        self._known: dict[str, Closeness] = {}

    def closeness(self, content_hash: str) -> Closeness:
        if self._verified is None:
            return Closeness.WRONG
        if content_hash == self._verified.content_hash:
            return Closeness.RIGHT
        if content_hash not in self._known:
            revision = self._revisions()[content_hash]
            self._known[content_hash] = closeness(revision.document(), self._verified.document())
        return self._known[content_hash]

    def _revisions(self) -> dict[str, Revision]:
        out = {cycle.entry_revision.content_hash: cycle.entry_revision for cycle in self._way.cycles}
        for run in (run for runs in self._way.runs.values() for run in runs):
            for revision in (run.entry_revision, _exit(run)):
                out.setdefault(revision.content_hash, revision)
        return out


def _stored_courses(courses: QuerySet[ItemCourse]) -> dict[int, list[Key]]:
    return {pk: [(one[0], one[1], one[2], one[3]) for one in keys] for pk, keys in courses.values_list("pk", "keys")}


def _stored_counts(project: Project) -> Tally[Key]:
    rows = CourseCount.objects.filter(project=project).values_list("axis", "point", "stratum", "value", "count")
    return Tally({(row[0], row[1], row[2], row[3]): row[4] for row in rows})


def _store(project_id: int, courses: dict[int, list[Key]]) -> None:
    gone = [dialogue_id for dialogue_id, keys in courses.items() if not keys]
    for portion in in_portions(gone):
        ItemCourse.objects.filter(pk__in=portion).delete()
    ItemCourse.objects.bulk_create(
        (ItemCourse(dialogue_id=one, project_id=project_id, keys=keys) for one, keys in courses.items() if keys),
        batch_size=500,
        update_conflicts=True,
        unique_fields=["dialogue"],
        update_fields=["keys"],
    )


def _add(project_id: int, changes: Iterable[tuple[Key, int]]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO reviews_coursecount (project_id, axis, point, stratum, value, count) "
            "VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (project_id, axis, point, stratum, value) "
            "DO UPDATE SET count = reviews_coursecount.count + excluded.count",
            [(project_id, *key, change) for key, change in changes if change],
        )
