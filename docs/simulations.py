"""Simulate a project for each seed with the real services, and print the tables of docs/simulations.md.

python docs/simulations.py [--seeds 200] [--protocols c3,wild,cctu,async] [--dialogues 40] [--people 8] [--keep FILE]

There is a process for each core, with a database of its own that it deletes. ``--keep`` names a file with one JSON
summary per line; seeds in it are not simulated again, so you can interrupt a run. ``--report`` only prints the tables
of that file. Summaries contain the pattern counts, so the intervals of agreement are always computed by the current
code.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

Summary = dict[str, Any]


def main() -> None:
    """Run the missing simulations, then print the tables."""
    parser = argparse.ArgumentParser(description="Measure how often the intervals cover the planted truth.")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--protocols", default="c3,wild,cctu,async")
    parser.add_argument("--dialogues", type=int, default=40)
    parser.add_argument("--people", type=int, default=8)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    wanted = [(name, seed) for name in options.protocols.split(",") for seed in range(1, options.seeds + 1)]
    known = read_kept(options.keep)
    missing = [] if options.report else [one for one in wanted if one not in known]
    if missing:
        processes = min(os.cpu_count() or 1, len(missing))
        # New processes, because each sets up its own database.
        with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
            parts = [missing[number::processes] for number in range(processes)]
            for summaries in pool.map(partial(simulate, options), parts):
                known |= {(one["protocol"], one["seed"]): one for one in summaries}
    report([known[one] for one in wanted if one in known])


def simulate(options: argparse.Namespace, wanted: list[tuple[str, int]]) -> list[Summary]:
    """Return the summaries of some simulations. Each is kept when it is complete."""
    summaries = []
    for summary in simulation(wanted, options.dialogues, options.people):
        summaries.append(summary)
        if options.keep:
            # One write, because other processes append to the file, too.
            with options.keep.open("ab", buffering=0) as file:
                file.write(json.dumps(summary).encode() + b"\n")
    return summaries


def read_kept(path: Path | None) -> dict[tuple[str, int], Summary]:
    """(protocol, seed) → summary of an earlier run."""
    lines = path.read_text().splitlines() if path and path.exists() else []
    return {(one["protocol"], one["seed"]): one for one in map(json.loads, lines)}


def simulation(wanted: list[tuple[str, int]], dialogues: int, people: int) -> Iterator[Summary]:
    """Yield one summary after the other, each of a completed simulation."""
    with tempfile.TemporaryDirectory(prefix="assay-simulations-") as folder:
        os.environ |= {"ASSAY_DATA": folder, "DJANGO_SETTINGS_MODULE": "annotator.config.settings"}
        os.environ.pop("DATABASE_URL", None)
        import django
        from django.conf import settings
        from django.core.management import call_command

        # Nothing here outlives the run.
        settings.DATABASES["default"]["OPTIONS"]["init_command"] += "PRAGMA synchronous=OFF;"
        django.setup()
        from reviews.core.protocols import load_preset
        from reviews.core.simulation import build_model
        from reviews.management.commands.simulate_project import share_roles
        from reviews.services.simulation.runner import run_to_end
        from reviews.services.simulation.setup import set_up
        from reviews.services.simulation.summary import simulation_summary

        call_command("migrate", verbosity=0)
        for protocol, seed in wanted:
            begin = time.perf_counter()
            annotators, experts = share_roles(load_preset(protocol), people)
            model = build_model(seed=seed, dialogues=dialogues, annotators=annotators, experts=experts)
            one = set_up(model=model, preset=protocol, slug=f"sim-{protocol}-{seed}")
            run_to_end(one)
            seconds = time.perf_counter() - begin
            print(f"{protocol} {seed}: {len(one.records)} reviews in {seconds:.1f} s", file=sys.stderr, flush=True)
            yield simulation_summary(one)


def report(summaries: list[Summary]) -> None:
    """Print the tables: of accuracy, of audits, of agreement."""
    by_protocol: dict[str, list[Summary]] = defaultdict(list)
    for one in summaries:
        by_protocol[one["protocol"]].append(one)
    for name, ones in by_protocol.items():
        print(f"{name}: {len(ones)} seeds, {sum(one['reviews'] for one in ones):,} reviews.")
    wrong = [
        f"{one['protocol']} {one['seed']}: {what}"
        for one in summaries
        for what, good in one["consistent"].items()
        if not good
    ]
    print(f"Stored counts that differ from a recount: {', '.join(wrong) or 'none'}.\n")
    print(
        "| protocol, point | seeds | true | measured | covers measured rate | covers true rate | covers these items |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, ones in by_protocol.items():
        for line in accuracy_lines(name, ones):
            print(line)
    print("\n| protocol, audit | seeds | true | measured | mean width | covers the error rate | covers the residual |")
    print("|---|---|---|---|---|---|---|")
    for name, ones in by_protocol.items():
        for line in audit_lines(name, ones):
            print(line)
    print("\n| protocol, statistic | seeds | all seeds together | mean width | coverage |\n|---|---|---|---|---|")
    for name, ones in by_protocol.items():
        for line in agreement_lines(name, ones):
            print(line)


def accuracy_lines(name: str, ones: list[Summary]) -> Iterator[str]:
    """The rates of the population are the means of all seeds; that of the true baseline is planted."""
    points: dict[str, list[Any]] = defaultdict(list)
    for one in ones:
        for point in one["accuracy"]:
            points[point["point"]].append(point)
    for point, found in points.items():
        true, measured = (fmean(one[which] for one in found) for which in ("planted", "measured"))
        yield (
            f"| {name}, {point} | {len(found)} | {percent(true)} | {percent(measured)} | {held(found, measured)} "
            f"| {held(found, found[0].get('rate', true))} | {covered(one['covers'] for one in found)} |"
        )


def audit_lines(name: str, ones: list[Summary]) -> Iterator[str]:
    audits: dict[str, list[Any]] = defaultdict(list)
    for one in ones:
        for audit in one["audits"]:
            audits[audit["stage"]].append(audit)
    for stage, found in audits.items():
        rates = [one["error_rate"] for one in found if one["error_rate"]["measured"] is not None]
        if rates:
            yield (
                f"| {name}, {stage} | {len(found)} | {percent(fmean(one['planted'] for one in rates))} "
                f"| {percent(fmean(one['measured'] for one in rates))} "
                f"| {percent(fmean(one['high'] - one['low'] for one in rates))} "
                f"| {covered(one['covers'] for one in rates)} "
                f"| {covered(one['residual']['covers'] for one in found)} |"
            )


def agreement_lines(name: str, ones: list[Summary]) -> Iterator[str]:
    """The population's value is the statistic of all seeds' patterns together."""
    from reviews.core.agreement import PatternCounts, summarise

    patterns: dict[tuple[str, str], list[PatternCounts]] = defaultdict(list)
    for one in ones:
        for label in one["agreement"]:
            patterns[label["stage"], label["label"]].append(PatternCounts.from_json(label["patterns"]))
    for (_, label), counts in patterns.items():
        together = PatternCounts()
        for one in counts:
            together = together + one
        each = [summarise(label, one, pair=False) for one in counts]
        for place, whole in enumerate(summarise(label, together, pair=False)):
            if whole.value is None:
                continue
            found = [{"low": figures[place].low, "high": figures[place].high} for figures in each]
            widths = [one["high"] - one["low"] for one in found if one["low"] is not None]  # type: ignore[operator]
            wide = f"{fmean(widths):.3f}" if widths else "–"
            yield (
                f"| {name}, {label}: {whole.name} | {len(found)} | {whole.value:.3f} | {wide} "
                f"| {held(found, whole.value)} |"
            )


def held(figures: list[Any], value: float) -> str:
    """Return how many intervals cover a value."""
    return covered(None if one["low"] is None else one["low"] - 1e-6 <= value <= one["high"] + 1e-6 for one in figures)


def covered(outcomes: Iterable[bool | None]) -> str:
    """Return a percentage, and the number of seeds without an interval."""
    known = list(outcomes)
    there = [one for one in known if one is not None]
    without = f" ({len(known) - len(there)} without)" if len(there) < len(known) else ""
    return f"{100 * sum(there) / len(there):.0f} %{without}" if there else "none has one"


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


if __name__ == "__main__":
    main()
