"""The sandbox as a service of its own: a server on a Unix socket, and what speaks with it.

    python -m annotator.core.sandbox /run/assay/sandbox.socket

For containers: the workers' own processes then never start an interpreter for untrusted code. One request and one
answer a connection, each four bytes of length (little endian) and JSON. A few are served at once, the others wait; a
length of nothing now and then, before an answer, says that the service lives.
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

#: Bytes of a request or an answer.
MAX_ANSWER_BYTES = 64 << 20
#: Prepared interpreters, started as they are needed: code that hangs keeps one busy, not everybody. The container's
#: memory limit holds as many at their largest.
AT_ONCE = 3
#: Seconds a client may take to send, or to fetch its answer.
PATIENCE = 30.0
#: Seconds between the signs that the service gives while an answer is under way, and without one of them, or for a
#: connection, until a client gives up. A job that waits has to say that it lives (``annotator.services.jobs.jobs``).
SIGN, SILENCE, CONNECT = 2.0, 10.0, 2.0
#: Seconds a client waits beyond what its calls may take: an interpreter starts, the batches of others come first.
MARGIN = 15.0

_NOTHING = bytes(4)

Free = queue.LifoQueue[Sandbox]


class RemoteSandbox:
    """The same as ``Sandbox``, run by a service."""

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
        """See ``Sandbox.run``. Raises SandboxUnavailable, too, when the service cannot be reached, or falls silent."""
        limits = limits or Limits()
        # Once the calls may begin no more, up to three children end: one for the first call, two for a batch.
        until = time.monotonic() + limits.total + 3 * limits.wall + MARGIN
        request = {
            "source": source,
            "function": function,
            "calls": [asdict(call) for call in calls],
            "expected": expected,
            "limits": asdict(limits),
        }
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(CONNECT)
                connection.connect(self.path)
                connection.settimeout(SILENCE)
                _send(connection, request)
                while (answer := _receive(connection)) is None:
                    if time.monotonic() > until:
                        raise SandboxUnavailable("The sandbox service is busy. Try again later.")
        except TimeoutError:
            words = f"The sandbox service has not responded for {SILENCE:g} seconds. Restart it."
            raise SandboxUnavailable(words) from None
        except (OSError, ValueError) as error:
            raise SandboxUnavailable(f"The sandbox service does not answer ({error}); is it running?") from None
        if "unavailable" in answer:
            raise SandboxUnavailable(answer["unavailable"])
        return [CallResult(**{**one, "status": Status(one["status"])}) for one in answer["results"]]

    def close(self) -> None:
        """Nothing is kept open."""


def serve(path: str) -> None:
    """Answer on a Unix socket until told to stop. Raises OSError where the socket cannot be made."""
    with contextlib.suppress(FileNotFoundError):
        Path(path).unlink()
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        # The one that was used last comes first: the others need not be started.
        free: Free = queue.LifoQueue()
        for _ in range(AT_ONCE):
            free.put(stack.enter_context(Sandbox()))
        listener.bind(path)
        # Whoever may enter the folder may ask; the folder is the workers' and ours.
        os.chmod(path, 0o666)  # noqa: S103
        listener.listen(64)
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=_answer, args=(free, connection), daemon=True).start()


def _answer(free: Free, connection: socket.socket) -> None:
    with connection, contextlib.suppress(OSError):
        connection.settimeout(PATIENCE)
        try:
            request = _receive(connection)
            with _signs(connection):
                answer = _run(free, request)
        except (ValueError, TypeError, KeyError) as error:
            answer = {"unavailable": f"The sandbox service did not understand the request ({error})."}
        try:
            _send(connection, answer)
        except ValueError:
            words = f"The results have more than {MAX_ANSWER_BYTES >> 20} MiB in total. Send fewer calls at a time."
            _send(connection, {"unavailable": words})


@contextlib.contextmanager
def _signs(connection: socket.socket) -> Iterator[None]:
    """Say now and then, as long as the block lasts, that the answer is under way."""
    over = threading.Event()

    def tell() -> None:
        with contextlib.suppress(OSError):
            while not over.wait(SIGN):
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
        results = sandbox.run(
            request["source"],
            request["function"],
            [Call(tuple(call["args"]), call["kwargs"]) for call in request["calls"]],
            expected=Expected(request["expected"]),
            limits=Limits(**request["limits"]),
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
    """The value that comes; None for a sign of life."""
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
    """Serve on the socket that is named."""
    if len(arguments) != 1:
        print("Name the socket: python -m annotator.core.sandbox PATH", file=sys.stderr)
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
