"""Small servers on localhost in place of S3, the Hugging Face Hub and a git host."""

import base64
import hashlib
import json
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote

TOKEN = "hf_secret-0123456789abcdef"


class Server(ThreadingHTTPServer):
    """What the handlers share: stored files, requests, and how the server misbehaves."""

    daemon_threads = True

    def __init__(self, handler: type["Handler"]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.address = f"http://127.0.0.1:{self.server_address[1]}"
        self.objects: dict[str, tuple[bytes, str]] = {}
        self.revisions: dict[str, dict[str, bytes]] = {}
        self.large: dict[str, bytes] = {}
        self.seen: list[tuple[str, str]] = []
        self.tokens: set[str] = set()
        self.failures: list[int] = []
        self.redirect = ""
        self.damage = ""
        self.stop_at = 0
        self.stopped = threading.Event()
        self.root = Path()

    def sent(self, method: str) -> list[str]:
        return [path for one, path in self.seen if one == method]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_: Any) -> None:
        """Stay quiet."""

    def handle_one(self) -> None:
        self.path, _, self.query = self.path.partition("?")
        self.path = unquote(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        self.server.seen.append((self.command, self.path))
        self.server.tokens.add(self.headers.get("Authorization", ""))
        if self.server.redirect:
            self.answer(302, b"", {"Location": self.server.redirect + self.path})
        elif self.server.failures:
            self.answer(self.server.failures.pop(0), b"")
        else:
            self.act(body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_one

    def act(self, body: bytes) -> None:
        raise NotImplementedError

    def answer(self, status: int, body: bytes | dict[str, Any] | list[Any] = b"", headers: Any = ()) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        if "Content-Length" not in dict(headers):
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


class Bucket(Handler):
    """Objects with their metadata."""

    def act(self, body: bytes) -> None:
        server = self.server
        if self.command == "PUT":
            if server.stop_at and len(server.sent("PUT")) >= server.stop_at:
                server.stopped.set()
                threading.Event().wait(20)
                return
            if server.damage and self.path.endswith(server.damage):
                body = b"?" + body[1:]
            server.objects[self.path] = (body, self.headers.get("x-amz-meta-assay-sha256", ""))
            self.answer(200, b"", {"ETag": f'"{hashlib.md5(body).hexdigest()}"'})  # noqa: S324 - as S3 does
        elif self.command == "DELETE":
            server.objects.pop(self.path, None)
            self.answer(204)
        elif self.path in server.objects:
            content, known = server.objects[self.path]
            headers = {"x-amz-meta-assay-sha256": known, "ETag": '"e"', "Content-Length": str(len(content))}
            self.answer(200, content, headers)
        else:
            self.answer(404)


class Hub(Handler):
    """The endpoints that a commit with large files uses. ``items.jsonl`` counts as large."""

    def act(self, body: bytes) -> None:
        server, path = self.server, self.path
        data = json.loads(body) if body.startswith(b"{") and "/commit/" not in path else {}
        if path.startswith("/large/"):
            server.large[path.removeprefix("/large/")] = body
            self.answer(200)
        elif path == "/api/repos/create":
            known = "main" in server.revisions
            server.revisions.setdefault("main", {".gitattributes": b""})
            self.answer(409 if known else 200, {"url": f"{server.address}/datasets/me/set"})
        elif "/tree/" in path:
            revision = path.partition("/tree/")[2]
            if revision in server.revisions:
                self.answer(200, [_entry(name, content) for name, content in server.revisions[revision].items()])
            else:
                code = "RevisionNotFound" if server.revisions else "RepoNotFound"
                self.answer(404, {"error": "none"}, {"X-Error-Code": code})
        elif "/preupload/" in path:
            modes = [
                {"path": one["path"], "uploadMode": "lfs" if "items" in one["path"] else "regular",
                 "shouldIgnore": False, "oid": None}
                for one in data["files"]
            ]  # fmt: skip
            self.answer(200, {"files": modes})
        elif path.endswith("/info/lfs/objects/batch"):
            objects = [
                one if one["oid"] in server.large
                else one | {"actions": {"upload": {"href": f"{server.address}/large/{one['oid']}"}}}
                for one in data["objects"]
            ]  # fmt: skip
            self.answer(200, {"transfer": "basic", "objects": objects})
        elif "/commit/" in path:
            self._commit([json.loads(line) for line in body.splitlines()])
        elif "/tag/" in path:
            server.revisions[data["tag"]] = dict(server.revisions["main"])
            self.answer(200, {})
        else:
            self.answer(200, {})

    def _commit(self, operations: list[Any]) -> None:
        main = self.server.revisions["main"]
        for each in operations:
            value = each["value"]
            if each["key"] == "file":
                main[value["path"]] = base64.b64decode(value["content"])
            elif each["key"] == "lfsFile":
                main[value["path"]] = self.server.large[value["oid"]]
            elif each["key"] == "deletedFile":
                main.pop(value["path"])
            if self.server.damage and value.get("path") == self.server.damage:
                main[value["path"]] += b"?"
        url = f"{self.server.address}/datasets/me/set/commit/{'a' * 40}"
        self.answer(200, {"commitUrl": url, "commitOid": "a" * 40, "success": True})


def _entry(name: str, content: bytes) -> dict[str, Any]:
    blob = hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()  # noqa: S324 - as git does
    entry: dict[str, Any] = {"type": "file", "path": name, "size": len(content), "oid": blob}
    if "items" in name:
        sha256 = hashlib.sha256(content).hexdigest()
        entry["lfs"] = {"oid": sha256, "size": len(content), "pointerSize": 130}
    return entry


class GitHost(Handler):
    """Bare repositories over HTTP, through ``git http-backend``, for one token."""

    due: ClassVar[str] = "Basic " + base64.b64encode(f"git:{TOKEN}".encode()).decode()

    def act(self, body: bytes) -> None:
        if self.headers.get("Authorization") != self.due:
            self.answer(401, b"", {"WWW-Authenticate": 'Basic realm="git"'})
            return
        environment = os.environ | {
            "GIT_PROJECT_ROOT": str(self.server.root), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": self.path,
            "QUERY_STRING": self.query, "REQUEST_METHOD": self.command, "REMOTE_USER": "git",
            "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "HTTP_GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }  # fmt: skip
        done = subprocess.run(["git", "http-backend"], env=environment, input=body, capture_output=True, check=True)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.answer(int(headers.pop("Status", "200").split()[0]), content, headers)
