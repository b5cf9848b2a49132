"""Prepare records on several cores.

Processes of our own instead of ``ProcessPoolExecutor``: its caller waits for ever if a process dies in the middle of an
answer, it outlives a caller that is killed, and Celery's workers may not start it. These load neither Django nor its
database connections.
"""

import gc
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from os import cpu_count
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Self, cast

from benchmark.services.imports.preparing import Chunk, Prepared, Preparer, Setup

_ROOT = Path(__file__).resolve().parents[3]
_MAX_PROCESSES = 8


class Preparers:
    """Prepares chunks of records in order: a few of them here, many on every core, including this process."""

    #: Small numbers of chunks are prepared in this process alone: starting another one would take longer.
    ALONE = 2

    def __init__(self, setup: Setup, *, count: int | None = None) -> None:
        """``count``: processes that prepare, including this one; default: as many as there are cores."""
        self._setup = setup
        self._here = Preparer(setup)
        self._others = min(_MAX_PROCESSES, count if count is not None else cpu_count() or 1) - 1
        self._children: list[_Child] = []
        self._idle: SimpleQueue[_Child] = SimpleQueue()
        self._threads: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for child in self._children:
            child.process.kill()
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)
        for child in self._children:
            child.close()

    def prepare(self, chunks: Iterable[Chunk]) -> Iterator[Prepared]:
        """Yield ``Preparer.prepare`` of each chunk, in order. At most two chunks for each process are held at a time.

        The other processes are started before the first chunk is prepared here, and take as many of the next ones as
        they can; the rest is prepared here without waiting for them. If the chunks end in an exception, it is raised
        after the answers to all previous chunks.
        """
        failures: list[Exception] = []

        def until_failure() -> Iterator[Chunk]:
            try:
                yield from chunks
            except Exception as failure:
                failures.append(failure)

        source = until_failure()
        first = list(islice(source, self.ALONE + 1))
        if len(first) > self.ALONE and self._others > 0:
            self._start_others()
        waiting: deque[Future[Prepared]] = deque()
        for number, chunk in enumerate(chain(first, source)):
            away = sum(not one.done() for one in waiting)
            waiting.append(self._submit(chunk, here=number == 0 or away >= 2 * len(self._children)))
            while waiting and (waiting[0].done() or len(waiting) > 2 * self._others + 1):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
        if failures:
            raise failures[0]

    def _submit(self, chunk: Chunk, *, here: bool) -> "Future[Prepared]":
        if self._threads is not None and not here:
            return self._threads.submit(self._elsewhere, chunk)
        done: Future[Prepared] = Future()
        done.set_result(self._here.prepare(chunk))
        return done

    def _start_others(self) -> None:
        self._threads = ThreadPoolExecutor(self._others, thread_name_prefix="preparer")
        for _ in range(self._others):
            child = _Child(self._setup)
            self._children.append(child)
            self._idle.put(child)

    def _elsewhere(self, chunk: Chunk) -> Prepared:
        child = self._idle.get()
        try:
            return child.prepare(chunk)
        finally:
            # Even if it is dead, because its caller must notice that instead of waiting.
            self._idle.put(child)


class _Child:
    """A process that prepares, as seen by the one that started it."""

    def __init__(self, setup: Setup) -> None:
        self._connection, theirs = Pipe()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "benchmark.services.imports.processes"], cwd=_ROOT, stdin=theirs.fileno()
            )
        self._connection.send(setup)

    def prepare(self, chunk: Chunk) -> Prepared:
        """Return the answer. Raises RuntimeError if the process has died."""
        try:
            self._connection.send(chunk)
            return cast(Prepared, self._connection.recv())
        except (EOFError, OSError):
            code = self.process.wait()
            raise RuntimeError(f"a process that prepares records ended with code {code}") from None

    def close(self) -> None:
        self._connection.close()
        self.process.wait()


def _serve(connection: Connection) -> None:
    """Prepare incoming chunks until the other end closes, which also happens when the caller is killed."""
    # The caller decides when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        preparer = Preparer(connection.recv())
        # Loaded modules stay, and records have no reference cycles, so garbage collection is useless here.
        gc.freeze()
        gc.set_threshold(50_000)
        while True:
            connection.send(preparer.prepare(connection.recv()))
    except (EOFError, OSError):
        return


if __name__ == "__main__":
    _serve(Connection(sys.stdin.fileno()))
