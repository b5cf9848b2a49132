"""Which paths the evaluators published with C3-Bench and WildToolBench list.

They enumerate the paths of a task and then follow a prediction through the list; ``evaluators`` says what they accept.
They merge calls of one tool by these rules, which we derived from their behaviour (all shared parity data agrees):

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

from annotator.core.graph.counting import STEPS, TOO_MANY, Count, PathCounter
from annotator.core.graph.dag import Graph, positions
from annotator.core.graph.enumeration import ready_mask

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


class PublishedCode:
    """The published rules on one graph; ``names`` are the tools, one for each position of the graph, in file order."""

    def __init__(self, graph: Graph, names: Sequence[str], bound: int = STEPS) -> None:
        if len(names) != len(graph.ids):
            raise ValueError("The published rules need one tool name for each call of the graph.")
        self.graph = graph
        self.names = tuple(names)
        self.bound = bound
        #: Calls done → the moves that are found first for their tools; ``Acceptance`` fills this in.
        self.first_moves: dict[int, list[Move]] = {}
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


def _run(ready: Sequence[int], names: Sequence[str], head: int) -> tuple[int, ...]:
    """Return the calls of the run that begins at ``head``, each as a bitset."""
    end = head + 1
    while end < len(ready) and names[end] == names[head]:
        end += 1
    return tuple(1 << i for i in ready[head:end])
