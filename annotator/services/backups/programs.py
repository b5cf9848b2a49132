"""PostgreSQL's own programs, which write and read the dumps."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import IO

from django.conf import settings
from django.db import connection

from annotator.core.backups.errors import BackupError

#: Where distributions keep them if they are not on the PATH.
_FOLDERS = "usr/lib/postgresql/*/bin"
#: How much of a program's error is shown.
_LONGEST = 500


def program(name: str) -> str:
    """Return the path of one of PostgreSQL's programs, the newest that is installed. Raises BackupError."""
    installed = [folder / name for folder in Path("/").glob(_FOLDERS) if (folder / name).exists()]
    newest = max(installed, key=lambda path: int("0" + path.parts[-3].partition(".")[0]), default=None)
    found = str(newest) if newest is not None else shutil.which(name)
    if found is None:
        raise BackupError(
            f"The program {name} is not installed. Install PostgreSQL's client programs (Debian: postgresql-client), "
            "of the server's version or newer."
        )
    return found


def arguments(name: str) -> tuple[list[str], dict[str, str]]:
    """Return the command that connects one of the programs to the database, and variables for its environment."""
    if settings.DATABASE_POOLER:
        raise BackupError(
            "Backups need a direct connection to PostgreSQL. Set DATABASE_URL to its own address, and DATABASE_POOLER "
            "to no, for this command."
        )
    options, environment = connection.client.settings_to_cmd_args_env(connection.settings_dict, [])
    return [program(name), *options[1:]], environment or {}


class Started:
    """A running program and what it wrote to standard error."""

    def __init__(self, name: str, process: "subprocess.Popen[bytes]", errors: IO[bytes]) -> None:
        self._name, self._errors, self.process = name, errors, process

    @property
    def stdin(self) -> IO[bytes]:
        """Return the stream to its standard input."""
        assert self.process.stdin is not None  # noqa: S101 - opened by `started`
        return self.process.stdin

    @property
    def stdout(self) -> IO[bytes]:
        """Return the stream from its standard output."""
        assert self.process.stdout is not None  # noqa: S101 - opened by `started`
        return self.process.stdout

    def require_success(self) -> None:
        """Wait until it has ended. Raises BackupError with the program's own words if it has failed."""
        if self.process.wait():
            raise BackupError(f"{self._name} has failed: {self.error() or f'exit code {self.process.returncode}'}")

    def error(self) -> str:
        """Return the last lines that it wrote to standard error."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return " ".join(lines[-3:])[-_LONGEST:]


@contextmanager
def started(command: Sequence[str], environment: dict[str, str], *, stdin: int, stdout: int) -> Iterator[Started]:
    """Run a program; if the block ends before it, it is killed."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(  # noqa: S603 - PostgreSQL's own programs
            command, env=os.environ | environment, stdin=stdin, stdout=stdout, stderr=errors
        )
        try:
            yield Started(Path(command[0]).name, process, errors)
        finally:
            if process.poll() is None:
                process.kill()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    close_quietly(stream)
            process.wait()


@contextmanager
def fed(program: Started, feed: Callable[[IO[bytes]], None]) -> Iterator[None]:
    """Write to a program's standard input beside the block, which can read its output; then close it.

    Raises what ``feed`` raises, but not that the program has ended: its exit code says more.
    """
    failed: list[Exception] = []

    def run() -> None:
        try:
            feed(program.stdin)
        except BrokenPipeError:
            pass
        except Exception as error:
            failed.append(error)
        finally:
            close_quietly(program.stdin)

    thread = Thread(target=run)
    thread.start()
    try:
        yield
    except BaseException:
        # Otherwise the thread would wait for a program that waits for the block.
        program.process.kill()
        raise
    finally:
        thread.join()
    if failed:
        raise failed[0]


def close_quietly(stream: IO[bytes]) -> None:
    """Close a stream to a program that may have ended."""
    with suppress(BrokenPipeError):
        stream.close()
