"""Print measurements as a table, with a column for each size, their ratio, and the budget."""

import math
import os
import platform
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One line of the table: its title, unit and budget."""

    key: str
    title: str
    unit: str
    #: The maximum (or with ``at_least`` the minimum); None without a budget.
    budget: float | None = None
    at_least: bool = False


FIGURES = (
    Figure("import", "import, validated and checked", "/s", 3000, at_least=True),
    Figure("import_rss", "import, largest process", "MB"),
    Figure("near_duplicates", "near-duplicates, afterwards", "/s"),
    Figure("claim_alone", "claim, one person", "ms", 10),
    Figure("submit_alone", "submit, one person", "ms", 25),
    Figure("cycles", "claim + submit, 8 people", "/s", 100, at_least=True),
    Figure("claim", "claim, 8 people", "ms", 40),
    Figure("submit", "submit, 8 people", "ms", 80),
    Figure("page_cycles", "workspace + submit + claim, 8 people", "/s", 60, at_least=True),
    Figure("page", "workspace, 8 people", "ms"),
    Figure("page_submit", "submit page + claim, 8 people", "ms"),
    Figure("page_alone", "workspace, one person", "ms"),
    Figure("list", "list page", "ms", 60),
    Figure("list_deep", "list page in the middle", "ms", 60),
    Figure("list_status", "list by status", "ms", 60),
    Figure("list_policy", "list by policy and topology", "ms", 60),
    Figure("list_none", "list by filters that match nothing", "ms", 60),
    Figure("list_owner", "list by owner", "ms", 60),
    Figure("list_findings", "list by findings", "ms", 60),
    Figure("search_common", "search, common English word", "ms", 60),
    Figure("search_rare", "search, rare English word", "ms", 60),
    Figure("search_missing", "search, word without results", "ms", 60),
    Figure("search_two", "search, common and rare word", "ms", 60),
    Figure("search_zh_1", "search, one Chinese character", "ms", 60),
    Figure("search_zh_2", "search, two Chinese characters", "ms", 60),
    Figure("search_zh_rare", "search, rare Chinese name", "ms", 60),
    Figure("search_filter", "search with filters", "ms", 60),
    Figure("dashboard", "project dashboard", "ms", 60),
    Figure("coverage", "coverage, entries counted", "ms", 50),
    Figure("home", "my work", "ms"),
    Figure("api_list", "API list, 50 dialogues", "ms", 60),
    Figure("api_status", "API status", "ms"),
    Figure("export", "release, frozen", "/s", 5000, at_least=True),
    Figure("export_rss", "release, largest process", "MB"),
)

#: Figures that must not grow with the size of a project. The coverage is counted from an index with all dialogues.
SCALING = tuple(figure.key for figure in FIGURES if figure.unit == "ms" and figure.key != "coverage")


@dataclass
class Measurements:
    """Results for one database and size: rates as numbers, times as lists of seconds."""

    database: str
    size: int
    values: dict[str, float] = field(default_factory=dict)
    times: dict[str, list[float]] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)

    def figure(self, key: str, share: float = 0.95) -> float | None:
        """Return a rate, or a percentile of times in milliseconds."""
        if key in self.values:
            return self.values[key]
        return percentile(self.times[key], share) * 1000 if self.times.get(key) else None

    def as_json(self) -> dict[str, Any]:
        """Return the results for the JSON file, with p50 and p95 instead of all times."""
        times = {
            key: {"n": len(seen), "p50_ms": self.figure(key, 0.5), "p95_ms": self.figure(key)}
            for key, seen in self.times.items()
            if seen
        }
        return {
            "database": self.database, "size": self.size, "values": self.values, "times": times, "notes": self.notes,
        }  # fmt: skip


def percentile(seen: Iterable[float], share: float) -> float:
    """Return the smallest value that at least ``share`` of the values do not exceed (nearest rank)."""
    ranked = sorted(seen)
    return ranked[max(0, math.ceil(share * len(ranked)) - 1)]


def table(runs: Sequence[Measurements]) -> list[str]:
    """Return the lines of the table for one database. Times are p50 / p95."""
    runs = sorted(runs, key=lambda run: run.size)
    heads = [f"{run.size:,}" for run in runs]
    lines = [
        f"{runs[0].notes.get('version', runs[0].database)}: dialogues",
        f"{'':38}" + "".join(f"{head:>18}" for head in heads) + f"{'ratio':>8}   budget",
    ]
    for figure in FIGURES:
        cells = [cell(run, figure) for run in runs]
        if any(cells):
            lines.append(
                f"{figure.title:38}"
                + "".join(f"{one or '–':>18}" for one in cells)
                + f"{ratio(runs, figure):>8}   {budget_cell(runs, figure)}".rstrip()
            )
    for run in runs:
        lines += [f"{run.size:,}: {note}" for note in run.notes.get("remarks", [])]
    return lines


def cell(run: Measurements, figure: Figure) -> str:
    """Format one figure; empty if it was not measured."""
    if figure.unit == "ms":
        middle, high = run.figure(figure.key, 0.5), run.figure(figure.key)
        return "" if middle is None or high is None else f"{middle:.1f} / {high:.1f} ms"
    value = run.figure(figure.key)
    if value is None:
        return ""
    return f"{value:,.0f} {figure.unit}" if value >= 10 or figure.unit != "/s" else f"{value:.1f} /s"


def ratio(runs: Sequence[Measurements], figure: Figure) -> str:
    """Return the median at the largest size divided by that at the smallest, for figures that must not grow."""
    if len(runs) < 2 or figure.key not in SCALING:
        return ""
    small, large = runs[0].figure(figure.key, 0.5), runs[-1].figure(figure.key, 0.5)
    return f"{large / small:.2f}" if small and large is not None else ""


def budget_cell(runs: Sequence[Measurements], figure: Figure) -> str:
    """Format the budget, and whether the largest size keeps it (times: p95)."""
    if figure.budget is None:
        return ""
    value = runs[-1].figure(figure.key)
    sign, unit = ("≥" if figure.at_least else "≤"), figure.unit
    words = f"{sign} {figure.budget:,.0f} {unit}"
    if value is None:
        return words
    kept = value >= figure.budget if figure.at_least else value <= figure.budget
    return f"{words:12} {'kept' if kept else 'MISSED'}"


def describe_machine() -> dict[str, Any]:
    """Return the properties of this machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": round(memory, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {
            name: version(name) for name in ("django", "djangorestframework", "gunicorn", "psycopg", "orjson")
        },
    }


def loop_milliseconds(steps: int = 400_000) -> float:
    """Return how long a loop of Python takes at this moment: a shared machine changes its speed all the time."""
    begin, total = time.perf_counter(), 0
    for number in range(steps):
        total += number * number
    return (time.perf_counter() - begin) * 1000


def machine_line(found: Mapping[str, Any]) -> str:
    """Format the properties of the machine as one line."""
    packages = ", ".join(f"{name} {number}" for name, number in found["packages"].items())
    return (
        f"{found['cores']} cores, {found['memory_gb']} GB, {found['system']}, Python {found['python']}, {packages}; "
        "clients, web server, worker and database share the cores"
    )


def print_progress(line: str) -> None:
    """Print a message about progress. Standard output is for the table only."""
    print(line, file=sys.stderr, flush=True)
