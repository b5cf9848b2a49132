"""The sandbox for well-meant code: answers, values, messages, batches; and what it says where it cannot run."""

import json
import platform
import sys

import pytest

from annotator.core.sandbox import (
    Call,
    Expected,
    Limits,
    Sandbox,
    SandboxUnavailable,
    Status,
    host,
    interpreter,
    shared_sandbox,
)
from annotator.core.sandbox.inside import seccomp

WORDS = """
import re

def validate(response):
    words = len(re.findall(r"\\w+", response))
    return words <= 3, f"{words} words"
"""


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox() as sandbox:
        yield sandbox


def test_a_validator_answers_for_each_response_in_order(sandbox):
    responses = ["one", "one two three", "one two three four", ""]
    results = sandbox.run(WORDS, "validate", [Call((text,)) for text in responses])
    assert [one.status for one in results] == [Status.OK] * 4
    assert [one.accepted for one in results] == [True, True, False, True]
    assert [one.message for one in results] == ["1 words", "3 words", "4 words", "0 words"]


def test_no_calls_need_no_answer(sandbox):
    assert sandbox.run(WORDS, "validate", []) == []


def test_more_calls_than_one_batch_holds(sandbox):
    count = 2 * host.BATCH_CALLS + 7
    results = sandbox.run(WORDS, "validate", [Call(("x " * (n % 5),)) for n in range(count)])
    assert [one.accepted for one in results] == [n % 5 <= 3 for n in range(count)]


def test_a_batch_of_large_responses_is_cut_by_size(sandbox, monkeypatch):
    monkeypatch.setattr(host, "BATCH_BYTES", 1000)
    seen = []
    child = sandbox.open_child
    monkeypatch.setattr(sandbox, "open_child", lambda limits: seen.append(1) or child(limits))
    results = sandbox.run(WORDS, "validate", [Call(("x" * 600,))] * 4)
    assert [one.accepted for one in results] == [True] * 4
    assert len(seen) == 4


@pytest.mark.parametrize(
    "value", [None, True, 7, 1.5, "text", [1, "two", None], {"a": {"b": [1]}}, "中文", "", {}, 2**70]
)
def test_a_tool_returns_any_json_value(sandbox, value):
    source = f"import json\ndef tool(place, *, days=1):\n    return json.loads({json.dumps(value)!r})\n"
    [result] = sandbox.run(source, "tool", [Call(("Rome",), {"days": 2})], expected=Expected.VALUE)
    assert (result.status, result.value, result.accepted) == (Status.OK, value, None)


@pytest.mark.parametrize("returned", ["float('nan')", "float('inf')", "{1, 2}", "object()", "b'x'"])
def test_what_json_cannot_hold_is_no_value(sandbox, returned):
    source = f"def tool():\n    return {returned}\n"
    [result] = sandbox.run(source, "tool", [Call()], expected=Expected.VALUE)
    assert result.status == Status.BAD_RETURN_TYPE


def test_a_tool_gets_its_arguments_by_name(sandbox):
    source = "def convert(amount, unit):\n    return f'{amount} {unit}'\n"
    [result] = sandbox.run(source, "convert", [Call(kwargs={"unit": "km", "amount": 3})], expected=Expected.VALUE)
    assert result.value == "3 km"


@pytest.mark.parametrize(
    "head", ["from __future__ import annotations\n", "\ufeff# saved with a byte order mark\n", "import logging\n"]
)
def test_what_real_files_begin_with_is_understood(sandbox, head):
    source = head + "def validate(response: str) -> tuple:\n    return len(response.encode('gbk')) == 4, ''\n"
    [result] = sandbox.run(source, "validate", [Call(("中文",))])
    assert (result.status, result.accepted) == (Status.OK, True)


def test_an_exception_shows_the_lines_of_the_code_itself(sandbox):
    source = (
        "import json\n\ndef validate(response):\n    return check(json.loads(response))\n\n"
        "def check(data):\n    return data['a'] > 0, ''\n"
    )
    good, bad, worse = sandbox.run(source, "validate", [Call(('{"a": 1}',)), Call(("{}",)), Call(("{",))])
    assert good.ok
    assert bad.message == (
        "line 4, in validate\n    return check(json.loads(response))\n"
        "line 7, in check\n    return data['a'] > 0, ''\nKeyError: 'a'"
    )
    assert worse.message.startswith("line 4, in validate\n    return check(json.loads(response))\nJSONDecodeError: ")


def test_an_exception_of_one_call_leaves_the_others_alone(sandbox):
    source = "def validate(response):\n    return 1 / len(response) > 0, ''\n"
    results = sandbox.run(source, "validate", [Call(("a",)), Call(("",)), Call(("b",))])
    assert [one.status for one in results] == [Status.OK, Status.EXCEPTION, Status.OK]


