"""``make test``: run all tests, on SQLite and PostgreSQL, with Redis, browsers and Caddy if they are installed.

Starts temporary servers. The summary lists what is not installed as NOT TESTED.
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

from scripts.environment import ROOT, Environment, Stop, print_line
from scripts.private_services import (
    find_caddy,
    find_chromium,
    find_firefox,
    find_postgresql,
    find_redis,
    private_postgresql,
    private_redis,
)
from scripts.suite_report import Outcome, read_outcome, summary_lines

PARALLEL = ("-n", "2", "--dist", "worksteal")
"""Two processes, because every machine has two cores. They share the remaining tests, because some are long."""

SLOWEST = ("--durations=10", "--durations-min=5")
"""List the slowest tests of each part."""


@dataclass(frozen=True)
class Part:
    """One run of pytest: the tests to select and the services they need."""

    name: str
    markers: str
    options: tuple[str, ...] = ()
    postgresql: bool = False
    redis: bool = False
    #: Run at the same time as the other parts. Its tests run one at a time and mostly wait for other programs.
    in_background: bool = False


PAGES = "(browser or firefox)"
"""Tests that open pages in a browser."""

ALONE = f"{PAGES} or servers or redis"
"""What other parts run: in browsers, or one at a time, because processes that tests start share a broker."""

PARTS = (
    # First, because browser tests often wait and so leave time for the parts in the background.
    Part(
        "SQLite, browser",
        f"{PAGES} and not (servers or postgres or redis)",
        (*PARALLEL, "--kinds=browser,firefox"),
    ),
    Part("SQLite", f"not postgres and not ({ALONE})", PARALLEL),
    Part("PostgreSQL", f"not ({ALONE})", (*PARALLEL, "--database-only"), postgresql=True),
    # It migrates a database while the browser tests wait for theirs, and then PostgreSQL's is there for all.
    Part(
        "PostgreSQL and Redis, real processes",
        f"((servers or redis) and not {PAGES}) or ({PAGES} and (postgres or redis))",
        ("--database-only", "--kinds=browser,firefox,servers,redis"),
        postgresql=True,
        redis=True,
        in_background=True,
    ),
    Part("SQLite, real processes", "servers and not (postgres or redis)", ("--kinds=servers",), in_background=True),
)


def main(arguments: Sequence[str]) -> int:
    """Run every part. Return 0 if no test failed."""
    options = read_options(arguments)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    begin = time.monotonic()
    try:
        python = Environment().prepare(development=True)
        with contextlib.ExitStack() as stack:
            services = stack.enter_context(start_services())
            results = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="assay-results-")))
            stack.callback(drop_template, python)
            parts = run_parts(python, parts_for(services), services, results, options.pytest)
    except Stop as stop:
        print(stop, file=sys.stderr, flush=True)
        return 1
    except KeyboardInterrupt:
        print_line("\nStopped.")
        return 130
    for line in summary_lines(parts, services.missing, time.monotonic() - begin):
        print_line(line)
    return exit_code(parts, services.missing if options.require_all else {})


def drop_template(python: Path) -> None:
    """Delete the template databases from a PostgreSQL server that is not temporary (see tests/databases.py)."""
    if os.environ.get("TEST_DATABASE_URL"):
        subprocess.run([str(python), "-m", "tests.databases"], cwd=ROOT, check=False)


def exit_code(parts: Mapping[str, Outcome], missing: Mapping[str, str]) -> int:
    """Return 0 if tests passed, none failed and no required service is missing."""
    passed = any(outcome.passed for outcome in parts.values())
    failed = any(outcome.failed for outcome in parts.values())
    return 0 if passed and not failed and not missing else 1


def read_options(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line. Unknown options go to pytest."""
    parser = argparse.ArgumentParser(
        prog="make test", description="Run all tests. Other options go to pytest: make test ARGS='-k claims'."
    )
    parser.add_argument(
        "--require-all", action="store_true", help="fail if a server, the browser or the proxy is missing"
    )
    options, rest = parser.parse_known_args(arguments)
    options.pytest = rest
    return options


@dataclass(frozen=True)
class Services:
    """URLs of the servers to test with. `missing`: service → what is not tested without it, and how to install it."""

    postgresql: str | None
    redis: str | None
    missing: dict[str, str]


