"""Changes of states, missing calls, and suggested changes of a trajectory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.comparison.state_changes import state_changes
from annotator.core.execution.dependencies import explain, run_again
from annotator.core.execution.mends import suggest_mends
from annotator.core.execution.prerequisites import missing_prerequisite
from annotator.core.execution.running import Start, StatefulTool, execute
from annotator.core.sandbox import Implementation, Sandbox, ToolCall

CHANGES = {
    "value": ({"a": 1}, {"a": 2}, [("/a", "changed", 1, 2)]),
    "kind of a value": ({"a": 1}, {"a": True}, [("/a", "changed", 1, True)]),
    "keys": ({"a": 1, "b/c": 2}, {"a": 1, "d": 3}, [("/b~1c", "removed", 2, None), ("/d", "added", None, 3)]),
    "appended": ([1, 2], [1, 2, 3], [("/2", "added", None, 3)]),
    "inserted": ([1, 3], [1, 2, 3], [("/1", "added", None, 2)]),
    "removed first": ([1, 2, 3], [2, 3], [("/0", "removed", 1, None)]),
    "within an item": ([{"n": 1}, 5], [{"n": 2}, 5], [("/0/n", "changed", 1, 2)]),
    "everything": ([], {}, [("", "changed", [], {})]),
    "nothing": ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, []),
}


@pytest.mark.parametrize(("before", "after", "expected"), CHANGES.values(), ids=CHANGES)
def test_a_state_is_compared_place_by_place(before, after, expected):
    found = [(one.pointer, one.kind, one.before, one.after) for one in state_changes(before, after)]
    assert found == expected


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("ab/~"), inner, max_size=3),
    max_leaves=10,
)


@given(JSON, JSON)
def test_equal_states_have_no_changes_and_others_have_some(one, other):
    assert list(state_changes(one, one)) == []
    assert bool(list(state_changes(one, other))) == (repr(one) != repr(other) and not _same(one, other))


def _same(one, other):
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and one == other


SOURCE = """
class Desk:
    def __init__(self):
        self.readers, self.open, self.loans = [], False, []
    def unlock(self):
        self.open = True
    def register(self, reader):
        self.readers.append(reader)
    def lend(self, reader, title):
        if reader not in self.readers:
            return {'error': 'not registered'}
        self.loans.append([reader, title])
    def close(self):
        if not self.open:
            raise ValueError('it is closed')
        self.open = False
    def look(self):
        return {'loans': self.loans}
    def fail(self):
        return {'error': 'always'}
"""
REQUIRED = {
    "close": (), "fail": (), "look": (), "lend": ("reader", "title"), "register": ("reader",), "unlock": (),
}  # fmt: skip
TOOL = StatefulTool(Implementation(SOURCE, "Desk"), frozenset(REQUIRED))
LEND = ToolCall("lend", {"reader": "Pia", "title": "Emma"})


@pytest.fixture(scope="module")
def runner():
    with Sandbox() as sandbox:
        yield lambda trajectory, twice: sandbox.run_trajectory(trajectory, twice=twice)


def missing(runner, *calls):
    return missing_prerequisite(
        runner, TOOL, Start(), calls, execute(runner, TOOL, Start(), calls, twice=False), REQUIRED
    )


def test_the_call_that_is_missing_before_a_failing_one_is_named(runner):
    assert missing(runner, LEND, ToolCall("look")) == (0, ToolCall("register", {"reader": "Pia"}))
    assert missing(runner, ToolCall("look"), ToolCall("close")) == (1, ToolCall("unlock"))


def test_nothing_is_named_if_nothing_helps_or_the_call_is_at_fault(runner):
    assert missing(runner, ToolCall("look")) is None
    assert missing(runner, ToolCall("fail")) is None
    assert missing(runner, ToolCall("lend", {"reader": "Pia"})) is None
    assert missing(runner, ToolCall("erase")) is None


def mends(runner, *calls):
    execution = execute(runner, TOOL, Start(), calls)
    dependencies = explain(execution, run_again(runner, TOOL, Start(), calls, execution), "")
    found = suggest_mends(calls, execution, dependencies, missing(runner, *calls))
    return [(one.kind, one.index, one.calls) for one in found]


def test_changes_are_suggested_for_what_running_shows(runner):
    lend = "lend(reader='Pia', title='Emma')"
    assert mends(runner, LEND, ToolCall("look")) == [("add", 0, f"register(reader='Pia')\n{lend}\nlook()")]
    registered = ToolCall("register", {"reader": "Pia"})
    assert mends(runner, ToolCall("look"), registered, LEND) == [("delete", 0, f"register(reader='Pia')\n{lend}")]
    assert mends(runner, registered, ToolCall("look"), ToolCall("look")) == [
        ("delete", 2, "register(reader='Pia')\nlook()")
    ]
    assert mends(runner, registered, LEND) == []
