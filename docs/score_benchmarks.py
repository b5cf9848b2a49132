"""Score the five benchmarks and compare every entry with the published evaluators' outcomes; ends in a table.

python docs/score_benchmarks.py DATA

``DATA`` is a folder with ``parity/scoring_wild``, ``parity/scoring_c3``, ``parity/scoring_cctu`` and ``async``, as the
tests use it: references, predictions of simulated models, and what the published code made of them. MMTB publishes
C3-Bench's evaluator, so it is scored on the same files. No database and no network is needed.
"""

import argparse
import gzip
import io
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmark.core.scoring.scoring_run import Options, score_files

Row = dict[str, Any]


@dataclass(frozen=True)
class Benchmark:
    """One benchmark: where its files are, and the figure of one run that its paper leads with."""

    name: str
    family: str
    references: str
    predictions: str
    expected: str
    #: The fields that name an entry.
    key: tuple[str, ...]
    run: str
    figure: str
    #: Returns the figure from the run's summary, and as the published code gives it.
    ours: Callable[[Row], float]
    published: Callable[[Path], float]


def main() -> None:
    """Score everything and print the table."""
    parser = argparse.ArgumentParser(description="Score the five benchmarks, and compare with published outcomes.")
    parser.add_argument("data", type=Path, metavar="DATA")
    data = parser.parse_args().data
    lines: list[tuple[str, ...]] = [
        ("benchmark", "runs", "entries", "agree", "figure", "run", "published", "Assay", "strict", "entries/s")
    ]
    for one in BENCHMARKS:
        began = time.perf_counter()
        entries, summary = score(one, data)
        seconds = time.perf_counter() - began
        expected = {key_of(one, row): row for row in expected_rows(data / one.expected)}
        agree = sum(
            {name: entries[key].get(name) for name in row} == row for key, row in expected.items() if key in entries
        )
        lines.append((
            one.name, str(len(summary["runs"])), f"{len(expected):,}", f"{agree:,}", one.figure, one.run,
            f"{one.published(data):.2f}", f"{one.ours(summary):.2f}", strictly(one, entries),
            f"{len(entries) / seconds:,.0f}",
        ))  # fmt: skip
        print(f"{one.name}: {agree:,} of {len(expected):,} entries agree.", file=sys.stderr)
    print_table(lines)
    if any(line[2] != line[3] or line[6] != line[7] for line in lines[1:]):
        sys.exit(1)


def score(one: Benchmark, data: Path) -> tuple[dict[tuple[Any, ...], Row], Row]:
    """Return the scored entries by key, and the summary."""
    path = data / one.predictions
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    out = io.BytesIO()
    summary, _ = score_files(data / one.references, files, Options(one.family), out, figures=False)
    rows = (json.loads(line) for line in out.getvalue().splitlines())
    return {key_of(one, row): row for row in rows}, json.loads(json.dumps(summary))


def key_of(one: Benchmark, row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in one.key)


def expected_rows(path: Path) -> Iterator[Row]:
    """Yield what the published code made of each entry; what a script set out to do is no outcome."""
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        content = file.read_bytes()
        for line in (gzip.decompress(content) if file.suffix == ".gz" else content).splitlines():
            row = json.loads(line)
            row.pop("variant", None)
            # CCTU's outcomes are in a file for each run.
            yield {"run": file.stem, **row} if path.is_dir() else row


def strictly(one: Benchmark, entries: dict[tuple[Any, ...], Row]) -> str:
    """Return the per cent of the run's entries that are right in the strictest reading; blank if there is only one."""
    read = [row["strict"] for row in entries.values() if row["run"] == one.run and "strict" in row]
    right = [bool(strict["SR"]) if "SR" in strict else strict["label"] == "correct" for strict in read]
    return f"{100 * sum(right) / len(right):.2f}" if right else ""


def print_table(lines: list[tuple[str, ...]]) -> None:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for number, line in enumerate(lines):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |")
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


def _json(path: Path) -> Row:
    found: Row = json.loads(path.read_text(encoding="utf-8"))
    return found


def _c3(summary: Row) -> float:
    return 100 * float(summary["runs"]["typical"]["published"]["num"][0])


def _wild(summary: Row) -> float:
    return 100 * float(summary["runs"]["typical"]["published"]["total_info"]["task"]["accuracy"])


def _cctu(summary: Row) -> float:
    return float(summary["runs"]["cedar"]["published"]["Overall"]["SR"].split()[0])


def _async(summary: Row) -> float:
    """Return the figure over all runs without delay."""
    groups = summary["groups"]
    return float(next(row["task"]["overall"] for row in groups if (row["model"], row["over"]) == ("all", "0")))


_WILD, _C3, _CCTU = Path("parity/scoring_wild"), Path("parity/scoring_c3"), Path("parity/scoring_cctu")
_ASYNC = "async/expected_summary.jsonl"
_TASKS = ("run", "dialogue", "task")


def _of_c3(name: str, family: str) -> Benchmark:
    return Benchmark(
        name, family, f"{_C3}/references.jsonl", f"{_C3}/predictions.jsonl", f"{_C3}/expected_entries.jsonl", _TASKS,
        "typical", "accuracy %", _c3, lambda data: _c3(_json(data / _C3 / "expected_summary.json")),
    )  # fmt: skip


BENCHMARKS = (
    _of_c3("C3-Bench", "c3"),
    _of_c3("Multi-Mission Tool Bench", "mmtb"),
    Benchmark(
        "WildToolBench", "wild", f"{_WILD}/references.jsonl", f"{_WILD}/predictions.jsonl",
        f"{_WILD}/expected_entries.jsonl", _TASKS, "typical", "task accuracy %",
        _wild, lambda data: _wild(_json(data / _WILD / "expected_summary.json")),
    ),
    Benchmark(
        "AsyncTool", "async", "async", "async/predictions.jsonl", "async/expected_scores.jsonl", ("id",), "",
        "overall %, no delay", _async, lambda data: _async({"groups": list(expected_rows(data / _ASYNC))}),
    ),
    Benchmark(
        "CCTU", "cctu", "cctu/native", f"{_CCTU}/neutral", f"{_CCTU}/expected", ("run", "case", "attempt"), "cedar",
        "SR %", _cctu, lambda data: _cctu({"runs": _json(data / _CCTU / "aggregates.json")}),
    ),
)  # fmt: skip


if __name__ == "__main__":
    main()
