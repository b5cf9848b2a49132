"""A gunicorn worker that buffers requests, so that slow clients do not occupy threads, even without a proxy.

gunicorn's threaded worker gives a connection a thread as soon as it sends something. This one reads the request in the
main loop, and gives it a thread when it is complete, or when the first part of a large one has arrived. This helps
behind a proxy too, which opens connections that it does not use.
One person gets at most half of the threads; their other requests wait in the main loop.
Written for gunicorn 27, where ``enqueue_req`` assigns a thread.
"""

import contextlib
import errno
import logging
import math
import re
import selectors
import socket
import time
from collections import Counter, defaultdict, deque
from functools import partial
from typing import Any

from gunicorn.http import get_parser
from gunicorn.workers.gthread import STOP_KEEPALIVE_LINGER, ThreadWorker

#: Seconds in which the head and the body of a request must arrive.
HEAD_SECONDS, BODY_SECONDS = 10.0, 600.0
#: Bytes of a head, and bytes of a body to buffer before a thread continues.
MAX_HEAD, MAX_BODY = 2**16, 10 * 10**6
#: Connections that may send at the same time, and buffered bytes. Beyond that, the oldest connection is closed.
MAX_CONNECTIONS, MAX_BUFFERED = 500, 100 * 10**6
#: Seconds that a thread waits until a client reads the next chunk of a response, or sends more of a large body.
STALLED_SECONDS = 20
#: Bytes of a chunk. Slower clients are disconnected.
CHUNK = 2**16
#: Bytes after which a response is large, and seconds that a thread then waits for the next chunk: a proxy buffers that
#: much for a slow client and takes no more until the client has read it. ``annotator.views.request_limits`` limits how
#: many there are.
LARGE_RESPONSE, LARGE_RESPONSE_SECONDS = 4 * 10**6, 600
#: Seconds to wait until the client closes its end of a connection, so that the end of the response arrives.
CLOSING_SECONDS = 2
#: Requests of one person that may wait for a thread (``annotator.views.request_limits`` may refuse further ones), and
#: sessions and tokens whose owner is remembered.
MAX_WAITING, MAX_KNOWN = 50, 10_000

_LOG = logging.getLogger(__name__)

_TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)[ \t]*\r\n", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:", re.IGNORECASE)
_CREDENTIAL = re.compile(
    rb"\r\n(?:cookie:(?:[^\r\n]*?;)?[ \t]*sessionid=([^;\s]+)|authorization:[ \t]*bearer[ \t]+(\S+))", re.IGNORECASE
)
_EXPECT = re.compile(rb"\r\nexpect:[ \t]*100-continue", re.IGNORECASE)


class _TimedSocket(socket.socket):
    """A socket with a timeout for each chunk that is sent. Python applies a timeout to everything sent in one call."""

    #: Bytes sent of a response.
    _sent = 0
    #: The session or token that came with the request.
    credential = b""

    def setblocking(self, flag: bool) -> None:
        # gunicorn calls this before each request too.
        self._sent = 0
        self.settimeout(STALLED_SECONDS if flag else 0)

    def sendall(self, data: Any, flags: int = 0) -> None:
        view = memoryview(data)
        for start in range(0, len(view), CHUNK):
            chunk = view[start : start + CHUNK]
            try:
                super().sendall(chunk, flags)
            except TimeoutError:
                _LOG.warning("Disconnected a client that read less than %s bytes in %s s.", CHUNK, self.gettimeout())
                # gunicorn logs no traceback for this error.
                raise ConnectionResetError(errno.ECONNRESET, "given up") from None
            self._sent += len(chunk)
            if self._sent > LARGE_RESPONSE:
                self.settimeout(LARGE_RESPONSE_SECONDS)

    def sendfile(self, file: Any, offset: int = 0, count: int | None = None) -> int:
        file.seek(offset)
        sent = 0
        while block := file.read(CHUNK if count is None else min(CHUNK, count - sent)):
            self.sendall(block)
            sent += len(block)
        return sent


