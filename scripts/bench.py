"""``make bench``: measure how fast Assay is on this machine and compare it with the budgets.

Uses real processes: commands, gunicorn, Celery workers and clients. Measures with 1,000 and 20,000 dialogues
(``--full``: 100,000), on SQLite and a temporary PostgreSQL. Prints a table, writes the figures to var/bench, and checks
that no item was claimed twice.
"""

import argparse
import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from scripts.bench_boards import boards_table, measure_boards  # noqa: E402
from scripts.bench_data import write_records  # noqa: E402
from scripts.bench_graphs import as_json, graph_table, measure_graphs  # noqa: E402
from scripts.bench_reactions import Reaction, measure_reactions, reactions_table, running_demo  # noqa: E402
from scripts.bench_reactions import as_json as reactions_json  # noqa: E402
from scripts.bench_report import Measurements, describe_machine, machine_line, print_progress, table  # noqa: E402
from scripts.bench_run import Amounts, measure  # noqa: E402
from scripts.bench_sandbox import as_json as sandbox_json  # noqa: E402
from scripts.bench_sandbox import measure_sandbox, sandbox_table  # noqa: E402
from scripts.bench_scoring import as_json as scoring_json  # noqa: E402
from scripts.bench_scoring import measure_scoring, scoring_table  # noqa: E402
from scripts.environment import Stop  # noqa: E402
from scripts.private_services import find_postgresql, private_postgresql  # noqa: E402

QUICK = Amounts(warm_up=1, alone=3, cycles=2, pages=1, gets=2, seconds=60)
#: Fifty runs have a million predictions then.
MOST_ENTRIES = 20_000
USUAL = Amounts(warm_up=5, alone=40, cycles=150, pages=80, gets=40, seconds=60)


@dataclass(frozen=True)
class Plan:
    """What to measure."""

    sizes: tuple[int, ...]
    databases: tuple[str, ...]
    amounts: Amounts
    out: Path


def main(arguments: Sequence[str]) -> int:
    """Measure and print a table. Return 1 if an item was claimed twice or a server is missing."""
    plan = read_plan(arguments)
    try:
        runs = list(run(plan))
    except Stop as stop:
        print(stop, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print_progress("Stopped.")
        return 130
    found = describe_machine()
    lines = [machine_line(found)]
    for database in plan.databases:
        lines += ["", *table([one for one in runs if one.database == database])]
    print_progress("Counting and matching tool graphs …")
    graphs = measure_graphs()
    lines += ["", *graph_table(graphs)]
    print_progress("Running validators …")
    sandbox = measure_sandbox()
    lines += ["", *sandbox_table(sandbox)]
    print_progress("Scoring predictions …")
    scoring = measure_scoring()
    lines += ["", *scoring_table(scoring)]
    print_progress("Working in the workspace …")
    reactions = run_reactions()
    lines += ["", *reactions_table(reactions)] if reactions else []
    boards = list(run_boards(plan))
    lines += ["", *boards_table(boards)]
    print("\n".join(lines))
    plan.out.mkdir(parents=True, exist_ok=True)
    file = plan.out / f"{time.strftime('%Y%m%d-%H%M%S')}.json"
    result = {"machine": found, "runs": [one.as_json() for one in runs], "graphs": as_json(graphs)}
    result["sandbox"] = sandbox_json(sandbox)
    result["scoring"] = scoring_json(scoring)
    result["reactions"] = reactions_json(reactions)
    result["boards"] = boards
    file.write_text(json.dumps(result, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print_progress(f"The figures are in {file}.")
    return 1 if any(one.notes["duplicate_claims"] for one in runs) else 0


def read_plan(arguments: Sequence[str]) -> Plan:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="make bench", description="Measure how fast Assay is on this machine.")
    parser.add_argument("--full", action="store_true", help="measure with 1,000 and 100,000 dialogues")
    parser.add_argument("--quick", action="store_true", help="measure with a few dialogues, to see whether it runs")
    parser.add_argument("--sizes", help="numbers of dialogues, separated by commas")
    parser.add_argument("--databases", default="sqlite,postgresql", help="sqlite, postgresql or sqlite,postgresql")
    parser.add_argument("--out", type=Path, default=ROOT / "var" / "bench", help="folder of the JSON file")
    options = parser.parse_args(arguments)
    sizes = "20,40" if options.quick else "1000,100000" if options.full else "1000,20000"
    try:
        numbers = tuple(sorted({int(size) for size in (options.sizes or sizes).split(",")}))
    except ValueError:
        parser.error(f"--sizes must be whole numbers, separated by commas, not {options.sizes}")
    databases = tuple(options.databases.split(","))
    if not set(databases) <= {"sqlite", "postgresql"} or min(numbers) < 10:
        parser.error("databases must be sqlite or postgresql, and sizes must be 10 or more")
    return Plan(numbers, databases, QUICK if options.quick else USUAL, options.out)


def run(plan: Plan) -> Iterator[Measurements]:
    """Measure every size on every database."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as name:
        folder = Path(name)
        for size in plan.sizes:
            print_progress(f"Writing {size:,} records …")
            write_records(folder / f"{size}.jsonl", size)
        for database in plan.databases:
            for size in plan.sizes:
                print_progress(f"{database}, {size:,} dialogues:")
                data = folder / f"{database}-{size}"
                data.mkdir()
                with database_url(database, data) as url:
                    yield measure(database, size, folder / f"{size}.jsonl", data, url, plan.amounts)


def run_reactions() -> list[Reaction]:
    """Measure the workspace in a browser; nothing if there is none, with the reason."""
    try:
        with running_demo() as address:
            return measure_reactions(address)
    except Stop as stop:
        print_progress(str(stop))
        return []


def run_boards(plan: Plan) -> Iterator[dict[str, Any]]:
    """Measure the pages of scores with as many entries as the largest size has dialogues, at most ``MOST_ENTRIES``."""
    entries = min(max(plan.sizes), MOST_ENTRIES)
    for database in plan.databases:
        print_progress(f"{database}, scores of {entries:,} entries …")
        with tempfile.TemporaryDirectory(prefix="assay-bench-") as name, database_url(database, Path(name)) as url:
            yield measure_boards(database, url, entries, Path(name))


@contextlib.contextmanager
def database_url(database: str, data: Path) -> Iterator[str]:
    """Return the URL of an empty database."""
    if database == "sqlite":
        yield f"sqlite:///{data / 'assay.sqlite3'}"
        return
    programs = find_postgresql()
    if programs is None:
        raise Stop(
            "PostgreSQL is not installed. Install it (Debian: apt-get install postgresql) or use --databases sqlite."
        )
    with private_postgresql(programs) as url:
        yield url


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
