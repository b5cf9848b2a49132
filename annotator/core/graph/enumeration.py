"""The legal paths of a tool graph one by one, and the decision tree that they form.

The calls that have run are a bitset of positions (``done``); a batch is a tuple of call ids in document order; a path
is a tuple of batches. Smaller batches come first; batches of one size are in document order. Everything is lazy: the
first of 10^27 paths costs no more than the first of five.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

from annotator.core.graph.counting import STEPS, Count, PathCounter, Tally
from annotator.core.graph.dag import Graph, positions

Batch = tuple[str, ...]
Path = tuple[Batch, ...]


class NotLegal(ValueError):
    """A batch that cannot run now; the message gives the reason as a sentence."""


def ready_mask(graph: Graph, done: int = 0) -> int:
    """Return the calls that can run now, as a bitset: not done yet, with all dependencies done."""
    mask = 0
    for i, need in enumerate(graph.needs):
        if not done >> i & 1 and not need & ~done:
            mask |= 1 << i
    return mask


def ready_calls(graph: Graph, done: int = 0) -> Batch:
    """Return the ids of the calls that can run now, in document order."""
    return ids_of(graph, ready_mask(graph, done))


def ids_of(graph: Graph, mask: int) -> Batch:
    """Return the ids of a bitset's positions, in document order."""
    return tuple(graph.ids[i] for i in positions(mask))


def after(graph: Graph, batches: Iterable[Iterable[str]], done: int = 0) -> int:
    """Return the calls done after running ``batches`` from ``done``. Raises NotLegal with the first illegal batch."""
    place = {call: i for i, call in enumerate(graph.ids)}
    for number, batch in enumerate(batches, 1):
        mask = 0
        for call in batch:
            if call not in place:
                raise NotLegal(f"Batch {number}: there is no call {call}.")
            bit = 1 << place[call]
            if done & bit:
                raise NotLegal(f"Batch {number}: {call} has already run.")
            if mask & bit:
                raise NotLegal(f"Batch {number}: {call} is listed twice.")
            missing = graph.needs[place[call]] & ~done
            if missing:
                needs = ", ".join(ids_of(graph, missing))
                raise NotLegal(f"Batch {number}: {call} needs {needs} to run first.")
            mask |= bit
        if not mask:
            raise NotLegal(f"Batch {number} is empty.")
        done |= mask
    return done


def legal_batches(graph: Graph, done: int = 0, skip: int = 0) -> Iterator[Batch]:
    """Yield every batch that can run now: every non-empty set of ready calls; the first ``skip`` are left out."""
    ready = ready_calls(graph, done)
    for size in range(1, len(ready) + 1):
        if skip >= (count := comb(len(ready), size)):
            skip -= count
        else:
            yield from _combinations(ready, size, skip)
            skip = 0


def _combinations(items: Sequence[str], size: int, skip: int) -> Iterator[Batch]:
    """Yield ``combinations`` from the one at ``skip`` on, without generating those before it."""
    if not skip:
        yield from combinations(items, size)
        return
    for first in range(len(items)):
        with_first = comb(len(items) - first - 1, size - 1)
        if skip >= with_first:
            skip -= with_first
        else:
            yield from ((items[first], *rest) for rest in _combinations(items[first + 1 :], size - 1, skip))
            skip = 0


def optimal_batches(graph: Graph, done: int = 0) -> Iterator[Batch]:
    """Yield the batches after which no extra batch is needed: all ready calls on a longest chain, and any others.

    The first calls of every longest chain are ready; a batch without one of them does not make that chain shorter.
    """
    ready = ready_mask(graph, done)
    above = _heights(graph, done)
    longest = max(above.values(), default=0)
    needed = [i for i in positions(ready) if above[i] == longest]
    others = [i for i in positions(ready) if above[i] < longest]
    if not ready:
        return
    for size in range(len(others) + 1):
        for chosen in combinations(others, size):
            yield tuple(graph.ids[i] for i in sorted((*needed, *chosen)))


def paths(graph: Graph, done: int = 0) -> Iterator[Path]:
    """Yield all legal paths from ``done`` to the end; the empty path if nothing is left."""
    return _walk(graph, done, optimal=False)


