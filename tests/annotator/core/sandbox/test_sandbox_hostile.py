"""Programs that mean harm, or are merely broken: none gets out, each is told apart, and the next batch is as if new.

What reaches out is run with the filter alone too, as root where the tests run as root: it has to hold by itself.
"""

import functools
import os
import platform
import random
import signal
import socket
import subprocess
from types import SimpleNamespace

import pytest

from annotator.core.sandbox import Call, Expected, Limits, Sandbox, Status, host
from annotator.core.sandbox.host import LAYERS
from annotator.core.sandbox.inside.layers import NOBODY
from annotator.services.dialogues import trials

LIMITS = Limits(wall=1.2, cpu=1, memory=192 << 20)
SECRET = "a secret of the host"
CLEAN = "def validate(response):\n    return len(response) == 5 and str(7) == '7', 'clean'\n"

NEVER_ENDS = {Status.TIMEOUT_CPU, Status.TIMEOUT_WALL}
#: What a program that looks for a way out may come to: it is refused, finds nothing there, or crashes itself.
REFUSED = {Status.FORBIDDEN, Status.EXCEPTION, Status.IMPORT_ERROR, Status.CRASHED, Status.NO_RESULT}


def body(*lines, head=""):
    return f"{head}\ndef validate(response):\n" + "".join(f"    {line}\n" for line in lines)


FILES = {
    "read a secret": body("return True, open({secret!r}).read()"),
    "read the accounts": body("return True, open('/etc/passwd').read()"),
    "list the root": body("return True, ' '.join(os.listdir('/'))", head="import os"),
    "write a file": body("open('/tmp/assay-was-here', 'w').write('x')", "return True, ''"),
    "write shared memory": body("open('/dev/shm/assay-was-here', 'w').write('x')", "return True, ''"),
    "make a folder": body("os.mkdir('/tmp/assay-folder')", "return True, ''", head="import os"),
    "read through descriptors": body(
        "return True, ''.join(str(os.read(fd, 100)) for fd in (4, 5, 6, 7, 8, 9))", head="import os"
    ),
    "read the zygote's memory": body("return True, open('/proc/1/mem', 'rb').read(10).hex()"),
    "read its own environment": body("return True, open('/proc/self/environ').read()"),
    "memory as a file": body("os.write(os.memfd_create('x'), b'x')", "return True, ''", head="import os"),
}

PROCESSES = {
    "fork": body("return True, str(os.fork())", head="import os"),
    "run a program": body("os.execv('/bin/sh', ['sh', '-c', 'id'])", head="import os"),
    "spawn": body("return True, str(os.posix_spawn('/bin/sh', ['sh'], {}))", head="import os"),
    "subprocess": body("return True, subprocess.check_output('id').decode()", head="import subprocess"),
    "kill the parent": body("os.kill(os.getppid(), 9)", "return True, ''", head="import os"),
    "kill everybody": body("os.kill(-1, 9)", "return True, ''", head="import os"),
    "trace the parent": body(
        "r = ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0)",
        "raise PermissionError(1, 'refused') if r else SystemExit",
        head="import ctypes, os",
    ),
    "start a thread": body("_thread.start_new_thread(print, ())", "return True, ''", head="import _thread"),
    "open a socket": body("return True, str(socket.socket())", head="import socket"),
    "open a raw socket": body("return True, str(_socket.socket(2, 1))", head="import _socket"),
    "change its limits": body("resource.setrlimit(resource.RLIMIT_CPU, (99, 99))", head="import resource"),
    "become root": body("os.setuid(0)", "return True, ''", head="import os"),
}

ENDLESS = {
    "compute for ever": body("while True: pass"),
    "sleep": body("time.sleep(60)", head="import time"),
    "swallow everything": body(
        "for n in range(1, 32):",
        "    try: signal.signal(n, signal.SIG_IGN)",
        "    except BaseException: pass",
        "while True:",
        "    try:",
        "        while True: pass",
        "    except BaseException: pass",
        head="import signal",
    ),
    "a regular expression that blows up": body("return bool(re.match('(a+)+$', 'a' * 60 + 'b')), ''", head="import re"),
    "big numbers": body("return len(str(7 ** (10 ** 9))) > 0, ''", head="import sys\nsys.set_int_max_str_digits(0)"),
    "never ends to load": "while True: pass\ndef validate(response):\n    return True, ''\n",
    "never ends to be destroyed": body(
        "Late()",
        "return True, ''",
        head="class Late:\n    def __del__(self):\n        while True: pass",
    ),
    "catch the lack of memory for ever": body(
        "kept = []",
        "while True:",
        "    try:",
        "        while True: kept.append(bytearray(1 << 20))",
        "    except MemoryError: pass",
    ),
    "endless generator as a sum": body("return sum(iter(int, 1)) > 0, ''"),
}

