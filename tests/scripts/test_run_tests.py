import concurrent.futures
import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import run_tests
from scripts.run_tests import PARTS, Services, exit_code, parts_for, start_services
from scripts.suite_report import Outcome

MARKERS = ("browser", "firefox", "postgres", "redis", "servers", "slow")


def part_names(postgresql, redis):
    return [part.name for part in parts_for(Services(postgresql, redis, {}))]


@pytest.mark.parametrize("marked", [set(some) for count in range(6) for some in itertools.combinations(MARKERS, count)])
def test_every_test_is_in_a_part_that_has_what_it_needs(marked):
    chosen = [part for part in PARTS if eval(part.markers, {name: name in marked for name in MARKERS})]  # noqa: S307
    assert chosen
    assert "postgres" not in marked or all(part.postgresql for part in chosen)
    assert "redis" not in marked or all(part.redis for part in chosen)
    # A part that reads only the files that name its kinds of test misses none.
    for option in (option for part in chosen for option in part.options if option.startswith("--kinds=")):
        assert marked & set(option.removeprefix("--kinds=").split(","))
    # Tests that start processes run one at a time, in the second row.
    assert "servers" not in marked or not any("-n" in part.options or not part.in_background for part in chosen)


def test_all_parts_run_where_everything_is_there():
    assert part_names("postgres://x", "redis://x") == [part.name for part in PARTS]


def test_without_postgresql_nothing_runs_twice_on_sqlite():
    assert part_names(None, None) == ["SQLite, browser", "SQLite", "SQLite, real processes"]


def test_redis_alone_still_tests_the_workers_on_it():
    assert "PostgreSQL and Redis, real processes" in part_names(None, "redis://x")


def test_what_is_missing_is_named_with_how_to_get_it(monkeypatch):
    monkeypatch.delenv("TEST_DATABASE_URL", raising=False)
    monkeypatch.delenv("TEST_REDIS_URL", raising=False)
    for find in ("find_postgresql", "find_redis", "find_chromium", "find_firefox", "find_caddy"):
        monkeypatch.setattr(run_tests, find, lambda: None)
    with start_services() as services:
        assert services.postgresql is None
        assert services.redis is None
        assert set(services.missing) == {"PostgreSQL", "Redis", "Chromium", "Firefox", "Caddy"}
        assert all("apt-get install" in why for why in services.missing.values())


def test_named_servers_are_used(monkeypatch):
    monkeypatch.setenv("TEST_DATABASE_URL", "postgres://server/db")
    monkeypatch.setenv("TEST_REDIS_URL", "redis://server/0")
    monkeypatch.setattr(run_tests, "find_chromium", lambda: "/usr/bin/chromium")
    monkeypatch.setattr(run_tests, "find_firefox", lambda: "/usr/bin/firefox-esr")
    monkeypatch.setattr(run_tests, "find_caddy", lambda: "/usr/bin/caddy")
    with start_services() as services:
        assert services == Services("postgres://server/db", "redis://server/0", {})


@pytest.mark.parametrize(
    ("outcomes", "missing", "code"),
    [
        ([Outcome(passed=3)], {}, 0),
        ([Outcome(passed=3), Outcome(failed=1)], {}, 1),
        ([Outcome()], {}, 1),
        ([Outcome(passed=3)], {"Redis": "none"}, 1),
    ],
)
def test_exit_code(outcomes, missing, code):
    assert exit_code({str(number): outcome for number, outcome in enumerate(outcomes)}, missing) == code


FAILS_ONCE = """
from pathlib import Path

def test_unsteady():
    seen = Path({seen!r})
    first = not seen.exists()
    seen.touch()
    assert not first

def test_well():
    pass
"""


def test_a_test_that_would_pass_the_second_time_has_failed(monkeypatch, tmp_path):
    (tmp_path / "test_it.py").write_text(FAILS_ONCE.format(seen=str(tmp_path / "seen")))
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    part = run_tests.Part("unsteady", "not redis")
    services = Services(postgresql=None, redis=None, missing={})
    options = ["--rootdir", str(tmp_path), "-p", "no:randomly", "-p", "no:django", str(tmp_path)]
    outcome = run_tests.run_part(Path(sys.executable), part, services, tmp_path, options)
    assert outcome.failures == ["test_it::test_unsteady"]
    assert (outcome.passed, outcome.failed) == (1, 1)


IN_STEP = """
import time
from pathlib import Path

def test_other_is_there_too():
    Path({mine!r}).touch()
    end = time.monotonic() + 60
    while not Path({other!r}).exists():
        assert time.monotonic() < end
        time.sleep(0.01)
"""


def test_a_second_row_runs_beside_the_first_and_prints_at_its_end(monkeypatch, tmp_path, capfd):
    rows = {"first": "second", "second": "first"}
    for mine, other in rows.items():
        code = IN_STEP.format(mine=str(tmp_path / mine), other=str(tmp_path / other))
        (tmp_path / f"test_{mine}.py").write_text(code)
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    parts = [
        run_tests.Part(name, "not redis", ("-k", f"test_{name}.py"), in_background=name == "second")
        for name in ("second", "first")
    ]
    services = Services(postgresql=None, redis=None, missing={})
    options = ["--rootdir", str(tmp_path), "-p", "no:randomly", "-p", "no:django", str(tmp_path)]
    outcomes = run_tests.run_parts(Path(sys.executable), parts, services, tmp_path, options)
    assert {name: outcome.passed for name, outcome in outcomes.items()} == {"second": 1, "first": 1}
    assert list(outcomes) == ["second", "first"]
    assert "=== second ===" in capfd.readouterr().out


def test_what_runs_is_interrupted_and_nothing_more_is_started(tmp_path):
    runs = run_tests.Runs()
    with concurrent.futures.ThreadPoolExecutor(1) as row:
        sleeper = f"import pathlib, time; pathlib.Path({str(tmp_path / 'there')!r}).touch(); time.sleep(60)"
        code = row.submit(runs.run, [sys.executable, "-c", sleeper], os.environ, subprocess.DEVNULL)
        while not (tmp_path / "there").exists():
            assert not code.done()
        runs.stop()
        assert code.result() != 0
    assert runs.run([sys.executable, "-c", ""], os.environ, None) != 0
