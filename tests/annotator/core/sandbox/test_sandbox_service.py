"""The sandbox as a service: the same answers over a socket, and sentences where it is not there."""

import contextlib
import queue
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from annotator.core.sandbox import (
    Call,
    CallResult,
    Expected,
    Implementation,
    Limits,
    Sandbox,
    SandboxUnavailable,
    Status,
    ToolCall,
    Trajectory,
    shared_sandbox,
)
from annotator.core.sandbox import service as service_module
from annotator.core.sandbox.service import RemoteSandbox
from tests.conftest import ROOT

SOURCE = "def validate(response):\n    return len(response) > 2, str(len(response))\n"


@contextlib.contextmanager
def running(path):
    process = subprocess.Popen([sys.executable, "-m", "annotator.core.sandbox", str(path)], cwd=ROOT)
    try:
        while process.poll() is None:
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
                probe.connect(str(path))
                break
        yield process
    finally:
        process.terminate()
        assert process.wait(10) == 0


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    path = tmp_path_factory.mktemp("sandbox") / "socket"
    with running(path):
        yield RemoteSandbox(str(path))


def test_the_same_answers_as_without_a_service(service):
    good, bad = service.run(SOURCE, "validate", [Call(("abc",)), Call(("a",))])
    assert (good.status, good.accepted, good.message) == (Status.OK, True, "3")
    assert (bad.status, bad.accepted, bad.message) == (Status.OK, False, "1")
    [tool] = service.run(
        "def add(a, b):\n    return {'sum': a + b}\n", "add", [Call((1,), {"b": 2})], expected=Expected.VALUE
    )
    assert tool.value == {"sum": 3}
    [late] = service.run(
        "def validate(r):\n    while True: pass\n", "validate", [Call(("",))], limits=Limits(wall=0.5, cpu=1)
    )
    assert late.status in (Status.TIMEOUT_WALL, Status.TIMEOUT_CPU)


def test_a_trajectory_comes_to_the_same_as_without_a_service(service):
    source = (
        "import secrets\nclass Tool:\n    def __init__(self):\n        self.n = 0\n"
        "    def load(self, state):\n        self.n = state['n']\n"
        "    def add(self, by):\n        self.n += by\n        return self.n\n"
        "    def fail(self):\n        raise ValueError('no')\n"
        "    def draw(self):\n        return secrets.token_hex()\n"
    )
    calls = (ToolCall("add", {"by": 2}), ToolCall("fail"), ToolCall("other"), ToolCall("draw"))
    functions = frozenset(("add", "fail", "draw"))
    trajectory = Trajectory(Implementation(source, "Tool", "load"), functions, {"n": 4}, calls, seed=3)
    run = service.run_trajectory(trajectory)
    with Sandbox() as sandbox:
        same = sandbox.run_trajectory(trajectory)
    assert (run.initial, run.differs, run.steps[:3]) == (same.initial, 3, same.steps[:3])
    assert [step.result for step in run.steps[:3]] == [6, None, None]
    assert service.run_trajectory(trajectory, twice=False).differs == 3


def test_several_clients_wait_their_turn(service):
    results = {}

    def ask(number):
        results[number] = service.run(SOURCE, "validate", [Call(("x" * number,))])[0].message

    clients = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert results == {number: str(number) for number in range(8)}


def test_code_that_hangs_holds_up_nobody_else(tmp_path):
    path = tmp_path / "socket"

    def hang():
        with contextlib.suppress(SandboxUnavailable):
            hanging = "def validate(response):\n    while True: pass\n"
            RemoteSandbox(str(path)).run(hanging, "validate", [Call(("",))], limits=Limits(wall=300, cpu=300))

    with running(path):
        hangs = threading.Thread(target=hang, daemon=True)
        hangs.start()
        for _ in range(3):
            assert RemoteSandbox(str(path)).run(SOURCE, "validate", [Call(("abc",))])[0].ok
        assert hangs.is_alive()
    hangs.join()


@pytest.mark.parametrize(
    "sent", [b"\x02\x00\x00\x00{}", b"\x01\x00\x00\x007", b"\xff\xff\xff\xff", b"\x04\x00\x00\x00{{{{"]
)
def test_nonsense_is_answered_with_a_sentence_and_the_next_request_is_served(service, sent):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(service.path)
        connection.sendall(sent)
        assert b"did not understand" in connection.recv(4096)
    assert service.run(SOURCE, "validate", [Call(("abc",))])[0].ok


