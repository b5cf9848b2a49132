"""Fixtures for every test. Tests that need something the machine lacks are listed as NOT TESTED, never passed over."""

import contextlib
import gc
import io
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import settings as hypothesis_settings

from scripts.private_services import find_caddy, find_chromium, find_firefox

pytest_plugins = ["tests.browser", "tests.databases", "tests.firefox"]

# No test is timed: how long an example takes says more about the machine than about the code. Every run tries the same
# examples, so that a change is what fails it; --hypothesis-profile=search looks for others.
hypothesis_settings.register_profile("same", deadline=None, derandomize=True)
hypothesis_settings.register_profile("search", deadline=None, max_examples=1_000)
hypothesis_settings.load_profile("same")

ROOT = Path(__file__).resolve().parent.parent
SHARED_DATA = ROOT.parent / "shared" / "data"
DATABASE_FIXTURES = {
    "db",
    "transactional_db",
    "live_server",
    "django_db_reset_sequences",
    "django_db_serialized_rollback",
}

# The browser's driver keeps an event loop in the main thread; Django's guard takes every query there for a mistake.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"


def not_tested(reason: str) -> NoReturn:
    """Leave a test out because the machine lacks something; the end of the run lists it."""
    pytest.skip(f"NOT TESTED: {reason}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--database-only", action="store_true", help="run only the tests that use the database")
    parser.addoption("--kinds", default="", help="read only the files that name one of these markers: browser,servers")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip most files if only tests of some kinds are wanted: importing them takes as long as 50 tests."""
    kinds = config.getoption("--kinds")
    if not kinds or collection_path.suffix != ".py":
        return None
    text = collection_path.read_text()
    return None if any(f"pytest.mark.{kind}" in text for kind in kinds.split(",")) else True


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    missing = {}
    if not os.environ.get("TEST_DATABASE_URL", "").startswith("postgres"):
        missing["postgres"] = "PostgreSQL: set TEST_DATABASE_URL, or run make test, which starts one"
    if not os.environ.get("TEST_REDIS_URL"):
        missing["redis"] = "Redis: set TEST_REDIS_URL, or run make test, which starts one"
    if find_chromium() is None:
        missing["browser"] = "Chromium: install it (Debian: apt-get install chromium)"
    if find_firefox() is None:
        missing["firefox"] = "Firefox: install it (Debian: apt-get install firefox-esr)"
    if find_caddy() is None:
        missing["proxy"] = "Caddy: install it (Debian: apt-get install caddy)"
    for item in items:
        for marker, reason in missing.items():
            if item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=f"NOT TESTED: {reason}"))
    if config.getoption("--database-only"):
        chosen = [item for item in items if uses_database(item)]
        config.hook.pytest_deselected(items=[item for item in items if not uses_database(item)])
        items[:] = chosen
    # Slow tests first, the longest of them before the others, so that no process waits at the end for another's slow
    # test. Tests of one length are in random order.
    items.sort(key=expected_seconds, reverse=True)


def expected_seconds(item: pytest.Item) -> int:
    """Return about how long a test takes, in seconds: what its marker ``slow`` says, and 0 without one."""
    marker = item.get_closest_marker("slow")
    return 0 if marker is None else int(marker.kwargs.get("seconds", 1))


def uses_database(item: pytest.Item) -> bool:
    """Tell whether a test touches a database or a server and so deserves a run on each.

    The marker ``any_database`` is for tests of what pages and forms say, and of whole courses of work whose parts are
    tested on each database: the matrix of addresses and roles opens every page on each.
    """
    if any(item.get_closest_marker(name) for name in ("postgres", "redis")):
        return True
    if item.get_closest_marker("any_database"):
        return False
    names = set(getattr(item, "fixturenames", ()))
    return item.get_closest_marker("django_db") is not None or bool(names & DATABASE_FIXTURES)


def pytest_collection_finish() -> None:
    """Spare the garbage collector what was imported, and most of its rounds: they took a tenth of the suite's time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", ()):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[reason.partition("NOT TESTED: ")[2] or reason] += 1
    if reasons:
        terminalreporter.section("NOT TESTED", sep="!", red=True, bold=True)
        for reason, count in sorted(reasons.items()):
            terminalreporter.line(f"{count} test{'s' if count > 1 else ''}: {reason}", red=True)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data next to the checkout."""
    if not SHARED_DATA.is_dir():
        not_tested("real data: the folder ../shared/data is not beside the checkout")
    return SHARED_DATA


@pytest.fixture(autouse=True, scope="session")
def _shared_middleware() -> Iterator[None]:
    """Clients share their middleware, as the requests of a server do: made for each client it took a tenth of a page.

    A changed setting creates it again.
    """
    from django.core.signals import setting_changed
    from django.test.client import ClientHandler

    made: dict[str, Any] = {}
    load = ClientHandler.load_middleware

    def load_once(handler: Any, is_async: bool = False) -> None:
        if not made:
            load(handler, is_async)
            made.update(vars(handler))
        vars(handler).update({name: value for name, value in made.items() if name.endswith(("_middleware", "_chain"))})

    def forget(**_: Any) -> None:
        made.clear()

    setting_changed.connect(forget)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClientHandler, "load_middleware", load_once)
        yield
    setting_changed.disconnect(forget)


@pytest.fixture(autouse=True)
def _clean_slate(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget files, the language of a request, and the people who take turns: each test's people have the same keys."""
    from django.utils.translation import deactivate

    from annotator.views import request_limits

    monkeypatch.setattr(request_limits, "_computing", {})
    monkeypatch.setattr(request_limits, "_counted", {})
    yield
    deactivate()
    shutil.rmtree(settings.MEDIA_ROOT, ignore_errors=True)


