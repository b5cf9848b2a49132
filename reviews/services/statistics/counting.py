"""The engine of all counts: changes wait in an outbox, a task folds them into counts, and a recount finds errors.

A transition writes to the outbox in its own transaction. The task counts a portion of the outbox and deletes it, in one
transaction and under the project's lock. So everything is counted once, however many tasks run and wherever one is
killed. Each subclass of ``Counting`` defines what is counted: see ``counters``, ``agreement``, ``item_history`` and
``workload``.
"""

from collections import Counter as Tally
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from django.db import DatabaseError, InterfaceError, OperationalError, models, transaction
from django.db.models import Q, QuerySet

from annotator.models import Project
from annotator.services.database.snapshot import one_snapshot
from annotator.services.database.statements import insert
from annotator.services.history.event_chain import in_portions

Item = TypeVar("Item", bound=Hashable)
#: The values of a count's key fields, in order.
Key = TypeVar("Key", bound=tuple[Any, ...])

#: Counts that one statement reads and writes.
_WRITTEN = 500


@dataclass(frozen=True, slots=True)
class Difference:
    """A count that differs from the rows."""

    key: tuple[Any, ...]
    stored: int
    right: int


class Counting(Generic[Item, Key]):
    """Defines what is counted, from which items, and in which tables. Fields of the outbox identify an item."""

    #: Has the fields ``project``, ``key`` and ``number``.
    counts: type[models.Model]
    key: tuple[str, ...]
    number = "count"
    #: Has the fields ``project`` and ``item``, and ``problem`` if an item can be set aside.
    outbox: type[models.Model]
    item: tuple[str, ...]
    #: Which rows of the outbox are to be counted, and which of them can be counted already.
    waiting = Q(problem="")
    ready = Q()
    #: Rows of the outbox that one transaction counts.
    portion = 50

    def items(self, project: Project) -> Iterable[Item]:
        """Return all items that should be counted by now, in any order, for a recount."""
        raise NotImplementedError

    def count(self, project: Project, items: Sequence[Item]) -> dict[Item, Tally[Key]]:
        """Return what each item counts as."""
        raise NotImplementedError

    def counted_before(self, items: Iterable[Item]) -> Tally[Key]:
        """Return what these items have counted as so far; nothing if items are counted only once."""
        return Tally()

    def remember(self, project: Project, counted: Mapping[Item, Tally[Key]]) -> None:
        """Store what each item counts as, if it may be counted again."""

    def enqueue(self, project_id: int, items: Iterable[Item]) -> None:
        """Put items into the outbox, in the caller's transaction."""
        rows = (dict(zip(self.item, _as_tuple(item), strict=True)) for item in items)
        insert([self.outbox(project_id=project_id, **row) for row in rows])

    def withdraw(self, project: Project, items: Sequence[Item]) -> None:
        """Undo ``enqueue`` before the rows that the items stand for are deleted, in the caller's transaction.

        What waits in the outbox is removed; what is counted by now is subtracted.
        """
        _lock(project)
        for item in items:
            fields = dict(zip(self.item, _as_tuple(item), strict=True))
            if not self._outbox().filter(project=project, **fields).delete()[0]:
                self._add(project, {key: -count for key, count in self.tally(project, [item]).items()})

    def fold(self) -> int:
        """Count one portion of each project's outbox; return the number of rows. Several can run at the same time."""
        ready = self._outbox().filter(self.waiting, self.ready)
        projects = Project.objects.filter(pk__in=ready.values("project")).order_by("pk")
        return sum(self._fold(project, ready.filter(project=project)) for project in projects)

    def set_aside(self, project: Project, **among: Any) -> list[str]:
        """Return why items can't be counted, one sentence each. ``among``: fields of the outbox."""
        rows = self._outbox().filter(~self.waiting, project=project, **among)
        return sorted(rows.values_list("problem", flat=True))

    def tally(self, project: Project, items: Iterable[Item]) -> Tally[Key]:
        """Return what the items count as together, without those that can't be counted."""
        return _together(self._countable(project, list(items))[0])

    def recount(self, project: Project, *, repair: bool = False) -> list[Difference]:
        """Compare the counts with all rows; with ``repair``, correct those that differ.

        Items in the outbox are not expected in the counts; items that were set aside are expected if they can be
        counted by now. Everything is read in one snapshot, so people can keep working.
        """
        while True:
            try:
                return self._recount(project, repair=repair)
            except OperationalError as error:
                if getattr(error.__cause__, "sqlstate", "") != _CHANGED_MEANWHILE:
                    raise

    def right(self, project: Project, *, repair: bool) -> Tally[Key]:
        """Return what the counts should be; with ``repair``, also correct what is stored besides them."""
        waiting = set(self._named(self._outbox().filter(self.waiting, project=project)).values())
        right = self.counted_before(waiting)
        aside = self._named(self._outbox().filter(~self.waiting, project=project))
        for portion in in_portions((item for item in self.items(project) if item not in waiting), self.portion):
            counted, problems = self._countable(project, portion)
            right.update(_together(counted))
            if repair:
                self.remember(project, counted)
                well = counted.keys() - problems.keys()
                self._outbox().filter(pk__in=[pk for pk, item in aside.items() if item in well]).delete()
        return right

    def stored(self, project: Project) -> Tally[Key]:
        """Return the stored counts."""
        rows = self.counts._default_manager.filter(project=project).values_list(self.number, *self.key)
        return Tally({cast(Key, tuple(key)): number for number, *key in rows.iterator()})

    def _fold(self, project: Project, ready: QuerySet[models.Model]) -> int:
        with transaction.atomic():
            _lock(project)
            rows = self._named(ready.order_by("pk"), self.portion)
            items = list(dict.fromkeys(rows.values()))
            counted, problems = self._countable(project, items)
            change = _together(counted)
            change.subtract(self.counted_before(items))
            self.remember(project, counted)
            self._add(project, change)
            for item, problem in problems.items():
                self._outbox().filter(pk__in=[pk for pk, one in rows.items() if one == item]).update(problem=problem)
            for done in in_portions(pk for pk, item in rows.items() if item not in problems):
                self._outbox().filter(pk__in=done).delete()
        return len(rows)

    def _recount(self, project: Project, *, repair: bool) -> list[Difference]:
        with one_snapshot(writes=repair):
            if repair:
                _lock(project)
            right, stored = self.right(project, repair=repair), self.stored(project)
            wrong = sorted(key for key in right.keys() | stored.keys() if right[key] != stored[key])
            if repair:
                self._add(project, {key: right[key] - stored[key] for key in wrong})
        return [Difference(key, stored[key], right[key]) for key in wrong]

    def _countable(self, project: Project, items: Sequence[Item]) -> tuple[dict[Item, Tally[Key]], dict[Item, str]]:
        """Return what each item counts as, and why some can't be counted; those count as nothing."""
        try:
            return self.count(project, items), {}
        except (DatabaseError, InterfaceError, MemoryError):
            # The item is not the cause: try again later.
            raise
        except Exception as problem:
            if len(items) == 1:
                return {items[0]: Tally()}, {items[0]: _describe(problem)}
        counted: dict[Item, Tally[Key]] = {}
        problems: dict[Item, str] = {}
        for item in items:
            one, found = self._countable(project, [item])
            counted.update(one)
            problems.update(found)
        return counted, problems

    def _add(self, project: Project, changes: Mapping[Key, int]) -> None:
        """Change the counts. The lock keeps others from changing them."""
        counts = self.counts._default_manager
        for portion in in_portions((key for key, change in changes.items() if change), _WRITTEN):
            near = {f"{field}__in": {key[place] for key in portion} for place, field in enumerate(self.key)}
            rows = counts.filter(project=project, **near).values_list("pk", self.number, *self.key)
            there = {cast(Key, tuple(key)): (pk, number) for pk, number, *key in rows}
            now = {key: there.get(key, (0, 0))[1] + changes[key] for key in portion}
            counts.bulk_create(
                [
                    self.counts(project=project, **dict(zip(self.key, key, strict=True)), **{self.number: number})
                    for key, number in now.items()
                    if number
                ],
                update_conflicts=True,
                unique_fields=["project", *self.key],
                update_fields=[self.number],
            )
            counts.filter(pk__in=[pk for key, (pk, _) in there.items() if now.get(key, 1) == 0]).delete()

    def _outbox(self) -> models.Manager[models.Model]:
        return self.outbox._default_manager

    def _named(self, rows: QuerySet[models.Model], most: int | None = None) -> dict[Any, Item]:
        """Return the items of rows of the outbox, by the rows' keys."""
        found = rows.values_list("pk", *self.item)[:most]
        return {pk: cast(Item, item[0] if len(item) == 1 else tuple(item)) for pk, *item in found}


#: PostgreSQL: a row to be written was changed after the snapshot. The next snapshot includes it.
_CHANGED_MEANWHILE = "40001"


def _lock(project: Project) -> None:
    """Lock the project's counts until the transaction ends. Only folding and repairing wait for this lock."""
    list(Project.objects.select_for_update(no_key=True).filter(pk=project.pk).values_list("pk", flat=True))


def _together(counted: Mapping[Item, Tally[Key]]) -> Tally[Key]:
    total: Tally[Key] = Tally()
    for tally in counted.values():
        total.update(tally)
    return total


def _describe(problem: Exception) -> str:
    """Return an exception as one line to store."""
    return f"{type(problem).__name__}: {problem}".strip(": ").replace("\x00", "")[:500]


def _as_tuple(item: Any) -> tuple[Any, ...]:
    return item if isinstance(item, tuple) else (item,)
