"""The sandbox as a separate service: a server on a Unix socket, and its client.

    python -m annotator.core.sandbox /run/assay/sandbox.socket

For containers, so that workers never start an interpreter for untrusted code themselves. A connection has one request
and one answer, each with four bytes of length (little endian) and JSON. A few are served in parallel, the others wait.
Until it answers, the service regularly sends a length of zero as a heartbeat.
"""

import contextlib
import json
import os
import queue
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from annotator.core.sandbox.host import Sandbox
from annotator.core.sandbox.results import Call, CallResult, Expected, Limits, SandboxUnavailable, Status
from annotator.core.sandbox.trajectories import (
    Trajectory,
    TrajectoryRun,
    run_from_json,
    trajectory_from_json,
    trajectory_to_json,
)

#: Bytes of a request or an answer.
MAX_ANSWER_BYTES = 64 << 20
#: Prepared interpreters, started when needed, so that code that hangs blocks only one. The container's memory limit
#: must allow for all of them at their maximum.
INTERPRETERS = 3
#: Seconds that a client may take to send its request, or to read its answer.
CLIENT_TIMEOUT = 30.0
#: Seconds between heartbeats, without a heartbeat until a client gives up, and for a client to connect. A waiting job
#: must send its heartbeat (``annotator.services.jobs.jobs``).
SIGN_INTERVAL, SILENCE_LIMIT, CONNECT_TIMEOUT = 2.0, 10.0, 2.0
#: Seconds that a client waits beyond the limits of its calls: for an interpreter to start, and for other clients.
MARGIN = 15.0

_NOTHING = bytes(4)

Free = queue.LifoQueue[Sandbox]


class RemoteSandbox:
    """A client with the interface of ``Sandbox``; the service runs the code."""

    def __init__(self, path: str) -> None:
        self.path = path

    def run(
        self,
        source: str,
        function: str,
        calls: Iterable[Call],
        *,
        expected: Expected = Expected.VERDICT,
        limits: Limits | None = None,
    ) -> list[CallResult]:
        """See ``Sandbox.run``. Also raises SandboxUnavailable if the service cannot be reached or stops responding."""
        limits = limits or Limits()
        request = {
            "source": source,
            "function": function,
            "calls": [asdict(call) for call in calls],
            "expected": expected,
            "limits": asdict(limits),
        }
        # After the time limit for starting calls, up to three children still run: one for the first call, two for a
        # batch.
        answer = self._ask(request, limits.total + 3 * limits.wall)
        return [CallResult(**{**one, "status": Status(one["status"])}) for one in answer["results"]]

    def run_trajectory(
        self, trajectory: Trajectory, *, twice: bool = True, limits: Limits | None = None
    ) -> TrajectoryRun:
        """See ``Sandbox.run_trajectory``. Also raises SandboxUnavailable if the service does not respond."""
        limits = limits or Limits()
        request = {"trajectory": trajectory_to_json(trajectory), "twice": twice, "limits": asdict(limits)}
        return run_from_json(self._ask(request, 2 * limits.wall)["run"])

    def walls(self) -> list[str]:
        """See ``Interpreter.walls``. Also raises SandboxUnavailable if the service does not respond."""
        walls: list[str] = self._ask({"walls": True}, 0)["walls"]
        return walls

    def _ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Return the service's answer to a request that runs for a given time at most. Raises SandboxUnavailable."""
        until = time.monotonic() + seconds + MARGIN
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(CONNECT_TIMEOUT)
                connection.connect(self.path)
                connection.settimeout(SILENCE_LIMIT)
                _send(connection, request)
                while (answer := _receive(connection)) is None:
                    if time.monotonic() > until:
                        raise SandboxUnavailable("The sandbox service is busy. Try again later.")
        except TimeoutError:
            words = f"The sandbox service has not responded for {SILENCE_LIMIT:g} seconds. Restart it."
            raise SandboxUnavailable(words) from None
        except (OSError, ValueError) as error:
            raise SandboxUnavailable(
                f"The sandbox service does not respond ({error}). Check that it is running."
            ) from None
        if "unavailable" in answer:
            raise SandboxUnavailable(answer["unavailable"])
        found: dict[str, Any] = answer
        return found

    def close(self) -> None:
        """Do nothing: no connection is kept open."""