def optimal_paths(graph: Graph, done: int = 0) -> Iterator[Path]:
    """Return the paths with the fewest batches, in the order of ``paths``, without visiting any other path."""
    return _walk(graph, done, optimal=True)


def _walk(graph: Graph, done: int, *, optimal: bool) -> Iterator[Path]:
    """Yield paths depth first with an explicit stack: a path may have more batches than Python allows frames."""
    everything = (1 << len(graph.ids)) - 1
    if done == everything:
        yield ()
        return
    next_batches = optimal_batches if optimal else legal_batches
    place = {call: 1 << i for i, call in enumerate(graph.ids)}
    path: list[Batch] = []
    stack = [(done, next_batches(graph, done))]
    while stack:
        before, batches = stack[-1]
        batch = next(batches, None)
        if batch is None:
            stack.pop()
            if path:
                path.pop()
            continue
        then = before | sum(place[call] for call in batch)
        path.append(batch)
        if then == everything:
            yield tuple(path)
            path.pop()
        else:
            stack.append((then, next_batches(graph, then)))


def _heights(graph: Graph, done: int) -> dict[int, int]:
    """Return, at each remaining position, the calls on the longest chain from it upward, itself included."""
    heights = {i: 1 for i in range(len(graph.ids)) if not done >> i & 1}
    for i in reversed(graph.order):
        if i in heights:
            for j in positions(graph.needs[i] & ~done):
                heights[j] = max(heights[j], heights[i] + 1)
    return heights


@dataclass(frozen=True, slots=True)
class Branch:
    """One legal next batch of a state of the decision tree.

    ``done`` are the calls done after it. ``paths`` are the paths through it; ``fewest`` the batches of the shortest of
    them, from the start; ``optimal`` says whether that is an optimal path of the whole graph.
    """

    batch: Batch
    done: int
    paths: Count
    fewest: int
    optimal: bool
    ends: bool


class DecisionTree:
    """The tree of legal next batches, opened one state at a time. ``bound`` limits the steps of each count.

    A state is the calls that are done and the number of batches; ``branches()`` of the empty state is the tree's first
    level.
    """

    def __init__(self, graph: Graph, bound: int = STEPS) -> None:
        self.graph = graph
        self.counter = PathCounter(graph, bound)
        self._place = {call: 1 << i for i, call in enumerate(graph.ids)}

    @property
    def fewest_batches(self) -> int:
        return self.graph.fewest_batches

    def tally(self, done: int = 0) -> Tally:
        """Return the paths below a state, by their number of further batches."""
        return self.counter.tally(done)

    def optimal_below(self, done: int, batches: int) -> Count:
        """Return the optimal paths of the whole graph that continue from ``done`` after that many batches."""
        return self.tally(done).of_length(self.fewest_batches - batches)

    def walk(self, batches: Sequence[Iterable[str]]) -> int:
        """Return the calls done after these batches. Raises NotLegal."""
        return after(self.graph, batches)

    def branch_count(self, done: int = 0) -> int:
        """Return the number of legal next batches, without listing them."""
        return (1 << ready_mask(self.graph, done).bit_count()) - 1

    def branches(self, done: int = 0, batches: int = 0, skip: int = 0) -> Iterator[Branch]:
        """Yield the legal next batches after ``batches`` batches, each with its counts; lazy, in stable order.

        ``skip``: how many to leave out at the start; a page of 2^64 costs no more than the first one.
        """
        return (self.branch(batch, done, batches) for batch in legal_batches(self.graph, done, skip))

    def optimal_branches(self, done: int = 0, batches: int = 0) -> Iterator[Branch]:
        """Yield the next batches that keep an optimal path open; none if no optimal path is left."""
        if batches + self.graph.batches_left(done) > self.fewest_batches:
            return iter(())
        return (self.branch(batch, done, batches) for batch in optimal_batches(self.graph, done))

    def branch(self, batch: Batch, done: int, batches: int) -> Branch:
        """Return one legal next batch with its counts."""
        then = done | sum(self._place[call] for call in batch)
        tally = self.tally(then)
        fewest = batches + 1 + tally.fewest
        return Branch(batch, then, tally.total, fewest, fewest == self.fewest_batches, tally.most == 0)
