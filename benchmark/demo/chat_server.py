"""A local server with the OpenAI chat API whose answers are scripted, for the demo and for tests."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: What a script returns: a message, or a function that writes the response itself.
Answer = dict[str, Any] | Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Keeps each request, and answers as the server's script says."""

    protocol_version = "HTTP/1.1"
    #: Head and body are sent at once; otherwise the body waits 40 ms for the client to acknowledge the head.
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        assert isinstance(server, ChatServer)  # noqa: S101 - which else
        with server.lock:
            server.asked.append(body)
            server.headers.append({name.lower(): value for name, value in self.headers.items()})
        self.body = body
        answer = server.script(body)
        if callable(answer):
            answer(self)
        elif body.get("stream"):
            self.stream(answer)
        else:
            self.json(200, completion(body, answer))

    def json(self, status: int, content: Any, **headers: str) -> None:
        self.send(status, json.dumps(content).encode(), "application/json", **headers)

    def send(self, status: int, content: bytes, content_type: str, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def stream(self, message: dict[str, Any]) -> None:
        """Send a message in pieces, as server-sent events."""
        self.begin_stream()
        calls = [{"index": place, **call} for place, call in enumerate(message.get("tool_calls") or ())]
        pieces: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        pieces += [{"content": letter} for letter in message.get("content") or ""]
        for call in calls:
            arguments = call["function"]["arguments"]
            pieces.append({"tool_calls": [{**call, "function": {**call["function"], "arguments": ""}}]})
            pieces += [
                {"tool_calls": [{"index": call["index"], "function": {"arguments": part}}]}
                for part in (arguments[:3], arguments[3:])
            ]
        for piece in pieces:
            self.event(chunk(self.body, piece))
        self.event(chunk(self.body, {}, finish_reason="stop"))
        self.event({**chunk(self.body, {}), "choices": [], "usage": USAGE})
        self.wfile.write(b"data: [DONE]\n\n")

    def begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def event(self, content: Any) -> None:
        self.wfile.write(f"data: {json.dumps(content)}\n\n".encode())

    def log_message(self, *_: Any) -> None:
        pass


USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def completion(body: dict[str, Any], message: dict[str, Any], **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": None, **message}}
    return {
        "id": "x", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice],
        "usage": USAGE, **more,
    }  # fmt: skip


def chunk(body: dict[str, Any], delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {
        "id": "x", "object": "chat.completion.chunk", "created": 0, "model": body["model"],
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
    }  # fmt: skip


def said(text: str) -> dict[str, Any]:
    return {"content": text}


def called(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "tool_calls": [
            {"id": f"c{place}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for place, (name, arguments) in enumerate(calls)
        ]
    }


class ChatServer(ThreadingHTTPServer):
    """``asked`` are the bodies of all requests, ``headers`` their headers."""

    daemon_threads = True

    def __init__(self, script: Callable[[dict[str, Any]], Answer]) -> None:
        # A free port.
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = script
        self.lock = threading.Lock()
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, *_: Any) -> None:
        """The client may close the connection at any time."""


@contextmanager
def serving(script: Callable[[dict[str, Any]], Answer]) -> Iterator[ChatServer]:
    with ChatServer(script) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
