"""What each role gets to see when it is its turn."""

import random
from collections.abc import Iterator
from typing import Any

from annotator.core.schema.exact_json import dumps
from annotator.core.text import gettext_noop
from benchmark.core.generation.cells import ANY
from benchmark.core.generation.purposes import Purpose
from benchmark.core.generation.state import Setup, Stage, State, Turn

POLICY_WORDS = {
    "single_tool": gettext_noop("exactly one call of one function"),
    "multi_tool": gettext_noop("two or more calls of functions"),
    "clarify": gettext_noop("a question back to the person, because a required value is missing; calls may follow"),
    "chat": gettext_noop("an answer in words, without any call"),
    ANY: gettext_noop("what the request needs: calls, a question, or only an answer"),
}
RELATION_WORDS = {
    "partial_information": "leaves out something that was said before, and that it needs",
    "coreferential_reference": "refers to something that was said before, by a pronoun, a description or its position",
    "long_range_dependency": "needs something from before the latest exchange, which it does not repeat",
}
LANGUAGES = {"en": "English", "zh": "Chinese"}
_PURPOSES = {
    Stage.PLAN: Purpose.ACTIONS,
    Stage.JUDGE: Purpose.VERDICT,
    Stage.OBSERVE: Purpose.OBSERVATIONS,
    Stage.ASK: Purpose.QUESTION,
    Stage.REPLY: Purpose.REPLY,
    Stage.ANSWER: Purpose.ANSWER,
}
#: Functions that a request should be about.
_FOCUS = {"single_tool": 1, "multi_tool": 3, "clarify": 1, "chat": 0, ANY: 2}


def waits_for(state: State) -> Turn | None:
    """Return whose turn it is; None if the dialogue is complete."""
    if state.stage is Stage.DONE:
        return None
    if state.stage is Stage.CHOOSE:
        return Turn(None)
    if state.stuck:
        return Turn(None, why=state.problems[-1].text if state.problems else None)
    purpose = purpose_of(state)
    return Turn(purpose, _common(state) | (_wanted(state) if state.stage is Stage.PROPOSE else _of_task(state)))


def purpose_of(state: State) -> Purpose:
    """Return what is asked for at a stage that waits for an answer."""
    if state.stage is Stage.PROPOSE:
        return Purpose.FOLLOW_UP if state.tasks else Purpose.FIRST_TASK
    return _PURPOSES[state.stage]


def _common(state: State) -> dict[str, Any]:
    before = state.tasks[: state.task]
    return {
        "language": LANGUAGES[state.setup.language],
        "tools": [tool.get("function", tool) for tool in state.setup.tools],
        "env_info": state.setup.env_info or "",
        "turns": [turn for task in before for turn in _turns(task)],
        "problems": [one.english for one in state.problems],
        "refused": state.refused,
        "policy": state.policy,
        "policy_words": POLICY_WORDS[state.policy],
    }


def _wanted(state: State) -> dict[str, Any]:
    setup = state.setup
    relations = [{"name": one, "words": RELATION_WORDS[one]} for one in setup.relations[state.task] if state.task]
    wanted = {"count": setup.per_relation if state.task else setup.candidates, "focus": draw_focus(setup, state.task)}
    return wanted | ({"relations": relations} if relations else {})


def draw_focus(setup: Setup, task: int) -> list[str]:
    """Return the functions that a request should be about, drawn by the seed."""
    draw = random.Random(f"{setup.seed}:{task}")  # noqa: S311 - no secret
    names = setup.toolset.names
    return draw.sample(names, min(_FOCUS[setup.policies[task]], len(names)))


def _of_task(state: State) -> dict[str, Any]:
    task, plan = state.tasks[-1], (state.actions or {}).get("proposal", {})
    values: dict[str, Any] = {"message": task["user_message"], "steps": [_step(one) for one in _finished(state)]}
    if state.stage is Stage.JUDGE:
        values["proposal"] = dumps(plan).decode()
    elif state.stage is Stage.OBSERVE:
        calls = _open_calls(task)
        values["calls"] = [{key: call[key] for key in ("id", "name", "arguments")} for call in calls]
    elif state.stage is Stage.ASK:
        values["missing"] = plan["missing"]
    elif state.stage is Stage.REPLY:
        values["question"] = task["steps"][-1]["question"]
    return values


def _finished(state: State) -> list[dict[str, Any]]:
    """Return the steps of the task that are complete."""
    steps = state.tasks[-1]["steps"]
    return [one for one in steps if _is_complete(one)]


def _is_complete(step: dict[str, Any]) -> bool:
    kind = step["type"]
    return step["observation"] is not None if kind == "call" else bool(step.get("user_reply") or kind == "answer")


def _open_calls(task: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in task["steps"] if one["type"] == "call" and one["observation"] is None]


def open_calls(state: State) -> list[dict[str, Any]]:
    """Return the calls that wait for their results."""
    return _open_calls(state.tasks[-1])


def _step(step: dict[str, Any]) -> dict[str, str]:
    if step["type"] == "call":
        text = f"{step['name']} {dumps(step['arguments']).decode()} → {dumps(step['observation']).decode()}"
    else:
        text = f"{step['question']} → {step['user_reply']}"
    return {"id": step["id"], "kind": step["type"], "text": text}


def _turns(task: dict[str, Any]) -> Iterator[dict[str, str]]:
    yield {"speaker": "user", "text": task["user_message"]}
    for step in task["steps"]:
        if step["type"] == "call":
            yield {"speaker": "call", "text": f"{step['name']} {dumps(step['arguments']).decode()}"}
            yield {"speaker": "result", "text": dumps(step["observation"]).decode()}
        elif step["type"] == "clarification":
            yield {"speaker": "assistant", "text": step["question"]}
            yield {"speaker": "user", "text": step["user_reply"]}
        else:
            yield {"speaker": "assistant", "text": step["text"]}
