"""Counts the entries, tasks and dialogues of a project by what they cover and by status.

Cells are counted in one statement, which reads only the index ``dialogue_by_sequence``. Every other dimension reads the
rows, so a page shows one of them at a time.
"""

from collections import Counter
from dataclasses import dataclass, field

from django.db.models import Count

from annotator.core.coverage import (
    RELEASED,
    Counts,
    Gap,
    by_switches,
    expected,
    fold,
    gaps_of,
    reached,
)
from annotator.models import Dialogue, Project, User
from annotator.models.content import DialogueQuerySet, GoldRole
from annotator.services.access.permissions import OVERSEERS, roles_in
from benchmark.models import Release, ReleaseState, TargetDimension
from benchmark.services.coverage.targets import Targets, read_targets, values_of

#: Dimension → the column that it is counted by.
_COLUMNS = {
    "cell": "sequence",
    "information": "information",
    "topology": "topologies",
    "calls": "call_count",
    "tasks": "task_count",
    "language": "language",
    "category": "head__toolset_revision__toolset__category__name",
}


@dataclass(frozen=True)
class Coverage:
    """One dimension of a project: counts by place and value, and the targets of its values."""

    counts: Counts
    wanted: dict[str, int]
    #: All values, in their order.
    values: list[str]
    #: The release that the released ones are in; blank if there is none.
    version: str = ""
    #: Whether the release was frozen before releases had these counts.
    uncounted: bool = False
    reached: Counter[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reached", reached(self.counts))

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
    if dimension != TargetDimension.CELL:
        # Toolsets in review have no tasks, so they are in no cell anyway, and the index of cells has no kinds.
        rows = rows.exclude(kind="toolset")
    counts = fold(dimension, rows.values_list(_COLUMNS[dimension], "status").annotate(number=Count("*")))
    version, facts = _newest_release(project)
    counts[RELEASED] = Counter((facts or {}).get(dimension, {}))
    targets = read_targets(project)
    return _coverage(project, dimension, counts, targets, version, uncounted=bool(version) and facts is None)


def switches_in(cells: Coverage, targets: Targets) -> Coverage:
    """Return the entries by switches, counted from those in cells."""
    counts = {place: by_switches(found) for place, found in cells.counts.items()}
    wanted = targets.of(TargetDimension.SWITCHES)
    return Coverage(counts, wanted, ["0", "1", "2", "3"], cells.version, cells.uncounted)


def needed_next(*, project: Project, count: int) -> list[Gap]:
    """Return the cells most wanted, at most ``count``: below their target even if all that is in work is verified."""
    return read_coverage(project=project).needed_next()[:count]


def _coverage(
    project: Project, dimension: str, counts: Counts, targets: Targets, version: str, *, uncounted: bool
) -> Coverage:
    wanted = targets.of_cells() if dimension == TargetDimension.CELL else targets.of(dimension)
    values = values_of(project, dimension)
    # Also what is there but cannot be chosen, such as a category that was renamed since.
    more = {value for found in counts.values() for value in found} | wanted.keys()
    return Coverage(counts, wanted, [*values, *sorted(more - set(values))], version, uncounted)


def _newest_release(project: Project) -> tuple[str, dict[str, dict[str, int]] | None]:
    """Return the version of the newest frozen release and its counts; None if it was frozen without them."""
    frozen = Release.objects.filter(project=project, state=ReleaseState.FROZEN).order_by("-pk")
    return frozen.values_list("version", "frozen__coverage").first() or ("", None)
