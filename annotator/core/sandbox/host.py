"""The host's side: send the prepared interpreter batches and trajectories, and check everything it reports."""

import json
import random
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from annotator.core.sandbox.channel import FRAME, Reading, failure, refuse_source, scrub, scrub_value
from annotator.core.sandbox.interpreter import GRACE, LAYERS, Interpreter
from annotator.core.sandbox.results import Call, CallResult, Expected, Limits, Status
from annotator.core.sandbox.trajectories import Trajectory, TrajectoryRun, run_twice

#: Most calls, and bytes of arguments, for one child.
BATCH_CALLS = 250
BATCH_BYTES = 4 << 20
#: After this many calls that ran alone and had to be stopped, the rest of the source's calls are not tried.
MAX_STOPPED = 3
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


class Sandbox(Interpreter):
    """Runs one source at a time in children of its prepared interpreter."""

    def __init__(self, *, layers: Iterable[str] = LAYERS) -> None:
        super().__init__(layers=layers)
        self._lock = threading.Lock()
        # Trajectories run twice, with another order of sets, so that what depends on it is found.
        self._other = Interpreter(layers=layers, hash_seed=1)

    def close(self) -> None:
        """Stop the prepared interpreters and their children."""
        super().close()
        self._other.close()

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
        unreadable = refuse_source(source, limits)
        if unreadable is not None:
            return [unreadable for _ in wanted]
        # Code can pass information to the next child through the time at which it ends, and can so count the children.
        # Therefore the order of calls is random, in a batch and for calls with their own child.
        order = _RANDOM.sample(range(len(wanted)), len(wanted))
        with self._lock:
            work = _Work(self, source, function, expected, limits)
            results = [result for batch in _batches([wanted[n] for n in order]) for result in work.run(batch)]
        found = dict(zip(order, results, strict=True))
        return [found[n] for n in range(len(wanted))]

    def run_trajectory(
        self, trajectory: Trajectory, *, twice: bool = True, limits: Limits | None = None
    ) -> TrajectoryRun:
        """Run a trajectory in its own child. ``twice``: run it again, with sets in another order, and report what
        differs.

        Raises SandboxUnavailable if no code can run, which is never the code's fault.
        """
        with self._lock:
            return run_twice(self, self._other if twice else None, trajectory, limits or Limits())


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
            "kind": "calls",
            "source": self.source,
            "function": self.function,
            "expected": self.expected,
            "result": self.limits.result,
            "message": self.limits.message,
        }
        # Serialise first: if one call cannot be serialised, none is started.
        work = [json.dumps({"args": call.args, "kwargs": dict(call.kwargs)}).encode() for call in calls]
        channel = self.sandbox.open_child(self.limits)
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
        until = time.monotonic() + limits.wall + GRACE
        results: list[CallResult] = []
        failed: CallResult | None = None
        with channel:
            reading = Reading(channel, until, limits.result + FRAME)
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
                self.sandbox.stop_child()
        end = self.sandbox.next_message(until - time.monotonic())
        if failed is not None:
            return [failed] * len(calls), None
        if len(results) == len(calls):
            return results, None
        return results, failure(end, limits, too_much=too_much)


def _agree(one: CallResult, other: CallResult) -> bool:
    """Return whether two results are the same; their messages may differ."""
    return (one.status, one.accepted, one.value) == (other.status, other.accepted, other.value)


def _read_result(frame: Any, index: int, expected: Expected, limits: Limits) -> CallResult | None:
    """Return the result in a frame of a child; None if it is not the next expected answer."""
    if type(frame) is not list or len(frame) != 4 or frame[0] not in (index, "load") or type(frame[0]) is bool:
        return None
    status, value, message = frame[1:]
    if type(status) is not str or status not in _REPORTED or type(message) is not str:
        return None
    if frame[0] == "load" and status == Status.OK:
        return None
    message = scrub(message[: max(limits.message, _MESSAGE)])
    if status != Status.OK:
        return CallResult(Status(status), message=message)
    if expected is Expected.VERDICT:
        return CallResult(Status.OK, accepted=value, message=message) if type(value) is bool else None
    try:
        return CallResult(Status.OK, value=scrub_value(value))
    except (ValueError, RecursionError):
        return None


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
