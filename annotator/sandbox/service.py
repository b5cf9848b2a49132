"""The sandbox as a service of its own: a server on a Unix socket, and what speaks with it.

    python -m annotator.sandbox /run/assay/sandbox.socket

For containers: the workers' own processes then never start an interpreter for strangers' code. One request and one
answer a connection, each four bytes of length (little endian) and JSON. A few are served at once, the others wait.
"""

import contextlib
import json
import os
import queue
import signal
import socket
import sys
import threading
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from annotator.sandbox.host import Sandbox
from annotator.sandbox.results import Call, CallResult, Expected, Limits, SandboxUnavailable, Status

#: Bytes of a request or an answer.
MOST = 64 << 20
#: Prepared interpreters, started as they are needed: code that hangs keeps one busy, not everybody. The container's
#: memory limit holds as many at their largest.
AT_ONCE = 3
#: Seconds a client may take to send, or to fetch its answer.
PATIENCE = 30.0
#: Seconds a client waits for its answer: the batches of others come first.
WAIT = 600.0

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
        """See ``Sandbox.run``. Raises SandboxUnavailable, too, when the service cannot be reached."""
        request = {
            "source": source,
            "function": function,
            "calls": [asdict(call) for call in calls],
            "expected": expected,
            "limits": asdict(limits or Limits()),
        }
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(WAIT)
                connection.connect(self.path)
                _send(connection, request)
                answer = _receive(connection)
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
            answer = _run(free, _receive(connection))
        except (ValueError, TypeError, KeyError) as error:
            answer = {"unavailable": f"The sandbox service did not understand the request ({error})."}
        try:
            _send(connection, answer)
        except ValueError:
            words = f"What the code answered has more than {MOST >> 20} MiB in all; ask it less at once."
            _send(connection, {"unavailable": words})


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
    if len(data) > MOST:
        raise ValueError("it is too long")
    connection.sendall(len(data).to_bytes(4, "little") + data)


def _receive(connection: socket.socket) -> Any:
    size = int.from_bytes(_exactly(connection, 4), "little")
    if size > MOST:
        raise ValueError("it is too long")
    return json.loads(_exactly(connection, size))


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
        print("Name the socket: python -m annotator.sandbox PATH", file=sys.stderr)
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
