"""Counts the entries, tasks and dialogues of a project by what they cover and by status.

Each dimension is counted in one statement, which reads only an index (``Dialogue.Meta``); a second one finds what was
released and is in review again. What a continued dialogue shares with the verified one before it is counted once.
"""

from collections import Counter
from dataclasses import dataclass, field

from django.db.models import Count, Exists, F, OuterRef

from annotator.core.coverage import (
    DIFFICULTY,
    PLACES,
    RELEASED,
    Counts,
    Gap,
    beginning,
    by_switches,
    expected,
    fold,
    gaps_of,
    reached,
)
from annotator.models import Continuation, Dialogue, Project, ToolsetCategory, User
from annotator.models.content import DialogueQuerySet, DialogueStatus, GoldRole
from annotator.services.access.permissions import OVERSEERS, roles_in
from benchmark.models import Release, ReleaseItem, ReleaseState, TargetDimension
from benchmark.services.coverage.targets import Targets, read_targets, values_of
from reviews.models import Cycle

#: Dimension → the column that it is counted by.
_COLUMNS = {
    "cell": "sequence",
    "information": "information_tally",
    "topology": "topology_tally",
    "calls": "call_count",
    "tasks": "task_count",
    "language": "language",
    # Their names are looked up afterwards.
    "category": "toolset",
    DIFFICULTY: "difficulty_tally",
}
#: Places of dialogues that may still be verified.
_TO_BE_VERIFIED = {place for place in PLACES.values() if place not in ("verified", "rejected")}
#: The columns of the index “dialogue_by_size”, in its order.
_OF_SIZE = ["language", "task_count", "call_count"]
#: Those of tasks. Toolsets in review have none; in the other dimensions they are left out.
_OF_TASKS = ("cell", "information", "topology")


