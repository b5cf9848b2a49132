"""The host's side: start the prepared interpreter, send it batches, and check everything it reports."""

import contextlib
import json
import math
import random
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from annotator.core.sandbox.inside.guest import OUT_OF_MEMORY
from annotator.core.sandbox.results import Call, CallResult, Expected, Limits, SandboxUnavailable, Status

#: Most calls, and bytes of arguments, for one child.
BATCH_CALLS = 250
BATCH_BYTES = 4 << 20
#: After this many calls that ran alone and had to be stopped, the rest of the source's calls are not tried.
MAX_STOPPED = 3
#: Seconds for the interpreter to start, and for the report of a child's end after its own time limit.
_READY, _GRACE = 15.0, 3.0
_FOLDER = Path(__file__).resolve().parent
_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); from inside.zygote import main; main(int(sys.argv[2]), sys.argv[3])"
)
#: Protection in addition to the filter, if the machine allows it.
LAYERS = ("user", "namespaces", "root", "landlock")
#: Statuses that a child may report about itself.
_REPORTED = frozenset(
    (
        Status.OK, Status.SYNTAX_ERROR, Status.IMPORT_ERROR, Status.MISSING_FUNCTION, Status.BAD_RETURN_TYPE,
        Status.EXCEPTION, Status.MEMORY, Status.OUTPUT_LIMIT, Status.FORBIDDEN,
    )
)  # fmt: skip
_MESSAGE = 64 << 10
#: The system's source of randomness: untrusted code cannot predict the order.
_RANDOM = random.SystemRandom()


class Sandbox:
    """One prepared interpreter, started when first needed and restarted after it died. Runs one source at a time.

    ``layers``: protection to try in addition to the filter, which is enough without it.
    """

    def __init__(self, *, layers: Iterable[str] = LAYERS) -> None:
        self._wanted = ",".join(layers)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        #: The protection that the running interpreter has.
        self.layers: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def run(
        self,
        source: str,
        function: str,
        calls: Iterable[Call],
        *,
        expected: Expected = Expected.VERDICT,
        limits: Limits | None = None,
    ) -> list[CallResult]:
        """Call ``function`` of ``source`` with each of ``calls``; return a result for each, in their order.

        Each result is the same as if the call ran in its own child: it does not depend on other calls. Raises
        SandboxUnavailable if no code can run, which is never the code's fault.
        """
        limits = limits or Limits()
        wanted = list(calls)
        if len(source.encode("utf-8", "surrogatepass")) > limits.source:
            words = f"The code has more than {limits.source:,} bytes."
            return [CallResult(Status.OUTPUT_LIMIT, message=words) for _ in wanted]
        if "\x00" in source or not _is_text(source):
            words = "The code contains a NUL or half of a surrogate pair. Remove it."
            return [CallResult(Status.SYNTAX_ERROR, message=words) for _ in wanted]
        # Code can pass information to the next child through the time at which it ends, and can so count the children.
        # Therefore the order of calls is random, in a batch and for calls with their own child.
        order = _RANDOM.sample(range(len(wanted)), len(wanted))
        with self._lock:
            work = _Work(self, source, function, expected, limits)
            results = [result for batch in _batches([wanted[n] for n in order]) for result in work.run(batch)]
        found = dict(zip(order, results, strict=True))
        return [found[n] for n in range(len(wanted))]

    def close(self) -> None:
        """Stop the prepared interpreter and its children."""
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            self._process.wait()
        self._process = self._control = None

    def start(self) -> None:
        """Start the prepared interpreter if it is not running. Raises SandboxUnavailable."""
        if self._process is not None and self._process.poll() is None:
            return
        self.close()
        if not sys.platform.startswith("linux"):
            raise SandboxUnavailable(
                "Validators run only on Linux, because the sandbox needs it. Use the container setup instead."
            )
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
                    # No site packages, no working folder on the path; the seed fixes the order of sets.
                    [sys.executable, "-s", "-S", "-P", "-c", _START, str(_FOLDER), str(theirs.fileno()), self._wanted],
                    env={"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    cwd="/",
                    start_new_session=True,
                )
            except (OSError, subprocess.SubprocessError) as error:
                ours.close()
                raise SandboxUnavailable(f"The sandbox could not be started: {error}.") from None
        self._control = ours
        word = self._next_message(_READY)
        if word is None or not word.get("ready"):
            self.close()
            why = f": {word['why']}" if word else ""
            raise SandboxUnavailable(f"The sandbox could not isolate itself, so no code runs{why}.")
        self.layers = word["layers"]

    def _child(self, limits: Limits) -> socket.socket:
        """Start a child and return its channel. Raises SandboxUnavailable."""
        self.start()
        assert self._control is not None  # noqa: S101 - started just now
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            order = {"wall": limits.wall, "cpu": limits.cpu, "memory": limits.memory}
            try:
                socket.send_fds(self._control, [json.dumps(order).encode()], [theirs.fileno()])
            except OSError as error:
                ours.close()
                self.close()
                raise SandboxUnavailable(f"The sandbox stopped: {error}.") from None
        return ours

    def _stop_child(self) -> None:
        """Tell the prepared interpreter to stop the child."""
        if self._control is not None:
            with contextlib.suppress(OSError):
                self._control.send(b"enough")

    def _next_message(self, seconds: float) -> dict[str, Any] | None:
        """Return the prepared interpreter's next message. If none comes in time, stop it and return None."""
        assert self._control is not None  # noqa: S101
        self._control.settimeout(max(0.1, seconds))
        try:
            data = self._control.recv(4096)
        except OSError:
            data = b""
        if not data:
            self.close()
            return None
        word: dict[str, Any] = json.loads(data)
        return word


