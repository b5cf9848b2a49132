"""Scripted roles, and generations that they play."""

from collections.abc import Callable
from typing import Any

import pytest

from benchmark.core.generation.cells import cell_name, draw_relations
from benchmark.core.generation.pipeline import advance, begin, choose, first_usable
from benchmark.core.generation.state import Setup, Source, State
from benchmark.core.generation.turns import waits_for
from benchmark.demo.generation_script import MODEL, TOOLS, scripted_answer


def make_setup(*policies: str, seed: int = 1, **more: Any) -> Setup:
    cell = policies or ("single_tool",)
    return Setup(cell_name(cell), cell, draw_relations(cell, seed), TOOLS, seed=seed, **more)


def play(state: State, until: Callable[[State], bool] = lambda state: False) -> State:
    """Let the script play until it is done, a person must act, or ``until``."""
    while (turn := waits_for(state)) is not None and not until(state):
        if turn.purpose is not None:
            state = advance(state, scripted_answer(state), Source("model", MODEL, "prompt", state.answers + 1))
        elif state.stuck:
            break
        else:
            state = choose(state, first_usable(state), Source("program"))
    return state


@pytest.fixture
def planning() -> State:
    """A state that waits for the planner's first plan of a task with one call."""
    return play(begin(make_setup()), lambda state: state.stage == "plan")