GREEDY = {
    "memory in one block": (body("x = bytearray(1 << 40)", "return True, ''"), {Status.MEMORY}),
    "memory in small pieces": (body("x = []", "while True: x.append('x' * 100_000 + str(len(x)))"), {Status.MEMORY}),
    "a message of 50 MB": (body("return True, 'x' * 50_000_000"), {Status.OUTPUT_LIMIT, Status.MEMORY}),
    "a return of 100 MB": (body("return 'x' * 100_000_000"), {Status.BAD_RETURN_TYPE, Status.MEMORY}),
    "300 MB of output": (
        body("while True: os.write(3, b'x' * 65536)", head="import os"),
        {Status.OUTPUT_LIMIT, Status.NO_RESULT},
    ),
    "output on every descriptor": (
        body("for fd in (0, 1, 2):", "    os.write(fd, b'x' * 1000)", "return True, ''", head="import os"),
        {Status.OK},
    ),
    "deep recursion": (
        body("sys.setrecursionlimit(10 ** 9)", "f = lambda n: f(n + 1)", "f(0)", head="import sys"),
        {Status.CRASHED, Status.MEMORY, *NEVER_ENDS},
    ),
    "recursion": (body("return validate(response)"), {Status.EXCEPTION}),
    "nested JSON": (body("json.loads('[' * 200_000)", head="import json"), {Status.EXCEPTION, Status.CRASHED}),
    "a parser bomb": ("x = " + "(" * 50_000, {Status.SYNTAX_ERROR}),
    "a bytecode crash": (
        body("c = validate.__code__.replace(co_code=b'\\x01' * 2000, co_stacksize=0)", "exec(c)"),
        {Status.CRASHED, Status.EXCEPTION, *NEVER_ENDS, Status.NO_RESULT},
    ),
    "exit by force": (body("os._exit(0)", head="import os"), {Status.NO_RESULT}),
    "exit politely": (body("raise SystemExit(0)"), {Status.EXCEPTION}),
    "exit while loading": ("import os\nos._exit(0)\ndef validate(r): return True, ''", {Status.NO_RESULT}),
    "a crash through ctypes": (
        body("ctypes.string_at(0)", head="import ctypes"),
        {Status.CRASHED, Status.IMPORT_ERROR},
    ),
}

BROKEN = {
    "nothing": (body("return None"), Status.BAD_RETURN_TYPE),
    "words for a truth value": (body("return ('True', '')"), Status.BAD_RETURN_TYPE),
    "a number for a truth value": (body("return (1, '')"), Status.BAD_RETURN_TYPE),
    "a triple": (body("return (True, '', 1)"), Status.BAD_RETURN_TYPE),
    "itself": (body("x = []", "x.append(x)", "return x"), Status.BAD_RETURN_TYPE),
    "an evil subclass": (
        body(
            "class Evil(tuple):",
            "    def __len__(self): raise SystemExit",
            "class Text(str): pass",
            "return Evil((True, Text('x')))",
        ),
        Status.BAD_RETURN_TYPE,
    ),
    "a coroutine": ("async def validate(response):\n    return True, ''\n", Status.BAD_RETURN_TYPE),
    "a generator": (body("yield True, ''"), Status.BAD_RETURN_TYPE),
    "no syntax": ("def validate(response:\n", Status.SYNTAX_ERROR),
    "NUL in the source": ("def validate(r):\n    return True, '\x00'\n", Status.SYNTAX_ERROR),
    "half a surrogate in the source": ("x = '\ud800'\n", Status.SYNTAX_ERROR),
    "no such function": ("def check(response):\n    return True, ''\n", Status.MISSING_FUNCTION),
    "a function that is none": ("validate = 7\n", Status.MISSING_FUNCTION),
    "wrong arity": ("def validate():\n    return True, ''\n", Status.EXCEPTION),
    "a module that is not there": ("import numpy\n", Status.IMPORT_ERROR),
    "an import of itself": ("import validator\n", Status.IMPORT_ERROR),
    "an exception that cannot be told": (
        body("class E(Exception):", "    def __str__(self): raise RuntimeError", "raise E"),
        Status.EXCEPTION,
    ),
    "a source too long": ("#" * (LIMITS.source + 1), Status.OUTPUT_LIMIT),
}


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture(
    scope="module", params=["", "user,landlock", ",".join(LAYERS)], ids=["filter alone", "nobody", "all layers"]
)
def bare(request):
    """A sandbox as root with the filter alone, as an ordinary user without namespaces, and with everything."""
    with Sandbox(layers=request.param.split(",")) as sandbox:
        yield sandbox