class _Work:
    """The calls of one source.

    A child answers a whole batch, because a child for each call costs four times as much. But code that sees the other
    responses can distinguish the reference, which it must accept, from the mutations. So it gets one call after
    the other in random order, twice, and the first call of the batch also alone: results must not depend on earlier
    calls. If they do, each call gets its own child, in the random order that ``Sandbox.run`` chose.
    """

    def __init__(self, sandbox: Sandbox, source: str, function: str, expected: Expected, limits: Limits) -> None:
        self.sandbox, self.source, self.function = sandbox, source, function
        self.expected, self.limits = expected, limits
        self.stopped: list[CallResult] = []
        self.until = time.monotonic() + limits.total

    def run(self, calls: Sequence[Call]) -> list[CallResult]:
        """Return a result for each call of a batch."""
        given_up = self._given_up()
        if given_up is not None:
            return [given_up] * len(calls)
        stopped = len(self.stopped)
        alone = self._alone(calls[0])
        if len(calls) > 1 and len(self.stopped) == stopped:
            together = self._twice(calls)
            if together is not None and _agree(alone, together[0]):
                return together
        return [alone, *map(self._alone, calls[1:])]

    def _given_up(self) -> CallResult | None:
        """Return the result for the remaining calls if they are not tried; else None."""
        if len(self.stopped) >= MAX_STOPPED:
            last = self.stopped[-1]
            words = f"Not tried: {MAX_STOPPED} earlier calls ended like this. {last.message}".strip()
            return CallResult(last.status, message=words, signal=last.signal)
        if time.monotonic() > self.until:
            words = f"Not tried: other calls of this code took {self.limits.total:g} seconds."
            return CallResult(Status.TIMEOUT_WALL, message=words)
        return None

    def _alone(self, call: Call) -> CallResult:
        given_up = self._given_up()
        if given_up is not None:
            return given_up
        results, end = self._together([call])
        if end is None:
            return results[0]
        self.stopped.append(end)
        return end

    def _twice(self, calls: Sequence[Call]) -> list[CallResult] | None:
        """Return the results, in the order of ``calls``, of two batches that agree; None if they do not, or were
        stopped.
        """
        order = list(range(len(calls)))
        _RANDOM.shuffle(order)
        first = self._in_order(calls, order)
        if first is None:
            return None
        # Another call comes first, so that each result without earlier calls is compared with one after earlier calls.
        begun = order[0]
        _RANDOM.shuffle(order)
        if order[0] == begun:
            other = _RANDOM.randrange(1, len(order))
            order[0], order[other] = order[other], order[0]
        again = self._in_order(calls, order)
        return first if again is not None and all(map(_agree, first, again)) else None

    def _in_order(self, calls: Sequence[Call], order: Sequence[int]) -> list[CallResult] | None:
        results, end = self._together([calls[n] for n in order])
        if end is not None:
            return None
        found = dict(zip(order, results, strict=True))
        return [found[n] for n in range(len(calls))]

    def _together(self, calls: Sequence[Call]) -> tuple[list[CallResult], CallResult | None]:
        """Run calls in one child; return its results, and how it ended if some are missing."""
        request = {
            "source": self.source,
            "function": self.function,
            "expected": self.expected,
            "result": self.limits.result,
            "message": self.limits.message,
        }
        # Serialise first: if one call cannot be serialised, none is started.
        work = [json.dumps({"args": call.args, "kwargs": dict(call.kwargs)}).encode() for call in calls]
        channel = self.sandbox._child(self.limits)
        try:
            return self._listen(channel, json.dumps(request).encode(), work)
        except BaseException:
            # The report of this child's end was not read; it would be mistaken for the next child's.
            self.sandbox.close()
            raise

    def _listen(
        self, channel: socket.socket, request: bytes, calls: Sequence[bytes]
    ) -> tuple[list[CallResult], CallResult | None]:
        limits = self.limits
        until = time.monotonic() + limits.wall + _GRACE
        results: list[CallResult] = []
        failed: CallResult | None = None
        with channel:
            reading = _Reading(channel, until, limits)
            reading.send(request)
            reading.send(calls[0])
            for frame in reading.frames():
                result = _read_result(frame, len(results), self.expected, limits)
                if result is None:
                    break
                if frame[0] == "load":
                    failed = result
                    break
                results.append(result)
                if len(results) == len(calls):
                    break
                # Only now, because a child must not know the calls after the one that it answers.
                reading.send(calls[len(results)])
            too_much = reading.too_much
            if too_much:
                self.sandbox._stop_child()
        end = self.sandbox._next_message(until - time.monotonic())
        if failed is not None:
            return [failed] * len(calls), None
        if len(results) == len(calls):
            return results, None
        return results, _failure(end, limits, too_much=too_much)


