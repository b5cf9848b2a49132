"""Small references and predictions for the scorers, written by hand."""

import json
from typing import Any

from benchmark.core.formats import FORMATS
from benchmark.core.formats.answer_nodes import ANSWER, ASK
from benchmark.core.scoring.predictions import PredictedCall, Round
from benchmark.core.scoring.references import ReferenceDialogue

TEXT = {"type": "string", "description": "a text"}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": name,
            "parameters": {
                "type": "object",
                "properties": {"q": TEXT, "n": {"type": "integer", "description": "a number, null for all"}},
                "required": ["q"],
            },
        },
    }
    for name in ("find", "read", "send")
]


def node(name: str, *needs: int, **arguments: Any) -> dict[str, Any]:
    """A node of an answer list; its ``q`` is its name unless given."""
    if name == "ask":
        return {"action": {"name": ASK, "arguments": {}}, "observation": "Which?", "user_input": "This.",
                "dependency_list": list(needs)}  # fmt: skip
    if name == "answer":
        return {"action": {"name": ANSWER, "arguments": {"answer_type": "tool"}}, "observation": "Done.",
                "dependency_list": list(needs)}  # fmt: skip
    return {"action": {"name": name, "arguments": arguments or {"q": name}}, "observation": {"ok": True},
            "dependency_list": list(needs)}  # fmt: skip


#: A dialogue of three tasks: one call, two independent calls before a third, a question before a call.
TASKS = [
    ("Single-Tool", [node("find"), node("answer", 0)]),
    ("Mixed Multi-Tool", [node("find", q="a"), node("find", q="b"), node("send", 0, 1), node("answer", 2)]),
    ("Clarify", [node("ask"), node("read", 0), node("answer", 1)]),
]


def wild_record(name: str = "d_0", tasks: Any = None) -> dict[str, Any]:
    """A native record of WildToolBench."""
    tasks = TASKS if tasks is None else tasks
    answers = [[{"idx": place, **one} for place, one in enumerate(nodes)] for _, nodes in tasks]
    return {
        "id": name,
        "english_env_info": "2026-02-03 09:00:00 Tuesday",
        "english_tools": TOOLS,
        "english_tasks": [f"Task {number} of {name}" for number in range(len(tasks))],
        "english_answer_list": answers,
        "answer_list": answers,
        "english_task_types": [label for label, _ in tasks],
        "english_turn_subtypes": ["Partial Information"] * (len(tasks) - 1),
    }


def reference(name: str = "d_0", tasks: Any = None) -> ReferenceDialogue:
    """The same as a scorer reads it."""
    record = wild_record(name, tasks)
    del record["answer_list"]
    (dialogue,) = FORMATS["wild"].read(record)
    return ReferenceDialogue(dialogue)


def call(name: str, **arguments: Any) -> PredictedCall:
    return PredictedCall(name, json.dumps(arguments or {"q": name}))


def calls(*given: PredictedCall | str) -> Round:
    return Round(tuple(call(one) if isinstance(one, str) else one for one in given))


def said(text: str = "Done.") -> Round:
    return Round(content=text)


#: Rounds that are right for each task of ``TASKS``.
RIGHT = [
    (calls("find"), said()),
    (calls(call("find", q="a"), call("find", q="b")), calls("send"), said()),
    (said("Which?"), calls("read"), said()),
]


def prediction(dialogue: str, task: int, rounds: Any, run: str = "m") -> dict[str, Any]:
    """A neutral prediction."""
    return {
        "run": run,
        "dialogue": dialogue,
        "task": task,
        "rounds": [
            {
                "calls": [{"name": one.name, "arguments": one.arguments} for one in each.calls],
                "content": each.content,
                "error": each.error,
            }
            for each in rounds
        ],
    }
