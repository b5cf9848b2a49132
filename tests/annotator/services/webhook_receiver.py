"""A local receiver of webhooks whose answers are scripted."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from annotator.models import Project, User, Webhook
from annotator.services.webhooks.hooks import add_webhook

#: A status, or a function that writes the response itself.
Answer = int | Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Keeps each request, and answers with the next answer of the script; the last one is repeated."""

    def do_POST(self) -> None:
        server = self.server
        assert isinstance(server, Receiver)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with server.lock:
            server.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
            answer = server.script.pop(0) if len(server.script) > 1 else server.script[0]
        if callable(answer):
            answer(self)
        else:
            self.answer(answer)

    def answer(self, status: int, content: bytes = b"thanks", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


class Receiver(ThreadingHTTPServer):
    """``got`` are the headers and bodies of all requests."""

    daemon_threads = True

    def __init__(self, script: list[Answer]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.got, self.lock = script, [], threading.Lock()
        #: Ends answers that hang.
        self.over = threading.Event()

    def handle_error(self, *_: Any) -> None:
        """Say nothing about connections that the sender has cut."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook?key=1"

    @property
    def ids(self) -> list[str]:
        return [headers["webhook-id"] for headers, _body in self.got]


@contextmanager
def receiving(*script: Answer) -> Iterator[Receiver]:
    server = Receiver(list(script) or [204])
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def hook_to(receiver: Receiver, project: Project, person: User, *events: str) -> tuple[Webhook, str]:
    """Add a webhook that sends to the receiver; returns it and its secret."""
    chosen = events or ("dialogue.verified",)
    return add_webhook(actor=person, project=project, url=receiver.url, events=chosen, description="Receiver")