def test_the_call_that_hangs_is_the_one_blamed(sandbox):
    source = "def validate(response):\n    while response == 'hang': pass\n    return True, ''\n"
    calls = [Call((text,)) for text in ("a", "b", "hang", "c", "d")]
    results = sandbox.run(source, "validate", calls, limits=Limits(wall=1.0, cpu=1))
    assert [one.ok for one in results] == [True, True, False, True, True]
    assert results[2].status in (Status.TIMEOUT_CPU, Status.TIMEOUT_WALL)


def test_a_source_that_always_hangs_is_given_up(sandbox, monkeypatch):
    children = []
    child = sandbox.open_child
    monkeypatch.setattr(sandbox, "open_child", lambda limits: children.append(1) or child(limits))
    source = "import time\ndef validate(response):\n    time.sleep(60)\n"
    results = sandbox.run(source, "validate", [Call(("a",))] * 20, limits=Limits(wall=0.3))
    assert {one.status for one in results} == {Status.TIMEOUT_WALL}
    assert len(children) == host.MAX_STOPPED
    assert sum(one.message.startswith("Not tried: 3 earlier calls ended like this.") for one in results) == 17


def test_calls_that_all_take_long_end_with_the_time_for_all(sandbox):
    source = "import time\ndef validate(response):\n    time.sleep(0.2)\n    return True, ''\n"
    results = sandbox.run(source, "validate", [Call(("a",))] * 300, limits=Limits(wall=0.8, total=0.1))
    assert sum(one.ok for one in results) == 1
    assert {one.message for one in results if not one.ok} == {"Not tried: other calls of this code took 0.1 seconds."}


def test_one_that_takes_long_for_each_call_is_no_failure(sandbox):
    source = "import time\ndef validate(response):\n    time.sleep(0.2)\n    return True, ''\n"
    results = sandbox.run(source, "validate", [Call(("a",))] * 6, limits=Limits(wall=0.8))
    assert [one.status for one in results] == [Status.OK] * 6


def test_sets_come_in_the_same_order_every_time():
    source = "def validate(response):\n    return True, ' '.join({'north', 'south', 'east', 'west', 'up'})\n"
    seen = set()
    for _ in range(2):
        with Sandbox() as sandbox:
            seen.add(sandbox.run(source, "validate", [Call(("",))])[0].message)
    assert len(seen) == 1


def test_elsewhere_than_on_linux_nothing_runs(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with Sandbox() as sandbox, pytest.raises(SandboxUnavailable, match="run only on Linux"):
        sandbox.run(WORDS, "validate", [Call(("a",))])


def test_without_the_filter_nothing_runs(tmp_path, monkeypatch):
    # A copy of the other side that finds no table for this machine.
    inside = tmp_path / "inside"
    inside.mkdir()
    for file in (interpreter.FOLDER / "inside").glob("*.py"):
        (inside / file.name).write_text(file.read_text().replace("platform.machine()", "'strange'"))
    monkeypatch.setattr(interpreter, "FOLDER", tmp_path)
    with Sandbox() as sandbox, pytest.raises(SandboxUnavailable, match="no code runs: there is no table"):
        sandbox.run(WORDS, "validate", [Call(("a",))])


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_program_of_each_machine_refuses_what_it_does_not_name(machine):
    code = seccomp.program(machine)
    lines = [code[at : at + 8] for at in range(0, len(code), 8)]
    assert len(lines) < 256, "jumps of the program are one byte"
    assert lines[-1] == seccomp.struct.pack("HBBI", 0x06, 0, 0, 0x00050001)
    names = seccomp._TABLES[machine][2]
    assert len(set(names.values())) == len(names)
    assert not {"open", "openat", "socket", "clone", "execve", "kill", "tgkill", "ptrace", "prctl"} & set(names)


def test_both_machines_allow_the_same():
    assert set(seccomp._TABLES["x86_64"][2]) == set(seccomp._TABLES["aarch64"][2])


def test_a_machine_nobody_has_tried_is_refused():
    with pytest.raises(seccomp.Unsupported, match="riscv64"):
        seccomp.program("riscv64")


def test_this_machine_puts_up_the_walls_it_can(sandbox):
    sandbox.start()
    assert set(sandbox.layers) <= set(host.LAYERS)
    assert platform.machine() in seccomp._TABLES


def test_one_process_has_one_sandbox():
    assert shared_sandbox() is shared_sandbox()


def test_every_status_has_words():
    assert all(status.words.endswith(".") for status in Status)
