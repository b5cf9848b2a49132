"""A gunicorn worker that needs no proxy: slow senders do not occupy threads.

gunicorn's threaded worker gives a thread to each connection that has started to send. Here the loop that waits for
connections also receives requests, and passes them to a thread when they are complete; of a large one, the beginning.
(This helps behind a proxy too: under load, a proxy opens connections that it then does not use.) One person gets at
most half of the threads; their further requests wait in the loop. This depends on gunicorn 27, where ``enqueue_req`` is
the method that takes a thread.
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

#: Seconds for the head of a request, and for its body.
HEAD_SECONDS, BODY_SECONDS = 10.0, 600.0
#: Limits in bytes: of a head, and of what is received of a body before a thread continues.
MAX_HEAD, MAX_BODY = 2**16, 10 * 10**6
#: How many connections may be sending at the same time, and how many bytes they may have sent. Beyond either limit, the
#: connection that has been sending longest is closed.
MAX_CONNECTIONS, MAX_BUFFERED = 500, 100 * 10**6
#: Seconds that a thread waits for a client to accept the next piece of a response, or to send more of a large body.
STALLED_SECONDS = 20
#: Bytes of such a piece. Slower clients are disconnected.
PIECE = 2**16
#: Bytes after which a response counts as large; only a few of these are sent at the same time
#: (``annotator.views.capacity``). Also the seconds that a thread then waits: a proxy accepts this much for a slow
#: reader, and no more until that has been read.
LARGE, LARGE_SECONDS = 4 * 10**6, 600
#: Seconds that a client gets to close a finished connection, so that the end of the response arrives.
LEAVING_SECONDS = 2
#: How many requests of one person may wait for a thread; further ones proceed, and are refused if the person uses
#: nearly all threads (``annotator.views.capacity``). Also how many sessions and tokens are remembered with their
#: owners.
MAX_WAITING, MAX_KNOWN = 50, 10_000

_LOG = logging.getLogger(__name__)

_TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)[ \t]*\r\n", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:", re.IGNORECASE)
_WHO = re.compile(
    rb"\r\n(?:cookie:(?:[^\r\n]*?;)?[ \t]*sessionid=([^;\s]+)|authorization:[ \t]*bearer[ \t]+(\S+))", re.IGNORECASE
)
_EXPECT = re.compile(rb"\r\nexpect:[ \t]*100-continue", re.IGNORECASE)


class _Socket(socket.socket):
    """A connection on which no thread waits for ever. Python would apply a timeout to a whole response."""

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
        for start in range(0, len(view), PIECE):
            piece = view[start : start + PIECE]
            try:
                super().sendall(piece, flags)
            except TimeoutError:
                _LOG.warning(
                    "A client was disconnected because it accepted fewer than %s bytes in %s s.",
                    PIECE,
                    self.gettimeout(),
                )
                # gunicorn logs no traceback for this error.
                raise ConnectionResetError(errno.ECONNRESET, "given up") from None
            self._sent += len(piece)
            if self._sent > LARGE:
                self.settimeout(LARGE_SECONDS)

    def sendfile(self, file: Any, offset: int = 0, count: int | None = None) -> int:
        file.seek(offset)
        sent = 0
        while block := file.read(PIECE if count is None else min(PIECE, count - sent)):
            self.sendall(block)
            sent += len(block)
        return sent


class _Coming:
    """A request that is being received."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.until = time.monotonic() + HEAD_SECONDS
        #: Where the body starts; 0 until the head is complete.
        self.body = 0
        self.wanted = 0
        self.chunked = False

    def take(self, data: bytes) -> bool:
        """Add received bytes; return whether they complete the head."""
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
        # The first digits of a very long number are enough; gunicorn accepts leading zeros too.
        self.wanted = min(int(length[1].lstrip(b"0")[:18] or 0), MAX_BODY) if length else 0
        self.chunked = _CHUNKED.search(head) is not None
        self.until = time.monotonic() + BODY_SECONDS
        return True

    @property
    def complete(self) -> bool:
        """Whether a thread can continue with it."""
        if not self.body:
            return False
        there = len(self.data) - self.body
        if self.chunked:
            return there >= MAX_BODY or self.data.endswith(b"0\r\n\r\n")
        return there >= self.wanted

    @property
    def too_long(self) -> bool:
        """Whether its head is longer than the limit; gunicorn would keep waiting for its end in a thread."""
        return not self.body and len(self.data) > MAX_HEAD


