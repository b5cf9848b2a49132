"""Compute where a drawing places the steps of a task, and the lines between them.

Columns are batches: a step is in the earliest batch it can run in. Within a column, steps are sorted by the mean
position of their neighbours, sweep after sweep, and the order with the fewest crossings is kept (the barycentre
heuristic of Sugiyama, Tagawa and Toda, 1981). A line that passes columns has its own lane in each, so it does not run
behind a step. The same graph always gives the same drawing. All measures are whole pixels.
"""

from bisect import bisect_right, insort
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from annotator.core.graph.dag import Graph, positions

BOX_WIDTH, BOX_HEIGHT = 150, 46
COLUMN_GAP, ROW_GAP = 64, 18
MARGIN, HEAD = 12, 26
#: Height of the lane of a line that passes a column.
LANE = 12
#: Most lanes of one drawing; a line without a lane is drawn as an arch. A drawing with more lines is unreadable anyway.
MAX_LANES = 96
#: Sweeps over the columns, there and back.
SWEEPS = 4


@dataclass(frozen=True, slots=True)
class Box:
    """One step: its upper left corner, its column (from 0), and whether it is on the longest chain shown."""

    id: str
    x: int
    y: int
    column: int
    critical: bool


class Line(NamedTuple):
    """A line from ``needs`` to ``node``, which depends on it: an SVG path, and a point for a label.

    ``drawn``: a dependency of the graph; else one of the ``extra`` lines. ``critical``: part of the longest chain.
    """

    node: str
    needs: str
    path: str
    at: tuple[int, int]
    critical: bool
    implied: bool
    drawn: bool

    @property
    def between(self) -> bool:
        """Whether the label is between two columns, where there is little room."""
        return (self.at[0] - MARGIN) % (BOX_WIDTH + COLUMN_GAP) > BOX_WIDTH


@dataclass(frozen=True, slots=True)
class Column:
    """One batch: the left edge of its boxes, and the ids of its steps from top to bottom."""

    x: int
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    columns: tuple[Column, ...]
    width: int
    height: int
    crossings: int


