"""Graphs by shape, any small graph, and what they accept by brute force."""

import random
from collections.abc import Iterator, Sequence
from itertools import combinations

from hypothesis import strategies as st

from annotator.core.graph import Graph

#: The slides of the C3-Bench paper (Figures 2 and 3): detail needs rank, slide needs create and detail.
SLIDES = Graph.from_edges(
    ("create", "rank", "detail", "slide"), [("detail", "rank"), ("slide", "create"), ("slide", "detail")]
)


def graph(dependencies: Sequence[Sequence[int]]) -> Graph:
    ids = tuple(f"c{i}" for i in range(len(dependencies)))
    return Graph(ids, tuple(sum(1 << j for j in need) for need in dependencies))


def independent(size: int) -> Graph:
    return graph([[]] * size)


def chains(number: int, length: int) -> Graph:
    return graph([[i - 1] if i % length else [] for i in range(number * length)])


def fan_in(size: int) -> Graph:
    return graph([[]] * (size - 1) + [list(range(size - 1))])


def fan_out(size: int) -> Graph:
    return graph([[]] + [[0]] * (size - 1))


def fence(size: int) -> Graph:
    """Every other call depends on both its neighbours."""
    return graph([[j for j in (i - 1, i + 1) if j < size] if i % 2 else [] for i in range(size)])


def dense(size: int, share: float, seed: int = 15) -> Graph:
    """A random graph with about this share of all possible edges."""
    chance = random.Random(seed)
    return graph([[j for j in range(i) if chance.random() < share] for i in range(size)])


@st.composite
def acyclic(draw: st.DrawFn, size: int = 6) -> Graph:
    """Any acyclic graph of up to ``size`` calls whose ids are in no particular order."""
    count = draw(st.integers(0, size))
    order = draw(st.permutations(range(count)))
    needs = [0] * count
    for place, node in enumerate(order):
        for earlier in order[:place]:
            needs[node] |= draw(st.integers(0, 1)) << earlier
    return Graph(tuple(f"c{i}" for i in range(count)), tuple(needs))


def brute_paths(
    needs: dict[str, set[str]], done: frozenset[str] = frozenset()
) -> Iterator[tuple[tuple[str, ...], ...]]:
    """All legal paths as the papers define them, smallest batches first, straight from the definition."""
    if len(done) == len(needs):
        yield ()
        return
    ready = [call for call, needed in needs.items() if call not in done and needed <= done]
    for size in range(1, len(ready) + 1):
        for batch in combinations(ready, size):
            for rest in brute_paths(needs, done | set(batch)):
                yield (batch, *rest)


def needs_of(one: Graph) -> dict[str, set[str]]:
    needs: dict[str, set[str]] = {call: set() for call in one.ids}
    for call, needed in one.edges():
        needs[call].add(needed)
    return needs
