"""Workers report themselves: each start is a row, updated while the worker lives and removed when it stops."""

import logging
import os
import secrets
import threading
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from celery.worker import state
from django.db import DatabaseError, connection
from django.utils import timezone

from annotator import VERSION
from annotator.core.sandbox import SandboxUnavailable, walls_in_force
from annotator.models import Worker

#: Seconds between two reports of a worker.
INTERVAL = 30
#: A worker without a report for this long has stopped, or can't reach the database.
SILENT = timedelta(seconds=100)
#: Queues whose jobs may run untrusted code.
_WITH_CODE = {"imports", "untrusted", "models"}

_LOG = logging.getLogger(__name__)


class Reporter:
    """Reports one worker from a thread of its main process, so that a database that hangs doesn't stop the worker."""

    def __init__(self, name: str, queues: list[str]) -> None:
        self.key = secrets.token_hex(16)
        self.row = {"name": name[:200], "queues": sorted(queues), "version": VERSION}
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._run, name="worker report", daemon=True)

    def start(self) -> None:
        """Begin to report."""
        self.thread.start()

    def stop(self) -> None:
        """Remove the row and end. Called when the worker shuts down."""
        self.stopped.set()
        self.thread.join(timeout=5)

    def _run(self) -> None:
        if _WITH_CODE & set(self.row["queues"]):
            self._try(lambda: self.row.update(_walls()))
        while True:
            self._try(self.report)
            if self.stopped.wait(INTERVAL):
                break
        self._try(lambda: Worker.objects.filter(key=self.key).delete())

    def _try(self, write: Any) -> None:
        try:
            write()
        except Exception as error:
            # Whatever it is, the next report follows: without reports, the worker counts as stopped.
            _LOG.warning("the worker could not report itself: %s", error)
        finally:
            # Not kept open between reports: children that are forked meanwhile would inherit it.
            with suppress(DatabaseError):
                connection.close()

    def report(self) -> None:
        """Write the row."""
        now = timezone.now()
        values = self.row | {"heartbeat_at": now, "jobs": running_jobs(), "memory": memory_of_tree(os.getpid())}
        Worker.objects.update_or_create(key=self.key, defaults=values, create_defaults=values | {"started_at": now})


def _walls() -> dict[str, Any]:
    try:
        return {"walls": walls_in_force()}
    except SandboxUnavailable as error:
        return {"walls": [], "sandbox_error": str(error)[:300]}


def running_jobs() -> list[int]:
    """Return the keys of the jobs that this worker's processes run."""
    found = []
    for request in list(state.active_requests):
        with suppress(Exception):  # a request that has just ended, or has other arguments
            if request.name == "annotator.tasks.run_job":
                found.append(int(request.args[0]))
    return sorted(found)


def memory_of_tree(pid: int) -> int:
    """Return bytes of memory of a process and its descendants, shared pages counted once; 0 if the system can't say."""
    total, waiting = 0, [pid]
    while waiting:
        folder = Path(f"/proc/{waiting.pop()}")
        try:
            lines = (folder / "smaps_rollup").read_text().splitlines()
            total += sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
            for children in (folder / "task").glob("*/children"):
                waiting += map(int, children.read_text().split())
        except (OSError, ValueError):
            continue
    return total


_reporters: list[Reporter] = []


def start_reporting(name: str, queues: list[str]) -> None:
    """Begin to report this worker."""
    _reporters.append(Reporter(name, queues))
    _reporters[-1].start()


def stop_reporting() -> None:
    """Remove this worker's row."""
    for reporter in _reporters:
        reporter.stop()
    _reporters.clear()