def _agree(one: CallResult, other: CallResult) -> bool:
    """Return whether two results are the same; their messages may differ."""
    return (one.status, one.accepted, one.value) == (other.status, other.accepted, other.value)


def _failure(end: dict[str, Any] | None, limits: Limits, *, too_much: bool) -> CallResult:
    """Return why a child did not answer, from how it ended."""
    if too_much:
        return CallResult(Status.OUTPUT_LIMIT, message=f"The result has more than {limits.result:,} bytes.")
    if end is None:
        # The prepared interpreter did not answer either, and was stopped.
        return CallResult(Status.TIMEOUT_WALL, message=f"It ran for more than {limits.wall:g} seconds.")
    number = end["signal"]
    used_up = end["cpu"] >= 0.95 * limits.cpu
    if number == signal.SIGXCPU or (number == signal.SIGKILL and used_up):
        return CallResult(Status.TIMEOUT_CPU, message=f"It used more than {limits.cpu} seconds of CPU time.")
    if end["late"]:
        return CallResult(Status.TIMEOUT_WALL, message=f"It ran for more than {limits.wall:g} seconds.")
    if number == signal.SIGSYS:
        return CallResult(Status.FORBIDDEN, message="It made a system call for a different processor.")
    if number is not None:
        return CallResult(Status.CRASHED, message=f"Signal {number} ended the interpreter.", signal=number)
    if end["code"] == OUT_OF_MEMORY:
        return CallResult(Status.MEMORY, message=Status.MEMORY.words)
    return CallResult(Status.NO_RESULT, message=Status.NO_RESULT.words)


