import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from scripts import demo
from scripts.demo import demo_variables, listening_socket, web_command
from scripts.environment import Stop
from scripts.supervisor import descendants

ROOT = Path(__file__).resolve().parents[2]
START = [sys.executable, str(ROOT / "scripts" / "start.py"), "demo"]


@pytest.fixture
def busy_port():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])
def test_busy_port_is_a_sentence_that_names_it_and_another(address):
    with socket.socket() as other:
        other.bind((address, 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(Stop) as stopped, listening_socket(str(port)):
            pass
    assert str(stopped.value).startswith(
        f"Port {port} is in use by another program. Choose another one: make demo PORT="
    )
    assert not str(stopped.value).endswith(f"PORT={port}")


def test_busy_port_ends_the_command_before_anything_is_installed(busy_port, tmp_path):
    outcome = subprocess.run(
        [*START, "--port", str(busy_port), "--data", str(tmp_path / "data")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 1
    assert f"Port {busy_port} is in use" in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert outcome.stdout == ""
    assert not (tmp_path / "data").exists()


def test_two_demos_never_share_a_port():
    with listening_socket("0") as first:
        port = first.getsockname()[1]
        with pytest.raises(Stop, match=f"Port {port} is in use"), listening_socket(str(port)):
            pass


@pytest.mark.parametrize("wanted", ["eight", "", "-1", "70000", "80 80"])
def test_what_is_no_port_is_a_sentence(wanted):
    with pytest.raises(Stop, match=r"is not a port\. Choose a number from 1024 to 65535"), listening_socket(wanted):
        pass


def test_reserved_port_is_a_sentence(monkeypatch):
    def refuse(self, address):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(demo, "is_listening", lambda family, host, port: False)
    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(Stop, match=r"Port 80 is reserved .* make demo PORT=8001"), listening_socket("80"):
        pass


def test_demo_never_touches_another_installation(monkeypatch, tmp_path):
    for name in ("DATABASE_URL", "REDIS_URL", "SECRET_KEY_FILE", "ALLOWED_HOSTS"):
        monkeypatch.setenv(name, "somebody's")
    monkeypatch.setenv("ASSAY_MODE", "server")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example")
    variables = demo_variables(tmp_path, "http://127.0.0.1:8000")
    assert {name for name in variables if variables[name] == "somebody's"} == set()
    assert variables["ASSAY_MODE"] == "embedded"
    assert variables["ASSAY_DATA"] == str(tmp_path)
    assert variables["HTTPS_PROXY"] == "http://proxy.example"


def test_web_server_takes_the_socket_that_is_held():
    command = web_command(Path("python"), 7)
    assert command[command.index("--bind") + 1] == "fd://7"


def test_data_folder_that_cannot_be_made_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with listening_socket("0") as listener, pytest.raises(Stop, match="Can't write to"):
        demo.serve(Path(sys.executable), listener, tmp_path / "file" / "data")


@pytest.fixture
def start_demo(tmp_path):
    """Start the demo on a free port and return its process and its words up to “Press Ctrl-C”."""
    started = []

    def start():
        command = [*START, "--port", "0", "--data", str(tmp_path / "data with spaces")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        started.append(process)
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "Press Ctrl-C to stop" in line:
                break
        return process, "".join(lines)

    yield start
    for process in started:
        process.terminate()
        process.wait()
        process.stdout.close()


@pytest.mark.servers
@pytest.mark.slow
def test_whole_demo_starts_twice_and_leaves_nothing_behind(start_demo):
    for _ in range(2):
        process, said = start_demo()
        assert "Assay is running: http://127.0.0.1:" in said, said
        assert "  ingrid " in said
        url = said.partition("Assay is running: ")[2].split()[0]
        with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310 - an address of this machine
            assert answer.status == 200
            assert b"Assay" in answer.read()
        family = descendants(process.pid)
        assert len(family) >= 4  # web server and its workers, worker and its processes
        process.send_signal(signal.SIGINT)
        assert "Stopped." in process.stdout.read()
        assert process.wait() == 0
        assert not any(map(is_there, family))


def is_there(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True
