"""Which whole legal paths the evaluators published with C3-Bench and WildToolBench reject.

Both follow a path by tool names alone (``published``): of calls to one tool, they take the one that their list has
first, whichever was made. They differ in what they compare afterwards:

- C3-Bench compares the arguments once, over all calls of the task. So a legal path is accepted if it can be followed.
- WildToolBench compares them step by step with the calls that it took. So each batch must also have the same calls.

A path makes each call with the reference's arguments. Calls to one tool with equal arguments are the same to both
evaluators; other arguments must differ enough for them to see it. Everything that C3-Bench's evaluator rejects,
WildToolBench's rejects too. Questions are left out, as everywhere in the graph of a task's calls.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import comb

from annotator.core.graph.counting import STEPS, TOO_MANY, Count, PathCounter
from annotator.core.graph.dag import Graph, inverted, positions
from annotator.core.graph.enumeration import Path, optimal_paths, paths
from annotator.core.graph.published import Move, PublishedCode

#: Legal paths that are checked, one by one, to find examples of rejected ones.
_LOOKED_AT = 2_000
#: Elementary steps that one move, or one set of calls for it, takes.
_MOVE = 20

#: The calls that have run, those that the evaluator takes for them, and the batches that must follow in its list.
_State = tuple[int, int, tuple[int, ...]]


class _TooLong(Exception):
    """The count takes more steps than it may."""


class Acceptance:
    """Which legal paths an evaluator accepts that can tell calls apart only if ``kinds``, one for each call, differ.

    Calls of one kind have the same tool.
    """

    def __init__(self, code: PublishedCode, kinds: Sequence[int]) -> None:
        self.code = code
        self.kinds = tuple(kinds)
        self._everything = (1 << len(self.kinds)) - 1
        self._left = 0
        # A number for each call by its tool: sums are equal if they are of the same calls by name.
        tools = argument_kinds(code.names, [""] * len(self.kinds))
        self._by_name = [1 << len(tools).bit_length() * tool for tool in tools]

    def accepts(self, path: Path) -> bool:
        """Return whether a whole legal path (batches of ids) is accepted."""
        place = {call: i for i, call in enumerate(self.code.graph.ids)}
        taken, rest = 0, tuple[int, ...]()
        for batch in path:
            made = [place[call] for call in batch]
            if not rest:
                move = self.code.move_of(taken, Counter(self.code.names[i] for i in made))
                if move is None:
                    return False
                rest = move.batches
            if Counter(self.kinds[i] for i in made) != Counter(self.kinds[i] for i in positions(rest[0])):
                return False
            taken |= rest[0]
            rest = rest[1:]
        return True

    def count(self) -> Count:
        """Return how many legal paths are accepted; TOO_MANY if that takes more than the code's bound."""
        if not self.code.merges:
            return PathCounter(self.code.graph, self.code.bound).tally().total
        self._left = self.code.bound
        try:
            return Count(self._count())
        except _TooLong:
            return TOO_MANY

    def _count(self) -> int:
        twins = self._twins()
        counts: dict[_State, int] = {(self._everything, self._everything, ()): 1}
        # A state is finished when all later states are; the explicit stack avoids Python's recursion limit.
        stack: list[tuple[_State, list[tuple[_State, int]] | None]] = [((0, 0, ()), None)]
        while stack:
            state, following = stack.pop()
            if state in counts:
                continue
            if following is None:
                following = list(self._following(state, twins))
                stack.append((state, following))
                stack += [(after, None) for after, _ in following if after not in counts]
            else:
                counts[state] = sum(counts[after] * ways for after, ways in following)
        return counts[0, 0, ()]

    def _following(self, state: _State, twins: dict[int, list[int]]) -> Iterator[tuple[_State, int]]:
        """Yield the next states, each with the number of batches that lead to it."""
        done, taken, rest = state
        for batches in (rest,) if rest else [move.batches for move in self._first_moves(taken)]:
            wanted = Counter(self.kinds[i] for i in positions(batches[0]))
            ready = {kind: [left for one in twins[kind] if (left := self._ready(one, done))] for kind in wanted}
            if any(sum(left.bit_count() for left in ready[kind]) < number for kind, number in wanted.items()):
                continue
            for chosen, ways in _choices([(ready[kind], number) for kind, number in wanted.items()]):
                self._spend()
                yield (done | chosen, taken | batches[0], batches[1:]), ways

    def _first_moves(self, taken: int) -> list[Move]:
        """Return the moves that the code finds first for their tools: it never takes a batch for another one."""
        found = self.code.first_moves.get(taken)
        if found is None:
            firsts: dict[int, Move] = {}
            for move in self.code.moves(taken):
                self._spend()
                made = list(positions(move.batches[0]))
                by_name = sum(self._by_name[i] for i in made)
                if by_name not in firsts:
                    first = self.code.move_of(taken, Counter(self.code.names[i] for i in made))
                    firsts |= {by_name: first} if first else {}
            found = self.code.first_moves[taken] = list(firsts.values())
        return found

    def _spend(self) -> None:
        self._left -= _MOVE
        if self._left < 0:
            raise _TooLong

    def _ready(self, alike: int, done: int) -> int:
        """Return which of some twins are left and can run."""
        left = alike & ~done
        return left if left and not self.code.graph.needs[left.bit_length() - 1] & ~done else 0

    def _twins(self) -> dict[int, list[int]]:
        """Return, by kind, the calls that are exchangeable: one kind, and the same calls before and after them.

        Of exchangeable calls, those first in the file run first; the others are counted, not visited.
        """
        above = self.code.graph.ancestors
        groups: dict[tuple[int, int, int], int] = {}
        for i, key in enumerate(zip(self.kinds, above, inverted(above), strict=True)):
            groups[key] = groups.get(key, 0) | 1 << i
        twins: dict[int, list[int]] = {}
        for (kind, _, _), mask in groups.items():
            twins.setdefault(kind, []).append(mask)
        return twins


