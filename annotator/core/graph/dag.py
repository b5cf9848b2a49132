"""A directed acyclic graph over at most a few dozen nodes, stored as bitsets.

Bit ``j`` of ``needs[i]`` says that node ``i`` depends directly on node ``j``; positions are those of ``ids``. Python
integers are the sets, so a union over all of a node's dependencies is one operation and everything here is O(n·e).
"""

from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache


def positions(mask: int) -> Iterator[int]:
    """Yield the positions whose bits are set in ``mask``, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def inverted(needs: Sequence[int]) -> list[int]:
    """Return, at each position, a bitset of the positions that need it."""
    needed_by = [0] * len(needs)
    for i, mask in enumerate(needs):
        for j in positions(mask):
            needed_by[j] |= 1 << i
    return needed_by


def connected(mask: int, near: Sequence[int]) -> list[int]:
    """Return the connected parts of ``mask``, in order of their first positions. ``near``: the neighbours of each
    position, as a bitset.
    """
    parts = []
    while mask:
        part = edge = mask & -mask
        while edge:
            reached = 0
            for v in positions(edge):
                reached |= near[v]
            edge = reached & mask & ~part
            part |= edge
        parts.append(part)
        mask &= ~part
    return parts


def find_cycle(needs: Sequence[int]) -> list[int]:
    """Return the positions of one cycle, each depending on the next and the last on the first; empty if there is none.

    The cycle starts at its earliest position, so the same graph always gives the same answer.
    """
    left = (1 << len(needs)) - 1
    while left:
        ready = 0
        for i in positions(left):
            if not needs[i] & left:
                ready |= 1 << i
        if not ready:
            break
        left &= ~ready
    if not left:
        return []
    # Every remaining node needs another one: following the lowest need must close a cycle.
    walk: list[int] = []
    seen: dict[int, int] = {}
    node = next(positions(left))
    while node not in seen:
        seen[node] = len(walk)
        walk.append(node)
        node = next(positions(needs[node] & left))
    cycle = walk[seen[node] :]
    first = cycle.index(min(cycle))
    return cycle[first:] + cycle[:first]


class Graph:
    """An acyclic graph: ``ids`` in document order and, at the same position, a bitset of direct dependencies.

    Immutable. Raises ValueError if the dependencies form a cycle; ``read_graph`` reports that as data instead.
    """

    __slots__ = ("_above", "_columns", "_implied", "_looks_back", "ids", "needs")

    def __init__(self, ids: tuple[str, ...], needs: tuple[int, ...]) -> None:
        if len(ids) != len(needs):
            raise ValueError("A graph needs one set of dependencies for each id.")
        self.ids = ids
        self.needs = needs
        self._columns: dict[str, int] | None = None
        self._above: tuple[int, ...] | None = None
        self._implied: tuple[int, ...] = ()
        # In nearly all graphs, steps depend only on earlier positions: then there is no cycle, and document order is
        # valid.
        self._looks_back = True
        for i, need in enumerate(needs):
            if need >> i:
                self._looks_back = False
                if len(self.columns) != len(ids):
                    raise ValueError("The dependencies form a cycle.")
                break

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Graph) and (self.ids, self.needs) == (other.ids, other.needs)

    def __hash__(self) -> int:
        return hash((self.ids, self.needs))

    def __repr__(self) -> str:
        return f"Graph({self.ids!r}, {self.needs!r})"

    @classmethod
    def from_edges(cls, ids: Sequence[str], edges: Collection[tuple[str, str]]) -> "Graph":
        """Return a graph from pairs (id, id it depends on). Raises KeyError for an id that is not in ``ids``."""
        position = {node: i for i, node in enumerate(ids)}
        needs = [0] * len(position)
        for node, needed in edges:
            needs[position[node]] |= 1 << position[needed]
        return cls(tuple(position), tuple(needs))

    @property
    def columns(self) -> dict[str, int]:
        """Return id → the earliest batch it can run in, counted from 0, if every batch takes all nodes that are ready.

        The keys are in topological order.
        """
        if self._columns is None:
            self._columns = self._layered()
        return self._columns

    @property
    def order(self) -> tuple[int, ...]:
        """Return all positions, each after its dependencies; in document order if possible."""
        if self._looks_back:
            return tuple(range(len(self.ids)))
        position = {node: i for i, node in enumerate(self.ids)}
        return tuple(position[node] for node in self.columns)

    @property
    def fewest_batches(self) -> int:
        """Number of nodes on the longest dependency chain: no path has fewer batches. 0 for an empty graph."""
        return max(self.columns.values(), default=-1) + 1

    def batches_left(self, done: int) -> int:
        """Return the fewest batches after ``done``, a bitset of positions including all their dependencies: the longest
        chain among the remaining nodes.
        """
        depth = [0] * len(self.ids)
        for i in self.order:
            if not done >> i & 1:
                need = self.needs[i]
                depth[i] = 1 + max(depth[j] for j in positions(need)) if need else 1
        return max(depth, default=0)

    @property
    def ancestors(self) -> tuple[int, ...]:
        """At each position a bitset of everything the node depends on, directly or indirectly."""
        return self._above if self._above is not None else self._close()

    @property
    def reduced(self) -> "Graph":
        """The transitive reduction: the smallest graph with the same ancestors (unique for an acyclic graph)."""
        return Graph(self.ids, tuple(need & ~spare for need, spare in zip(self.needs, self.implied, strict=True)))

    @property
    def implied(self) -> tuple[int, ...]:
        """At each position a bitset of the direct dependencies that follow from the node's other ones."""
        if self._above is None:
            self._close()
        return self._implied

    def edges(self) -> list[tuple[str, str]]:
        """Return pairs (id, id it depends on directly), in document order of both."""
        return [(self.ids[i], self.ids[j]) for i, need in enumerate(self.needs) for j in positions(need)]

    def redundant_edges(self) -> list[tuple[str, str]]:
        """Return the edges that follow from others: removing all of them changes no order of execution."""
        return [(self.ids[i], self.ids[j]) for i, spare in enumerate(self.implied) for j in positions(spare)]

    def contracted(self, keep: Collection[str]) -> "Graph":
        """Return the graph on ``keep`` alone. A path through a removed node becomes an edge to what that
        node needed.
        """
        kept = tuple(i for i, node in enumerate(self.ids) if node in keep)
        return Graph(tuple(self.ids[i] for i in kept), _contracted(self.needs, self.order, kept))

    def _layered(self) -> dict[str, int]:
        columns: dict[str, int] = {}
        left, done, column = (1 << len(self.ids)) - 1, 0, 0
        while left:
            ready = 0
            for i in positions(left):
                if not self.needs[i] & ~done:
                    ready |= 1 << i
                    columns[self.ids[i]] = column
            if not ready:
                break
            done |= ready
            left &= ~ready
            column += 1
        return columns

    def _close(self) -> tuple[int, ...]:
        """Fill ``_above`` and ``_implied`` in one pass, inlined: checks run this for every task of an import."""
        above, implied = [0] * len(self.ids), [0] * len(self.ids)
        for i in self.order:
            left = need = self.needs[i]
            further = 0
            while left:
                low = left & -left
                further |= above[low.bit_length() - 1]
                left ^= low
            above[i] = need | further
            implied[i] = need & further
        self._implied = tuple(implied)
        self._above = tuple(above)
        return self._above


@lru_cache(maxsize=4096)
def _contracted(needs: tuple[int, ...], order: tuple[int, ...], kept: tuple[int, ...]) -> tuple[int, ...]:
    """Return ``Graph.contracted`` of one shape (cached): an import has many tasks, but few shapes."""
    place = {i: new for new, i in enumerate(kept)}
    through = [0] * len(needs)
    out = [0] * len(kept)
    for i in order:
        mask = 0
        for j in positions(needs[i]):
            mask |= 1 << place[j] if j in place else through[j]
        through[i] = mask
        if i in place:
            out[place[i]] = mask
    return tuple(out)
