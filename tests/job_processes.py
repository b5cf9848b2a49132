"""Processes that run jobs and can be killed in the middle.

A program: ``python -m tests.job_processes`` reads keys of jobs, one a line, and runs each in a process that is forked
from it, because importing everything takes longer than the work. It writes the number of the process and, when that has
ended, its exit code. It never opens a database connection itself: one that is open when a process forks would belong to
both.
"""

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from tests.conftest import ROOT

#: Seconds until a process is taken to hang.
PATIENCE = 60


class JobProcesses:
    """Runs jobs, one at a time."""

    def __init__(self, program: "subprocess.Popen[str]") -> None:
        self._program = program
        #: Of the current process, or the latest.
        self.pid: Future[int] = Future()

    def run(self, job: int) -> int:
        """Run a job; return the exit code of its process, which is -9 if it was killed."""
        assert self._program.stdin is not None
        self.pid = Future()
        self._program.stdin.write(f"{job}\n")
        self._program.stdin.flush()
        self.pid.set_result(self._read())
        return self._read()

    def kill(self, pid: "Future[int]") -> None:
        """Kill the process with this number, which may not be known yet."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid.result(PATIENCE), signal.SIGKILL)

    def _read(self) -> int:
        assert self._program.stdout is not None
        return int(self._program.stdout.readline())


@contextmanager
def job_processes(environment: dict[str, str]) -> Iterator[JobProcesses]:
    """Start the program; it ends with the block."""
    command = [sys.executable, "-m", "tests.job_processes"]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        try:
            yield JobProcesses(program)
        finally:
            program.kill()


def main() -> None:
    import django

    django.setup()
    # What only workers import, and only when they need it.
    import openai  # noqa: F401

    forking = multiprocessing.get_context("fork")
    for line in sys.stdin:
        process = forking.Process(target=_run, args=(int(line),), daemon=True)
        process.start()
        print(process.pid, flush=True)
        process.join(PATIENCE)
        process.kill()
        process.join()
        print(process.exitcode, flush=True)


def _run(job: int) -> None:
    from datetime import timedelta

    from annotator.services.jobs import jobs

    # The one before may just have been killed.
    jobs.run(job, heartbeat_timeout=timedelta(0))


if __name__ == "__main__":
    main()
