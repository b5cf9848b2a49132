"""Preparing on several cores.

Processes of our own instead of a pool: they end by themselves when whoever started them is killed (their input closes),
they may be started from a Celery worker's child, and they load neither Django nor its database connections.
"""

import contextlib
import fcntl
import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from itertools import chain, islice
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import IO, Any, Self

import orjson

from benchmark.core.formats.files import RawLine
from benchmark.services.imports.preparing.frames import read_frame, write_frame, write_lines
from benchmark.services.imports.preparing.records import Preparer, Setup

_ROOT = Path(__file__).resolve().parents[4]
_MOST = 8
_PIPE = 1 << 20


class Preparers:
    """Prepares chunks of records in order: a few of them here, many on every core, this process among the others."""

    #: Chunks prepared in this process alone where there are no more: that is done sooner than another process is up.
    ALONE = 2

    def __init__(self, setup: Setup, *, count: int | None = None) -> None:
        """``count``: processes that prepare, this one included; as many as there are cores unless it is named."""
        self._setup = setup
        self._count = min(_MOST, count if count is not None else os.cpu_count() or 1)
        self._here = Preparer(setup)
        self._children: list[subprocess.Popen[bytes]] = []
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        self._threads: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for child in self._children:
            child.kill()
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)
        for child in self._children:
            child.communicate()

    def prepare(self, chunks: Iterable[Sequence[RawLine]]) -> Iterator[dict[str, Any]]:
        """``Preparer.prepare`` of each chunk, in order. At most two chunks a process are held at a time.

        The other processes are started before the first chunk is prepared here, and take of the next ones what they
        can; what they cannot take is prepared here instead of waiting for them. Where the chunks end in an exception,
        it is raised after the answers to all that came before it.
        """
        source = _Source(chunks)
        first = list(islice(source, self.ALONE + 1))
        if len(first) > self.ALONE and self._count > 1:
            self._start_others()
        waiting: deque[Future[dict[str, Any]]] = deque()
        for number, chunk in enumerate(chain(first, source)):
            waiting.append(self._here_or_elsewhere(chunk, waiting, here=number == 0))
            while waiting and (waiting[0].done() or len(waiting) >= 2 * self._count):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
        if source.failure is not None:
            raise source.failure

    def _here_or_elsewhere(
        self, chunk: Sequence[RawLine], waiting: Iterable[Future[dict[str, Any]]], *, here: bool
    ) -> "Future[dict[str, Any]]":
        away = sum(not one.done() for one in waiting)
        if self._threads is not None and not here and away < 2 * len(self._children):
            return self._threads.submit(self._elsewhere, chunk)
        done: Future[dict[str, Any]] = Future()
        done.set_result(self._here.prepare(chunk))
        return done

    def _start_others(self) -> None:
        self._threads = ThreadPoolExecutor(self._count - 1, thread_name_prefix="preparer")
        for _ in range(self._count - 1):
            child = self._start()
            self._children.append(child)
            self._idle.put(child)

    def _start(self) -> subprocess.Popen[bytes]:
        child = subprocess.Popen(
            [sys.executable, "-m", "benchmark.services.imports.preparing"],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert child.stdin is not None  # noqa: S101 - asked for above
        assert child.stdout is not None  # noqa: S101 - asked for above
        _widen(child.stdin, child.stdout)
        write_frame(child.stdin, orjson.dumps(asdict(self._setup)))
        return child

    def _elsewhere(self, chunk: Sequence[RawLine]) -> dict[str, Any]:
        child = self._idle.get()
        assert child.stdin is not None  # noqa: S101
        assert child.stdout is not None  # noqa: S101
        try:
            write_lines(child.stdin, chunk)
            answer = read_frame(child.stdout)
        finally:
            # Also when it is dead: whoever waits for it must find that out instead of waiting on.
            self._idle.put(child)
        if answer is None:
            raise RuntimeError(f"a process that prepares records ended with code {child.wait()}")
        prepared: dict[str, Any] = orjson.loads(answer)
        return prepared


class _Source:
    """Chunks one after the other; what goes wrong in reading them is kept for when it is their turn."""

    def __init__(self, chunks: Iterable[Sequence[RawLine]]) -> None:
        self._chunks = iter(chunks)
        self.failure: Exception | None = None

    def __iter__(self) -> Iterator[Sequence[RawLine]]:
        return self

    def __next__(self) -> Sequence[RawLine]:
        if self.failure is not None:
            raise StopIteration
        try:
            return next(self._chunks)
        except StopIteration:
            raise
        except Exception as failure:
            self.failure = failure
            raise StopIteration from None


def _widen(*pipes: IO[bytes]) -> None:
    """Let a pipe hold more than it does by default: this process is at work itself and seldom looks."""
    for pipe in pipes if hasattr(fcntl, "F_SETPIPE_SZ") else ():
        # Refused where this user has too many wide ones; it goes with narrow ones, too.
        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _PIPE)
