"""Trajectories of stateful tools: isolation, states as JSON, failures, clock and randomness, and hostile tools."""

import json

import pytest

from annotator.core.sandbox import (
    Implementation,
    Limits,
    Sandbox,
    State,
    Status,
    ToolCall,
    Trajectory,
    trajectories,
)
from annotator.core.schema.canonical import canonical, content_hash
from tests.annotator.core.sandbox import test_sandbox_hostile as hostile

#: On a busy machine, CPU seconds pass slowly: the wall clock leaves the CPU limit time to be met.
LIMITS = Limits(wall=20, cpu=1, memory=192 << 20)
COUNTER = """
class Tool:
    def __init__(self):
        self.n = 0
    def add(self, by: int):
        self.n += by
        return {'n': self.n}
"""


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox() as sandbox:
        yield sandbox


def of(source, *calls, class_name="Tool", load=None, state=None, **more):
    """A trajectory; each call is a name, or a name and its arguments."""
    steps = [ToolCall(*((call,) if isinstance(call, str) else call)) for call in calls]
    names = frozenset(step.name for step in steps)
    return Trajectory(Implementation(source, class_name, load), names, state, tuple(steps), **more)


def whole(arguments):
    """Whole floats are passed as integers."""
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in arguments.items()
    }


def final_state(run):
    """The state after the last call; None if it is unknown."""
    state = run.initial
    for step in run.steps:
        state = step.state or state
    return state


def test_the_shared_cases_come_to_what_they_must(sandbox, shared_data):
    for line in (shared_data / "async/execution_cases.jsonl").read_text().splitlines():
        case = json.loads(line)
        calls = tuple(ToolCall(call["name"], whole(call["params"])) for call in case["calls"])
        implementation = Implementation(case["source"], case["class"], case["load"])
        trajectory = Trajectory(implementation, frozenset(case["functions"]), case["initial_state"], calls)
        for _ in range(case["runs"]):
            run = sandbox.run_trajectory(trajectory, limits=LIMITS)
            assert len(run.steps) == len(case["expected"]), case["id"]
            for step, expected in zip(run.steps, case["expected"], strict=True):
                assert step.status in expected["status"], case["id"]
                if "result" in expected:
                    assert step.result == expected["result"], case["id"]
            assert (run.differs is None) == case.get("deterministic", True), case["id"]
            if case.get("final_state") is not None:
                assert final_state(run) == State(case["final_state"]), case["id"]
            if "final_state_sha256" in case:
                assert content_hash(canonical(final_state(run).value)) == case["final_state_sha256"], case["id"]


def test_each_call_reports_its_result_and_the_state_only_if_it_changed(sandbox):
    run = sandbox.run_trajectory(of(COUNTER, ("add", {"by": 2}), ("add", {"by": 0}), ("add", {"by": 3})))
    assert run.initial == State({"n": 0})
    assert [step.result for step in run.steps] == [{"n": 2}, {"n": 2}, {"n": 5}]
    assert [step.state for step in run.steps] == [State({"n": 2}), None, State({"n": 5})]
    assert run.differs is None


def test_an_exception_has_its_type_and_text_and_a_traceback_of_the_sources_own_lines(sandbox):
    source = "class Tool:\n    def go(self):\n        raise ValueError('no\\nsuch thing')\n"
    [step] = sandbox.run_trajectory(of(source, "go")).steps
    assert (step.status, step.error) == (Status.EXCEPTION, "ValueError: no\nsuch thing")
    assert "line 3, in go" in step.message


STATES = {
    "slots": (
        "class Point:\n    __slots__ = ('x', '_y')\n    def __init__(self):\n        self.x, self._y = 1, 2\n",
        "Point()",
        {"$object": "Point", "state": {"x": 1}},
    ),
    "sets sorted by their text": ("", "{10, 9, 'a', (1, 2)}", {"$set": ["a", 10, 9, [1, 2]]}),
    "keys that are no text": ("", "{None: 1, (1, 2): 2, True: 3}", {"null": 1, "[1,2]": 2, "true": 3}),
    "itself": ("", "(lambda x: x.append(x) or x)([])", [{"$cycle": 1}]),
    "whole floats": ("", "[2.0, -0.0, 2.5, 2 ** 64 - 1]", [2, 0, 2.5, 2**64 - 1]),
    "a date with a zone": (
        "from datetime import datetime, UTC\n",
        "datetime(2026, 2, 3, 4, 5, tzinfo=UTC)",
        {"$datetime": "2026-02-03T04:05:00+00:00"},
    ),
    "an enumeration": (
        "import enum\nclass Colour(enum.Enum):\n    RED = 'r'\n",
        "Colour.RED",
        {"$object": "Colour", "state": {"name": "RED", "value": "r"}},
    ),
    "a dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass Item:\n    name: str\n    count: int = 2\n",
        "[Item('a')] * 2",
        [{"$object": "Item", "state": {"name": "a", "count": 2}}] * 2,
    ),
    "a counter and a deque": (
        "from collections import Counter, deque\n",
        "[Counter('aab'), deque([1])]",
        [{"a": 2, "b": 1}, [1]],
    ),
}


