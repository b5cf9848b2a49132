"""HUP to the web server: the processes that serve go on until the new ones can."""

import contextlib
import importlib.util
from pathlib import Path
from types import SimpleNamespace

from gunicorn.config import Config
from gunicorn.workers.workertmp import WorkerTmp

FILE = Path(__file__).resolve().parents[2] / "gunicorn.conf.py"


def test_who_serves_goes_on_until_the_new_processes_have_loaded(monkeypatch):
    spec = importlib.util.spec_from_file_location("gunicorn_configuration", FILE)
    configuration = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(configuration)
    done = []

    class Server:
        worker_age = 2

        def manage_workers(self):
            done.append("old ones end")

        def reap_workers(self):
            if unready:
                configuration.post_worker_init(unready.pop())
                done.append("one has loaded")

    with contextlib.ExitStack() as stack:
        workers = [
            SimpleNamespace(age=age, tmp=stack.enter_context(contextlib.closing(WorkerTmp(Config()))))
            for age in range(1, 5)
        ]
        unready = workers[2:]
        server = Server()
        server.WORKERS = dict(enumerate(workers[:2]))
        monkeypatch.setattr(configuration.time, "sleep", lambda seconds: None)
        configuration.on_reload(server)
        server.WORKERS = dict(enumerate(workers))
        server.manage_workers()
        assert done == ["one has loaded", "one has loaded", "old ones end"]
        # From here on it is gunicorn's own again.
        server.manage_workers()
        assert done[3:] == ["old ones end"]
