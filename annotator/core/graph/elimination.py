"""Count the ways to give each call a batch number, for graphs that are nearly trees.

The strict order polynomial Ω°(j) counts the maps of a partial order to {1..j} under which each element comes strictly
after those below it (Stanley, Enumerative Combinatorics 1, §3.15). One call after the other is eliminated by summation,
which leaves a table over its neighbours. On a tree each table has one column, however many down-sets there are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from math import prod

from annotator.core.graph.dag import positions

_Table = dict[tuple[int, ...], int]


@dataclass(frozen=True, slots=True)
class Elimination:
    """An elimination order, and for each call the neighbours that its table covers."""

    order: tuple[tuple[int, tuple[int, ...]], ...]
    covered: Mapping[int, int]
    covering: Mapping[int, int]
    #: Calls on the longest chain below and above each call.
    depth: Mapping[int, int]
    height: Mapping[int, int]

    @property
    def fewest(self) -> int:
        return max((self.depth[v] + self.height[v] + 1 for v in self.depth), default=0)

    def width(self, call: int, batches: int) -> int:
        """Return in how many of the batches a call can be."""
        return max(0, batches - self.height[call] - self.depth[call])

    def steps(self, batches: int) -> int:
        """Return roughly how many steps ``maps(batches)`` takes."""
        total = 0
        tabled: set[int] = set()
        for call, scope in self.order:
            cells = prod(self.width(other, batches) for other in scope)
            total += cells * (2 + (4 * self.width(call, batches) if call in tabled else 0))
            if len(scope) > 1:
                tabled.update(scope)
        return total

    def steps_up_to(self, batches: int) -> int:
        """Return roughly how many steps ``maps`` takes for every number of batches up to this one."""
        return sum(self.steps(one) for one in range(self.fewest, batches + 1))

    def maps(self, batches: int) -> int:
        """Return Ω°(batches), exactly."""
        spans = {v: range(self.depth[v], batches - self.height[v]) for v in self.depth}
        if not all(spans.values()):
            return 0
        weights = {v: [1] * len(span) for v, span in spans.items()}
        tables: list[tuple[tuple[int, ...], _Table]] = []
        count = 1
        for call, scope in self.order:
            mine = [table for table in tables if call in table[0]]
            tables = [table for table in tables if call not in table[0]]
            result = self._sum_out(call, scope, spans, weights.pop(call), mine)
            if not scope:
                count *= result.get((), 0)
            elif len(scope) == 1:
                (other,) = scope
                weights[other] = [
                    weight * result.get((x,), 0) for x, weight in zip(spans[other], weights[other], strict=True)
                ]
            else:
                tables.append((scope, result))
        return count

    def _sum_out(
        self,
        call: int,
        scope: tuple[int, ...],
        spans: Mapping[int, range],
        weight: list[int],
        tables: Sequence[tuple[tuple[int, ...], _Table]],
    ) -> _Table:
        span = spans[call]
        start, stop = span.start, span.stop
        lower = [i for i, other in enumerate(scope) if self.covered[call] >> other & 1]
        upper = [i for i, other in enumerate(scope) if self.covering[call] >> other & 1]
        sums = list(accumulate(weight, initial=0))
        # The source of each column of a table: its place in ``scope``, or -1 for the call itself.
        columns = [(tuple(-1 if v == call else scope.index(v) for v in names), cells) for names, cells in tables]
        result: _Table = {}
        for values in product(*(spans[other] for other in scope)):
            low = max([start, *(values[i] + 1 for i in lower)])
            high = min([stop, *(values[i] for i in upper)])
            if low >= high:
                continue
            if columns:
                total = 0
                for x in range(low, high):
                    term = weight[x - start]
                    for places, cells in columns:
                        term *= cells.get(tuple(x if i < 0 else values[i] for i in places), 0)
                    total += term
            else:
                total = sums[high - start] - sums[low - start]
            if total:
                result[values] = total
        return result


def plan(mask: int, below: Sequence[int], above: Sequence[int]) -> Elimination:
    """Eliminate the calls of ``mask`` with the fewest neighbours first."""
    covered: dict[int, int] = {}
    covering: dict[int, int] = {}
    depth: dict[int, int] = {}
    height: dict[int, int] = {}
    calls = sorted(positions(mask), key=lambda v: (below[v] & mask).bit_count())
    for v in calls:
        under, over = below[v] & mask, above[v] & mask
        for u in positions(under):
            under &= ~below[u]
        for w in positions(over):
            over &= ~above[w]
        covered[v], covering[v] = under, over
        depth[v] = max((depth[u] + 1 for u in positions(under)), default=0)
    for v in reversed(calls):
        height[v] = max((height[w] + 1 for w in positions(covering[v])), default=0)
    near = {v: covered[v] | covering[v] for v in calls}
    order = []
    while near:
        v = min(near, key=lambda one: (near[one].bit_count(), one))
        scope = near.pop(v)
        for u in positions(scope):
            near[u] = (near[u] | scope) & ~(1 << u | 1 << v)
        order.append((v, tuple(positions(scope))))
    return Elimination(tuple(order), covered, covering, depth, height)
