"""How fast tool graphs are counted and matched, beside listing every path where that still ends.

Pure: needs neither a database nor Django. ``python scripts/bench_graphs.py`` prints the table by itself.
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

#: Listing paths one by one is given up after so many seconds.
PATIENCE = 2.0
_ROUNDS = 5


@dataclass(frozen=True)
class Row:
    """One line of the table: seconds taken, seconds of plain enumeration (None: it did not end), budget in ms."""

    title: str
    result: str
    seconds: float
    enumerated: float | None = None
    #: None where it is promised only that counting ends within its bound; here it shall also be exact.
    budget_ms: float | None = None
    exact: bool = True

    @property
    def budget(self) -> str:
        if self.budget_ms is None:
            return f"{'exact':12} {'kept' if self.exact else 'MISSED'}"
        return f"{f'≤ {self.budget_ms:g} ms':12} {'kept' if self.seconds * 1000 <= self.budget_ms else 'MISSED'}"


def measure_graphs() -> list[Row]:
    """The rows of the table, best of a few rounds each."""
    rows = [counted(title, graph, budget) for title, graph, budget in shapes()]
    return [*rows, *matched(), *laid_out()]


def shapes() -> Iterable[tuple[str, Graph, float | None]]:
    """Title, graph and budget in milliseconds of what is counted."""
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
    """Count one graph, and list its paths for as long as patience lasts."""
    # Anew each time: a graph keeps what was worked out of it.
    seconds = _best(lambda: count_paths(Graph(graph.ids, graph.needs)))
    total = count_paths(graph).total
    return Row(title, _short(str(total)), seconds, _listed(graph), budget, total.exact)


def matched() -> Iterable[Row]:
    """The slowest step of a trajectory of ten calls a step, for calls that differ and for calls that do not."""
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
    """The drawing of the largest graphs; the result is its number of crossings."""
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
    # Anew each time: a graph keeps what was worked out of it.
    lay_out(Graph(graph.ids, graph.needs))


def graph_table(rows: Sequence[Row]) -> list[str]:
    """The lines of the table."""
    lines = ["tool graphs", f"{'':38}{'paths':>28}{'time':>14}{'listing all':>14}{'ratio':>10}   budget"]
    for row in rows:
        listing, ratio = "", ""
        if row.enumerated is not None:
            listing, ratio = f"{row.enumerated * 1000:,.1f} ms", f"{row.enumerated / row.seconds:,.0f}x"
        elif row.title.startswith("count"):
            listing = f"> {PATIENCE:.0f} s"
        taken = f"{row.seconds * 1000:.3f} ms"
        lines.append(f"{row.title:38}{row.result:>28}{taken:>14}{listing:>14}{ratio:>10}   {row.budget}")
    return lines


def as_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """What is stored."""
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
        if number % 256 == 0 and time.perf_counter() - start > PATIENCE:
            return None
    return time.perf_counter() - start


def _slowest_step(graph: Graph, calls: Sequence[dict[str, Any]], batches: Sequence[Sequence[dict[str, Any]]]) -> float:
    # The best of a few rounds for each step, then the slowest of the steps.
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