def test_without_the_service_nothing_runs(tmp_path):
    with pytest.raises(SandboxUnavailable, match="Check that it is running"):
        RemoteSandbox(str(tmp_path / "absent")).run(SOURCE, "validate", [Call(("abc",))])


def test_a_service_that_is_frozen_or_too_busy_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(service_module, "SILENCE_LIMIT", 0.2)
    path = tmp_path / "socket"

    def ask():
        return RemoteSandbox(str(path)).run(SOURCE, "validate", [Call(("abc",))])

    with socket.socket(socket.AF_UNIX) as listener, contextlib.ExitStack() as waiting:
        # It takes connections, as the system does for a process that is stopped, and says nothing; then it takes none.
        listener.bind(str(path))
        listener.listen(1)
        with pytest.raises(SandboxUnavailable, match=r"has not responded for 0.2 seconds\. Restart it\."):
            ask()
        for _ in range(8):
            another = waiting.enter_context(socket.socket(socket.AF_UNIX))
            another.setblocking(False)
            another.connect_ex(str(path))
        with pytest.raises(SandboxUnavailable, match="does not respond"):
            ask()
        # A service that says for ever that the answer is under way.
        monkeypatch.setattr(service_module, "MARGIN", -100.0)
        monkeypatch.setattr(service_module, "_receive", lambda connection: None)
        another.close()
        listener.accept()[0].close()
        with pytest.raises(SandboxUnavailable, match=r"is busy\. Try again later"):
            ask()


def test_signs_of_life_come_before_an_answer(monkeypatch):
    begun, signs = threading.Event(), []

    class Slow:
        def run(self, *arguments, **options):
            begun.wait(30)
            return [CallResult(Status.OK, accepted=True)]

    monkeypatch.setattr(service_module, "SIGN_INTERVAL", 0.001)
    free = queue.LifoQueue()
    free.put(Slow())
    ours, theirs = socket.socketpair()
    with ours:
        request = {"source": "", "function": "f", "calls": [], "expected": "verdict", "limits": {}}
        service_module._send(ours, request)
        answering = threading.Thread(target=service_module._answer, args=(free, theirs))
        answering.start()
        while (answer := service_module._receive(ours)) is None:
            signs.append(answer)
            begun.set()
        answering.join()
    assert signs
    assert answer["results"][0]["accepted"]


def test_a_request_beyond_all_bounds_is_not_sent(service, monkeypatch):
    monkeypatch.setattr(service_module, "MAX_ANSWER_BYTES", 100)
    with pytest.raises(SandboxUnavailable, match="too long"):
        service.run(SOURCE, "validate", [Call(("x" * 200,))])


def test_an_answer_beyond_all_bounds_is_a_sentence(monkeypatch):
    class Talkative:
        def run(self, *arguments, **options):
            return [CallResult(Status.OK, accepted=True, message="x" * 2000)]

    monkeypatch.setattr(service_module, "MAX_ANSWER_BYTES", 1000)
    free = queue.LifoQueue()
    free.put(Talkative())
    ours, theirs = socket.socketpair()
    with ours:
        request = {"source": "", "function": "f", "calls": [], "expected": "verdict", "limits": {}}
        service_module._send(ours, request)
        service_module._answer(free, theirs)
        assert "Send fewer calls at a time" in service_module._receive(ours)["unavailable"]


def test_the_environment_names_the_service(service, monkeypatch):
    monkeypatch.setenv("ASSAY_SANDBOX", service.path)
    assert shared_sandbox().run(SOURCE, "validate", [Call(("abc",))])[0].ok


@pytest.mark.parametrize(("arguments", "code"), [([], 2), (["/nowhere/at/all"], 1)])
def test_wrong_use_is_a_sentence(arguments, code):
    command = [sys.executable, "-m", "annotator.core.sandbox", *arguments]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == code
    assert ended.stderr.count("\n") == 1
    assert "Traceback" not in ended.stderr


def test_a_socket_left_by_a_killed_service_is_replaced(tmp_path):
    path = Path(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    with running(path):
        assert RemoteSandbox(str(path)).run(SOURCE, "validate", [Call(("abc",))])[0].ok