@pytest.mark.parametrize(("head", "value", "expected"), STATES.values(), ids=STATES)
def test_values_are_written_alike_in_states_and_results(sandbox, head, value, expected):
    source = (
        f"{head}class Tool:\n    def __init__(self):\n        self.v = {value}\n"
        "    def get(self):\n        return self.v\n"
    )
    run = sandbox.run_trajectory(of(source, "get"))
    assert run.initial.value == {"v": expected}
    assert run.steps[0].result == expected
    assert run.differs is None


UNWRITABLE = {
    "beyond 64 bits": "2 ** 64",
    "a whole float beyond 64 bits": "1e300",
    "infinity": "float('inf')",
    "two keys of one text": "{1: 'a', '1': 'b'}",
    "a function": "len",
    "bytes": "b'x'",
    "a class": "Tool",
    "NUL": "'\\x00'",
    "half of a surrogate pair": "'\\ud800'",
    "nested too deeply": "__import__('functools').reduce(lambda a, _: [a], range(60), 1)",
    "a million values": "[0] * 1_000_000",
    "50 MB": "'x' * 50_000_000",
}


@pytest.mark.parametrize("value", UNWRITABLE.values(), ids=UNWRITABLE)
def test_what_cannot_be_written_is_told_at_its_place_and_the_next_call_runs(sandbox, value):
    source = (
        "class Tool:\n    def __init__(self):\n        self.n = 0\n"
        f"    def get(self):\n        return {value}\n    def put(self):\n        self.v = {value}\n"
        "    def drop(self):\n        del self.v\n        self.n = 7\n"
    )
    run = sandbox.run_trajectory(of(source, "get", "put", "drop"))
    got, put, dropped = run.steps
    assert got.status in (Status.RESULT_NOT_JSON, Status.OUTPUT_LIMIT)
    assert got.message.endswith(".")
    assert put.status == Status.OK
    assert put.state.error.startswith("The state ")
    assert dropped.state == State({"n": 7})


WORLD = """
import datetime, random, secrets, time, uuid
from datetime import datetime as moment
from zoneinfo import ZoneInfo

class Tool:
    def clock(self):
        before = time.monotonic()
        time.sleep(90)
        now = moment.now()
        return [str(now), str(datetime.date.today()), time.time(), time.strftime('%H:%M'), isinstance(now, moment),
                isinstance(moment(2020, 1, 1), datetime.datetime), time.monotonic() - before, type(now).__name__,
                str(moment.now(ZoneInfo('Asia/Tokyo'))), str(moment.strptime('2026', '%Y') + datetime.timedelta(1))]
    def luck(self):
        return [random.random(), random.Random().random(), str(uuid.uuid4()), str(uuid.uuid1())]
    def order(self):
        return list({'a', 'b', 'c', 'd', 'e', 'f'})
    def secret(self):
        return secrets.token_hex()
    def address(self):
        return id(self)
    def coin(self):
        return random.SystemRandom().choice([True, True])
    def wait(self):
        return str(moment.fromtimestamp(0))
"""


def test_clock_and_randomness_are_those_of_the_task(sandbox):
    trajectory = of(WORLD, "clock", "luck", "wait", seed=5, now=1_770_091_200.0)
    run = sandbox.run_trajectory(trajectory)
    assert run.differs is None
    assert run.steps[0].result == [
        "2026-02-03 04:01:30", "2026-02-03", 1_770_091_290, "04:01", True, True, 90, "datetime",
        "2026-02-03 13:01:30+09:00", "2026-01-02 00:00:00",
    ]  # fmt: skip
    assert run.steps[2].result == "1970-01-01 00:00:00"
    again = sandbox.run_trajectory(trajectory)
    assert again.steps == run.steps
    other = sandbox.run_trajectory(of(WORLD, "luck", seed=6))
    assert all(mine != theirs for mine, theirs in zip(run.steps[1].result, other.steps[0].result, strict=True))


@pytest.mark.parametrize("name", ["order", "secret", "address", "coin"])
def test_what_differs_between_two_runs_is_reported_with_its_call(sandbox, name):
    assert sandbox.run_trajectory(of(WORLD, "clock", name)).differs == 1


def test_a_tool_that_differs_when_loaded_is_reported(sandbox):
    source = (
        "import secrets\nclass Tool:\n    def __init__(self):\n        self.key = secrets.token_hex()\n"
        "    def f(self): pass\n"
    )
    assert sandbox.run_trajectory(of(source, "f")).differs == -1


FAILING = {
    "no Python": ("class Tool(:\n", Status.SYNTAX_ERROR),
    "prints 100 MB": (
        "for _ in range(100): print('x' * 1_000_000)\nclass Tool:\n    def f(self): return 1\n",
        Status.OK,
    ),
    "a module that is not there": ("import numpy\n", Status.IMPORT_ERROR),
    "raises while loading": ("1 / 0\n", Status.LOAD_FAILED),
    "no class": ("def f(): pass\n", Status.MISSING_CLASS),
    "the class is a function": ("def Tool(): pass\n", Status.MISSING_CLASS),
    "no loader": ("class Tool:\n    def f(self): pass\n", Status.OK),
    "hangs while loading": ("while True: pass\n", Status.TIMEOUT_CPU),
    "ends while loading": ("import os\nos._exit(0)\n", Status.NO_RESULT),
    "a source too long": ("#" * (LIMITS.source + 1), Status.OUTPUT_LIMIT),
    "NUL in the source": ("class Tool:\n    '\x00'\n", Status.SYNTAX_ERROR),
}


