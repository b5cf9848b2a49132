"""Stateful functions in a generation that continues verified tasks."""

import pytest

from annotator.core.schema.exact_json import loads
from benchmark.core.generation.pipeline import advance, begin
from benchmark.core.generation.state import Setup, Source
from benchmark.core.generation.tool_runs import CannotRun, run_calls
from benchmark.services.generation.layers import continued_setup
from benchmark.services.generation.running_tools import _run_in_sandbox, code_of
from tests.benchmark.generation.test_running_tools import ANSWER, FINISH, RIGHT, TOOLS, call, start, team

__all__ = ["team"]
pytestmark = [pytest.mark.django_db(transaction=True)]


def test_verified_calls_come_first_and_must_return_the_same(team):
    first = start(team, "one", call(("put", "lamp")), RIGHT, FINISH, RIGHT, ANSWER)
    revision = first.dialogue.head
    more = {
        "name": "two", "policies": ["single_tool", "any"], "relations": [["explicit"], ["explicit"]],
        "request": "Now put a vase there.", "run_tools": True,
    }  # fmt: skip
    continued = continued_setup(more, revision)
    assert continued["initial_state"] == ["book"]
    assert continued_setup(more | {"initial_state": ["jug"]}, revision)["initial_state"] == ["jug"]
    continued["relations"][1] = ["partial_information"]

    def put(**changes):
        state = begin(Setup.from_json(continued | changes, TOOLS))
        for answer in (call(("put", "vase")), RIGHT):
            state = advance(state, answer[1], Source("model", "m"))
        return loads(run_calls(_run_in_sandbox, state, code_of(first)))["results"]

    assert [one["count"] for one in put().values()] == [3]
    for changes in ({"initial_state": []}, {"seed": 5}):
        with pytest.raises(CannotRun, match="something else than the verified result"):
            put(**changes)