@pytest.fixture
def process_environment(transactional_db: None, settings: Any) -> dict[str, str]:
    """The environment with which another process works on this test's database, files and broker."""
    from django.db import connection

    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "TEST_"))}
    database = connection.settings_dict
    if connection.vendor == "sqlite":
        url = f"sqlite:///{database['NAME']}"
    else:
        server = os.environ["TEST_DATABASE_URL"].rpartition("/")[0]
        url = f"{server}/{database['NAME']}"
    return variables | {
        "ASSAY_DATA": str(settings.DATA_DIR),
        "DATABASE_URL": url,
        "DJANGO_SETTINGS_MODULE": "annotator.config.settings",
    }


@pytest.fixture
def manage(process_environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a management command in a process of its own: ``manage("import_dialogues", file, "--project", "p")``."""

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "manage.py", *map(str, arguments)]
        return subprocess.run(command, cwd=ROOT, env=process_environment, capture_output=True, text=True, check=False)

    return run


@pytest.fixture
def manage_without_database(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """As ``manage`` in this process: for what a command says, where it need not be a process of its own.

    ``text`` is its standard input. A command that asks the database fails, unless the test may.
    """
    from django.core.management import execute_from_command_line

    def run(*arguments: str | Path, text: str = "") -> subprocess.CompletedProcess[str]:
        command = ["manage.py", *map(str, arguments)]
        code: object = 0
        capsys.readouterr()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        try:
            execute_from_command_line(command)
        except SystemExit as end:
            code = end.code or 0
        said = capsys.readouterr()
        assert isinstance(code, int)
        return subprocess.CompletedProcess(command, code, said.out, said.err)

    return run


@pytest.fixture
def manage_here(
    transactional_db: None, manage_without_database: Callable[..., subprocess.CompletedProcess[str]]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """As ``manage`` in this process, with this test's database."""
    return manage_without_database


@pytest.fixture
def start_worker(
    process_environment: dict[str, str], settings: Any, tmp_path: Path
) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start a real Celery worker with beat on this test's database; it leads a process group, killed at the end.

    ``os.killpg(worker.pid, signal.SIGKILL)`` is how a test loses one. Messages of earlier tests are thrown away first.
    """
    from annotator.config.celery import app

    if settings.CELERY_BROKER_URL.startswith("filesystem"):
        for message in (Path(settings.BROKER_DIR) / "messages").iterdir():
            message.unlink()
    else:
        app.control.purge()
    workers: list[subprocess.Popen[bytes]] = []

    def start(*options: str) -> subprocess.Popen[bytes]:
        command = [
            sys.executable, "-m", "celery", "--app", "annotator.config.celery:app", "worker", "--beat",
            "--concurrency", "1", "--schedule", str(tmp_path / f"beat-{len(workers)}"),
            "--without-gossip", "--without-mingle", *options,
        ]  # fmt: skip
        with (tmp_path / f"worker-{len(workers)}.log").open("wb") as log:
            worker = subprocess.Popen(
                command, cwd=ROOT, env=process_environment, stdout=log, stderr=log, start_new_session=True
            )
        workers.append(worker)
        return worker

    yield start
    for worker in workers:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()


@pytest.fixture(scope="module")
def one_sandbox() -> Iterator[Any]:
    """A sandbox for all tests of a file: starting one takes a tenth of a second."""
    from annotator.core.sandbox import Sandbox

    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture
def shared_sandbox(one_sandbox: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let jobs that run trajectories use one sandbox."""
    from annotator.services.dialogues import executions
    from benchmark.services import plays

    for module in (executions, plays):
        monkeypatch.setattr(module, "shared_sandbox", lambda: one_sandbox)
    return one_sandbox
