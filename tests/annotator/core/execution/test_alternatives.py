"""Another call that does the same: the question does not say which one is meant."""

from typing import Any

import pytest

from annotator.core.execution.alternatives import find_alternative
from annotator.core.execution.running import Start, StatefulTool, execute
from annotator.core.sandbox import Implementation, Sandbox, ToolCall

SOURCE = """
class Box:
    def __init__(self):
        self.things, self.log = [], 0
    def put(self, thing):
        self.things.append(thing)
    def add(self, item):
        self.things.append(item)
    def push(self, thing):
        self.things.append(thing)
        self.log += 1
    def join(self, first, second):
        return sorted([first, second])
    def count(self):
        return len(self.things)
    def fail(self, thing):
        raise ValueError(thing)
"""
REQUIRED = {
    **{"put": ("thing",), "add": ("item",), "push": ("thing",), "join": ("first", "second"), "count": ()},
    "fail": ("thing",),
}


@pytest.fixture(scope="module")
def sandbox() -> Any:
    with Sandbox() as one:
        yield one


def alternative(sandbox: Sandbox, *calls: ToolCall, without: str = "") -> tuple[int, str, Any] | None:
    functions = frozenset(REQUIRED) - {without}
    tool = StatefulTool(Implementation(SOURCE, "Box", None), functions)

    def run(trajectory: Any, twice: bool) -> Any:
        return sandbox.run_trajectory(trajectory, twice=twice)

    execution = execute(run, tool, Start(), calls)
    found = find_alternative(run, tool, Start(), calls, execution, REQUIRED)
    return found and (found[0], found[1].name, dict(found[1].arguments))


COUNT = ToolCall("count", {})


def test_a_function_with_the_same_effect_is_found_and_its_argument_renamed(sandbox: Sandbox) -> None:
    assert alternative(sandbox, ToolCall("put", {"thing": "a"}), COUNT) == (0, "add", {"item": "a"})


def test_what_changes_the_state_in_another_way_is_not_the_same(sandbox: Sandbox) -> None:
    # push also counts, so only add could stand for put.
    assert alternative(sandbox, ToolCall("put", {"thing": "a"}), COUNT, without="add") is None
    assert alternative(sandbox, ToolCall("push", {"thing": "a"}), COUNT) is None


def test_arguments_that_can_be_exchanged_are_no_other_meaning(sandbox: Sandbox) -> None:
    assert alternative(sandbox, ToolCall("join", {"first": "a", "second": "b"}), COUNT) is None


def test_a_trajectory_that_fails_is_not_searched(sandbox: Sandbox) -> None:
    assert alternative(sandbox, ToolCall("put", {"thing": "a"}), ToolCall("fail", {"thing": "a"})) is None


def test_values_of_later_calls_are_not_known_yet(sandbox: Sandbox) -> None:
    # Only with the value of the second call could the first one be replaced.
    calls = ToolCall("count", {}), ToolCall("put", {"thing": 0})
    found = alternative(sandbox, *calls)
    assert found == (1, "add", {"item": 0})
