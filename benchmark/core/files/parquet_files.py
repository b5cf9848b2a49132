"""Read Parquet files from strangers, in a process of their own (``parquet_process``)."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, Any, Self

import orjson

from benchmark.core.files import parquet_process
from benchmark.core.files.limits import Budget, SourceError, shown_size
from benchmark.core.files.packing import Readable
from benchmark.core.files.record_lines import Found, split_lines

_ROOT = Path(__file__).resolve().parents[3]
_PIECE = 1 << 18
#: Milliseconds without output after which the owner of the stream is asked.
_WAIT = 1000
#: Seconds of computing for each file, and for each MiB of it.
_SECONDS, _SECONDS_PER_MIB = 300, 5


def on_disk(stream: Any) -> int | None:
    """Return the size of a stream that is a whole file on disk, and so can be given to another process."""
    try:
        size = os.fstat(stream.fileno()).st_size
        return size if stream.seek(0, os.SEEK_END) == size else None
    except (AttributeError, OSError):
        return None


def read_parquet(file: IO[bytes], budget: Budget, owner: Readable) -> Generator[Found]:
    """Yield the rows of a Parquet file on disk as the JSON of objects, counted against ``budget``. Raises SourceError.

    While there is none yet, ``owner.read(0)`` is called each second; it may raise to end the reading.
    """
    limits = budget.limits
    number = 0
    with _Process(file, budget, owner) as process:
        for line, length, ended in split_lines(process, limits.line + 1):
            if line is None or not ended:
                break
            begin = line[:1]
            if begin == parquet_process.END:
                return
            if begin == parquet_process.FILE_ERROR:
                raise SourceError(line[1:].decode(errors="replace"))
            number += 1
            if begin == parquet_process.ROW_ERROR:
                pointer, problem = orjson.loads(line[1:])
                yield Found(number, None, length, problem=problem, pointer=pointer)
            else:
                yield Found(number, line, length)
        raise SourceError(process.end(number))


def spooled(source: Readable, owner: Readable, budget: Budget) -> Generator[Found]:
    """Yield the rows of a Parquet file in any source, which counts its own bytes, by way of a temporary file."""
    with TemporaryFile() as spool:
        while data := source.read(_PIECE):
            spool.write(data)
        spool.flush()
        yield from read_parquet(spool, budget, owner)


class _Process:
    """A running reader of one file; leaving the block ends it."""

    def __init__(self, file: IO[bytes], budget: Budget, owner: Readable) -> None:
        self._budget = budget
        self._owner = owner
        size = os.fstat(file.fileno()).st_size
        self._seconds = _SECONDS + _SECONDS_PER_MIB * (size >> 20)
        limits = budget.limits
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [
                    *(sys.executable, "-s", "-m", parquet_process.__name__),
                    *map(str, (self._seconds, limits.records, limits.line)),
                ],
                # Nothing of this process's environment, which may have secrets, and one kind of memory.
                env={"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1", "TZ": "UTC0"}
                | {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ},
                cwd=_ROOT,
                stdin=file.fileno(),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise SourceError(
                f"Parquet files cannot be read now: starting their reader failed ({error.strerror}). Try again."
            ) from None
        assert self._process.stdout is not None  # noqa: S101 - asked for
        self._out = self._process.stdout
        self._poll = select.poll()
        self._poll.register(self._out, select.POLLIN)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._out.close()

    def read(self, size: int, /) -> bytes:
        """Return output of the reader; nothing at its end."""
        while not self._poll.poll(_WAIT):
            self._owner.read(0)
        data = os.read(self._out.fileno(), size)
        self._budget.count(len(data))
        return data

    def end(self, number: int) -> str:
        """Return why the reader stopped after row ``number``, as a sentence."""
        code = self._process.wait()
        place = f"after row {number:,}" if number else "before its first row"
        if code == -signal.SIGXCPU:
            why = f"was stopped {place}: it took more than {self._seconds // 60:,} minutes of computing. Split it"
        elif code == -signal.SIGKILL:
            why = f"was stopped {place} from outside, perhaps because the server has too little memory. Try again"
        else:
            why = (
                f"crashed {place}. The file is damaged, or it needs more than {shown_size(parquet_process.MEMORY)} of "
                "memory. Write it with smaller row groups"
            )
        return f"Reading the Parquet file {why}, or write it as JSON lines."
