"""The proxy's own configuration, with the real Caddy in front of the real web server: nobody can hold the site up."""

import contextlib
import http.client
import http.server
import json
import os
import re
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from gunicorn.config import Config

from annotator.services.accounts.tokens import create_token
from benchmark.models import Release
from benchmark.services.releases.requests import archive_path
from benchmark.services.stored_files import sha256_of
from scripts.demo import listening_socket
from scripts.private_services import find_caddy
from scripts.supervisor import Supervisor
from tests.benchmark.conftest import make_verified, run_release
from tests.factories import adopt_c3, make_team

pytestmark = [pytest.mark.servers, pytest.mark.proxy, pytest.mark.any_database]

ROOT = Path(__file__).resolve().parents[2]
SIGN_IN = "/accounts/login/"
FORM = "multipart/form-data; boundary=b"


def buffering(caddy):
    """Return the options that make this Caddy buffer requests and answers; Debian's version is older than they are."""
    version = subprocess.run([caddy, "version"], capture_output=True, text=True, check=True).stdout
    number = tuple(map(int, re.findall(r"\d+", version)[:3]))
    if number >= (2, 6, 4):
        return {}
    answers = "buffer_responses\nmax_buffer_size 10MB"
    return {"ASSAY_HOLD_REQUESTS": "buffer_requests", "ASSAY_HOLD_ANSWERS": answers}


def start_proxy(programs, folder, web):
    """Start the proxy before the web server at that port; returns its own port."""
    with listening_socket("0") as before, listening_socket("0") as administration:
        port, admin = before.getsockname()[1], administration.getsockname()[1]
    caddy = find_caddy()
    programs.start(
        "proxy",
        [caddy, "run", "--config", "deploy/Caddyfile", "--adapter", "caddyfile"],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "ASSAY_HOST": f"http://127.0.0.1:{port}",
            "ASSAY_WEB": f"localhost {web}",
            "CADDY_ADMIN": f"127.0.0.1:{admin}",
        }
        | buffering(caddy),
        cwd=ROOT,
        log=folder / "proxy.log",
    )
    return port


def read_server():
    """Return the configuration as Caddy reads it."""
    command = [find_caddy(), "adapt", "--config", "deploy/Caddyfile", "--adapter", "caddyfile"]
    environment = {"PATH": os.environ["PATH"], "ASSAY_HOST": "https://localhost", **buffering(find_caddy())}
    adapted = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True).stdout
    (server,) = json.loads(adapted)["apps"]["http"]["servers"].values()
    return server


def test_nothing_is_spoken_over_which_no_time_limit_holds():
    server = read_server()
    assert server["protocols"] == ["h1", "h2"]
    assert {"read_timeout", "read_header_timeout", "idle_timeout"} <= set(server)


def test_no_form_is_sent_over_a_connection_that_the_web_server_is_closing():
    """It cannot be sent again, so its sender was told 502, on a site where nothing was wrong."""
    kept = re.findall(r'"keep_alive": \{"idle_timeout": (\d+)\}', json.dumps(read_server()))
    assert [int(nanoseconds) < Config().keepalive * 10**9 for nanoseconds in kept] == [True] * 3


def handlers_of(part):
    """The reverse proxies in a part of a configuration, in their order."""
    if isinstance(part, dict):
        if part.get("handler") == "reverse_proxy":
            yield part
        part = list(part.values())
    if isinstance(part, list):
        for one in part:
            yield from handlers_of(one)


def test_no_body_is_sent_again():
    """Caddy before 2.11.2 gives back the memory that holds it with each try: two people's bodies then share it."""
    found = list(handlers_of(read_server()))
    again = ["try_duration" in handler.get("load_balancing", {}) for handler in found]
    assert again == [True, False, True]
    assert [bool({"buffer_requests", "request_buffers"} & set(handler)) for handler in found] == [False, True, False]
    # Of an answer, however large, so much is held.
    assert all("max_buffer_size" in handler or "response_buffers" in handler for handler in found)


def test_a_form_goes_to_the_web_server_that_has_just_answered():
    """The other was the less busy one, and while it was away it got every form: 502."""
    _, sending, _ = handlers_of(read_server())
    assert sending["upstreams"] == [{"dial": "{http.reverse_proxy.upstream.hostport}"}]


