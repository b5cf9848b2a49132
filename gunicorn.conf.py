"""Settings of gunicorn, in addition to its command line."""

import os
import time
from functools import partial
from typing import Any

from gunicorn.glogging import Logger

from annotator.config.logs import hide_secrets


class AccessLog(Logger):
    """gunicorn's access log without the secrets in addresses and referrers."""

    def atoms(self, *arguments: Any) -> dict[str, Any]:
        """Return the parts of a log line."""
        atoms: dict[str, Any] = super().atoms(*arguments)
        return {name: hide_secrets(value) if isinstance(value, str) else value for name, value in atoms.items()}


logger_class = AccessLog

#: Maximum seconds for new processes to load after a reload.
LOAD_SECONDS = 120


def post_worker_init(worker: Any) -> None:
    """Tell the main process that this one has loaded the application, through the mode of their shared file."""
    os.fchmod(worker.tmp.fileno(), 0o700)


def on_reload(server: Any) -> None:
    """On HUP, keep the old processes until the new ones have loaded, so that nobody waits."""
    server.manage_workers = partial(_replace_workers, server, server.worker_age)


def _replace_workers(server: Any, last: int) -> None:
    """Wait until all processes newer than ``last`` have loaded; then stop the older ones."""
    del server.manage_workers
    end = time.monotonic() + LOAD_SECONDS
    while time.monotonic() < end:
        new = [worker for worker in server.WORKERS.values() if worker.age > last]
        if all(os.fstat(worker.tmp.fileno()).st_mode & 0o100 for worker in new):
            break
        time.sleep(0.1)
        # Stops gunicorn if a new process fails to start.
        server.reap_workers()
    server.manage_workers()
