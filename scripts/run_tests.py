"""``make test``: the whole suite, on SQLite and on PostgreSQL, with Redis and Chromium where this machine has them.

Servers are private and gone at the end. What could not be found is listed at the end as NOT TESTED.
"""

import argparse
import concurrent.futures
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from scripts.environment import ROOT, Environment, Stop, tell
from scripts.private_services import (
    find_caddy,
    find_chromium,
    find_postgresql,
    find_redis,
    private_postgresql,
    private_redis,
)
from scripts.suite_report import Outcome, closing_lines, read_outcome

PARALLEL = ("-n", "2", "--dist", "worksteal")
"""Two cores are what everybody has; a process with nothing left to do takes over from the other, as tests of some pages
are long."""


@dataclass(frozen=True)
class Part:
    """One run of pytest: which tests, on which services."""

    name: str
    markers: str
    options: tuple[str, ...] = ()
    postgresql: bool = False
    redis: bool = False
    #: Whether it runs beside the other parts: its tests run one at a time and wait for programs most of that time.
    beside: bool = False


ALONE = "browser or servers or redis"
"""Tests with processes of their own run one at a time: those of a part share the broker."""

PARTS = (
    # A page waits for its browser part of the time. So these run while the parts beside have something to do as well.
    Part("SQLite, browser", "browser and not (servers or postgres or redis)", (*PARALLEL, "--kinds=browser")),
    Part("SQLite", f"not postgres and not ({ALONE})", PARALLEL),
    Part("PostgreSQL", f"not ({ALONE})", (*PARALLEL, "--database-only"), postgresql=True),
    Part("SQLite, real processes", "servers and not (postgres or redis)", ("--kinds=servers",), beside=True),
    Part(
        "PostgreSQL and Redis, real processes",
        "((servers or redis) and not browser) or (browser and (postgres or redis))",
        ("--database-only", "--kinds=browser,servers,redis"),
        postgresql=True,
        redis=True,
        beside=True,
    ),
)


def main(arguments: Sequence[str]) -> int:
    """Run every part and return 0 when no test failed."""
    options = read_options(arguments)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    begin = time.monotonic()
    try:
        python = Environment().prepare(development=True)
        with contextlib.ExitStack() as stack:
            services = stack.enter_context(found_services())
            results = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="assay-results-")))
            stack.callback(drop_template, python)
            parts = run_parts(python, parts_for(services), services, results, options.pytest)
    except Stop as stop:
        print(stop, file=sys.stderr, flush=True)
        return 1
    except KeyboardInterrupt:
        tell("\nStopped.")
        return 130
    for line in closing_lines(parts, services.lacking, time.monotonic() - begin):
        tell(line)
    return exit_code(parts, services.lacking if options.require_all else {})


def drop_template(python: Path) -> None:
    """Leave no database behind on a PostgreSQL server that stays (see tests/databases.py)."""
    if os.environ.get("TEST_DATABASE_URL"):
        subprocess.run([str(python), "-m", "tests.databases"], cwd=ROOT, check=False)


def exit_code(parts: Mapping[str, Outcome], unwelcome: Mapping[str, str]) -> int:
    """Return 0 when tests passed, none failed and nothing is missing that must not be."""
    passed = any(outcome.passed for outcome in parts.values())
    failed = any(outcome.failed for outcome in parts.values())
    return 0 if passed and not failed and not unwelcome else 1


