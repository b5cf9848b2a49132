"""The sandbox of this process: the configured service, or one for each worker, started after its fork."""

import atexit
import os
import threading

from annotator.core.sandbox.host import Sandbox
from annotator.core.sandbox.service import RemoteSandbox

_lock = threading.Lock()
_sandboxes: dict[int, Sandbox] = {}


def shared_sandbox() -> Sandbox | RemoteSandbox:
    """Return the service at the socket that ASSAY_SANDBOX names, else this process's own sandbox.

    A forked child never uses its parent's sandbox, because their answers would mix.
    """
    path = os.environ.get("ASSAY_SANDBOX")
    if path:
        return RemoteSandbox(path)
    me = os.getpid()
    with _lock:
        if me not in _sandboxes:
            _sandboxes.clear()
            _sandboxes[me] = Sandbox()
            atexit.register(_sandboxes[me].close)
        return _sandboxes[me]


def walls_in_force() -> list[str]:
    """Return what isolates untrusted code of this process (``Interpreter.walls``). Raises SandboxUnavailable.

    Its own sandbox is another one than the shared one, and ends at once: a parent must not keep what its children use.
    """
    path = os.environ.get("ASSAY_SANDBOX")
    if path:
        return RemoteSandbox(path).walls()
    with Sandbox() as sandbox:
        return sandbox.walls()