class _Reading:
    """One channel: sends the work and reads frames, within the limits of size and time."""

    def __init__(self, channel: socket.socket, until: float, limits: Limits) -> None:
        self.channel, self.until = channel, until
        # A frame may be a little longer than the answer in it.
        self.longest = limits.result + 1024
        self.too_much = False
        self.buffer = bytearray()

    def send(self, data: bytes) -> None:
        """Send the work; does nothing if the child has ended."""
        view = memoryview(len(data).to_bytes(4, "little") + data)
        self.channel.setblocking(False)
        while view and self._ready(write=True):
            try:
                view = view[self.channel.send(view) :]
            except OSError:
                return

    def frames(self) -> Iterator[Any]:
        """Yield frames until the child closes the channel, or exceeds the limit of time or size."""
        while True:
            while len(self.buffer) >= 4:
                size = int.from_bytes(self.buffer[:4], "little")
                if size > self.longest:
                    self.too_much = True
                    return
                if len(self.buffer) < 4 + size:
                    break
                body = bytes(self.buffer[4 : 4 + size])
                del self.buffer[: 4 + size]
                try:
                    yield json.loads(body, parse_constant=_refuse_constant)
                except (ValueError, RecursionError):
                    return
            if not self._ready(write=False):
                return
            try:
                part = self.channel.recv(1 << 16)
            except OSError:
                return
            if not part:
                return
            self.buffer += part

    def _ready(self, *, write: bool) -> bool:
        left = self.until - time.monotonic()
        if left <= 0:
            return False
        readers, writers = ([], [self.channel]) if write else ([self.channel], [])
        return any(select.select(readers, writers, [], left)[:2])


def _read_result(frame: Any, index: int, expected: Expected, limits: Limits) -> CallResult | None:
    """Return the result in a frame of a child; None if it is not the next expected answer."""
    if type(frame) is not list or len(frame) != 4 or frame[0] not in (index, "load") or type(frame[0]) is bool:
        return None
    status, value, message = frame[1:]
    if type(status) is not str or status not in _REPORTED or type(message) is not str:
        return None
    if frame[0] == "load" and status == Status.OK:
        return None
    message = _scrub(message[: max(limits.message, _MESSAGE)])
    if status != Status.OK:
        return CallResult(Status(status), message=message)
    if expected is Expected.VERDICT:
        return CallResult(Status.OK, accepted=value, message=message) if type(value) is bool else None
    try:
        return CallResult(Status.OK, value=_scrub_value(value))
    except (ValueError, RecursionError):
        return None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _scrub(text: str) -> str:
    """Replace characters that cannot be stored."""
    return text.replace("\x00", "�").encode("utf-8", "replace").decode()


def _scrub_value(value: Any) -> Any:
    if isinstance(value, str):
        return _scrub(value)
    if isinstance(value, list):
        return [_scrub_value(item) for item in value]
    if isinstance(value, dict):
        return {_scrub(key): _scrub_value(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        _refuse_constant(str(value))
    return value


def _is_text(source: str) -> bool:
    try:
        source.encode()
    except UnicodeEncodeError:
        return False
    return True


def _batches(calls: Sequence[Call]) -> Iterator[Sequence[Call]]:
    """Yield calls in batches of limited number and size."""
    batch: list[Call] = []
    size = 0
    for call in calls:
        weight = sum(len(part) if isinstance(part, str) else 256 for part in (*call.args, *call.kwargs.values()))
        if batch and (len(batch) == BATCH_CALLS or size + weight > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(call)
        size += weight
    if batch:
        yield batch