class _IncomingRequest:
    """The part of a request that has arrived."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.until = time.monotonic() + HEAD_SECONDS
        #: Where the body begins; 0 until the head is complete.
        self.body = 0
        self.body_length = 0
        self.chunked = False

    def take(self, data: bytes) -> bool:
        """Add data. Return whether the head is complete now."""
        seen = max(0, len(self.data) - 3)
        self.data += data
        if self.body:
            return False
        end = self.data.find(b"\r\n\r\n", seen)
        if end < 0:
            return False
        self.body = end + 4
        head = bytes(self.data[: self.body])
        length = _LENGTH.search(head)
        # The first 18 digits are enough. gunicorn accepts leading zeros.
        self.body_length = min(int(length[1].lstrip(b"0")[:18] or 0), MAX_BODY) if length else 0
        self.chunked = _CHUNKED.search(head) is not None
        self.until = time.monotonic() + BODY_SECONDS
        return True

    @property
    def complete(self) -> bool:
        """Whether a thread can continue with it."""
        if not self.body:
            return False
        arrived = len(self.data) - self.body
        if self.chunked:
            return arrived >= MAX_BODY or self.data.endswith(b"0\r\n\r\n")
        return arrived >= self.body_length

    @property
    def too_long(self) -> bool:
        """Whether the head is too long. gunicorn would wait for its end in a thread."""
        return not self.body and len(self.data) > MAX_HEAD


class BufferingWorker(ThreadWorker):
    """gunicorn's threaded worker, which buffers each request before it assigns a thread."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._incoming: dict[Any, _IncomingRequest] = {}
        self._buffered_bytes = 0
        self._closing: dict[Any, float] = {}
        #: Session or token → its owner, from the application. Before that is known, each counts as a person.
        self._owners: dict[bytes, int] = {}
        #: Connection with a thread → its sender. Sender → number of threads, and connections that wait for one.
        self._senders: dict[Any, int | bytes] = {}
        self._active: Counter[int | bytes] = Counter()
        self._waiting: dict[int | bytes, deque[Any]] = defaultdict(deque)
        #: When idle connections are closed; finite once the worker is stopping.
        self._idle_until = math.inf

    def load_wsgi(self) -> None:
        """Wrap the application: it receives the number of threads and returns the owner of a session or token."""
        super().load_wsgi()
        self.wsgi: Any = partial(self._call_application, self.wsgi)

    def _call_application(self, application: Any, environ: dict[str, Any], start_response: Any) -> Any:
        environ["assay.threads"] = self.cfg.threads
        response = application(environ, start_response)
        credential = environ["gunicorn.socket"].credential
        if credential and "assay.person" in environ:
            if len(self._owners) >= MAX_KNOWN:
                self._owners.clear()
            self._owners[credential] = environ["assay.person"]
        return response

    def enqueue_req(self, conn: Any) -> None:
        """Wait for the next request of a connection. Runs in the main thread only."""
        if not isinstance(conn.sock, _TimedSocket):
            conn.sock = _TimedSocket(fileno=conn.sock.detach())
        self._incoming[conn] = request = _IncomingRequest()
        conn.sock.setblocking(False)
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._receive, conn))
        # A thread may have read the beginning of the next request.
        begun = conn.parser.unreader.take_buffered() if conn.parser is not None else b""
        if begun:
            self._take(conn, request, begun)
        while len(self._incoming) > MAX_CONNECTIONS or self._buffered_bytes > MAX_BUFFERED:
            self._drop(next(iter(self._incoming)))

    def _receive(self, conn: Any, _socket: Any) -> None:
        request = self._incoming.get(conn)
        if request is None:
            # Another connection's event closed it in this round of the loop.
            return
        try:
            data = conn.sock.recv(2**18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._take(conn, request, data)
        else:
            self._drop(conn)
        while self._buffered_bytes > MAX_BUFFERED:
            self._drop(next(iter(self._incoming)))

    def _take(self, conn: Any, request: _IncomingRequest, data: bytes) -> None:
        self._buffered_bytes += len(data)
        ended = request.take(data)
        if request.complete:
            self._dispatch_request(conn)
        elif request.too_long:
            self._stop_receiving(conn)
            with contextlib.suppress(OSError):
                conn.sock.send(_TOO_LONG)
            self._close_gracefully(conn)
        elif ended and _EXPECT.search(bytes(request.data[: request.body])):
            # The client waits for this before it sends the body.
            with contextlib.suppress(OSError):
                conn.sock.send(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _dispatch_request(self, conn: Any) -> None:
        request = self._stop_receiving(conn)
        data = bytes(request.data)
        if conn.parser is None:
            conn.parser = get_parser(conn.cfg, conn.sock, conn.client)
        conn.parser.unreader.unread(data)
        conn.data_ready = True
        found = _CREDENTIAL.search(data, 0, request.body)
        # A proxy sends requests of different people on one connection.
        conn.sock.credential = credential = (found[1] or found[2]) if found else b""
        sender = self._owners.get(credential, credential)
        if not credential:
            super().enqueue_req(conn)
        elif self._active[sender] >= self._thread_limit(sender) and len(self._waiting[sender]) < MAX_WAITING:
            self._waiting[sender].append(conn)
        else:
            self._assign_thread(sender, conn)

    def _thread_limit(self, sender: int | bytes) -> int:
        """Return how many threads a sender may have: one while the owner of a session is unknown."""
        return max(1, self.cfg.threads // 2) if isinstance(sender, int) else 1

    def _assign_thread(self, sender: int | bytes, conn: Any) -> None:
        self._active[sender] += 1
        self._senders[conn] = sender
        super().enqueue_req(conn)

    def _start_next(self, sender: int | bytes) -> None:
        """Assign the thread of an answered request to the sender's next request."""
        self._active[sender] -= 1
        waiting = self._waiting.pop(sender, None)
        if waiting:
            self._waiting[sender] = waiting
            if self._active[sender] < self._thread_limit(sender):
                self._assign_thread(sender, waiting.popleft())
        elif not self._active[sender]:
            del self._active[sender]

    def finish_request(self, conn: Any, fs: Any) -> None:
        """Keep or close a connection, without blocking the main thread as gunicorn does."""
        if conn in self._senders:
            self._start_next(self._senders.pop(conn))
        if fs.cancelled() or fs.exception() or fs.result():
            super().finish_request(conn, fs)
        else:
            self._close_gracefully(conn)

    def handle_request(self, req: Any, conn: Any) -> Any:
        """Answer a request. If it is incomplete, say that the connection closes; otherwise a proxy would send the next
        request on it and return 502 to its sender."""
        left = getattr(req.body.reader, "length", math.inf)
        if left > conn.parser.unreader.buf.getbuffer().nbytes:
            req.force_close()
        return super().handle_request(req, conn)

    def _keepalive_after(self, conn: Any, keepalive: bool) -> bool:
        """Discard the unread body, so that the connection can be kept. (gunicorn discards up to 64 KB, and closes the
        connection if there is more.)"""
        while keepalive and conn.parser.mesg.body.read(2**20):
            pass
        return keepalive

    def _close_gracefully(self, conn: Any) -> None:
        conn.sock.setblocking(False)
        self._closing[conn] = time.monotonic() + CLOSING_SECONDS
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._drain, conn))
        with contextlib.suppress(OSError):
            conn.sock.shutdown(socket.SHUT_WR)

    def _drain(self, conn: Any, _socket: Any) -> None:
        """Discard further data. Otherwise the kernel would reset the connection and the response would be lost."""
        with contextlib.suppress(BlockingIOError):
            try:
                more = conn.sock.recv(2**16)
            except ConnectionError:
                more = b""
            if not more:
                self._finish_closing(conn)

    def _finish_closing(self, conn: Any) -> None:
        self.poller.unregister(conn.sock)
        del self._closing[conn]
        self.nr_conns -= 1
        conn.close()

    def murder_pending(self) -> None:
        """Close connections whose request has not arrived in time."""
        super().murder_pending()
        now = time.monotonic()
        for conn in [conn for conn, until in self._closing.items() if until < now]:
            self._finish_closing(conn)
        if not self.alive:
            # Still answer requests that are arriving; otherwise a proxy would return 502. gunicorn waits as long for
            # kept connections, and at most ``graceful_timeout`` in total.
            self._idle_until = min(self._idle_until, now + STOP_KEEPALIVE_LINGER)
        for conn, request in list(self._incoming.items()):
            if request.until < now or (self._idle_until < now and not request.data):
                self._drop(conn)

    def _drop(self, conn: Any) -> None:
        self._stop_receiving(conn)
        self.nr_conns -= 1
        conn.close()

    def _stop_receiving(self, conn: Any) -> _IncomingRequest:
        self.poller.unregister(conn.sock)
        request = self._incoming.pop(conn)
        self._buffered_bytes -= len(request.data)
        return request
