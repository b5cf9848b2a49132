"""Measure how fast validators and trajectories run in the sandbox, and how much memory a prepared interpreter uses.

Needs no database. ``python scripts/bench_sandbox.py`` prints only this table.
"""

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from annotator.core.sandbox import Call, Implementation, Sandbox, ToolCall, Trajectory  # noqa: E402

CALLS = 1_000
_ROUNDS = 5
SOURCE = """
import json, re

def validate(response):
    try:
        data = json.loads(response)
    except ValueError as error:
        return False, f"Not JSON: {error}"
    words = len(re.findall(r"\\w+", data["summary"]))
    return words <= 50, f"{words} words"
"""
RESPONSE = '{"summary": "' + "a few words of an answer, " * 8 + '"}'
#: A stateful tool with a state of 20 KB, of which each call changes a little.
TOOL = """
class Shop:
    def load(self, state):
        self.stock = state["stock"]

    def sell(self, name: str, count: int):
        self.stock[name]["count"] -= count
        return self.stock[name]
"""
STATE = {"stock": {f"article {n}": {"count": 1_000_000, "words": "x" * 150} for n in range(100)}}
TRAJECTORIES, LONG = 200, 101


@dataclass(frozen=True)
class Figure:
    """One line of the table."""

    title: str
    value: float
    unit: str
    budget: float

    @property
    def kept(self) -> bool:
        return self.value <= self.budget


def measure_sandbox() -> list[Figure]:
    """Return the rows of the table, each the best of a few rounds."""
    cold, warm, many, memory = [], [], [], 0.0
    first, following, all_of_them = [], [], []
    for _ in range(_ROUNDS):
        with Sandbox() as sandbox:
            cold.append(_timed(lambda: sandbox.run(SOURCE, "validate", [Call((RESPONSE,))])))
            warm.append(_timed(lambda: sandbox.run(SOURCE, "validate", [Call((RESPONSE,))])))
            many.append(_timed(lambda: sandbox.run(SOURCE, "validate", [Call((RESPONSE,))] * CALLS)))
            memory = _memory()
            _time_trajectory(sandbox, 1)
            one = _time_trajectory(sandbox, 1)
            first.append(one)
            following.append((_time_trajectory(sandbox, LONG) - one) / (LONG - 1))
            all_of_them.append(sum(_time_trajectory(sandbox, 3) for _ in range(TRAJECTORIES)))
    return [
        Figure("sandbox: first call, with cold start", 1000 * min(cold), "ms", 250),
        Figure("sandbox: first call of the next batch", 1000 * min(warm), "ms", 20),
        Figure(f"sandbox: {CALLS:,} calls of one source", 1000 * min(many), "ms", 1000),
        Figure("sandbox: memory of one prepared interpreter", memory, "MB", 80),
        Figure("trajectory: first call, run twice", 1000 * min(first), "ms", 40),
        Figure("trajectory: each following call, state of 20 KB", 1000 * min(following), "ms", 2),
        Figure(f"trajectory: {TRAJECTORIES} of 3 calls, each run twice", 1000 * min(all_of_them), "ms", 5000),
    ]


def sandbox_table(figures: Sequence[Figure]) -> list[str]:
    """Return the lines of the table."""
    lines = [f"{'Sandbox':52} {'measured':>12}   budget"]
    for one in figures:
        words = "kept" if one.kept else "MISSED"
        lines.append(f"{one.title:52} {one.value:9.1f} {one.unit}   ≤ {one.budget:g} {one.unit:6} {words}")
    return lines


def as_json(figures: Sequence[Figure]) -> list[dict[str, Any]]:
    """Return the figures for the JSON file."""
    return [asdict(one) for one in figures]


def _timed(work: Any) -> float:
    start = time.perf_counter()
    results = work()
    seconds = time.perf_counter() - start
    if not all(result.ok and result.accepted for result in results):
        raise RuntimeError(f"The validator failed: {results[0]}")
    return seconds


def _time_trajectory(sandbox: Sandbox, calls: int) -> float:
    sell = ToolCall("sell", {"name": "article 7", "count": 1})
    trajectory = Trajectory(Implementation(TOOL, "Shop", "load"), frozenset({"sell"}), STATE, (sell,) * calls)
    start = time.perf_counter()
    run = sandbox.run_trajectory(trajectory)
    seconds = time.perf_counter() - start
    if run.differs is not None or not all(step.state is not None for step in run.steps):
        raise RuntimeError(f"The trajectory failed: {run.steps[0]}")
    return seconds


def _memory() -> float:
    """Return the memory of the prepared interpreter's processes in MB; shared memory counts once."""
    total = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if b"inside.zygote" in Path(f"/proc/{name}/cmdline").read_bytes():
                    lines = Path(f"/proc/{name}/smaps_rollup").read_text().splitlines()
                    total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
            except OSError:
                continue
    return total / 1024


if __name__ == "__main__":
    print("\n".join(sandbox_table(measure_sandbox())))
