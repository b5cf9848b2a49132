"""Counts the history of finished items, so that accuracy needs no reading of documents.

An item is put into the outbox when its cycle ends or a new one begins (see ``counting``). A reopened item is subtracted
from the counts until it is finished again.

An item's history covers its first finished cycle, from the content that entered the first cycle with a settled stage to
its content after each stage. Each is compared with the verified content of its *last* cycle, so that a correction shows
what the first cycle missed. If an import replaced the record, the history starts with the new record. Keys, each
counted once per item; ``stratum`` is the owner's pseudonym:

    item    ""               verified | rejected
    stage   <stage>          right | message | wrong (``Closeness``); also "baseline" and "verified"
    round   <stage>:<round>  the same after each round of a stage; round 0 is the content that entered the stage
    ended   <stage>:<round>  the same for the item's last round there
    revised <stage>          number of the stage's rounds that changed the content, for items reviewed there
    not_drawn <stage>        (blank) for items that entered the stage but were not reviewed there
    audit   <stage>:<draw>   not_drawn | right | error, for items in the population of a draw (its number)
"""

from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from annotator.models import Dialogue, Project, Revision
from annotator.services.history.event_chain import in_portions
from reviews.core.agreement import Closeness
from reviews.core.agreement.item_history import VERIFIED, Visit, closeness, revised_rounds, round_points, stage_points
from reviews.core.protocols import Outcome
from reviews.core.protocols.random_draws import ROUNDS
from reviews.models import Cycle, CycleState, ItemHistory, ItemHistoryCount, ItemHistoryPending, StageRun, StageRunState
from reviews.services.protocols.versions import parse
from reviews.services.statistics.audits import IS_ERROR
from reviews.services.statistics.counting import Counting

#: axis, point, stratum, value
Key = tuple[str, str, str, str]


@dataclass(slots=True)
class _ItemRecord:
    """The data read for one item."""

    stratum: str
    cycles: list[Cycle] = field(default_factory=list)
    runs: dict[int, list[StageRun]] = field(default_factory=dict)
    #: Keys of the runs of drawn items with errors.
    errors: set[int] = field(default_factory=set)


class _ItemHistory(Counting[int, Key]):
    counts, key = ItemHistoryCount, ("axis", "point", "stratum", "value")
    outbox, item = ItemHistoryPending, ("dialogue_id",)

    def items(self, project: Project) -> Iterable[int]:
        ended = Cycle.objects.filter(project=project, state__in=[CycleState.VERIFIED, CycleState.REJECTED])
        counted = ItemHistory.objects.filter(project=project)
        return {*ended.values_list("dialogue_id", flat=True), *counted.values_list("pk", flat=True)}

    def count(self, project: Project, items: Sequence[int]) -> dict[int, Tally[Key]]:
        """Return the keys of each item; none for unfinished items."""
        records = _read_records(items)
        return {item: Tally(_keys(records[item])) if item in records else Tally() for item in items}

    def counted_before(self, items: Iterable[int]) -> Tally[Key]:
        return Tally(key for keys in _stored_keys(items).values() for key in keys)

    def remember(self, project: Project, counted: Mapping[int, Tally[Key]]) -> None:
        there = _stored_keys(counted)
        keys = {item: sorted(tally.elements()) for item, tally in counted.items()}
        changed = {item: now for item, now in keys.items() if now != there.get(item, [])}
        ItemHistory.objects.filter(pk__in=[item for item, now in changed.items() if not now]).delete()
        ItemHistory.objects.bulk_create(
            (ItemHistory(dialogue_id=item, project=project, keys=now) for item, now in changed.items() if now),
            update_conflicts=True,
            unique_fields=["dialogue"],
            update_fields=["keys"],
        )


ITEM_HISTORY = _ItemHistory()


def as_visit(run: StageRun) -> Visit:
    """Return what a settled run says about its item."""
    origin = run.escalated_from
    # As rounds count it: in a stage with rounds always, elsewhere if the item goes back.
    back = origin is not None and (origin.looks is not None or run.outcome == Outcome.RETURN)
    return Visit(
        run.stage,
        run.round,
        run.entry_revision.content_hash,
        _exit(run).content_hash,
        looked=run.outcome != "not_drawn",
        settles=origin.stage if origin is not None and back else "",
    )


