"""Preparing on several cores.

Processes of our own instead of a pool: they end by themselves when whoever started them is killed (their input closes),
they may be started from a Celery worker's child, and they load neither Django nor its database connections.
"""

import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self

import orjson

from benchmark.formats.files import RawLine
from benchmark.preparing.frames import read_frame, write_frame, write_lines
from benchmark.preparing.records import Preparer, Setup

_ROOT = Path(__file__).resolve().parent.parent.parent
_MOST = 8


class Preparers:
    """Prepares chunks of records in order: the first ones here, the others, where there are many, on every core."""

    #: Chunks prepared in this process before others are started: a small file is done sooner than a process is up.
    ALONE = 2

    def __init__(self, setup: Setup, *, count: int | None = None) -> None:
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
        """``Preparer.prepare`` of each chunk, in order. At most two chunks a process are held at a time."""
        waiting: deque[Future[dict[str, Any]]] = deque()
        for number, chunk in enumerate(chunks):
            if number < self.ALONE or self._count < 2:
                yield self._here.prepare(chunk)
                continue
            waiting.append(self._submit(chunk))
            if len(waiting) >= 2 * self._count:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def _submit(self, chunk: Sequence[RawLine]) -> "Future[dict[str, Any]]":
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._count, thread_name_prefix="preparer")
            for _ in range(self._count):
                child = self._start()
                self._children.append(child)
                self._idle.put(child)
        return self._threads.submit(self._elsewhere, chunk)

    def _start(self) -> subprocess.Popen[bytes]:
        child = subprocess.Popen(
            [sys.executable, "-m", "benchmark.preparing"],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert child.stdin is not None  # noqa: S101 - asked for above
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