@pytest.fixture
def site(process_environment, tmp_path):
    """The port of the proxy. Behind it two threads serve, which two requests that dawdle would take."""
    (tmp_path / "uploads").mkdir()
    with Supervisor() as programs, listening_socket("0") as behind:
        command = [sys.executable, "-m", "gunicorn", "annotator.config.wsgi:application", "--no-control-socket"]
        programs.start(
            "web server",
            [
                *command,
                "--bind",
                f"fd://{behind.fileno()}",
                "--worker-class",
                "annotator.config.buffering_worker.BufferingWorker",
                "--threads",
                "2",
            ],
            env=process_environment | {"TMPDIR": str(tmp_path / "uploads")},
            cwd=ROOT,
            log=tmp_path / "web.log",
            pass_fds=[behind.fileno()],
        )
        port = start_proxy(programs, tmp_path, behind.getsockname()[1])
        assert programs.wait_until_ready(f"http://127.0.0.1:{port}/healthz", seconds=90)
        yield port


@pytest.fixture
def archive(site):
    """The address of a large release, and a member's token. The team is made once the database is this test's."""
    team = make_team()
    adopt_c3(team, audit_fraction=0.0)
    make_verified(team, "a")
    release = run_release(team)
    assert release.state == "frozen", release.job.error
    path = archive_path(release)
    os.truncate(path, 200 * 10**6)
    Release.objects.filter(pk=release.pk).update(archive_bytes=200 * 10**6, sha256=sha256_of(path))
    _, token = create_token(actor=team.annotator, name="large", expires_at=None)
    return f"/api/projects/{team.project.slug}/releases/{release.public_id}/archive/", token


def begin(port, *lines, body=b""):
    """A connection over which the beginning of a request has gone."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=120)
    connection.sendall("\r\n".join((*lines, "Host: 127.0.0.1", "")).encode() + body)
    return connection


def status(port, path=SIGN_IN):
    """Return a page's answer; the timeout is long enough for any machine."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        client.request("GET", path)
        return client.getresponse().status
    finally:
        client.close()


def refusal(port, path, size, *more):
    """The answer to a form with a file of that many bytes, which stops being sent when the answer comes."""
    head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n'
    lines = (f"POST {path} HTTP/1.1", f"Content-Type: {FORM}", f"Content-Length: {size}", *more)
    with begin(port, *lines, body=b"\r\n" + head) as connection:
        sent = len(head)
        with contextlib.suppress(ConnectionError):
            while sent < size:
                piece = b"x" * min(2**16, size - sent)
                connection.sendall(piece)
                sent += len(piece)
        with contextlib.suppress(ConnectionError):
            answer = connection.recv(64).split()
            return int(answer[1]) if answer else None, sent
    return None, sent


def test_requests_that_dawdle_hold_nobody_up_and_are_cut_off(site):
    with contextlib.ExitStack() as stack:
        form = ("Content-Type: application/x-www-form-urlencoded", "Content-Length: 1000")
        for path in (SIGN_IN, "/theme/", "/p/one/imports/"):
            for _ in range(8):
                stack.enter_context(begin(site, f"POST {path} HTTP/1.1", *form, body=b"\r\nlogin=a"))
        unfinished = [stack.enter_context(begin(site, f"GET {SIGN_IN} HTTP/1.1")) for _ in range(24)]
        assert [status(site) for _ in range(4)] == [200] * 4
        # Heads that do not come to an end are waited for for seconds; then the connection is closed.
        for connection in unfinished:
            answer = connection.recv(64)
            assert answer == b"" or b"408" in answer


def test_answers_that_nobody_reads_hold_nobody_up(site, archive):
    path, token = archive
    with contextlib.ExitStack() as stack:
        for _ in range(6):
            # Far more than the kernels on the way hold.
            line = f"Authorization: Bearer {token}"
            begun = stack.enter_context(begin(site, f"GET {path} HTTP/1.1", line, body=b"\r\n"))
            assert begun.recv(12) in (b"HTTP/1.1 200", b"HTTP/1.1 503")
        assert [status(site) for _ in range(4)] == [200] * 4


