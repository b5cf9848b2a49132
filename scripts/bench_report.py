"""What was measured as a table: figures of every size side by side, their ratio, and the budget beside them."""

import math
import os
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One line of the table: how it is called, its unit, and what it should be."""

    key: str
    title: str
    unit: str
    #: At most (times) or at least (rates) so much; None where nothing was promised.
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
    Figure("page_cycles", "work page + submit + claim, 8 people", "/s", 60, at_least=True),
    Figure("page", "work page, 8 people", "ms"),
    Figure("page_submit", "submit page + claim, 8 people", "ms"),
    Figure("page_alone", "work page, one person", "ms"),
    Figure("list", "list page", "ms", 60),
    Figure("list_deep", "list page, in the middle", "ms", 60),
    Figure("list_status", "list by status", "ms", 60),
    Figure("list_policy", "list by policy and topology", "ms", 60),
    Figure("list_none", "list by filters that match nothing", "ms", 60),
    Figure("list_owner", "list by owner", "ms", 60),
    Figure("list_findings", "list by findings", "ms", 60),
    Figure("search_common", "search, common English word", "ms", 60),
    Figure("search_rare", "search, rare English word", "ms", 60),
    Figure("search_missing", "search, word that is nowhere", "ms", 60),
    Figure("search_two", "search, common and rare word", "ms", 60),
    Figure("search_zh_1", "search, one Chinese character", "ms", 60),
    Figure("search_zh_2", "search, two Chinese characters", "ms", 60),
    Figure("search_zh_rare", "search, rare Chinese name", "ms", 60),
    Figure("search_filter", "search with filters", "ms", 60),
    Figure("dashboard", "project dashboard", "ms", 60),
    Figure("home", "my work", "ms"),
    Figure("api_list", "API list, 50 dialogues", "ms", 60),
    Figure("api_status", "API status", "ms"),
    Figure("export", "release, frozen", "/s", 5000, at_least=True),
    Figure("export_rss", "release, largest process", "MB"),
)

#: The figures that must not grow with a project's size.
SCALING = tuple(figure.key for figure in FIGURES if figure.unit == "ms")


@dataclass
class Measured:
    """The figures of one database at one size: rates as numbers, times as lists of seconds."""

    database: str
    size: int
    values: dict[str, float] = field(default_factory=dict)
    times: dict[str, list[float]] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)

    def figure(self, key: str, share: float = 0.95) -> float | None:
        """A rate as it is, or a percentile of times in milliseconds."""
        if key in self.values:
            return self.values[key]
        return percentile(self.times[key], share) * 1000 if self.times.get(key) else None

    def as_json(self) -> dict[str, Any]:
        """What is stored: p50 and p95 instead of every single time."""
        times = {
            key: {"n": len(seen), "p50_ms": self.figure(key, 0.5), "p95_ms": self.figure(key)}
            for key, seen in self.times.items()
            if seen
        }
        return {
            "database": self.database, "size": self.size, "values": self.values, "times": times, "notes": self.notes,
        }  # fmt: skip


def percentile(seen: Iterable[float], share: float) -> float:
    """The smallest value that at least ``share`` of the values do not exceed (nearest rank)."""
    ranked = sorted(seen)
    return ranked[max(0, math.ceil(share * len(ranked)) - 1)]


def table(runs: Sequence[Measured]) -> list[str]:
    """The lines of the table of one database: times as p50 / p95."""
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
                + f"{ratio(runs, figure):>8}   {judged(runs, figure)}".rstrip()
            )
    for run in runs:
        lines += [f"{run.size:,}: {note}" for note in run.notes.get("remarks", [])]
    return lines


def cell(run: Measured, figure: Figure) -> str:
    """One figure as text; empty where it was not measured."""
    if figure.unit == "ms":
        middle, high = run.figure(figure.key, 0.5), run.figure(figure.key)
        return "" if middle is None or high is None else f"{middle:.1f} / {high:.1f} ms"
    value = run.figure(figure.key)
    if value is None:
        return ""
    return f"{value:,.0f} {figure.unit}" if value >= 10 or figure.unit != "/s" else f"{value:.1f} /s"


def ratio(runs: Sequence[Measured], figure: Figure) -> str:
    """Median at the largest size over that at the smallest; only for what should not depend on the size."""
    if len(runs) < 2 or figure.key not in SCALING:
        return ""
    small, large = runs[0].figure(figure.key, 0.5), runs[-1].figure(figure.key, 0.5)
    return f"{large / small:.2f}" if small and large is not None else ""


def judged(runs: Sequence[Measured], figure: Figure) -> str:
    """The budget, and whether it was kept at the largest size (times by their p95)."""
    if figure.budget is None:
        return ""
    value = runs[-1].figure(figure.key)
    sign, unit = ("≥" if figure.at_least else "≤"), figure.unit
    words = f"{sign} {figure.budget:,.0f} {unit}"
    if value is None:
        return words
    kept = value >= figure.budget if figure.at_least else value <= figure.budget
    return f"{words:12} {'kept' if kept else 'MISSED'}"


def machine() -> dict[str, Any]:
    """What it was measured on."""
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


def machine_line(found: Mapping[str, Any]) -> str:
    """The same as a line of text."""
    packages = ", ".join(f"{name} {number}" for name, number in found["packages"].items())
    return (
        f"{found['cores']} cores, {found['memory_gb']} GB, {found['system']}, Python {found['python']}, {packages}; "
        "clients, web server, worker and database share the cores"
    )


def say(line: str) -> None:
    """A word about how far it is, for whoever waits; the table alone goes to standard output."""
    print(line, file=sys.stderr, flush=True)