def _choices(wanted: Sequence[tuple[Sequence[int], int]]) -> Iterator[tuple[int, int]]:
    """Yield each choice of so many calls from each list of groups, as a bitset, with how many choices it represents.

    Of a group, it takes the first calls. Each list must have enough calls.
    """
    if not wanted:
        yield 0, 1
        return
    (groups, number), rest = wanted[0], wanted[1:]
    if not number:
        yield from _choices(rest)
        return
    size, later = groups[0].bit_count(), sum(group.bit_count() for group in groups[1:])
    for taken in range(max(0, number - later), min(number, size) + 1):
        first = sum(1 << i for i in islice(positions(groups[0]), taken))
        for others, ways in _choices([(groups[1:], number - taken), *rest]):
            yield first | others, comb(size, taken) * ways


@dataclass(frozen=True, slots=True)
class PublishedLint:
    """How the published evaluators treat a task's legal paths.

    ``legal`` counts all of them, ``c3`` and ``wild`` those that each evaluator rejects. ``by_both`` and ``by_wild`` are
    some that both reject, and that only WildToolBench's does; optimal ones come first.
    """

    legal: Count
    c3: Count
    wild: Count
    by_both: tuple[Path, ...] = ()
    by_wild: tuple[Path, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether both certainly accept every legal path."""
        return self.wild == Count(0)

    @property
    def alike(self) -> bool:
        """Whether both certainly reject the same paths."""
        return self.c3.exact and self.c3 == self.wild

    @property
    def c3_rejects(self) -> bool | None:
        """Whether C3-Bench's evaluator rejects a legal path; None if unknown."""
        return _rejects(self.c3, self.by_both)

    @property
    def wild_rejects(self) -> bool | None:
        """Whether WildToolBench's evaluator rejects a legal path; None if unknown."""
        return _rejects(self.wild, self.by_both or self.by_wild)


def _rejects(count: Count, examples: tuple[Path, ...]) -> bool | None:
    if count.at_least or examples:
        return True
    return False if count == Count(0) else None


def argument_kinds(names: Sequence[str], arguments: Sequence[str]) -> tuple[int, ...]:
    """Return for each call the first one that has the same tool and arguments (written alike if they are equal)."""
    first: dict[tuple[str, str], int] = {}
    return tuple(first.setdefault(call, i) for i, call in enumerate(zip(names, arguments, strict=True)))


def lint_published(
    graph: Graph,
    names: Sequence[str],
    kinds: Sequence[int] | None = None,
    *,
    bound: int = STEPS,
    examples: int = 3,
    looked_at: int = _LOOKED_AT,
) -> PublishedLint:
    """Return how the published evaluators treat a graph; ``names`` are the tools of its calls, in file order.

    ``kinds`` are those of ``argument_kinds``; without them, all arguments differ. Raises ValueError without exactly one
    name for each call. Takes at most about ``bound`` steps for each count, and searches for ``examples`` of each sort
    among the first ``looked_at`` optimal paths and as many others.
    """
    code = PublishedCode(graph, names, bound)
    legal = PathCounter(graph, bound).tally().total
    if not code.merges:
        return PublishedLint(legal, Count(0), Count(0))
    by_name = argument_kinds(names, [""] * len(names))
    c3, wild = Acceptance(code, by_name), Acceptance(code, range(len(names)) if kinds is None else kinds)
    rejected_by_c3, rejected_by_wild = (_without(legal, one.count()) for one in (c3, wild))
    by_both: list[Path] = []
    by_wild: list[Path] = []
    if rejected_by_wild != Count(0):
        for path in _in_order(graph, looked_at if examples else 0):
            if not c3.accepts(path):
                by_both.append(path)
            elif not wild.accepts(path):
                by_wild.append(path)
            if len(by_both) >= examples and len(by_wild) >= examples:
                break
    return PublishedLint(legal, rejected_by_c3, rejected_by_wild, tuple(by_both[:examples]), tuple(by_wild[:examples]))


def _without(legal: Count, accepted: Count) -> Count:
    """Return how many legal paths are left without the accepted ones."""
    if legal.at_least is None or accepted.value is None:
        return TOO_MANY
    return Count(max(0, legal.at_least - accepted.value), legal.exact)


def _in_order(graph: Graph, most: int) -> Iterator[Path]:
    """Yield the first legal paths, optimal ones before others; ``most``: of each."""
    yield from islice(optimal_paths(graph), most)
    fewest = graph.fewest_batches
    yield from (path for path in islice(paths(graph), most) if len(path) > fewest)