@pytest.mark.parametrize(("source", "status"), FAILING.values(), ids=FAILING)
def test_a_tool_that_does_not_load_is_told_at_the_first_call(sandbox, source, status):
    run = sandbox.run_trajectory(of(source, "f", "f"), limits=LIMITS)
    assert run.steps[0].status == status
    assert run.steps[1].status == (Status.OK if status == Status.OK else Status.NOT_RUN)
    assert (run.initial is None) == (status != Status.OK)


def test_a_missing_loader_is_told(sandbox):
    [step] = sandbox.run_trajectory(of(COUNTER, ("add", {"by": 1}), load="load")).steps
    assert (step.status, step.message) == (Status.MISSING_FUNCTION, "The class has no function load.")


def test_too_many_calls_are_refused_before_anything_runs(sandbox):
    run = sandbox.run_trajectory(of(COUNTER, *[("add", {"by": 1})] * 10_000))
    assert {step.status for step in run.steps} == {Status.NOT_RUN}
    assert run.steps[0].message == "A trajectory has at most 1,000 calls. This one has 10,000. Remove some."


def test_states_of_more_than_the_limit_in_total_end_the_trajectory(sandbox, monkeypatch):
    monkeypatch.setattr(trajectories, "MAX_BYTES", 1 << 20)
    source = "class Tool:\n    def grow(self, by):\n        self.text = 'x' * by\n"
    run = sandbox.run_trajectory(of(source, *[("grow", {"by": 300_000 + n}) for n in range(6)]))
    assert [step.status for step in run.steps] == [Status.OK] * 3 + [Status.OUTPUT_LIMIT] + [Status.NOT_RUN] * 2


FORGED = {
    "an answer ahead": "[1, 'ok', 'forged', '', None, False, False]",
    "an answer with a guessed token": "['0' * 16, 'ok', 'forged', '', None, False, False]",
    "a status of the host": "[0, 'timeout_wall', None, '', None, False, False]",
    "nothing of the kind": "{}",
}


@pytest.mark.parametrize("frame", FORGED.values(), ids=FORGED)
def test_an_answer_cannot_be_forged_before_its_call(sandbox, frame):
    source = (
        "import json, os\nclass Tool:\n    def forge(self):\n"
        f"        data = json.dumps({frame}).encode()\n"
        "        os.write(3, len(data).to_bytes(4, 'little') + data)\n        return 1\n"
        "    def get(self):\n        return 2\n"
    )
    run = sandbox.run_trajectory(of(source, "forge", "get"), limits=LIMITS)
    assert "forged" not in [step.result for step in run.steps]
    assert [step.status for step in run.steps] == [Status.NO_RESULT, Status.NOT_RUN]
    assert sandbox.run_trajectory(of(COUNTER, ("add", {"by": 1}))).steps[0].result == {"n": 1}


HOSTILE = {
    **{name: (source, hostile.REFUSED) for name, source in (hostile.FILES | hostile.PROCESSES).items()},
    # The clock of a trajectory is not the machine's: sleeping only puts it forward.
    **{
        name: (source, hostile.NEVER_ENDS | {Status.MEMORY})
        for name, source in hostile.ENDLESS.items()
        if name != "sleep"
    },
    **{name: (source, statuses) for name, (source, statuses) in hostile.GREEDY.items()},
}
#: What a value that is no verdict comes to here, and what a validator's own failure to load is called here.
ALSO = {
    Status.BAD_RETURN_TYPE: {Status.RESULT_NOT_JSON, Status.OUTPUT_LIMIT},
    Status.OUTPUT_LIMIT: {Status.OUTPUT_LIMIT, Status.RESULT_NOT_JSON},
    Status.EXCEPTION: {Status.LOAD_FAILED},
}


@pytest.mark.parametrize("layers", [(), hostile.LAYERS], ids=["filter alone", "all layers"])
def test_hostile_tools_get_nowhere_and_harm_nobody(layers, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text(hostile.SECRET)
    with Sandbox(layers=layers) as sandbox:
        for name, (source, statuses) in HOSTILE.items():
            if not layers and statuses is not hostile.REFUSED:
                continue
            trajectory = of(
                source.replace("{secret!r}", repr(str(secret))),
                ("validate", {"response": "probe"}),
                class_name=None,
            )
            [step] = sandbox.run_trajectory(trajectory, limits=LIMITS).steps
            assert step.status in statuses.union(*(ALSO.get(status, set()) for status in statuses)), name
            assert hostile.SECRET not in step.message + json.dumps(step.result), name
            after = sandbox.run_trajectory(of(COUNTER, ("add", {"by": 4})), limits=LIMITS)
            assert (after.steps[0].result, after.differs) == ({"n": 4}, None), name
