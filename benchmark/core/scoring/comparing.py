"""Compare the entries of two runs that were scored against the same references."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmark.core.scoring.records import Unreadable
from benchmark.core.scoring.sources import read_records
from benchmark.core.scoring.statistics import Comparison, compare, holm

ENTRIES = "entries.jsonl"

#: The entries of a run by name.
Entries = Mapping[str, Mapping[str, Any]]


def read_entries(folder: Path, run: str | None = None) -> dict[str, Mapping[str, Any]]:
    """Return the entries of the run in a folder of scores. Raises Unreadable if it is not clear which one."""
    path = folder / ENTRIES
    if not path.is_file():
        raise Unreadable(f"{folder} has no {ENTRIES}. Give a folder that score_release wrote.")
    by_run: dict[str, dict[str, Mapping[str, Any]]] = {}
    for line in read_records(path):
        if line.problem or not {"run", "entry", "right", "cluster", "cells"} <= line.record.keys():
            raise Unreadable(f"{line.where} is not an entry of score_release. {line.problem}".strip())
        by_run.setdefault(str(line.record["run"]), {})[str(line.record["entry"])] = line.record
    if not by_run:
        raise Unreadable(f"{path} has no entries.")
    if run is None and len(by_run) > 1:
        raise Unreadable(
            f"{folder} has {len(by_run)} runs: {', '.join(sorted(by_run)[:20])}. Say which one to compare."
        )
    if run is not None and run not in by_run:
        raise Unreadable(f"{folder} has no run {run}. It has {', '.join(sorted(by_run)[:20])}.")
    return by_run[run] if run is not None else next(iter(by_run.values()))


def compare_entries(a: Entries, b: Entries, slice_: str | None = None) -> dict[str, Any]:
    """Return the paired comparison of two runs on the entries that both have.

    ``slice_``: “name=cell” for the entries of one cell, or a name for those that have a cell of this name; then
    ``cells`` has a comparison of each, its p adjusted for their number (Holm). Raises Unreadable if nothing is left.
    """
    shared = [key for key in a if key in b]
    if not shared:
        raise Unreadable("The two runs have no entry in common. Were they scored against the same references?")
    name, is_cell, wanted = (slice_ or "").partition("=")
    cells: dict[str, list[str]] = {}
    if name:
        for key in shared:
            if name in a[key]["cells"]:
                cells.setdefault(str(a[key]["cells"][name]), []).append(key)
        if is_cell:
            cells = {cell: keys for cell, keys in cells.items() if cell == wanted}
        shared = [key for keys in cells.values() for key in keys]
        if not shared:
            known = sorted({f"{key}={value}" for one in a.values() for key, value in one["cells"].items()})
            raise Unreadable(f"Both runs have no entries in the slice {slice_}. There are: {', '.join(known[:40])}.")
    found = asdict(_compare(a, b, shared))
    if name and not is_cell:
        by_cell = {cell: _compare(a, b, keys) for cell, keys in sorted(cells.items())}
        adjusted = holm([one.p or 0.0 for one in by_cell.values()])
        found["cells"] = {
            cell: asdict(one) | {"p_holm": p} for (cell, one), p in zip(by_cell.items(), adjusted, strict=True)
        }
    return found


def _compare(a: Entries, b: Entries, keys: Sequence[str]) -> Comparison:
    return compare((str(a[key]["cluster"]), bool(a[key]["right"]), bool(b[key]["right"])) for key in keys)