@dataclass(frozen=True)
class Coverage:
    """One dimension of a project: counts by place and value, and the targets of its values."""

    counts: Counts
    #: What is in the newest release and in review again, by its present labels.
    reopened: Counter[str]
    wanted: dict[str, int]
    #: All values, in their order.
    values: list[str]
    #: The release that the released ones are in; blank if there is none.
    version: str = ""
    #: Whether the release was frozen before releases had these counts.
    uncounted: bool = False
    reached: Counter[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reached", reached(self.counts, self.reopened))

    @property
    def gaps(self) -> list[Gap]:
        """Return the values below their target, by what is verified or released; the largest gap first."""
        return gaps_of(self.values, self.reached, self.wanted)

    def needed_next(self) -> list[Gap]:
        """Return what stays below its target even if all candidates and everything in review are verified."""
        return gaps_of(self.values, expected(self.counts), self.wanted)

    def at(self, place: str) -> Counter[str]:
        """Return the counts at a place of the page’s choice: reached, all or one of those in ``counts``."""
        if place == "reached":
            return self.reached
        return expected(self.counts) if place == "all" else self.counts[place]


def counted_dialogues(*, project: Project, actor: User | None) -> DialogueQuerySet:
    """Return the dialogues that the figures of an actor count; None: of an overseer.

    Overseers see known answers and no gold items. Others see gold items in the place of the answers, as in the list of
    dialogues: if their figures differed from their list, it would show how many items are gold.
    """
    rows = Dialogue.objects.filter(project=project, published=True, archived_at=None)
    if actor is None or roles_in(project, actor) & OVERSEERS:
        return rows.counted()
    return rows.exclude(gold_role=GoldRole.ANSWER)


def read_coverage(*, project: Project, actor: User | None = None, dimension: str = "cell") -> Coverage:
    """Return the coverage of a dimension as the actor, a member, may see it; None: as overseers see it."""
    if dimension == TargetDimension.SWITCHES:
        return switches_in(read_coverage(project=project, actor=actor), read_targets(project))
    rows = counted_dialogues(project=project, actor=actor).order_by()
    if dimension not in _OF_TASKS:
        rows = rows.exclude(kind="toolset")
    release, version, facts = _newest_release(project)
    counts = _count_once(project, dimension, rows)
    counts[RELEASED] = Counter((facts or {}).get(dimension, {}))
    again = _count_once(project, dimension, _reopened(project, release, rows)) if release else {}
    reopened = sum((found for place, found in again.items() if place in _TO_BE_VERIFIED), Counter[str]())
    uncounted = bool(version) and facts is None
    return _coverage(project, dimension, counts, reopened, version, uncounted=uncounted)


def _count_once(project: Project, dimension: str, rows: DialogueQuerySet) -> Counts:
    counts = _count(project, dimension, rows)
    if dimension in _OF_TASKS:
        for place, shared in _shared(project, dimension, rows).items():
            counts[place] -= shared
    return counts


def _shared(project: Project, dimension: str, rows: DialogueQuerySet) -> Counts:
    """Return what counts in a continued dialogue, and already in the verified one before it.

    Nothing for dialogues that are stale, or rejected.
    """
    continued = Continuation.objects.filter(
        continues__project=project, continues__status=DialogueStatus.VERIFIED, continues__archived_at=None, stale=False
    )
    found = rows.filter(pk__in=continued.values("dialogue")).exclude(status=DialogueStatus.REJECTED)
    if dimension != TargetDimension.CELL:
        # Tallies are of all tasks.
        found = found.filter(continuation__tasks=F("continuation__continues__task_count"))
    groups = found.values_list(
        f"continuation__continues__{_COLUMNS[dimension]}", "continuation__tasks", "status"
    ).annotate(number=Count("*"))
    if dimension == TargetDimension.CELL:
        return fold(dimension, ((beginning(sequence, tasks), status, n) for sequence, tasks, status, n in groups))
    return fold(dimension, ((tally, status, number) for tally, _tasks, status, number in groups))


def _count(project: Project, dimension: str, rows: DialogueQuerySet) -> Counts:
    column = _COLUMNS[dimension]
    # Grouped by all columns of the index: with some of them, SQLite takes an index that lacks the status.
    columns = _OF_SIZE if column in _OF_SIZE else [column]
    place = columns.index(column)
    groups = rows.values_list(*columns, "status").annotate(number=Count("*"))
    found = ((group[place], *group[-2:]) for group in groups)
    if dimension != TargetDimension.CATEGORY:
        return fold(dimension, found)
    named = ToolsetCategory.objects.filter(project=project).values_list("toolsets", "name")
    names = {toolset: name for toolset, name in named if toolset}
    return fold(dimension, ((names.get(toolset, ""), status, number) for toolset, status, number in found))


def _reopened(project: Project, release: int, rows: DialogueQuerySet) -> DialogueQuerySet:
    """Return the dialogues of a release that are not verified at present.

    A second cycle has begun for each of them. Few dialogues have one, so these are looked up in the release.
    """
    again = Cycle.objects.filter(project=project, number__gt=1).values("dialogue")
    items = ReleaseItem.objects.filter(release=release, dialogue=OuterRef("pk"))
    return rows.exclude(status=DialogueStatus.VERIFIED).filter(Exists(items), pk__in=again)


def switches_in(cells: Coverage, targets: Targets) -> Coverage:
    """Return the entries by switches, counted from those in cells."""
    counts = {place: by_switches(found) for place, found in cells.counts.items()}
    wanted = targets.of(TargetDimension.SWITCHES)
    reopened = by_switches(cells.reopened)
    return Coverage(counts, reopened, wanted, ["0", "1", "2", "3"], cells.version, cells.uncounted)


def needed_next(*, project: Project, count: int) -> list[Gap]:
    """Return the cells most wanted, at most ``count``: below their target even if all that is in work is verified."""
    return read_coverage(project=project).needed_next()[:count]


def _coverage(
    project: Project, dimension: str, counts: Counts, reopened: Counter[str], version: str, *, uncounted: bool
) -> Coverage:
    targets = read_targets(project)
    wanted = targets.of_cells() if dimension == TargetDimension.CELL else targets.of(dimension)
    values = values_of(project, dimension)
    # Also what is there but cannot be chosen, such as a category that was renamed since.
    more = {value for found in counts.values() for value in found} | wanted.keys()
    return Coverage(counts, reopened, wanted, [*values, *sorted(more - set(values))], version, uncounted)


def _newest_release(project: Project) -> tuple[int, str, dict[str, dict[str, int]] | None]:
    """Return the key and the version of the newest frozen release and its counts.

    The key is 0 if there is none. The counts are None if it was frozen without them.
    """
    frozen = Release.objects.filter(project=project, state=ReleaseState.FROZEN).order_by("-pk")
    return frozen.values_list("pk", "version", "frozen__coverage").first() or (0, "", None)