def test_large_requests_are_refused_and_nothing_is_kept(site, tmp_path):
    for path, answers in (
        (SIGN_IN, (413,)),
        ("/theme/", (413,)),
        ("/p/one/imports/", (401,)),
        ("/api/projects/one/imports/", (401,)),
    ):
        answer, sent = refusal(site, path, 400 * 10**6)
        # None: the connection was closed on us while we sent.
        assert answer in (None, *answers)
        assert sent < 100 * 10**6
    # With a session or a token the application is asked. It answers before it has read all, and closes: the proxy may
    # see either first.
    for path, line in (("/p/one/imports/", "Cookie: sessionid=x"), ("/api/projects/one/imports/", "Authorization: x")):
        answer, sent = refusal(site, path, 400 * 10**6, line)
        assert answer in (None, 413, 401, 502)
        assert sent < 100 * 10**6
    # Within the limit, and from a stranger: sent to sign in, unread. The web server closed the connection behind such
    # an answer, and the next request on it got 502.
    with ThreadPoolExecutor(4) as people:
        assert list(people.map(lambda _: refusal(site, "/theme/", 2 * 10**6)[0], range(24))) == [302] * 24
    assert list((tmp_path / "uploads").rglob("*.upload*")) == []
    assert status(site) == 200


class Failing(http.server.BaseHTTPRequestHandler):
    """A web server that is up, and breaks off whatever is sent to it."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def do_POST(self):
        self.close_connection = True


def test_who_is_not_answered_is_told_so_and_the_log_of_it_holds_no_link_that_opens_something(tmp_path):
    with contextlib.ExitStack() as stack:
        web = stack.enter_context(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Failing))
        threading.Thread(target=web.serve_forever, daemon=True).start()
        stack.callback(web.shutdown)
        programs = stack.enter_context(Supervisor())
        port = start_proxy(programs, tmp_path, web.server_address[1])
        assert programs.wait_until_ready(f"http://127.0.0.1:{port}/healthz", seconds=90)
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        stack.callback(client.close)
        # On one connection, so that of all but the last the line is there when the next is answered.
        for path in ("/invitation/sesame/", "/accounts/password/reset/key/1-sesame/?next=/invitation/sesame/", "/"):
            client.request("POST", path, body=b"", headers={"Referer": f"http://127.0.0.1/invitation/sesame{path}"})
            answer = client.getresponse()
            # Without words a browser shows an empty page.
            assert answer.read().startswith(b"Assay is not responding.")
            assert (answer.status, answer.getheader("Retry-After")) == (502, "10")
        log = (tmp_path / "proxy.log").read_text()
    assert "sesame" not in log
    for line in ('"uri":"/invitation/…/"', '"uri":"/accounts/password/reset/key/…/?next=/invitation/…/"'):
        assert line in log


class Echo(http.server.BaseHTTPRequestHandler):
    """A web server that gives back what it is sent."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def do_POST(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.rfile.read(int(self.headers["Content-Length"])))


class Echoes(http.server.ThreadingHTTPServer):
    request_queue_size = 50


def test_what_is_sent_while_the_web_server_restarts_arrives_once_it_is_back(tmp_path):
    """Tried again it came without its body, or with that of somebody else who had sent something at that moment."""

    def send(number):
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        with contextlib.closing(client):
            sent = f"{number} ".encode() * 500
            client.request("POST", "/theme/", body=sent)
            answer = client.getresponse()
            return answer.status, answer.read() == sent

    with contextlib.ExitStack() as stack:
        web = Echoes(("127.0.0.1", 0), Echo)
        threading.Thread(target=web.serve_forever, daemon=True).start()
        programs = stack.enter_context(Supervisor())
        port = start_proxy(programs, tmp_path, web.server_address[1])
        assert programs.wait_until_ready(f"http://127.0.0.1:{port}/healthz", seconds=90)
        web.shutdown()
        web.server_close()
        with ThreadPoolExecutor(16) as people:
            answers = people.map(send, range(48))
            web = stack.enter_context(Echoes(web.server_address, Echo))
            threading.Thread(target=web.serve_forever, daemon=True).start()
            stack.callback(web.shutdown)
            assert list(answers) == [(200, True)] * 48
