"""Without a proxy: who sends slowly takes no thread, who reads slowly none for long; pieces are read as a whole."""

import contextlib
import errno
import http.client
import selectors
import socket
import sys
from concurrent.futures import Future
from pathlib import Path

import pytest
from gunicorn.config import Config
from gunicorn.workers.gthread import STOP_KEEPALIVE_LINGER, TConn, ThreadWorker

from annotator.config import buffering_worker
from annotator.config.buffering_worker import MAX_BODY, BufferingWorker, _IncomingRequest, _TimedSocket
from annotator.views import request_limits
from scripts.demo import listening_socket
from scripts.supervisor import Supervisor

ROOT = Path(__file__).resolve().parents[2]
SIGN_IN = "/accounts/login/"
FORM = "Content-Type: application/x-www-form-urlencoded"


def taken(*pieces):
    """Whether a thread goes on with a request, after each piece of it."""
    coming = _IncomingRequest()
    out = []
    for piece in pieces:
        coming.take(piece)
        out.append(coming.complete)
    return out


def test_a_request_is_handed_on_when_it_has_come():
    assert taken(b"GET / HTTP/1.1\r\nHost: a\r\n\r", b"\n") == [False, True]
    head = b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n"
    assert taken(head, b"ab", b"c") == [False, False, True]
    assert taken(*(head[n : n + 1] for n in range(len(head))), b"abc")[-2:] == [False, True]
    assert taken(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n", b"0\r\n\r\n") == [
        False, False, True,
    ]  # fmt: skip
    large = b"POST / HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n"
    assert taken(large, b"a" * (MAX_BODY - 1), b"a") == [False, False, True]
    # As gunicorn reads them: with zeros before it, and as long as a line.
    zeros = b"POST / HTTP/1.1\r\nContent-Length: %s3 \r\n\r\n" % (b"0" * 30)
    assert taken(zeros, b"ab", b"c") == [False, False, True]
    assert taken(zeros.replace(b"3", b"0")) == [True]
    assert taken(zeros.replace(b"0", b"9"), b"a" * (MAX_BODY - 1), b"a") == [False, False, True]


@pytest.fixture
def worker():
    """One that serves nothing, and a connection of its that has been answered; the other end of it."""
    worker = BufferingWorker(1, 0, [], None, 30, Config(), None)
    worker.poller = selectors.DefaultSelector()
    ours, theirs = socket.socketpair()
    with theirs, contextlib.closing(worker.poller), contextlib.closing(worker.tmp):
        yield worker, TConn(worker.cfg, ours, ("", 0), ("", 0)), theirs


def ended():
    """Return the future of a thread that has answered the last request of a connection."""
    future = Future()
    future.set_result(False)
    return future


def test_of_one_person_half_of_the_threads_is_the_most_and_the_rest_of_what_they_send_waits(worker, monkeypatch):
    """Forty edits of an item, which wait for each other, had every thread: colleagues waited 18 seconds for a page."""
    worker, unused, _ = worker
    served = []
    monkeypatch.setattr(ThreadWorker, "enqueue_req", lambda self, conn: served.append(conn))
    worker.cfg.set("threads", 4)
    worker.nr_conns = 100
    with contextlib.closing(unused), contextlib.ExitStack() as stack:

        def send(*lines):
            ours, theirs = socket.socketpair()
            conn = stack.enter_context(contextlib.closing(TConn(worker.cfg, ours, ("", 0), ("", 0))))
            stack.enter_context(theirs).sendall("\r\n".join(("GET / HTTP/1.1", *lines, "", "")).encode())
            worker.enqueue_req(conn)
            worker.wait_for_and_dispatch_events(0)
            return conn

        def application(environ, start_response):
            environ["assay.person"] = {b"a": 1, b"b": 1}[environ["gunicorn.socket"].credential]
            return [b"%d" % environ["assay.threads"]]

        first, other = send("cookie: theme=x; sessionid=a"), send("Authorization: bearer b")
        # Whose it is, nobody knows before it was answered once: until then one is worked on.
        later = [send("Cookie: sessionid=a") for _ in range(2)]
        # Others are never held up, nor by what all send alike.
        others = [
            send("Cookie: sessionid=c"),
            *(send("Authorization: Basic b", "Cookie: x-sessionid=a") for _ in "abc"),
        ]
        assert served == [first, other, *others]
        for conn in (first, other):
            assert worker._call_application(application, {"gunicorn.socket": conn.sock}, None) == [b"4"]
            worker.finish_request(conn, ended())
        assert served[6:] == later[:1]
        # Another token is the same person.
        again = [send("Authorization: Bearer b"), send("Cookie: sessionid=a"), send("Authorization: Bearer b")]
        assert served[7:] == again[:2]
        for conn in (*later, *again):
            worker.finish_request(conn, ended())
        assert served[9:] == [later[1], again[2]]
        worker.finish_request(others[0], ended())
        assert (worker._active, worker._waiting, worker._senders) == ({}, {}, {})
        monkeypatch.setattr(buffering_worker, "MAX_WAITING", 1)
        # Beyond these they go on, to be refused.
        assert [send("Cookie: sessionid=a") in served for _ in range(4)] == [True, True, False, True]


