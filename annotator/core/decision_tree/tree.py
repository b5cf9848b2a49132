"""The decision tree, one state at a time: the path to it, what each step pruned, and the next branches."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from annotator.core.decision_tree.task import CallCard, TaskGraph
from annotator.core.graph import Batch, Branch, Count, NotLegal, Path, after, legal_batches, optimal_paths

#: Branches on a page, pruned ones listed below a step, optimal paths added at a time, and their maximum.
BRANCHES_SHOWN = 20
_PRUNED_SHOWN = 6
OPTIMAL_SHOWN = 20
OPTIMAL_MOST = 400
#: Optimal branches can be paged up to this rank, since paging walks over those before.
_OPTIMAL_WALK = 2_000
#: Characters of arguments in a page's branches; the list of calls has the rest.
_ARGUMENTS_SHOWN = 60_000


@dataclass(frozen=True)
class BranchRow:
    """A legal next batch. ``path`` is the address of the state after it."""

    calls: tuple[CallCard, ...]
    path: str
    paths: Count
    fewest: int
    optimal: bool
    ends: bool
    #: Whether the page has room for the arguments.
    with_arguments: bool = True

    @property
    def ids(self) -> str:
        return ", ".join(card.id for card in self.calls)


@dataclass(frozen=True)
class Level:
    """A step taken: the batch, the remaining paths and the pruned ones. ``before`` is the address of the state before
    it.

    ``pruned_paths`` counts the paths through the branches not taken; ``pruned`` are the first few of these branches.
    """

    number: int
    chosen: BranchRow
    before: str
    left: Count
    pruned: tuple[tuple[CallCard, ...], ...]
    pruned_branches: int
    pruned_paths: Count
    optimal_left: Count

    @property
    def more_pruned(self) -> int:
        return self.pruned_branches - len(self.pruned)

    @property
    def lost_optimum(self) -> bool:
        """Whether no optimal path continues from here."""
        return self.optimal_left == Count(0)


@dataclass(frozen=True)
class TreeView:
    """One state of the tree. ``start`` is the rank of the first branch shown, from 0, of ``total``."""

    levels: tuple[Level, ...]
    branches: tuple[BranchRow, ...]
    start: int
    total: int
    #: Whether there are more branches.
    follows: bool
    only_optimal: bool
    left: Count
    optimal_left: Count
    path: str
    fewest_from_here: int
    overall_fewest: int
    #: Why the address could not be followed to its end.
    problem: str = ""

    @property
    def number(self) -> int:
        """The number of the next batch."""
        return len(self.levels) + 1

    @property
    def ended(self) -> bool:
        return not self.branches and not self.only_optimal and self.total == 0

    @property
    def up(self) -> str | None:
        """The address of the state one step before; None at the start."""
        return self.levels[-1].before if self.levels else None

    @property
    def extra(self) -> int:
        """How many more batches the best path through here has than an optimal one."""
        return len(self.levels) + self.fewest_from_here - self.overall_fewest

    @property
    def shown(self) -> str:
        """The range of branches on the page."""
        of = "" if self.only_optimal else f" / {self.total:,}"
        return f"{self.start + 1:,}–{self.start + len(self.branches):,}{of}"

    @property
    def page_before(self) -> str | None:
        """The parameters of the previous page of branches; None on the first."""
        return self._page(max(0, self.start - BRANCHES_SHOWN)) if self.start else None

    @property
    def page_after(self) -> str | None:
        """The parameters of the next page; None on the last."""
        return self._page(self.start + len(self.branches)) if self.follows else None

    def _page(self, start: int) -> str:
        return f"from={start}" + ("&only=optimal" if self.only_optimal else "")


@dataclass(frozen=True)
class OptimalList:
    """The first optimal paths. ``more`` is the number to ask for next; None at the end of the list."""

    paths: tuple[tuple[tuple[CallCard, ...], ...], ...]
    addresses: tuple[str, ...]
    more: int | None

    def rows(self) -> Iterator[tuple[tuple[tuple[CallCard, ...], ...], str]]:
        return zip(self.paths, self.addresses, strict=True)


def read_path(text: str) -> list[tuple[str, ...]]:
    """Parse ``c0,c1;c2`` into batches of ids. Illegal batches are found when walking the path."""
    return [tuple(call.strip() for call in batch.split(",")) for batch in text.split(";")] if text.strip() else []


def write_path(path: Sequence[Sequence[str]]) -> str:
    """Return the batches as one word of an address."""
    return ";".join(",".join(batch) for batch in path)


def explore(task: TaskGraph, path: Sequence[Batch], *, start: int = 0, only_optimal: bool = False) -> TreeView:
    """Return the state that ``path`` leads to, with a page of its branches from rank ``start``.

    If the path is not legal, the view shows its longest legal beginning and ``problem`` says why.
    """
    tree = task.tree
    states, problem = _walk(task, path)
    taken = [tuple(call for call in task.graph.ids if call in set(batch)) for batch in path[: len(states) - 1]]
    levels = tuple(_level(task, taken[:number], states[number - 1]) for number in range(1, len(taken) + 1))
    done = states[-1]
    total = tree.branch_count(done)
    if only_optimal:
        start = min(start, _OPTIMAL_WALK)
        found: Iterator[Branch] = islice(tree.optimal_branches(done, len(taken)), start, None)
    else:
        start = start if start < total else 0
        found = tree.branches(done, len(taken), start)
    page = list(islice(found, BRANCHES_SHOWN))
    follows = next(found, None) is not None if only_optimal else start + len(page) < total
    room = _ARGUMENTS_SHOWN
    rows = []
    for branch in page:
        row = _row(task, branch, taken)
        room -= sum(len(str(card.arguments)) for card in row.calls)
        rows.append(row if room >= 0 else _row(task, branch, taken, with_arguments=False))
    return TreeView(
        levels=levels,
        branches=tuple(rows),
        start=start,
        total=total,
        follows=follows and bool(page),
        only_optimal=only_optimal,
        left=tree.tally(done).total,
        optimal_left=tree.optimal_below(done, len(taken)),
        path=write_path(taken),
        fewest_from_here=tree.graph.batches_left(done),
        overall_fewest=tree.fewest_batches,
        problem=problem,
    )


def optimal_list(task: TaskGraph, shown: int = OPTIMAL_SHOWN) -> OptimalList:
    """Return the first ``shown`` optimal paths."""
    shown = max(OPTIMAL_SHOWN, min(shown, OPTIMAL_MOST))
    found = optimal_paths(task.graph)
    first = list(islice(found, shown))
    more = shown + OPTIMAL_SHOWN if shown < OPTIMAL_MOST and next(found, None) is not None else None
    return OptimalList(tuple(_cards_of(task, path) for path in first), tuple(write_path(path) for path in first), more)


def subtract(whole: Count, part: Count) -> Count:
    """Return ``whole`` minus ``part``; a lower bound if only ``part`` is known exactly."""
    if whole.at_least is None or part.value is None:
        return Count(None, exact=False)
    return Count(max(0, whole.at_least - part.value), whole.exact)


def _walk(task: TaskGraph, path: Sequence[Batch]) -> tuple[list[int], str]:
    """Return the states at the start and after each legal batch, and why the next batch is not legal."""
    states = [0]
    for number, batch in enumerate(path, 1):
        try:
            states.append(after(task.graph, [batch], states[-1]))
        except NotLegal as error:
            return states, str(error).replace("Batch 1", f"Batch {number}", 1)
    return states, ""


def _level(task: TaskGraph, taken: Sequence[Batch], before: int) -> Level:
    tree, batch, number = task.tree, taken[-1], len(taken)
    branch = tree.branch(batch, before, number - 1)
    others = (other for other in legal_batches(task.graph, before) if other != batch)
    return Level(
        number=number,
        chosen=_row(task, branch, taken[:-1]),
        before=write_path(taken[:-1]),
        left=branch.paths,
        pruned=tuple(_cards(task, other) for other in islice(others, _PRUNED_SHOWN)),
        pruned_branches=tree.branch_count(before) - 1,
        pruned_paths=subtract(tree.tally(before).total, branch.paths),
        optimal_left=tree.optimal_below(branch.done, number),
    )


def _row(task: TaskGraph, branch: Branch, taken: Sequence[Batch], *, with_arguments: bool = True) -> BranchRow:
    return BranchRow(
        calls=_cards(task, branch.batch),
        path=write_path(list(chain(taken, [branch.batch]))),
        paths=branch.paths,
        fewest=branch.fewest,
        optimal=branch.optimal,
        ends=branch.ends,
        with_arguments=with_arguments,
    )


def _cards(task: TaskGraph, batch: Batch) -> tuple[CallCard, ...]:
    return tuple(task.cards[call] for call in batch)


def _cards_of(task: TaskGraph, path: Path) -> tuple[tuple[CallCard, ...], ...]:
    return tuple(_cards(task, batch) for batch in path)
