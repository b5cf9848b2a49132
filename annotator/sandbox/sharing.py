"""The sandbox of this process: one for each worker, started after its own fork, or a service named in the settings."""

import atexit
import os
import threading

from annotator.sandbox.host import Sandbox

_lock = threading.Lock()
_sandboxes: dict[int, Sandbox] = {}


def shared_sandbox() -> Sandbox:
    """This process's sandbox. A forked child never uses its parent's: their answers would mix."""
    me = os.getpid()
    with _lock:
        if me not in _sandboxes:
            _sandboxes.clear()
            _sandboxes[me] = Sandbox()
            atexit.register(_sandboxes[me].close)
        return _sandboxes[me]