def run_in(sandbox, source):
    [result] = sandbox.run(source, "validate", [Call(("probe",))], limits=LIMITS)
    # Whatever it did, the next source finds a clean interpreter.
    [after] = sandbox.run(CLEAN, "validate", [Call(("probe",))], limits=LIMITS)
    assert (after.status, after.accepted, after.message) == (Status.OK, True, "clean")
    return result


@pytest.fixture
def run(sandbox):
    return functools.partial(run_in, sandbox)


@pytest.fixture
def run_bare(bare):
    return functools.partial(run_in, bare)


@pytest.mark.parametrize("source", FILES.values(), ids=FILES)
def test_files_are_out_of_reach(run_bare, source, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    secret.chmod(0o644)
    result = run_bare(source.replace("{secret!r}", repr(str(secret))))
    assert result.status in REFUSED
    assert SECRET not in result.message
    assert "root:" not in result.message


@pytest.mark.parametrize("source", PROCESSES.values(), ids=PROCESSES)
def test_processes_and_network_are_out_of_reach(run_bare, source):
    assert run_bare(source).status in REFUSED


@pytest.mark.parametrize("source", ENDLESS.values(), ids=ENDLESS)
def test_what_never_ends_is_ended(run, source):
    assert run(source).status in NEVER_ENDS | {Status.MEMORY}


@pytest.mark.parametrize(("source", "statuses"), GREEDY.values(), ids=GREEDY)
def test_what_takes_too_much_is_told_so(run, source, statuses):
    assert run(source).status in statuses


@pytest.mark.parametrize(("source", "status"), BROKEN.values(), ids=BROKEN)
def test_what_is_broken_is_told_apart(run, source, status):
    assert run(source).status == status


def test_the_environment_is_empty(run):
    result = run(body("return True, repr((dict(os.environ), sys.argv, sys.path))", head="import os, sys"))
    assert result.message == "({}, [''], [])"


def test_the_walk_through_all_classes_finds_no_way_out(run_bare):
    walk = body(
        "for kind in object.__subclasses__():",
        "    for name in ('Popen', 'socket', '_wrap_close'):",
        "        if kind.__name__ == name: return True, name",
        "for name, module in list(sys.modules.items()):",
        "    for attribute in ('system', 'popen'):",
        "        f = getattr(module, attribute, None)",
        "        if f:",
        "            try: f('touch /tmp/assay-was-here')",
        "            except OSError: pass",
        "return True, 'walked'",
        head="import sys",
    )
    run_bare(walk)
    assert not os.path.exists("/tmp/assay-was-here")


def test_raw_system_calls_are_refused(run_bare):
    source = body(
        "libc = ctypes.CDLL(None, use_errno=True)",
        "out = [libc.syscall(number, 0, 0, 0) for number in (2, 41, 56, 57, 59, 101, 257, 435)]",
        "return True, str(out)",
        head="import sys\nctypes = next((m for n, m in sys.modules.items() if n == 'ctypes'), None)\n"
        "if ctypes is None: raise ImportError('there is no ctypes')",
    )
    result = run_bare(source)
    assert result.status in REFUSED or set(result.message) <= set("[-1, ]")


#: Validators that would tell the first response, which they must accept, from the others by what else they are asked.
LISTENING = {
    "counts": body("SEEN.append(response)", "return len(SEEN) == 1, ''", head="SEEN = []"),
    "counts from both ends": body("SEEN.append(response)", "return len(SEEN) in (1, 12), ''", head="SEEN = []"),
    "remembers": body(
        "known = any(one in response or response in one for one in SEEN)",
        "SEEN.append(response)",
        "return not known or len(response) == min(map(len, SEEN)), ''",
        head="SEEN = []",
    ),
    "asks how often it was called before it must answer": body(
        "SEEN.append(response)", "return len(SEEN) % 2 == 1, ''", head="SEEN = []"
    ),
}
#: One that looks for them in its interpreter; it answers with what it finds.
LOOKING = body(
    "found, frame = set(), sys._getframe()",
    "while frame is not None:",
    "    found.update(re.findall('response [0-9]+', repr(frame.f_locals)))",
    "    frame = frame.f_back",
    "for one in gc.get_objects():",
    "    if type(one) in (list, dict, tuple): found.update(re.findall('response [0-9]+', repr(one)))",
    "return True, ' '.join(sorted(found))",
    head="import gc, re, sys",
)


@pytest.mark.parametrize("source", LISTENING.values(), ids=LISTENING)
def test_what_a_guest_says_does_not_depend_on_what_else_it_is_asked(sandbox, source, monkeypatch):
    monkeypatch.setattr(host, "_RANDOM", random.Random(7))
    calls = [Call(("response" + " and more" * n,)) for n in range(12)]
    results = sandbox.run(source, "validate", calls)
    assert [one.accepted for one in results] == [sandbox.run(source, "validate", [one])[0].accepted for one in calls]


@pytest.mark.parametrize("verdict", ["True", "SEEN.count(1) == 1"], ids=["agrees", "disagrees"])
def test_no_child_knows_by_its_turn_what_it_is_asked(sandbox, verdict, monkeypatch):
    """By the clock, or by its number, a guest may learn that it is the first of a trial, or the fifth."""
    turns = []
    together = host._Work._together
    monkeypatch.setattr(host._Work, "_together", lambda self, calls: turns.append(calls) or together(self, calls))
    monkeypatch.setattr(host, "_RANDOM", random.Random(7))
    monkeypatch.setattr(trials, "shared_sandbox", lambda: sandbox)
    source = body("SEEN.append(1)", f"return {verdict}, response", head="SEEN = []")
    subject = SimpleNamespace(source=source, function="validate")
    texts = ["the reference", "broken", "broken in another way", "good"]
    asked: dict[int, set[str]] = {}
    for _ in range(20):
        turns.clear()
        assert [one.message for one in trials.run_calls(subject, texts)] == texts
        for number, calls in enumerate(turns):
            asked.setdefault(number, set()).add(calls[0].args[0])
    assert len(asked) >= 3
    assert all(found == set(texts) for found in asked.values())


def test_a_guest_is_shown_one_call_after_the_other_in_an_order_of_the_moment(sandbox):
    calls = [Call((f"response {n}",)) for n in range(40)]
    seen = [one.message.split() for one in sandbox.run(LOOKING, "validate", calls)]
    numbers = [{int(word) for word in words if word.isdigit()} for words in seen]
    assert all(n in known for n, known in enumerate(numbers))
    # The k-th process that is asked knows of k at most.
    assert [sum(len(known) <= k for known in numbers) >= k for k in range(1, 41)] == [True] * 40
    again = sandbox.run(LOOKING, "validate", calls)
    assert [one.message.split() for one in again] != seen


def test_calls_whose_batches_agree_cost_three_children_a_batch(sandbox, monkeypatch):
    children = []
    child = sandbox.open_child
    monkeypatch.setattr(sandbox, "open_child", lambda limits: children.append(1) or child(limits))
    calls = [Call((f"{n:05}",)) for n in range(4 * host.BATCH_CALLS)]
    assert {one.message for one in sandbox.run(CLEAN, "validate", calls)} == {"clean"}
    assert len(children) == 4 * 3


def test_a_batch_can_forge_only_itself(sandbox):
    forging = body(
        "import json",
        "for frame in ([0, 'ok', True, 'forged'], [1, 'ok', True, 'forged']):",
        "    data = json.dumps(frame).encode()",
        "    os.write(3, len(data).to_bytes(4, 'little') + data)",
        "os._exit(0)",
        head="import os",
    )
    forged = sandbox.run(forging, "validate", [Call(("a",)), Call(("b",))], limits=LIMITS)
    assert [one.message for one in forged] == ["forged", "forged"]
    [clean] = sandbox.run(CLEAN, "validate", [Call(("probe",))], limits=LIMITS)
    assert clean.message == "clean"


@pytest.mark.parametrize(
    "frame",
    [b"7", b"{}", b"[]", b"[1, 'ok']", b'[0, "ok", 1, ""]', b'[0, "timeout_wall", null, ""]', b"[0, NaN, 0, 0]",
     b'[0, [], true, ""]', b'["load", {}, 1, ""]', b'[[], "ok", true, ""]',
     b'[true, "ok", true, ""]', b'["load", "ok", true, ""]', b"\xff" * 8, b"[" * 5000],
)  # fmt: skip
def test_a_forged_frame_that_makes_no_sense_is_no_result(sandbox, frame):
    source = body(
        f"data = {frame!r}", "os.write(3, len(data).to_bytes(4, 'little') + data)", "os._exit(0)", head="import os"
    )
    [result] = sandbox.run(source, "validate", [Call(("a",))], limits=LIMITS)
    assert result.status == Status.NO_RESULT


def test_a_forged_number_beyond_all_bounds_is_no_result(sandbox):
    frame = b'[0, "ok", {"a": [1e999]}, ""]'
    source = body(
        f"data = {frame!r}", "os.write(3, len(data).to_bytes(4, 'little') + data)", "os._exit(0)", head="import os"
    )
    [result] = sandbox.run(source, "validate", [Call(("a",))], expected=Expected.VALUE, limits=LIMITS)
    assert result.status == Status.NO_RESULT


def test_an_interrupted_batch_leaves_no_word_for_the_next(sandbox, monkeypatch):
    """The soft time limit of a worker may strike at any moment."""

    def interrupted(*frame):
        raise InterruptedError

    with monkeypatch.context() as patched:
        patched.setattr(host, "_read_result", interrupted)
        with pytest.raises(InterruptedError):
            sandbox.run(CLEAN, "validate", [Call(("probe",))])
    for _ in range(3):
        [result] = sandbox.run(CLEAN, "validate", [Call(("probe",))])
        assert result.message == "clean"


def test_the_kernel_signals_nobody_on_a_guests_behalf(bare):
    """F_SETOWN, F_SETSIG and O_ASYNC would have it kill any process of the same user."""
    user = NOBODY if os.getuid() == 0 else None
    with subprocess.Popen(["sleep", "60"], user=user, group=user) as victim:
        source = body(
            "kinds = [kind for kind in object.__subclasses__() if kind.__name__ == 'CDLL']",
            "libc = kinds[0](None)",
            f"number = {72 if platform.machine() == 'x86_64' else 25}",
            f"for command, value in ((8, {victim.pid}), (10, 9), (4, 0o20000)):",
            "    if libc.syscall(number, 3, command, value) == -1:",
            "        raise PermissionError(1, 'refused')",
            "return True, 'armed'",
        )
        [result, *_] = bare.run(source, "validate", [Call(("probe",))] * 3, limits=LIMITS)
        alive = victim.poll() is None
        victim.kill()
    assert alive
    assert result.status == Status.FORBIDDEN


def test_a_control_socket_of_a_high_number_stays_out_of_reach():
    opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(300)]
    try:
        with Sandbox() as sandbox:
            listing = body(
                "out = []",
                "for fd in range(4, 1000):",
                "    try: os.lseek(fd, 0, 1)",
                "    except OSError as error:",
                "        if error.errno != 9: out.append((fd, error.errno))",
                "    else: out.append(fd)",
                "return True, str(out)",
                head="import os",
            )
            assert run_in(sandbox, listing).message == "[]"
    finally:
        for descriptor in opened:
            os.close(descriptor)