@pytest.mark.parametrize("closes", [True, False])
def test_who_does_not_close_an_ended_connection_holds_nobody_up(worker, closes):
    """The loop in which this happens takes in everybody's requests."""
    worker, conn, theirs = worker
    worker.nr_conns = 1
    theirs.sendall(b"more than was read")
    worker.finish_request(conn, ended())
    # That nothing more comes is said at once; the end is heard out.
    assert theirs.recv(1) == b""
    worker.wait_for_and_dispatch_events(0)
    assert (worker.nr_conns, conn.sock.fileno() > 0) == (1, True)
    if closes:
        theirs.close()
        worker.wait_for_and_dispatch_events(0)
    else:
        worker._closing[conn] = 0
        worker.murder_pending()
    assert (worker.nr_conns, conn.sock.fileno(), worker._closing) == (0, -1, {})


def test_a_worker_that_stops_takes_in_what_is_on_its_way(worker, monkeypatch):
    """Dropped, a proxy told 502 to people who had just sent something."""
    worker, conn, theirs = worker
    handed_on = []
    monkeypatch.setattr(ThreadWorker, "enqueue_req", lambda self, conn: handed_on.append(conn))
    idle, other_end = socket.socketpair()
    with other_end, contextlib.closing(conn):
        worker.nr_conns = 2
        worker.enqueue_req(TConn(worker.cfg, idle, ("", 0), ("", 0)))
        # A kept connection on which the next request begins as the worker stops: not all of it is there.
        worker.alive = False
        worker.enqueue_req(conn)
        theirs.sendall(b"GET / HTTP/1.1\r\n")
        worker.murder_pending()
        worker.wait_for_and_dispatch_events(0)
        # Later nothing has come of the one, the rest of the other.
        now = buffering_worker.time.monotonic()
        monkeypatch.setattr(buffering_worker.time, "monotonic", lambda: now + STOP_KEEPALIVE_LINGER + 1)
        worker.murder_pending()
        assert other_end.recv(1) == b""
        theirs.sendall(b"\r\n")
        worker.wait_for_and_dispatch_events(0)
    assert (worker.nr_conns, handed_on, worker._incoming) == (1, [conn], {})


def test_an_answer_is_sent_in_pieces_each_of_which_has_its_time(monkeypatch, tmp_path):
    sent = []
    monkeypatch.setattr(socket.socket, "sendall", lambda self, data, flags=0: sent.append((self.gettimeout(), *data)))
    monkeypatch.setattr(buffering_worker, "CHUNK", 2)
    file = tmp_path / "file"
    file.write_bytes(b"abcdef")
    with _TimedSocket() as connection, file.open("rb") as opened:
        connection.setblocking(True)
        connection.sendall(b"abc")
        assert connection.sendfile(opened, offset=1, count=3) == 3
        assert connection.sendfile(opened, offset=5) == 1
    assert sent == [(20, *piece) for piece in (b"ab", b"c", b"bc", b"d", b"f")]


def test_a_large_answer_waits_for_a_proxy_that_has_taken_much_for_a_slow_reader(monkeypatch):
    waited = []
    monkeypatch.setattr(socket.socket, "sendall", lambda self, data, flags=0: waited.append(self.gettimeout()))
    monkeypatch.setattr(buffering_worker, "CHUNK", 2)
    monkeypatch.setattr(buffering_worker, "LARGE_RESPONSE", 3)
    with _TimedSocket() as connection:
        connection.setblocking(True)
        connection.sendall(b"abc")
        connection.sendall(b"def")
        # The next request of the same connection.
        connection.setblocking(True)
        connection.sendall(b"ab")
    assert waited == [20, 20, 20, 600, 20]


def test_what_is_large_is_the_same_for_those_who_wait_and_for_those_who_give_places():
    assert request_limits.BUFFERED == buffering_worker.LARGE_RESPONSE


