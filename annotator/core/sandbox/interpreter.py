"""The prepared interpreter as its host sees it: start it, ask it for children, and hear how they ended."""

import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from annotator.core.sandbox.results import Limits, SandboxUnavailable

#: Seconds for the interpreter to start, and for the report of a child's end after its own time limit.
READY, GRACE = 15.0, 3.0
FOLDER = Path(__file__).resolve().parent
_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); from inside.zygote import main; main(int(sys.argv[2]), sys.argv[3])"
)
#: Protection in addition to the filter, if the machine allows it.
LAYERS = ("user", "namespaces", "root", "landlock")


class Interpreter:
    """One prepared interpreter, started when first needed and restarted after it died. Has one child at a time.

    ``layers``: protection to try in addition to the filter, which is enough without it. ``hash_seed`` decides the order
    of sets of texts.
    """

    def __init__(self, *, layers: Iterable[str] = LAYERS, hash_seed: int = 0) -> None:
        self._wanted = ",".join(layers)
        self._hash_seed = hash_seed
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        #: The protection that the running interpreter has.
        self.layers: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

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
                    # No site packages, and no working folder on the path.
                    [sys.executable, "-s", "-S", "-P", "-c", _START, str(FOLDER), str(theirs.fileno()), self._wanted],
                    env={
                        "PYTHONHASHSEED": str(self._hash_seed),
                        "PYTHONDONTWRITEBYTECODE": "1",
                        # Local time is the same on every machine.
                        "TZ": "UTC0",
                    },
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
        word = self.next_message(READY)
        if word is None or not word.get("ready"):
            self.close()
            why = f": {word['why']}" if word else ""
            raise SandboxUnavailable(f"The sandbox could not isolate itself, so no code runs{why}.")
        self.layers = word["layers"]

    def walls(self) -> list[str]:
        """Start the interpreter; return what isolates it: the filter, and those of ``LAYERS`` that the machine allows.

        Raises SandboxUnavailable.
        """
        self.start()
        return ["filter", *self.layers]

    def open_child(self, limits: Limits) -> socket.socket:
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

    def stop_child(self) -> None:
        """Tell the prepared interpreter to stop the child."""
        if self._control is not None:
            with contextlib.suppress(OSError):
                self._control.send(b"enough")

    def next_message(self, seconds: float) -> dict[str, Any] | None:
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