def test_what_cannot_be_stored_is_scrubbed(run):
    result = run(body(r"return True, 'a\x00b\ud800c'"))
    assert result.message == "a�b?c"


def test_poisoned_builtins_stay_in_their_batch(run):
    poison = body(
        "import builtins",
        "builtins.len = lambda x: 0",
        "builtins.str = None",
        "return True, 'poisoned'",
    )
    assert run(poison).status in {Status.OK, Status.EXCEPTION, Status.NO_RESULT}


def test_no_child_outlives_its_batch(sandbox):
    sandbox.run(CLEAN, "validate", [Call(("probe",))])
    before = _of_session(sandbox._process.pid)
    assert sandbox._process.pid in before
    sandbox.run(ENDLESS["sleep"], "validate", [Call(("a",))], limits=LIMITS)
    assert _of_session(sandbox._process.pid) == before


def test_a_killed_sandbox_starts_again():
    with Sandbox() as sandbox:
        sandbox.run(CLEAN, "validate", [Call(("probe",))])
        os.kill(sandbox._process.pid, signal.SIGKILL)
        sandbox._process.wait()
        [result] = sandbox.run(CLEAN, "validate", [Call(("probe",))])
        assert result.ok


def test_descriptors_of_the_host_are_not_inherited(run):
    with socket.socket() as ours:
        os.set_inheritable(ours.fileno(), True)
        listing = body(
            "out = []",
            "for fd in range(64):",
            "    try:",
            "        os.lseek(fd, 0, 1)",
            "        out.append(fd)",
            "    except OSError as error:",
            "        if error.errno == 29: out.append(fd)  # a pipe or socket, and there",
            "return True, str(out)",
            head="import os",
        )
        assert run(listing).message == "[0, 1, 2, 3]"


def _of_session(leader):
    """Living processes of the session that the prepared interpreter leads: itself and whatever came of it.

    Others on the machine may run sandboxes too. Nobody leaves the session: the filter knows no ``setsid``.
    """
    found = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                state, _, _, session = file.read().rpartition(b")")[2].split()[:4]
        except OSError:
            continue
        if int(session) == leader and state not in b"ZX":
            found.add(int(name))
    return found