def test_who_takes_nothing_of_an_answer_is_given_up_with_a_line_in_the_log(monkeypatch, caplog):
    """Of another error than this gunicorn writes a traceback, for each of them."""
    monkeypatch.setattr(buffering_worker, "STALLED_SECONDS", 0.05)
    ours, theirs = socket.socketpair()
    with theirs, _TimedSocket(fileno=ours.detach()) as connection:
        connection.setblocking(True)
        with pytest.raises(ConnectionResetError) as refusal:
            connection.sendall(b"a" * 10**8)
    assert refusal.value.errno == errno.ECONNRESET
    assert [record.getMessage() for record in caplog.records] == [
        "Disconnected a client that read less than 65536 bytes in 0.05 s."
    ]


@pytest.fixture
def site(process_environment, tmp_path):
    """The port of a web server with two threads."""
    with Supervisor() as programs, listening_socket("0") as listener:
        port = listener.getsockname()[1]
        programs.start(
            "web server",
            [
                sys.executable, "-m", "gunicorn", "annotator.config.wsgi:application", "--no-control-socket",
                "--bind", f"fd://{listener.fileno()}", "--threads", "2",
                "--worker-class", "annotator.config.buffering_worker.BufferingWorker",
            ],
            env=process_environment,
            cwd=ROOT,
            log=tmp_path / "web.log",
            pass_fds=[listener.fileno()],
        )  # fmt: skip
        assert programs.wait_until_ready(f"http://127.0.0.1:{port}/healthz", seconds=90)
        yield port


def begin(port, *lines, body=b""):
    connection = socket.create_connection(("127.0.0.1", port), timeout=120)
    connection.sendall("\r\n".join((*lines, "Host: 127.0.0.1", "")).encode() + body)
    return connection


@pytest.mark.servers
@pytest.mark.any_database
def test_requests_that_dawdle_take_no_thread(site):
    with contextlib.ExitStack() as stack:
        for _ in range(12):
            form = (f"POST {SIGN_IN} HTTP/1.1", FORM, "Content-Length: 1000")
            slow = stack.enter_context(begin(site, *form, body=b"\r\nlogin=a"))
            stack.enter_context(begin(site, f"GET {SIGN_IN} HTTP/1.1"))
            stack.enter_context(begin(site, form[0], "Transfer-Encoding: chunked", body=b"\r\n1\r\na\r\n"))
            stack.enter_context(socket.create_connection(("127.0.0.1", site)))
            # To gunicorn this one is as long; it waits for the end of this head, and for the rest of this body.
            known = (*form[:2], "Cookie: csrftoken=" + "a" * 32, f"Content-Length: {1000:030}")
            stack.enter_context(begin(site, *known, body=b"\r\nlogin=a"))
            endless = [f"X-{n}: {'a' * 8000}" for n in range(9)]
            assert b" 431 " in stack.enter_context(begin(site, form[0], *endless)).recv(64)
            stack.enter_context(begin(site, form[0], "Transfer-Encoding: chunked", body=b"\r\nffff\r\n0\r\n\r\n"))
        client = http.client.HTTPConnection("127.0.0.1", site, timeout=120)
        stack.callback(client.close)
        # One connection for all of these, as a browser keeps it.
        large = b"a" * 9_000_000
        for method, body, status in (("GET", None, 200), ("POST", b"a" * 900, 403), ("POST", large, 302)) * 2:
            client.request(method, SIGN_IN, body=body)
            answer = client.getresponse()
            answer.read()
            # An unread body is no reason to close: behind a proxy, the next request on it got 502.
            assert (answer.status, answer.getheader("Connection")) == (status, "keep-alive")
        # Of this one not all has come when it is answered, and where a chunked one ends nobody has looked.
        for length in (f"Content-Length: {MAX_BODY + 1}", "Transfer-Encoding: chunked"):
            begun = begin(site, f"POST {SIGN_IN} HTTP/1.1", FORM, length, body=b"\r\n" + b"0" * MAX_BODY)
            assert b"\r\nConnection: close\r\n" in stack.enter_context(begun).recv(512)
        # A slow client is served when the rest arrives; one that asks whether to send is told to.
        slow.sendall(b"a" * 993)
        assert b" 403 " in slow.recv(64)
        asking = stack.enter_context(
            begin(site, f"POST {SIGN_IN} HTTP/1.1", FORM, "Content-Length: 1", "Expect: 100-continue", body=b"\r\n")
        )
        assert b" 100 " in asking.recv(64)
