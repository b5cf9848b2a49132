"""The example of the C3-Bench paper (Figures 2 and 3): a presentation about the popular films."""

from typing import Any

from tests.factories import depends

#: Id → (tool, arguments, what it needs): slides need the presentation and the details, details need the ranking.
CALLS: dict[str, tuple[str, dict[str, Any], str]] = {
    "s0": ("create_presentation", {"title": "Popular films"}, ""),
    "s1": ("get_ranking", {"kind": "film"}, ""),
    "s2": ("get_details", {"film": "Oldboy"}, "s1"),
    "s3": ("add_slide", {"text": "Oldboy, 2003"}, "s0 s2"),
}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": "",
            "parameters": {
                "type": "object",
                "properties": {key: {"type": "string"} for key in arguments},
                "required": list(arguments),
            },
        },
    }
    for name, arguments, _ in CALLS.values()
]


def call(step: str) -> dict[str, Any]:
    """The call as a trajectory spells it."""
    name, arguments, _ = CALLS[step]
    return {"name": name, "arguments": arguments}


def trajectory(path: str) -> list[list[dict[str, Any]]]:
    """``s1;s0,s2`` as batches of calls."""
    return [[call(step) for step in batch.split(",")] for batch in path.split(";")]


def slides_document(**needs: str | None) -> dict[str, Any]:
    """One task with the four calls and the answer; ``needs`` replaces what a call depends on (None: not annotated)."""
    wanted: dict[str, str | None] = {step: need for step, (_, _, need) in CALLS.items()} | needs
    steps: list[dict[str, Any]] = [
        {
            "id": step,
            "type": "call",
            "observation": {"done": True},
            "depends_on": None if (need := wanted[step]) is None else depends(*need.split()),
            **call(step),
        }
        for step in CALLS
    ]
    steps.append(
        {"id": "s4", "type": "answer", "text": "It is done.", "answer_type": "tool", "depends_on": depends("s3")}
    )
    task = {
        "id": "t1",
        "user_message": "Make slides about the popular films.",
        "policy": "multi_tool",
        "information": "explicit",
        "steps": steps,
    }
    return {"kind": "multi_turn", "language": "en", "env_info": None, "tasks": [task]}
