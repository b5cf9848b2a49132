"""Measure how fast tool graphs are counted, matched and drawn, compared with listing all paths.

Needs no database and no Django. ``python scripts/bench_graphs.py`` prints only this table.
"""

import random
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from annotator.core.graph import Graph, Matcher, count_paths, paths  # noqa: E402
from annotator.core.graph.layout import lay_out  # noqa: E402

#: Maximum seconds to list paths.
LISTING_SECONDS = 2.0
_ROUNDS = 5


@dataclass(frozen=True)
class Row:
    """One line of the table: seconds, seconds to list all paths (None: took too long), budget in ms."""

    title: str
    result: str
    seconds: float
    enumerated: float | None = None
    #: None if there is only the requirement that the count is exact.
    budget_ms: float | None = None
    exact: bool = True

    @property
    def budget(self) -> str:
        if self.budget_ms is None:
            return f"{'exact':12} {'kept' if self.exact else 'MISSED'}"
        return f"{f'≤ {self.budget_ms:g} ms':12} {'kept' if self.seconds * 1000 <= self.budget_ms else 'MISSED'}"


def measure_graphs() -> list[Row]:
    """Return the rows of the table, each the best of a few rounds."""
    rows = [counted(title, graph, budget) for title, graph, budget in shapes()]
    return [*rows, *matched(), *laid_out()]


def shapes() -> Iterable[tuple[str, Graph, float | None]]:
    """Yield the title, graph and budget (ms) of each count."""
    yield "count: 7 independent calls", _graph([[]] * 7), 1
    yield "count: 24 independent calls", _graph([[]] * 24), 50
    yield "count: fan-in of 24", _graph([[]] * 23 + [list(range(23))]), 50
    yield "count: fan-out of 24", _graph([[]] + [[0]] * 23), 50
    yield "count: ten chains of five", _graph([[i - 1] if i % 5 else [] for i in range(50)]), 50
    yield "count: dense, 9 calls", _dense(9), None
    yield "count: dense, 15 calls", _dense(15), None
    yield "count: fence of 7 calls", _fence(7), None
    yield "count: fence of 24 calls", _fence(24), None
    yield "count: fence of 64 calls", _fence(64), None


def counted(title: str, graph: Graph, budget: float | None) -> Row:
    """Count the paths of a graph, and list them for at most `LISTING_SECONDS`."""
    # A new graph each time, because a graph caches its results.
    seconds = _best(lambda: count_paths(Graph(graph.ids, graph.needs)))
    total = count_paths(graph).total
    return Row(title, _short(str(total)), seconds, _listed(graph), budget, total.exact)


def matched() -> Iterable[Row]:
    """Yield the slowest step of a trajectory with ten calls in a step, for different and for equal calls."""
    graph = _graph([[i - 1] if i % 5 else [] for i in range(50)])
    differing = [
        {"id": node, "name": "abcde"[i % 5], "arguments": {"item": i // 5}} for i, node in enumerate(graph.ids)
    ]
    alike = [call | {"arguments": {}} for call in differing]
    for title, calls in (("differing", differing), ("equal", alike)):
        batches = [calls[place::5] for place in range(5)]
        seconds = _slowest_step(graph, calls, batches)
        yield Row(f"match: a step, ten {title} calls", "", seconds, budget_ms=1)


def laid_out() -> Iterable[Row]:
    """Yield the time to lay out the largest graphs, and their number of crossings."""
    chance = random.Random(64)  # noqa: S311 - the same graph every time
    for title, graph in (
        (
            "64 calls, two needs each",
            _graph([sorted({chance.randrange(i) for _ in range(2)} if i else ()) for i in range(64)]),
        ),
        ("64 calls, each after all before", _graph([list(range(i)) for i in range(64)])),
    ):
        drawing = lay_out(graph)
        seconds = _best(partial(_draw, graph))
        yield Row(f"layout: {title}", f"{drawing.crossings} crossings", seconds, budget_ms=15)


def _draw(graph: Graph) -> None:
    # A new graph each time, because a graph caches its results.
    lay_out(Graph(graph.ids, graph.needs))


def graph_table(rows: Sequence[Row]) -> list[str]:
    """Return the lines of the table."""
    lines = ["tool graphs", f"{'':38}{'paths':>28}{'time':>14}{'listing all':>14}{'ratio':>10}   budget"]
    for row in rows:
        listing, ratio = "", ""
        if row.enumerated is not None:
            listing, ratio = f"{row.enumerated * 1000:,.1f} ms", f"{row.enumerated / row.seconds:,.0f}x"
        elif row.title.startswith("count"):
            listing = f"> {LISTING_SECONDS:.0f} s"
        taken = f"{row.seconds * 1000:.3f} ms"
        lines.append(f"{row.title:38}{row.result:>28}{taken:>14}{listing:>14}{ratio:>10}   {row.budget}")
    return lines


def as_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the rows for the JSON file."""
    return [asdict(row) for row in rows]


def _graph(dependencies: Sequence[Sequence[int]]) -> Graph:
    ids = tuple(f"c{i}" for i in range(len(dependencies)))
    return Graph(ids, tuple(sum(1 << j for j in need) for need in dependencies))


def _dense(size: int) -> Graph:
    chance = random.Random(15)  # noqa: S311 - the same graph every time
    return _graph([[j for j in range(i) if chance.random() < 0.4] for i in range(size)])


def _fence(size: int) -> Graph:
    return _graph([[j for j in (i - 1, i + 1) if j < size] if i % 2 else [] for i in range(size)])


def _best(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _listed(graph: Graph) -> float | None:
    start = time.perf_counter()
    for number, _ in enumerate(paths(graph)):
        if number % 256 == 0 and time.perf_counter() - start > LISTING_SECONDS:
            return None
    return time.perf_counter() - start


def _slowest_step(graph: Graph, calls: Sequence[dict[str, Any]], batches: Sequence[Sequence[dict[str, Any]]]) -> float:
    # The best of a few rounds for each step, then the slowest step.
    slowest = [float("inf")] * len(batches)
    for _ in range(_ROUNDS):
        matcher = Matcher(graph, calls)
        state = matcher.start()
        for number, batch in enumerate(batches):
            start = time.perf_counter()
            state = matcher.step(state, batch)
            slowest[number] = min(slowest[number], time.perf_counter() - start)
        if not matcher.report(state).matched:
            raise RuntimeError("The trajectory that is measured does not match its own graph.")
    return max(slowest)


def _short(number: str) -> str:
    return number if len(number) <= 26 else f"{number[:6]}… ({sum(map(str.isdigit, number))} digits)"


if __name__ == "__main__":
    print("\n".join(graph_table(measure_graphs())))