class PatientWorker(ThreadWorker):
    """gunicorn's threaded worker, but it receives requests before it takes a thread."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._coming: dict[Any, _Coming] = {}
        self._held = 0
        self._leaving: dict[Any, float] = {}
        #: Session or token → its owner, as the application reported. While the owner is unknown, it counts as a person.
        self._whose: dict[bytes, int] = {}
        #: Connection whose request has a thread → its sender. For each person: how many requests have a thread, and
        #: which wait.
        self._who: dict[Any, int | bytes] = {}
        self._served: Counter[int | bytes] = Counter()
        self._waiting: dict[int | bytes, deque[Any]] = defaultdict(deque)
        #: Until when connections without any data are kept; finite once the worker is stopping.
        self._empty_until = math.inf

    def load_wsgi(self) -> None:
        """Tell the application how many threads there are, and learn the owners of sessions and tokens from it."""
        super().load_wsgi()
        self.wsgi: Any = partial(self._ask, self.wsgi)

    def _ask(self, application: Any, environ: dict[str, Any], start_response: Any) -> Any:
        environ["assay.threads"] = self.cfg.threads
        answer = application(environ, start_response)
        credential = environ["gunicorn.socket"].credential
        if credential and "assay.person" in environ:
            if len(self._whose) >= MAX_KNOWN:
                self._whose.clear()
            self._whose[credential] = environ["assay.person"]
        return answer

    def enqueue_req(self, conn: Any) -> None:
        """Wait for a request on a new or kept connection. Called only in the main thread."""
        if not isinstance(conn.sock, _Socket):
            conn.sock = _Socket(fileno=conn.sock.detach())
        self._coming[conn] = coming = _Coming()
        conn.sock.setblocking(False)
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._receive, conn))
        # A thread may have received the beginning of the next request.
        begun = conn.parser.unreader.take_buffered() if conn.parser is not None else b""
        if begun:
            self._take(conn, coming, begun)
        while len(self._coming) > MAX_CONNECTIONS or self._held > MAX_BUFFERED:
            self._drop(next(iter(self._coming)))

    def _receive(self, conn: Any, _socket: Any) -> None:
        coming = self._coming.get(conn)
        if coming is None:
            # Closed in the same round of the loop, because of another connection.
            return
        try:
            data = conn.sock.recv(2**18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._take(conn, coming, data)
        else:
            self._drop(conn)
        while self._held > MAX_BUFFERED:
            self._drop(next(iter(self._coming)))

    def _take(self, conn: Any, coming: _Coming, data: bytes) -> None:
        self._held += len(data)
        ended = coming.take(data)
        if coming.complete:
            self._hand_on(conn)
        elif coming.too_long:
            self._forget(conn)
            with contextlib.suppress(OSError):
                conn.sock.send(_TOO_LONG)
            self._see_off(conn)
        elif ended and _EXPECT.search(bytes(coming.data[: coming.body])):
            # A client that expects “100 Continue” sends the body only after it.
            with contextlib.suppress(OSError):
                conn.sock.send(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _hand_on(self, conn: Any) -> None:
        coming = self._forget(conn)
        data = bytes(coming.data)
        if conn.parser is None:
            conn.parser = get_parser(conn.cfg, conn.sock, conn.client)
        conn.parser.unreader.unread(data)
        conn.data_ready = True
        found = _WHO.search(data, 0, coming.body)
        # A proxy uses one connection for requests of several people.
        conn.sock.credential = credential = (found[1] or found[2]) if found else b""
        who = self._whose.get(credential, credential)
        if not credential:
            super().enqueue_req(conn)
        elif self._served[who] >= self._most_of(who) and len(self._waiting[who]) < MAX_WAITING:
            self._waiting[who].append(conn)
        else:
            self._serve(who, conn)

    def _most_of(self, who: int | bytes) -> int:
        """Return how many threads they may use: one while a session has no known owner, who may use others."""
        return max(1, self.cfg.threads // 2) if isinstance(who, int) else 1

    def _serve(self, who: int | bytes, conn: Any) -> None:
        self._served[who] += 1
        self._who[conn] = who
        super().enqueue_req(conn)

    def _let_the_next_in(self, who: int | bytes) -> None:
        """Free the thread of an answered request for their next one."""
        self._served[who] -= 1
        waiting = self._waiting.pop(who, None)
        if waiting:
            self._waiting[who] = waiting
            if self._served[who] < self._most_of(who):
                self._serve(who, waiting.popleft())
        elif not self._served[who]:
            del self._served[who]

    def finish_request(self, conn: Any, fs: Any) -> None:
        """Keep a connection or end it, without blocking the main thread, as gunicorn would."""
        if conn in self._who:
            self._let_the_next_in(self._who.pop(conn))
        if fs.cancelled() or fs.exception() or fs.result():
            super().finish_request(conn, fs)
        else:
            self._see_off(conn)

    def handle_request(self, req: Any, conn: Any) -> Any:
        """Answer a request. If part of the request is missing, announce in the response that the connection closes.
        Otherwise a proxy would send the next request on it and return a 502 to its sender."""
        left = getattr(req.body.reader, "length", math.inf)
        if left > conn.parser.unreader.buf.getbuffer().nbytes:
            req.force_close()
        return super().handle_request(req, conn)

    def _keepalive_after(self, conn: Any, keepalive: bool) -> bool:
        """Return whether the connection is kept. The rest of an unread body is received and discarded here. (gunicorn
        would discard only 64 KB, and close the connection if there is more.)"""
        while keepalive and conn.parser.mesg.body.read(2**20):
            pass
        return keepalive

    def _see_off(self, conn: Any) -> None:
        conn.sock.setblocking(False)
        self._leaving[conn] = time.monotonic() + LEAVING_SECONDS
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._hear_out, conn))
        with contextlib.suppress(OSError):
            conn.sock.shutdown(socket.SHUT_WR)

    def _hear_out(self, conn: Any, _socket: Any) -> None:
        """Discard further data. If it stayed unread, the kernel would discard the response."""
        with contextlib.suppress(BlockingIOError):
            try:
                more = conn.sock.recv(2**16)
            except ConnectionError:
                more = b""
            if not more:
                self._part(conn)

    def _part(self, conn: Any) -> None:
        self.poller.unregister(conn.sock)
        del self._leaving[conn]
        self.nr_conns -= 1
        conn.close()

    def murder_pending(self) -> None:
        """Close connections whose request did not arrive in time."""
        super().murder_pending()
        now = time.monotonic()
        for conn in [conn for conn, until in self._leaving.items() if until < now]:
            self._part(conn)
        if not self.alive:
            # Requests on their way are still received and answered; otherwise a proxy would return a 502. gunicorn
            # waits as long for kept connections, and never longer than ``graceful_timeout`` in total.
            self._empty_until = min(self._empty_until, now + STOP_KEEPALIVE_LINGER)
        for conn, coming in list(self._coming.items()):
            if coming.until < now or (self._empty_until < now and not coming.data):
                self._drop(conn)

    def _drop(self, conn: Any) -> None:
        self._forget(conn)
        self.nr_conns -= 1
        conn.close()

    def _forget(self, conn: Any) -> _Coming:
        self.poller.unregister(conn.sock)
        coming = self._coming.pop(conn)
        self._held -= len(coming.data)
        return coming