def serve(path: str) -> None:
    """Serve on a Unix socket until stopped. Raises OSError if the socket cannot be created."""
    with contextlib.suppress(FileNotFoundError):
        Path(path).unlink()
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        # The one used last comes first, so that the others are only started if needed.
        free: Free = queue.LifoQueue()
        for _ in range(INTERPRETERS):
            free.put(stack.enter_context(Sandbox()))
        listener.bind(path)
        # Access is limited by the folder, which belongs to the workers and this service.
        os.chmod(path, 0o666)  # noqa: S103
        listener.listen(64)
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=_answer, args=(free, connection), daemon=True).start()


def _answer(free: Free, connection: socket.socket) -> None:
    with connection, contextlib.suppress(OSError):
        connection.settimeout(CLIENT_TIMEOUT)
        try:
            request = _receive(connection)
            with _signs_of_life(connection):
                answer = _run(free, request)
        except (ValueError, TypeError, KeyError) as error:
            answer = {"unavailable": f"The sandbox service did not understand the request ({error})."}
        try:
            _send(connection, answer)
        except ValueError:
            words = f"The results have more than {MAX_ANSWER_BYTES >> 20} MiB in total. Send fewer calls at a time."
            _send(connection, {"unavailable": words})


@contextlib.contextmanager
def _signs_of_life(connection: socket.socket) -> Iterator[None]:
    """Send heartbeats until the block ends."""
    over = threading.Event()

    def tell() -> None:
        with contextlib.suppress(OSError):
            while not over.wait(SIGN_INTERVAL):
                connection.sendall(_NOTHING)

    telling = threading.Thread(target=tell, daemon=True)
    telling.start()
    try:
        yield
    finally:
        over.set()
        telling.join()


def _run(free: Free, request: dict[str, Any]) -> dict[str, Any]:
    sandbox = free.get()
    try:
        if "walls" in request:
            return {"walls": sandbox.walls()}
        limits = Limits(**request["limits"])
        if "trajectory" in request:
            trajectory = trajectory_from_json(request["trajectory"])
            run = sandbox.run_trajectory(trajectory, twice=request["twice"], limits=limits)
            return {"run": asdict(run)}
        results = sandbox.run(
            request["source"],
            request["function"],
            [Call(tuple(call["args"]), call["kwargs"]) for call in request["calls"]],
            expected=Expected(request["expected"]),
            limits=limits,
        )
    except SandboxUnavailable as why:
        return {"unavailable": str(why)}
    finally:
        free.put(sandbox)
    return {"results": [asdict(result) for result in results]}


def _send(connection: socket.socket, value: Any) -> None:
    data = json.dumps(value).encode()
    if len(data) > MAX_ANSWER_BYTES:
        raise ValueError("it is too long")
    connection.sendall(len(data).to_bytes(4, "little") + data)


def _receive(connection: socket.socket) -> Any:
    """Return the received value; None for a heartbeat."""
    size = int.from_bytes(_exactly(connection, 4), "little")
    if size > MAX_ANSWER_BYTES:
        raise ValueError("it is too long")
    return json.loads(_exactly(connection, size)) if size else None


def _exactly(connection: socket.socket, count: int) -> bytes:
    parts: list[bytes] = []
    while count:
        part = connection.recv(min(count, 1 << 20))
        if not part:
            raise ValueError("it ended early")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def main(arguments: list[str]) -> int:
    """Serve on the socket given as the argument; return the exit code."""
    if len(arguments) != 1:
        print("Usage: python -m annotator.core.sandbox PATH (the path of the socket)", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    try:
        serve(arguments[0])
    except OSError as error:
        print(f"The sandbox service cannot listen on {arguments[0]}: {error.strerror}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    return 0