def _read_records(dialogue_ids: Sequence[int]) -> dict[int, _ItemRecord]:
    dialogues = Dialogue.objects.filter(pk__in=dialogue_ids, published=True).counted()
    records = {key: _ItemRecord(owner or "") for key, owner in dialogues.values_list("pk", "owner__pseudonym")}
    cycles = (
        Cycle.objects.in_effect()
        .filter(dialogue__in=records)
        .select_related("protocol", "entry_revision", "exit_revision")
        .defer("protocol__definition", "entry_revision__content", "exit_revision__content")
    )
    by_cycle: dict[int, _ItemRecord] = {}
    for cycle in cycles.order_by("dialogue_id", "number"):
        by_cycle[cycle.pk] = record = records[cycle.dialogue_id]
        record.cycles.append(cycle)
        record.runs[cycle.pk] = []
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
    return records


def _keys(record: _ItemRecord) -> Iterator[Key]:
    ended = (CycleState.VERIFIED, CycleState.REJECTED)
    if not record.cycles or record.cycles[-1].state not in ended:
        return
    last, cycles = record.cycles[-1], _since_import(record.cycles)
    first_end = next(place for place, cycle in enumerate(cycles) if cycle.state in ended)
    passed_cycles = cycles[: first_end + 1]
    begun = next((cycle for cycle in passed_cycles if record.runs[cycle.pk]), passed_cycles[-1])
    runs = [run for cycle in passed_cycles for run in record.runs[cycle.pk]]
    visits = [as_visit(run) for run in runs]
    stages = [stage.key for stage in parse(passed_cycles[-1].protocol).stages]
    compare = _Comparison(record, last.exit_revision)

    def key(axis: str, point: str, value: str) -> Key:
        return axis, point, record.stratum, value

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
    # The audit is about the population of the last draw. In stages with rounds there is no audit. Content that a senior
    # reviewer changed may come to the expert stage again without a draw; it stays in its sample as it was found, even
    # if the stage now takes every item.
    drawn = {run.stage: run for run in record.runs[last.pk] if hasattr(run, "draw_item")}
    for stage, run in drawn.items():
        if run.draw_item.draw.algorithm != ROUNDS:
            outcome = "not_drawn" if run.entered_as != "sampled" else "error" if run.pk in record.errors else "right"
            yield "audit", f"{stage}:{run.draw_item.draw.number}", run.draw_item.stratum, outcome


def _since_import(cycles: list[Cycle]) -> list[Cycle]:
    """Return the cycles since the one that first reviewed the newest imported record."""
    entries = [cycle.entry_revision for cycle in cycles]
    imported = [entry.pk for entry in entries if entry.batch_id is not None and entry.parent_id is not None]
    return cycles[[entry.pk for entry in entries].index(imported[-1]) :] if imported else cycles


def _exit(run: StageRun) -> Revision:
    return run.exit_revision or run.entry_revision


class _Comparison:
    """Compares an item's revisions with the verified one; reads documents only if hashes differ."""

    def __init__(self, record: _ItemRecord, verified: Revision | None) -> None:
        self._record = record
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
        out = {cycle.entry_revision.content_hash: cycle.entry_revision for cycle in self._record.cycles}
        for run in (run for runs in self._record.runs.values() for run in runs):
            for revision in (run.entry_revision, _exit(run)):
                out.setdefault(revision.content_hash, revision)
        return out


def _stored_keys(items: Iterable[int]) -> dict[int, list[Key]]:
    """Return the keys that items count under so far."""
    found: dict[int, list[Key]] = {}
    for portion in in_portions(items):
        for pk, keys in ItemHistory.objects.filter(pk__in=portion).values_list("pk", "keys"):
            found[pk] = [(axis, point, stratum, value) for axis, point, stratum, value in keys]
    return found
