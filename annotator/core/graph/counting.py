"""Count the legal paths of a tool graph by their number of batches, without listing them.

With Ω°(m) the strict order polynomial (the number of maps of the calls to {1..m} under which each call comes strictly
after those that it depends on), the number of paths of k batches is Σ_j (−1)^(k−j) C(k,j) Ω°(j). Independent groups of
calls are counted separately and their Ω° multiplied; if all of one group come before all of another, the counts by
length are convolved. Everything else is enumerated, see ``lattice`` and ``elimination``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import comb

from annotator.core.graph.dag import Graph, connected, inverted, positions
from annotator.core.graph.elimination import plan
from annotator.core.graph.lattice import StepBound, partitions_by_length
from annotator.core.graph.reading import MAX_CALLS

#: Elementary steps after which counting stops being exact; a second or two.
STEPS = 3_000_000


@dataclass(frozen=True, slots=True)
class Count:
    """An exact number, "more than N" or "too many to count".

    ``at_least`` is a lower bound, or the number itself if ``exact``; None if unknown.
    """

    at_least: int | None
    exact: bool = True

    @property
    def value(self) -> int | None:
        """The number, or None if it is not known exactly."""
        return self.at_least if self.exact else None

    def __str__(self) -> str:
        if self.at_least is None or (not self.exact and self.at_least < 2):
            return "too many to count"
        return f"{self.at_least:,}" if self.exact else f"more than {self.at_least - 1:,}"


TOO_MANY = Count(None, exact=False)


@dataclass(frozen=True, slots=True)
class Tally:
    """The paths through the remaining calls, by their number of batches.

    ``fewest`` and ``most`` are the batches of the shortest and the longest path. ``by_length[k]`` is the number of
    paths of k batches, or a lower bound if not ``exact``; None if unknown.
    """

    fewest: int
    most: int
    by_length: tuple[int, ...] | None
    exact: bool
    optimal: Count

    @property
    def total(self) -> Count:
        """All paths. A bound is one more than the paths found, because at least one legal path is not among them."""
        if self.by_length is None:
            return TOO_MANY
        return Count(sum(self.by_length) + (not self.exact), self.exact)

    def of_length(self, batches: int) -> Count:
        """Return the number of paths of that many batches."""
        if batches < self.fewest or batches > self.most:
            return Count(0)
        if batches == self.fewest:
            return self.optimal
        return TOO_MANY if self.by_length is None else Count(self.by_length[batches], self.exact)


class PathCounter:
    """Counts the paths of one graph from any set of calls already done, and remembers what it has counted.

    ``bound`` is the number of elementary steps that one count may take; beyond it, the result is a lower bound.
    """

    def __init__(self, graph: Graph, bound: int = STEPS) -> None:
        self.graph = graph
        self.bound = bound
        self._tallies: dict[int, Tally] = {}
        self._known: dict[int, list[int]] = {}
        self._shapes: dict[tuple[int, ...], list[int]] = {}
        self._below = graph.ancestors
        self._above = inverted(self._below)

    def tally(self, done: int = 0) -> Tally:
        """Return the paths from ``done`` to the end. ``done`` is a bitset of positions, including all dependencies."""
        if done not in self._tallies:
            self._tallies[done] = self._count(done)
        return self._tallies[done]

    def _count(self, done: int) -> Tally:
        mask = ((1 << len(self.graph.ids)) - 1) & ~done
        most, fewest = mask.bit_count(), self.graph.batches_left(done)
        if most > MAX_CALLS:
            return Tally(fewest, most, None, False, Count(1) if fewest == most else TOO_MANY)
        counting = _Counting(self._below, self._above, StepBound(self.bound), self._known, self._shapes)
        lengths = counting.lengths(mask)
        exact = not counting.cut
        optimal = lengths[fewest] if exact else counting.shortest(mask, fewest)
        return Tally(
            fewest,
            most,
            tuple(lengths),
            exact,
            Count(lengths[fewest], exact) if optimal is None else Count(optimal),
        )


def count_paths(graph: Graph, bound: int = STEPS) -> Tally:
    """Return the paths of a graph by length; see ``Tally``."""
    return PathCounter(graph, bound).tally()


class _Counting:
    """One count: the order, the steps left, and whether the count was cut short."""

    def __init__(
        self,
        below: Sequence[int],
        above: Sequence[int],
        bound: StepBound,
        known: dict[int, list[int]],
        shapes: dict[tuple[int, ...], list[int]],
    ) -> None:
        self.below, self.above = below, above
        #: At each position a bitset of the calls that must run before or after it, and of those that need not.
        self.tied = [under | over for under, over in zip(below, above, strict=True)]
        self.apart = [~tied for tied in self.tied]
        self.bound = bound
        self.known, self.shapes = known, shapes
        self.cut = False

    def lengths(self, mask: int) -> list[int]:
        """Return, at index k, the number of paths of k batches over the calls of ``mask``, k up to their number."""
        if not mask & (mask - 1):
            return [0, 1] if mask else [1]
        if mask in self.known:
            return self.known[mask]
        before = self.cut
        self.cut = False
        if len(parts := connected(mask, self.tied)) > 1:
            result = self._beside(parts)
        elif len(parts := self._in_series(mask)) > 1:
            result = self._after(parts)
        else:
            result = self._whole(mask)
        if not self.cut:
            self.known[mask] = result
        self.cut = self.cut or before
        return result

    def shortest(self, mask: int, batches: int) -> int | None:
        """Return Ω°(batches) alone. It can often be counted if the whole polynomial cannot, because few calls then have
        a choice.
        """
        count = 1
        for part in connected(mask, self.tied):
            elimination = plan(part, self.below, self.above)
            if elimination.steps(batches) > self.bound.share:
                return None
            self.bound.left -= elimination.steps(batches)
            count *= elimination.maps(batches)
        return count

    def _beside(self, parts: list[int]) -> list[int]:
        """Count independent parts: their Ω° are multiplied, then turned into counts."""
        singles = sum(not part & (part - 1) for part in parts)
        size = sum(part.bit_count() for part in parts)
        maps = [m**singles for m in range(size + 1)]
        for part in parts:
            if part & (part - 1):
                lengths = self.lengths(part)
                for m in range(size + 1):
                    maps[m] *= sum(comb(m, k) * count for k, count in enumerate(lengths[: m + 1]) if count)
        return _lengths_of(maps)

    def _after(self, parts: list[int]) -> list[int]:
        """Count parts that each wait for all of the previous one: a path is one of the first, then one of the next."""
        result = [1]
        for part in parts:
            lengths = self.lengths(part)
            joined = [0] * (len(result) + len(lengths) - 1)
            for i, left in enumerate(result):
                if left:
                    for k, right in enumerate(lengths):
                        joined[i + k] += left * right
            result = joined
        return result

    def _whole(self, mask: int) -> list[int]:
        """Count a part that splits neither way; equal shapes are counted once. Beyond the bound, it is cut in two."""
        shape = self._shape(mask)
        if shape in self.shapes:
            return self.shapes[shape]
        size = mask.bit_count()
        elimination = plan(mask, self.below, self.above)
        # Elimination is cheaper if its cost, known beforehand, is below that of walking the down-sets.
        cost = elimination.steps_up_to(size)
        limit = self.bound.share
        affordable = cost <= limit
        walking = cost // 4 if affordable else limit
        result = partitions_by_length(mask, self.below, self.above, self.bound, walking)
        if result is None and affordable:
            self.bound.left -= cost
            result = _lengths_of([elimination.maps(batches) for batches in range(size + 1)])
        if result is None:
            self.cut = True
            return self._after(self._layered(mask, elimination.depth, elimination.fewest))
        self.shapes[shape] = result
        return result

    def _layered(self, mask: int, depth: Mapping[int, int], height: int) -> list[int]:
        """Return two halves, as if all of the first came before all of the second: every path through them is legal.

        The chains keep their lengths, so paths with the fewest batches are counted.
        """
        first = sum(1 << v for v in positions(mask) if depth[v] < (height + 1) // 2)
        return [first, mask & ~first]

    def _shape(self, mask: int) -> tuple[int, ...]:
        place = {v: 1 << i for i, v in enumerate(positions(mask))}
        return tuple(sum(place[u] for u in positions(self.below[v] & mask)) for v in place)

    def _in_series(self, mask: int) -> list[int]:
        """Return the parts that come strictly one after the other, first to last."""
        parts = connected(mask, self.apart)
        return sorted(parts, key=lambda part: (self.below[part.bit_length() - 1] & mask & ~part).bit_count())


def _lengths_of(maps: list[int]) -> list[int]:
    """Return counts by length from Ω°(0), Ω°(1), …: the k-th finite difference at 0 is Σ_j (−1)^(k−j) C(k,j) Ω°(j)."""
    lengths = []
    while maps:
        lengths.append(maps[0])
        maps = [right - left for left, right in pairwise(maps)]
    return lengths