def read_options(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line; unknown options go to pytest."""
    parser = argparse.ArgumentParser(
        prog="make test", description="Run every test. Options are pytest's: make test ARGS='-k claims'."
    )
    parser.add_argument("--require-all", action="store_true", help="fail when a server or the browser is missing")
    options, rest = parser.parse_known_args(arguments)
    options.pytest = rest
    return options


@dataclass(frozen=True)
class Services:
    """URLs of the servers to test with; `lacking` says what is missing and what that leaves untested."""

    postgresql: str | None
    redis: str | None
    lacking: dict[str, str]


@contextlib.contextmanager
def found_services() -> Iterator[Services]:
    """Give the servers the environment names, or private ones started from this machine's programs."""
    lacking: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        postgresql = os.environ.get("TEST_DATABASE_URL")
        if not postgresql and (programs := find_postgresql()) is not None:
            postgresql = stack.enter_context(private_postgresql(programs))
        redis = os.environ.get("TEST_REDIS_URL")
        if not redis and (server := find_redis()) is not None:
            redis = stack.enter_context(private_redis(server))
        if not postgresql:
            lacking["PostgreSQL"] = (
                "no test ran on it, races were not tested. Name a server in TEST_DATABASE_URL "
                "or install one (Debian: apt-get install postgresql)."
            )
        if not redis:
            lacking["Redis"] = (
                "workers were tested on the broker made of files only. "
                "Install it (Debian: apt-get install redis-server)."
            )
        if find_chromium() is None:
            lacking["Chromium"] = "no page was tested in a browser. Install it (Debian: apt-get install chromium)."
        if find_caddy() is None:
            lacking["Caddy"] = "the proxy's configuration was not tried. Install it (Debian: apt-get install caddy)."
        yield Services(postgresql or None, redis or None, lacking)


def parts_for(services: Services) -> list[Part]:
    """Return the parts that say something new with these services: none repeats SQLite for want of PostgreSQL."""
    there = {"postgresql": services.postgresql is not None, "redis": services.redis is not None}
    return [
        part
        for part in PARTS
        if not (part.postgresql or part.redis)
        or (part.postgresql and there["postgresql"])
        or (part.redis and there["redis"])
    ]


def run_parts(
    python: Path, parts: Sequence[Part], services: Services, results: Path, options: Sequence[str]
) -> dict[str, Outcome]:
    """Run the parts in their order, those that run beside others in a second row at the same time.

    What the second row prints comes when a part of it has ended. No two parts share a database, a broker or a port.
    """
    runs = Runs()

    def run_beside() -> dict[str, Outcome]:
        outcomes = {}
        for part in parts:
            if part.beside and not runs.stopped:
                with (results / f"{part.name}.txt").open("w+b") as output:
                    outcomes[part.name] = run_part(python, part, services, results, options, runs, output)
                    output.seek(0)
                    tell(output.read().decode(errors="replace"))
        return outcomes

    with concurrent.futures.ThreadPoolExecutor(1) as second_row:
        others = second_row.submit(run_beside)
        try:
            outcomes = {
                part.name: run_part(python, part, services, results, options, runs) for part in parts if not part.beside
            }
            outcomes |= others.result()
        except BaseException:
            runs.stop()
            raise
    return {part.name: outcomes[part.name] for part in parts}


class Runs:
    """The runs of pytest that are under way, so that all of them end when the command does."""

    END_SECONDS = 20

    def __init__(self) -> None:
        self.stopped = False
        self._lock = threading.Lock()
        self._live: set[subprocess.Popen[bytes]] = set()

    def run(self, command: Sequence[str], variables: Mapping[str, str], output: IO[bytes] | None) -> int:
        """Run a command to its end and return its exit code; after `stop` nothing is started."""
        with self._lock:
            if self.stopped:
                return -signal.SIGINT
            process = subprocess.Popen(
                command, cwd=ROOT, env=variables, stdout=output, stderr=None if output is None else subprocess.STDOUT
            )
            self._live.add(process)
        code = process.wait()
        with self._lock:
            self._live.discard(process)
        return code

    def stop(self) -> None:
        """Interrupt what runs, as Ctrl-C does: fixtures end the processes they started."""
        with self._lock:
            self.stopped = True
            live = list(self._live)
        for process in live:
            process.send_signal(signal.SIGINT)
        for process in live:
            try:
                process.wait(self.END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def run_part(
    python: Path,
    part: Part,
    services: Services,
    results: Path,
    options: Sequence[str],
    runs: Runs | None = None,
    output: IO[bytes] | None = None,
) -> Outcome:
    """Run pytest once and read what came of it; it prints to `output`, by default to the terminal."""
    heading = f"\n=== {part.name} ==="
    if output is None:
        tell(heading)
    else:
        output.write(f"{heading}\n".encode())
        output.flush()
    variables = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    if part.postgresql and services.postgresql is not None:
        variables["TEST_DATABASE_URL"] = services.postgresql
    if part.redis and services.redis is not None:
        variables["TEST_REDIS_URL"] = services.redis
    # The parts share what the first of them has migrated (see tests/databases.py).
    templates = results / "databases"
    templates.mkdir(exist_ok=True)
    variables["ASSAY_TEST_TEMPLATES"] = str(templates)
    # Each part remembers its own failures: two that end together would overwrite each other's.
    remembered = f"cache_dir=.pytest_cache/{part.name.replace(', ', '-').replace(' ', '-')}"
    file = results / f"{part.name}.xml"
    command = [str(python), "-m", "pytest", "-q", "-m", part.markers, f"--junitxml={file}", "-o", remembered]
    return read_outcome(file, (runs or Runs()).run([*command, *part.options, *options], variables, output))


NOT_INHERITED = ("TEST_DATABASE_URL", "TEST_REDIS_URL", "PYTHONDONTWRITEBYTECODE")
"""The servers are chosen for each part; modules that are compiled anew in every process cost a third of the run."""