def lay_out(graph: Graph, extra: Collection[tuple[str, str]] = ()) -> Drawing:
    """Return the drawing of a graph. ``extra``: pairs (id, id it would depend on) that are drawn but move no step to
    another column: suggestions, and lines that would close a cycle. Raises KeyError for an id that is not in the graph.
    """
    place = {node: i for i, node in enumerate(graph.ids)}
    depth = [graph.columns[node] for node in graph.ids]
    implied = {(i, j) for i, spare in enumerate(graph.implied) for j in positions(spare)}
    edges = [(i, j) for i, need in enumerate(graph.needs) for j in positions(need)]
    others = [(place[node], place[needs]) for node, needs in extra]
    # The shortest come first, then the most important ones; the least important ones may get no lane.
    rank = {edge: number for number, edge in enumerate(dict.fromkeys([*edges, *others]))}
    wanted = sorted(rank, key=lambda edge: (edge in implied, depth[edge[0]] - depth[edge[1]], rank[edge]))
    layers = _Layers(depth)
    lanes = {edge: way for edge in wanted if (way := layers.thread(*edge)) is not None}
    crossings = layers.sort()
    centre = layers.spread()
    chain = critical_chain(graph)
    links = {(later, earlier) for earlier, later in pairwise(chain)}
    top = min((y - layers.size(item) / 2 for item, y in centre.items()), default=0)
    middle = {item: round(y - top + MARGIN + HEAD) for item, y in centre.items()}
    left = [MARGIN + column * (BOX_WIDTH + COLUMN_GAP) for column in range(len(layers.items))]
    boxes = tuple(
        Box(node, left[depth[i]], middle[i] - BOX_HEIGHT // 2, depth[i], i in chain) for i, node in enumerate(graph.ids)
    )
    router = _Router(left, middle, depth)
    lines = []
    ids, drawn = graph.ids, set(edges)
    for edge in rank:
        i, j = edge
        path, at = router.route(i, j, lanes.get(edge))
        there = edge in drawn
        lines.append(Line(ids[i], ids[j], path, at, there and edge in links, edge in implied, there))
    ends = [middle[item] + layers.size(item) / 2 for item in middle]
    return Drawing(
        boxes,
        tuple(lines),
        tuple(
            Column(x, tuple(graph.ids[item] for item in items if item < len(graph.ids)))
            for x, items in zip(left, layers.items, strict=True)
        ),
        max((left[-1] + BOX_WIDTH if left else 0, router.right)) + MARGIN,
        round(max(ends, default=HEAD)) + MARGIN,
        crossings,
    )


def critical_chain(graph: Graph) -> list[int]:
    """Return the positions of one longest chain, first to last; of several, the one that ends, and continues, earliest
    in the document. Empty if there are no dependencies.
    """
    depth = [graph.columns[node] for node in graph.ids]
    if not any(depth):
        return []
    chain = [depth.index(max(depth))]
    while depth[chain[-1]]:
        wanted = depth[chain[-1]] - 1
        chain.append(next(j for j in positions(graph.needs[chain[-1]]) if depth[j] == wanted))
    return chain[::-1]


class _Layers:
    """The columns and their contents: steps (their positions) and lanes (numbers after those)."""

    def __init__(self, depth: Sequence[int]) -> None:
        self.depth = depth
        self.items: list[list[int]] = [[] for _ in range(max(depth, default=-1) + 1)]
        for i, column in enumerate(depth):
            self.items[column].append(i)
        self._next = len(depth)
        #: Neighbours in the column before, and in the one after.
        self._before: dict[int, list[int]] = {i: [] for i in range(len(depth))}
        self._after: dict[int, list[int]] = {i: [] for i in range(len(depth))}

    def size(self, item: int) -> int:
        return BOX_HEIGHT if item < len(self.depth) else LANE

    def thread(self, node: int, needs: int) -> list[int] | None:
        """Assign lanes to one line; None if it does not lead forward, or if no lanes are left."""
        first, last = self.depth[needs], self.depth[node]
        count = last - first - 1
        if count < 0 or self._next - len(self.depth) + count > MAX_LANES:
            return None
        lanes = list(range(self._next, self._next + count))
        self._next += count
        for column, lane in enumerate(lanes, first + 1):
            self.items[column].append(lane)
            self._before[lane], self._after[lane] = [], []
        for left, right in pairwise([needs, *lanes, node]):
            self._after[left].append(right)
            self._before[right].append(left)
        return lanes

    def sort(self) -> int:
        """Order each column; return the crossings left."""
        best = [list(items) for items in self.items]
        fewest = self._crossings()
        for sweep in range(SWEEPS):
            if not fewest:
                break
            back = sweep % 2 == 1
            near = self._after if back else self._before
            place = {item: i for items in self.items for i, item in enumerate(items)}
            for items in reversed(self.items) if back else self.items:
                mean = {i: sum(place[j] for j in near[i]) / len(near[i]) if near[i] else place[i] for i in items}
                items.sort(key=mean.__getitem__)
                for i, item in enumerate(items):
                    place[item] = i
            crossings = self._crossings()
            if crossings < fewest:
                fewest, best = crossings, [list(items) for items in self.items]
        self.items = best
        return fewest

    def spread(self) -> dict[int, float]:
        """Return the height of each item's centre: near the mean of its neighbours, in the sorted order."""
        centre: dict[int, float] = {}
        for items in self.items:
            y = 0.0
            for item in items:
                centre[item] = y + self.size(item) / 2
                y += self.size(item) + ROW_GAP
            for item in items:
                centre[item] -= y / 2
        for sweep in range(SWEEPS):
            for items in self.items if sweep % 2 == 0 else reversed(self.items):
                wanted = []
                for item in items:
                    # First from one side, to straighten chains; finally from both.
                    near = self._before[item] if sweep % 2 == 0 else self._after[item]
                    if sweep >= SWEEPS - 2:
                        near = self._before[item] + self._after[item]
                    wanted.append(sum(centre[j] for j in near) / len(near) if near else centre[item])
                gaps = [(self.size(a) + self.size(b)) / 2 + ROW_GAP for a, b in pairwise(items)]
                centre.update(zip(items, keep_apart(wanted, gaps), strict=True))
        return centre

    def _crossings(self) -> int:
        count = 0
        for left, right in pairwise(self.items):
            place = {item: i for i, item in enumerate(right)}
            ends: list[int] = []
            for item in left:
                own = [place[j] for j in self._after[item]]
                count += sum(len(ends) - bisect_right(ends, end) for end in own)
                for end in own:
                    insort(ends, end)
        return count


def keep_apart(wanted: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Return the positions nearest to ``wanted`` (by least squares) that are at least ``gaps`` apart, in the same
    order.

    Isotonic regression by pooling neighbours that would come too close.
    """
    offset = 0.0
    pools: list[tuple[float, int]] = []
    offsets = []
    for i, want in enumerate(wanted):
        offset += gaps[i - 1] if i else 0.0
        offsets.append(offset)
        total, count = want - offset, 1
        while pools and pools[-1][0] * count > total * pools[-1][1]:
            before, number = pools.pop()
            total, count = total + before, count + number
        pools.append((total, count))
    flat = [total / count for total, count in pools for _ in range(count)]
    return [mean + offset for mean, offset in zip(flat, offsets, strict=True)]


class _Router:
    """Draws lines between placed boxes. ``right`` is how far they reach."""

    def __init__(self, left: Sequence[int], middle: dict[int, int], depth: Sequence[int]) -> None:
        self.left, self.middle, self.depth = left, middle, depth
        self.right = 0

    def route(self, node: int, needs: int, lanes: list[int] | None) -> tuple[str, tuple[int, int]]:
        """Return the path from the box of ``needs`` to that of ``node``, and the position of its label."""
        x1, x2 = self.left[self.depth[needs]] + BOX_WIDTH, self.left[self.depth[node]]
        y1, y2 = self.middle[needs], self.middle[node]
        if lanes is not None:
            return self._through(x1, y1, x2, y2, lanes, self.depth[needs] + 1)
        if self.depth[node] > self.depth[needs]:
            # No lane is left: draw an arch over the columns between.
            x1 -= BOX_WIDTH // 2
            x2 += BOX_WIDTH // 2
            y1 -= BOX_HEIGHT // 2
            y2 -= BOX_HEIGHT // 2
            top = (y1 if y1 < y2 else y2) - 24
            if top < 2:
                top = 2
            return f"M{x1} {y1}C{x1} {top} {x2} {top} {x2} {y2}", ((x1 + x2) // 2, (y1 + y2 + 6 * top) // 8)
        if self.depth[node] == self.depth[needs]:
            # Leave on the right and return: a curve as wide as the distance.
            x2 = x1
            bow = x1 + min(30 + abs(y2 - y1) // 6, COLUMN_GAP + 40)
            self.right = max(self.right, bow)
            return f"M{x1} {y1}C{bow} {y1} {bow} {y2} {x2} {y2}", ((x1 + 3 * bow) // 4, (y1 + y2) // 2)
        x1, x2 = x1 - BOX_WIDTH, x2 + BOX_WIDTH
        half = COLUMN_GAP // 2
        return f"M{x1} {y1}C{x1 - half} {y1} {x2 + half} {y2} {x2} {y2}", ((x1 + x2) // 2, (y1 + y2) // 2)

    def _through(
        self, x1: int, y1: int, x2: int, y2: int, lanes: list[int], column: int
    ) -> tuple[str, tuple[int, int]]:
        path, x, y = f"M{x1} {y1}", x1, y1
        at = ((x1 + x2) // 2, (y1 + y2) // 2)
        for number, lane in enumerate(lanes):
            start, level = self.left[column + number], self.middle[lane]
            path += _bend(x, y, start, level) + f"H{start + BOX_WIDTH}"
            x, y = start + BOX_WIDTH, level
            if number == len(lanes) // 2:
                at = (start + BOX_WIDTH // 2, level)
        return path + _bend(x, y, x2, y2), at


def _bend(x1: int, y1: int, x2: int, y2: int) -> str:
    half = (x1 + x2) // 2
    return f"C{half} {y1} {half} {y2} {x2} {y2}"