@contextlib.contextmanager
def start_services() -> Iterator[Services]:
    """Use the servers from the environment variables, or start temporary ones."""
    missing: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        postgresql = os.environ.get("TEST_DATABASE_URL")
        if not postgresql and (programs := find_postgresql()) is not None:
            postgresql = stack.enter_context(private_postgresql(programs))
        redis = os.environ.get("TEST_REDIS_URL")
        if not redis and (server := find_redis()) is not None:
            redis = stack.enter_context(private_redis(server))
        if not postgresql:
            missing["PostgreSQL"] = (
                "no test used it, and concurrent writes were not tested. Set TEST_DATABASE_URL to a server, "
                "or install it (Debian: apt-get install postgresql)."
            )
        if not redis:
            missing["Redis"] = (
                "workers were tested with the file-based broker only. "
                "Install it (Debian: apt-get install redis-server)."
            )
        if find_chromium() is None:
            missing["Chromium"] = "no page was tested in a browser. Install it (Debian: apt-get install chromium)."
        if find_firefox() is None:
            missing["Firefox"] = "no page was tested in it. Install it (Debian: apt-get install firefox-esr)."
        if find_caddy() is None:
            missing["Caddy"] = "the proxy's settings were not tested. Install it (Debian: apt-get install caddy)."
        yield Services(postgresql or None, redis or None, missing)


def parts_for(services: Services) -> list[Part]:
    """Return the parts that can use these services. Without PostgreSQL, no part repeats the tests on SQLite."""
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
    """Run the parts in order, those in the background at the same time as the others.

    The output of a background part appears when it has finished. Parts share no database, broker or port.
    """
    runs = Runs()

    def run_in_background() -> dict[str, Outcome]:
        outcomes = {}
        for part in parts:
            if part.in_background and not runs.stopped:
                with (results / f"{part.name}.txt").open("w+b") as output:
                    outcomes[part.name] = run_part(python, part, services, results, options, runs, output)
                    output.seek(0)
                    print_line(output.read().decode(errors="replace"))
        return outcomes

    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        background = executor.submit(run_in_background)
        try:
            outcomes = {
                part.name: run_part(python, part, services, results, options, runs)
                for part in parts
                if not part.in_background
            }
            outcomes |= background.result()
        except BaseException:
            runs.stop()
            raise
    return {part.name: outcomes[part.name] for part in parts}


class Runs:
    """The pytest processes that are running, so that the command can stop them."""

    END_SECONDS = 20

    def __init__(self) -> None:
        self.stopped = False
        self._lock = threading.Lock()
        self._live: set[subprocess.Popen[bytes]] = set()

    def run(self, command: Sequence[str], variables: Mapping[str, str], output: IO[bytes] | None) -> int:
        """Run a command and return its exit code. Starts nothing after `stop`."""
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
        """Interrupt all processes as Ctrl-C does, so that fixtures stop the processes they started."""
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
    """Run pytest once and read its results. It prints to `output`, by default to the terminal."""
    heading = f"\n=== {part.name} ==="
    if output is None:
        print_line(heading)
    else:
        output.write(f"{heading}\n".encode())
        output.flush()
    variables = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    if part.postgresql and services.postgresql is not None:
        variables["TEST_DATABASE_URL"] = services.postgresql
    if part.redis and services.redis is not None:
        variables["TEST_REDIS_URL"] = services.redis
    # The parts share migrated databases (see tests/databases.py).
    templates = results / "databases"
    templates.mkdir(exist_ok=True)
    variables["ASSAY_TEST_TEMPLATES"] = str(templates)
    # A cache for each part, because parts that end at the same time would overwrite each other's failures.
    cache = f"cache_dir=.pytest_cache/{part.name.replace(', ', '-').replace(' ', '-')}"
    file = results / f"{part.name}.xml"
    command = [str(python), "-m", "pytest", "-q", "-m", part.markers, f"--junitxml={file}", "-o", cache, *SLOWEST]
    return read_outcome(file, (runs or Runs()).run([*command, *part.options, *options], variables, output))


NOT_INHERITED = ("TEST_DATABASE_URL", "TEST_REDIS_URL", "PYTHONDONTWRITEBYTECODE")
"""Each part sets its own servers. Without compiled modules, the tests take half as long again."""
