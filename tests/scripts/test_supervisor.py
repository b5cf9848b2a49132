import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from scripts.supervisor import descendants, describe_exit, last_log_lines, probe

ROOT = Path(__file__).resolve().parents[2]

# A program that starts one of its own, says both numbers and stays. The started one ignores what asks it to end.
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(600)
"""

FAMILY = f"""
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", {STUBBORN!r}], stdout=subprocess.PIPE)
child.stdout.readline()
open(sys.argv[1], "w").write(f"{{os.getpid()}} {{child.pid}}")
os.rename(sys.argv[1], sys.argv[1] + ".done")
time.sleep(600)
"""

SUPERVISED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from scripts import supervisor
from scripts.environment import Stop
supervisor.GRACE = 1.0
scratch = Path(sys.argv[2])
names = ("first", "second")
try:
    with supervisor.Supervisor() as programs:
        for name, source in zip(names, sys.argv[3:]):
            command = [sys.executable, "-c", source, scratch / name]
            programs.start(name, command, env={}, cwd=scratch, log=scratch / f"{name}.log")
        while not all((scratch / f"{name}.done").exists() for name in names):
            programs._wait(0.02)
        print("up", flush=True)
        programs.watch()
    print("stopped", flush=True)
except Stop as stop:
    print(stop, flush=True)
"""


@pytest.fixture
def start(tmp_path):
    """Start two supervised programs and return the supervisor once both are up."""
    started = []

    def run(first=FAMILY, second=FAMILY, terminal=subprocess.DEVNULL):
        process = subprocess.Popen(
            [sys.executable, "-c", SUPERVISED, str(ROOT), str(tmp_path), first, second],
            stdin=terminal,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout.readline() == "up\n"
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def family_numbers(folder: Path) -> list[int]:
    return [int(word) for name in ("first", "second") for word in (folder / f"{name}.done").read_text().split()]


def is_there(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.servers
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_everything_grandchildren_included(start, tmp_path, number):
    process = start()
    family = family_numbers(tmp_path)
    assert len(family) == 4
    assert all(map(is_there, family))
    process.send_signal(number)
    assert process.stdout.read() == "stopped\n"
    assert process.wait() == 0
    assert not any(map(is_there, family))


@pytest.mark.servers
def test_closed_terminal_ends_everything_although_no_signal_came(start, tmp_path):
    window, terminal = os.openpty()
    process = start(terminal=terminal)
    os.close(terminal)
    os.close(window)
    assert process.stdout.read() == "stopped\n"
    assert not any(map(is_there, family_numbers(tmp_path)))


@pytest.mark.servers
def test_death_of_one_ends_the_other_with_a_sentence(start, tmp_path):
    process = start()
    first, _, second, other = family_numbers(tmp_path)
    os.kill(first, signal.SIGKILL)
    words = process.stdout.read()
    assert f"The first stopped (signal SIGKILL); its log is {tmp_path / 'first.log'}." in words
    process.wait()
    assert not any(map(is_there, (first, second, other)))


@pytest.mark.servers
def test_last_words_of_a_dead_program_are_shown(start, tmp_path):
    failing = textwrap.dedent("""
        import sys, os
        open(sys.argv[1] + ".done", "w").write("0")
        print("the cellar is flooded", flush=True)
        sys.exit(3)
    """)
    process = start(second=failing)
    words = process.stdout.read()
    assert "    the cellar is flooded\nThe second stopped (exit code 3)" in words


def test_descendants_are_found_through_every_generation():
    assert descendants(1, lambda: {2: 1, 3: 2, 4: 3, 5: 9, 1: 0}) == {2, 3, 4}


def test_descendants_of_others_are_left_out():
    assert descendants(1, lambda: {2: 1, 3: 2, 4: 1, 5: 4, 1: 0}, without={2}) == {4, 5}


# A server of its own, started before anything is supervised.
WITH_A_SERVER = """
import subprocess, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from scripts.supervisor import Supervisor
server = subprocess.Popen(["sleep", "60"])
with Supervisor() as programs:
    child = programs.start("one", ["sleep", "60"], env={}, cwd=Path.cwd(), log=Path(sys.argv[2], "log")).process
print(child.poll() is not None, server.poll() is None)
server.kill()
"""


def test_what_ran_before_goes_on(tmp_path):
    command = [sys.executable, "-c", WITH_A_SERVER, str(ROOT), str(tmp_path)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "True True\n"


def test_own_processes_are_found():
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        assert sleeper.pid in descendants(os.getpid())
        sleeper.kill()


def test_probe_tells_what_happened_instead(unused_port):
    assert "no response" in probe(f"http://127.0.0.1:{unused_port}/healthz")


@pytest.fixture
def unused_port():
    from scripts.private_services import free_port

    return free_port()


def test_exit_words():
    assert describe_exit(3) == "exit code 3"
    assert describe_exit(-9) == "signal SIGKILL"


def test_last_log_lines_of_a_missing_log(tmp_path):
    assert last_log_lines(tmp_path / "none") == []
