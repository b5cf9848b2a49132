"""Run several programs together: start them, wait until they are ready, and stop all of them."""

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from scripts.environment import Stop

GRACE = 8.0
"""Seconds that programs have to exit before they are killed."""

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


@dataclass
class Child:
    """A program that was started: its name in messages, its process and its log file."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path


class Supervisor:
    """Starts programs in this process's group, and stops them and everything they started.

    Use it as a context manager: all programs stop at its end. On Linux, they also stop if the supervisor is killed, and
    processes whose parent has exited become its children, so that it can stop them too.
    """

    def __init__(self) -> None:
        self.children: list[Child] = []
        self.stopped_by: int | None = None
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        os.set_blocking(self._wake_read, False)
        self._poll = select.poll()
        self._poll.register(self._wake_read, select.POLLIN)
        if sys.stdin is not None and sys.stdin.isatty():
            self._poll.register(sys.stdin.fileno(), 0)
        self._before: dict[int, object] = {}
        # Processes that were already running are not ours to stop.
        self._not_ours = descendants(os.getpid())

    def __enter__(self) -> "Supervisor":
        control_process(PR_SET_CHILD_SUBREAPER, 1)
        for number in STOP_SIGNALS:
            self._before[number] = signal.signal(number, self._remember_stop)
        # Without a handler, the exit of a child would not write to the pipe.
        self._before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()
        signal.set_wakeup_fd(-1)
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal.signal itself returned
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _remember_stop(self, number: int, frame: FrameType | None) -> None:
        self.stopped_by = number

    def start(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        env: Mapping[str, str],
        cwd: Path,
        log: Path,
        pass_fds: Sequence[int] = (),
    ) -> Child:
        """Start a program. Its output replaces the content of the file `log`."""
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as output:
            process = subprocess.Popen(
                list(map(str, command)),
                env=dict(env),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=tuple(pass_fds),
                preexec_fn=end_with_parent,
            )
        child = Child(name, process, log)
        self.children.append(child)
        return child

    def finish(self, child: Child) -> int | None:
        """Wait until a program exits. Return its exit code, or None if a signal arrived first."""
        while child.process.poll() is None and self.stopped_by is None:
            self._wait(60.0)
        if self.stopped_by is not None:
            return None
        self.children.remove(child)
        return child.process.returncode

    def wait_until_ready(self, url: str, *, seconds: float) -> bool:
        """Request `url` until it returns 200. Return False if a signal arrived first.

        Raises `Stop` if a program exits or the time is up.
        """
        end = time.monotonic() + seconds
        while self.stopped_by is None:
            self._require_alive()
            problem = probe(url)
            if problem is None:
                return True
            if time.monotonic() > end:
                raise Stop(f"{url} was not ready after {seconds:.0f} seconds: {problem}.\n{self._log_paths()}")
            self._wait(0.1)
        return False

    def watch(self) -> None:
        """Wait until a signal arrives. Raises `Stop` if a program exits."""
        while self.stopped_by is None:
            self._require_alive()
            self._wait(60.0)

    def stop(self) -> None:
        """Stop every program and everything it started. Kill what still runs after `GRACE` seconds."""
        pids = self._pids()
        for child in self.children:
            signal_process(child.process.pid, signal.SIGTERM)
        end = time.monotonic() + GRACE
        while (pids := self._running(pids)) and time.monotonic() < end:
            self._wait(0.1)
        while pids := self._running(pids):
            for number in pids:
                signal_process(number, signal.SIGKILL)
            self._wait(0.05)
        self.children.clear()

    def _pids(self) -> set[int]:
        return descendants(os.getpid(), without=self._not_ours)

    def _running(self, pids: set[int]) -> set[int]:
        """Return those of `pids` and of their new children that still run. Reaps the others."""
        own = {child.process.pid: child.process for child in self.children}
        living = set()
        for number in pids | self._pids():
            runs = own[number].poll() is None if number in own else is_running(number)
            if runs:
                living.add(number)
        return living

    def _require_alive(self) -> None:
        for child in self.children:
            code = child.process.poll()
            if code is not None:
                tail = "\n".join(f"    {line}" for line in last_log_lines(child.log))
                raise Stop(f"{tail}\nThe {child.name} stopped ({describe_exit(code)}); its log is {child.log}.")

    def _log_paths(self) -> str:
        return "\n".join(f"The log of the {child.name} is {child.log}." for child in self.children)

    def _wait(self, seconds: float) -> None:
        """Wait for a signal (the exit of a child is one) or the end of the terminal, for at most `seconds`."""
        for descriptor, event in self._poll.poll(seconds * 1000):
            if descriptor == self._wake_read:
                os.read(self._wake_read, 4096)
            elif event & (select.POLLHUP | select.POLLNVAL):
                # If no shell is involved, only make is told that the terminal is closed, and it waits for us.
                self._poll.unregister(descriptor)
                self.stopped_by = signal.SIGHUP


def probe(url: str) -> str | None:
    """Return None if `url` returns 200, otherwise the problem."""
    # Ignores proxy variables, because the address is on this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=2) as response:
            return None if response.status == 200 else f"status {response.status}"
    except urllib.error.HTTPError as error:
        return f"status {error.code}"
    except OSError as error:
        return f"no response ({error})"


def control_process(option: int, value: int) -> None:
    """Call Linux's prctl for this process. Does nothing on other systems."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def end_with_parent() -> None:
    """Make the kernel stop this process when its parent exits, even if it is killed (Linux)."""
    control_process(PR_SET_PDEATHSIG, signal.SIGTERM)


def signal_process(number: int, what: int) -> None:
    """Send a signal to a process. Does nothing if it has exited."""
    try:
        os.kill(number, what)
    except ProcessLookupError:
        return


def is_running(number: int) -> bool:
    """Return whether a process runs. Reaps it if it is our child and has exited."""
    try:
        return os.waitpid(number, os.WNOHANG)[0] == 0
    except ChildProcessError:
        pass
    try:
        os.kill(number, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def parents_of_all() -> dict[int, int]:
    """Return process id → parent's id, for every process on the machine."""
    table: dict[int, int] = {}
    if Path("/proc/self/stat").exists():
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    # The name in parentheses may contain spaces and parentheses.
                    fields = Path("/proc", entry, "stat").read_text(errors="replace").rpartition(")")[2].split()
                except OSError:
                    continue
                table[int(entry)] = int(fields[1])
    else:
        listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=False).stdout
        for line in listing.splitlines():
            number, parent = line.split()
            table[int(number)] = int(parent)
    return table


def descendants(
    root: int, table: Callable[[], dict[int, int]] = parents_of_all, *, without: Collection[int] = ()
) -> set[int]:
    """Return the ids of all processes that `root` started, directly or not, except `without` and their descendants."""
    children: dict[int, list[int]] = {}
    for number, parent in table().items():
        children.setdefault(parent, []).append(number)
    found: set[int] = set()
    waiting = [root]
    while waiting:
        for number in children.get(waiting.pop(), ()):
            if number not in found and number not in without:
                found.add(number)
                waiting.append(number)
    return found


def last_log_lines(log: Path, count: int = 15) -> list[str]:
    """Return the last lines of a log."""
    return log.read_text(errors="replace").strip().splitlines()[-count:] if log.exists() else []


def describe_exit(code: int) -> str:
    """Describe how a program ended: ``exit code 3`` or ``signal SIGKILL``."""
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
