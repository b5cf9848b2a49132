"""What gunicorn, started in this folder, does beside what its command line says."""

import os
import time
from functools import partial
from typing import Any

from gunicorn.glogging import Logger

from annotator.config.logs import without_secrets


class AccessLog(Logger):
    """gunicorn's own, without the secrets that some addresses hold, which are also where somebody came from."""

    def atoms(self, *arguments: Any) -> dict[str, Any]:
        """What a line is put together from."""
        atoms: dict[str, Any] = super().atoms(*arguments)
        return {name: without_secrets(value) if isinstance(value, str) else value for name, value in atoms.items()}


logger_class = AccessLog

#: Seconds that the processes of a new version have to load.
LOAD_SECONDS = 120


def post_worker_init(worker: Any) -> None:
    """Say that this process has loaded the application, on the file that it shares with the one that started it."""
    os.fchmod(worker.tmp.fileno(), 0o700)


def on_reload(server: Any) -> None:
    """At HUP, let the processes that serve go on until the new ones can: nobody waits while these load."""
    server.manage_workers = partial(_change_over, server, server.worker_age)


def _change_over(server: Any, last: int) -> None:
    """What gunicorn does once it has started the new ones, after ``last``: it ends the others."""
    del server.manage_workers
    end = time.monotonic() + LOAD_SECONDS
    while time.monotonic() < end:
        new = [worker for worker in server.WORKERS.values() if worker.age > last]
        if all(os.fstat(worker.tmp.fileno()).st_mode & 0o100 for worker in new):
            break
        time.sleep(0.1)
        # Ends everything if a new process cannot start.
        server.reap_workers()
    server.manage_workers()
