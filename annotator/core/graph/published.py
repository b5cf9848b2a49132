"""Which paths the evaluators published with C3-Bench and WildToolBench list, and which legal ones they reject.

They enumerate the paths of a task and then follow a prediction through the list. They merge calls of one tool by these
rules, which we derived from their behaviour (all shared parity data agrees):

- Of the ready calls, in file order, adjacent calls of one tool are a *run*.
- Of several batches with the same tools in the same order only the first is kept.
- A batch that begins inside a run of two or more calls must begin with all of that run.
- A single call at the head of such a run stands for the whole run, one call after the other, with nothing in between.

If no two calls of one tool can ever be ready together, nothing is merged, and the list has all legal paths.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from annotator.core.graph.counting import STEPS, TOO_MANY, Count, PathCounter
from annotator.core.graph.dag import Graph, positions
from annotator.core.graph.enumeration import Path, optimal_paths, paths, ready_mask

#: Legal paths that are checked, one by one, to find examples of rejected ones.
_LOOKED_AT = 2_000


#: Elementary steps that one move takes.
_MOVE = 10


@dataclass(frozen=True, slots=True)
class Move:
    """A possible move of the published code: ``batches`` of positions as bitsets, one batch or a run call by call."""

    batches: tuple[int, ...]

    @property
    def calls(self) -> int:
        """All its calls."""
        return sum(self.batches)


@dataclass(frozen=True, slots=True)
class PublishedLint:
    """How the published evaluators treat a task's legal paths.

    ``legal`` and ``listed`` count all legal paths and those that the evaluators know; ``rejected`` is the difference.
    ``examples`` are some of the rejected ones, optimal ones first. ``fewest`` and ``published_fewest`` are the numbers
    of batches of an optimal path, actually and according to them; None if unknown.
    """

    legal: Count
    listed: Count
    rejected: Count
    examples: tuple[Path, ...]
    fewest: int
    published_fewest: int | None

    @property
    def clean(self) -> bool:
        """Whether every legal path is certainly accepted."""
        return self.rejected == Count(0)

    @property
    def optimum_differs(self) -> bool:
        """Whether the evaluators do not count an optimal path as optimal."""
        return self.published_fewest is not None and self.published_fewest != self.fewest

    @property
    def sentence(self) -> str:
        """Return the result for the task as sentences."""
        if self.clean:
            return "The published evaluators accept every legal path."
        if self.rejected.at_least is None and not self.examples:
            return "It is not known whether the published evaluators reject legal paths: counting them takes too long."
        which = f"{self.rejected} of {self.legal}" if self.rejected.at_least else "some"
        words = f"The published evaluators reject {which} legal paths, because they merge calls to the same tool."
        if self.optimum_differs:
            words += f" They need at least {self.published_fewest} batches; {self.fewest} are enough."
        return words


class PublishedCode:
    """The published rules on one graph; ``names`` are the tools, one for each position of the graph, in file order."""

    def __init__(self, graph: Graph, names: Sequence[str], bound: int = STEPS) -> None:
        if len(names) != len(graph.ids):
            raise ValueError("The published rules need one tool name for each call of the graph.")
        self.graph = graph
        self.names = tuple(names)
        self.bound = bound
        self._everything = (1 << len(names)) - 1

    @cached_property
    def merges(self) -> bool:
        """Return whether two calls of one tool can ever be ready together; if not, all legal paths are listed."""
        same: dict[str, int] = {}
        for i, name in enumerate(self.names):
            same[name] = same.get(name, 0) | 1 << i
        above = self.graph.ancestors
        return any(
            not above[i] >> j & 1 and not above[j] >> i & 1
            for mask in same.values()
            for i in positions(mask)
            for j in positions(mask & ((1 << i) - 1))
        )

    def moves(self, done: int) -> Iterator[Move]:
        """Yield the next moves of the published code; each set of calls once, lazily, in no particular order."""
        ready, names = self._ready(done)
        # At each place the next one of every tool at or after it: the first batch with given tools takes these.
        following: list[dict[str, int]] = [{}]
        for place in reversed(range(len(ready))):
            following.append(following[-1] | {names[place]: place})
        following.reverse()
        for head in sorted(following[0].values()):
            run = _run(ready, names, head)
            yield Move(run)
            stack = [(head + len(run), sum(run))]
            while stack:
                place, batch = stack.pop()
                if batch != run[0]:
                    yield Move((batch,))
                stack += [(then + 1, batch | 1 << ready[then]) for then in following[place].values()]

    def count(self) -> tuple[Count, int | None]:
        """Return the paths listed, and the fewest batches of one of them; TOO_MANY and None beyond the bound."""
        if not self.merges:
            return PathCounter(self.graph, self.bound).tally().total, self.graph.fewest_batches
        counts: dict[int, tuple[int, int]] = {self._everything: (1, 0)}
        steps = 0
        # A state is finished when all later states are; the explicit stack avoids Python's recursion limit.
        stack: list[tuple[int, list[Move] | None]] = [(0, None)]
        while stack:
            done, moves = stack.pop()
            if done in counts:
                continue
            if moves is None:
                moves = []
                for move in self.moves(done):
                    moves.append(move)
                    steps += 1
                    if steps * _MOVE > self.bound:
                        return TOO_MANY, None
                stack.append((done, moves))
                stack += [(done | move.calls, None) for move in moves if done | move.calls not in counts]
            else:
                after = [(counts[done | move.calls], len(move.batches)) for move in moves]
                counts[done] = (sum(n for (n, _), _ in after), min(fewest + taken for (_, fewest), taken in after))
        total, fewest = counts[0]
        return Count(total), fewest

    def lists(self, path: Path) -> bool:
        """Return whether a legal path (batches of ids) is in the published list."""
        place = {call: 1 << i for i, call in enumerate(self.graph.ids)}
        left = [sum(place[call] for call in batch) for batch in path]
        done, at = 0, 0
        while at < len(left):
            taken = self._taken(done, left[at:])
            if not taken:
                return False
            done |= sum(left[at : at + taken])
            at += taken
        return True

    def rejected(self, most: int) -> Iterator[Path]:
        """Yield legal paths that are not in the list, optimal ones first. ``most``: how many of each kind to check."""
        yield from (path for path in islice(optimal_paths(self.graph), most) if not self.lists(path))
        fewest = self.graph.fewest_batches
        others = (path for path in islice(paths(self.graph), most) if len(path) > fewest)
        yield from (path for path in others if not self.lists(path))

    def move_with(self, done: int, batch: int) -> Move | None:
        """Return the move whose first batch is ``batch``; None if the published code has no such move."""
        ready, names = self._ready(done)
        chosen = [place for place, i in enumerate(ready) if batch >> i & 1]
        if not chosen or batch.bit_count() != len(chosen):
            return None
        earlier = -1
        for place in chosen:
            if names.index(names[place], earlier + 1) != place:
                return None
            earlier = place
        run = _run(ready, names, chosen[0])
        if len(chosen) == 1:
            return Move(run)
        return Move((batch,)) if len(run) == 1 or not sum(run) & ~batch else None

    def move_of(self, done: int, tools: Counter[str]) -> Move | None:
        """Return the move that the published code finds first for a batch of these tools; None if there is none.

        Of several batches of one size, it lists those first that begin earliest in the file.
        """
        ready, names = self._ready(done)
        if any(names.count(tool) < n for tool, n in tools.items()):
            return None
        size = tools.total()
        for head in sorted({names.index(tool) for tool in tools}):
            run = _run(ready, names, head)
            if size == 1:
                return Move(run)
            if tools[names[head]] < len(run):
                continue
            left = dict(tools)
            left[names[head]] -= len(run)
            batch, missing = sum(run), size - len(run)
            for place in range(head + len(run), len(ready)):
                if left.get(names[place]):
                    left[names[place]] -= 1
                    batch |= 1 << ready[place]
                    missing -= 1
            if not missing:
                return Move((batch,))
        return None

    def _ready(self, done: int) -> tuple[list[int], list[str]]:
        ready = list(positions(ready_mask(self.graph, done)))
        return ready, [self.names[i] for i in ready]

    def _taken(self, done: int, batches: Sequence[int]) -> int:
        """Return how many of the coming batches are one move; 0 if the published code has no such move."""
        move = self.move_with(done, batches[0])
        return len(move.batches) if move and tuple(batches[: len(move.batches)]) == move.batches else 0


def _run(ready: Sequence[int], names: Sequence[str], head: int) -> tuple[int, ...]:
    """Return the calls of the run that begins at ``head``, each as a bitset."""
    end = head + 1
    while end < len(ready) and names[end] == names[head]:
        end += 1
    return tuple(1 << i for i in ready[head:end])


def lint_published(graph: Graph, names: Sequence[str], bound: int = STEPS, examples: int = 3) -> PublishedLint:
    """Return how the published evaluators treat a graph; ``names`` are the tools of its calls, in file order.

    Raises ValueError without exactly one name for each call. Takes at most about ``bound`` steps for each count;
    examples are only searched for among the first legal paths.
    """
    code = PublishedCode(graph, names, bound)
    tally = PathCounter(graph, bound).tally()
    if not code.merges:
        return PublishedLint(tally.total, tally.total, Count(0), (), tally.fewest, tally.fewest)
    listed, fewest = code.count()
    rejected = TOO_MANY
    if tally.total.at_least is not None and listed.value is not None:
        rejected = Count(max(0, tally.total.at_least - listed.value), tally.exact)
    found = tuple(islice(code.rejected(_LOOKED_AT), examples))
    return PublishedLint(tally.total, listed, rejected, found, tally.fewest, fewest)
