"""The five roles of C3-Bench (A.1.2), the purposes for which each is asked, and what their prompts may show."""

from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any


class Role(StrEnum):
    USER = "user"
    PLANNER = "planner"
    CHECKER = "checker"
    TOOL = "tool"
    ASSISTANT = "assistant"


class Purpose(StrEnum):
    #: The user proposes a first task, proposes later tasks, and replies to a question.
    FIRST_TASK = "first_task"
    FOLLOW_UP = "follow_up"
    REPLY = "reply"
    #: The planner proposes the next actions, and the checker judges them.
    ACTIONS = "actions"
    VERDICT = "verdict"
    #: The tool simulates what calls return.
    OBSERVATIONS = "observations"
    #: The assistant asks the user, and answers them.
    QUESTION = "question"
    ANSWER = "answer"


ROLE_OF: dict[Purpose, Role] = {
    Purpose.FIRST_TASK: Role.USER,
    Purpose.FOLLOW_UP: Role.USER,
    Purpose.REPLY: Role.USER,
    Purpose.ACTIONS: Role.PLANNER,
    Purpose.VERDICT: Role.CHECKER,
    Purpose.OBSERVATIONS: Role.TOOL,
    Purpose.QUESTION: Role.ASSISTANT,
    Purpose.ANSWER: Role.ASSISTANT,
}

#: What every prompt may show. ``tools``: their functions; ``turns``: what was said and done before this task;
#: ``problems``: why the previous answer, ``refused``, was not accepted; ``policy``: what the task shall lead to.
_COMMON: dict[str, Any] = {
    "language": "English",
    "tools": [{"name": "get_weather", "description": "Weather of a city.", "parameters": {"type": "object"}}],
    "env_info": "2025-05-02",
    "turns": [{"speaker": "user", "text": "Hello."}, {"speaker": "assistant", "text": "Hello!"}],
    "problems": ["The answer is not JSON."],
    "refused": "get_weather",
    "policy": "single_tool",
    "policy_words": "exactly one call of one function",
}
_TASK: dict[str, Any] = {
    "message": "What is the weather in Ghent?",
    "steps": [{"id": "s1", "kind": "call", "text": 'get_weather {"city": "Ghent"}'}],
}
_WANTED: dict[str, Any] = {"count": 5, "focus": ["get_weather"]}
#: Purpose → the names that its template may use, each with an example.
SAMPLES: dict[Purpose, dict[str, Any]] = {
    Purpose.FIRST_TASK: _COMMON | _WANTED,
    Purpose.FOLLOW_UP: _COMMON
    | _WANTED
    | {"relations": [{"name": "partial_information", "words": "leaves out what was said before"}]},
    Purpose.REPLY: _COMMON | _TASK | {"question": "In which city?"},
    Purpose.ACTIONS: _COMMON | _TASK,
    Purpose.VERDICT: _COMMON | _TASK | {"proposal": '{"action": "call"}'},
    Purpose.OBSERVATIONS: _COMMON
    | _TASK
    | {"calls": [{"id": "s1", "name": "get_weather", "arguments": {"city": "Ghent"}}]},
    Purpose.QUESTION: _COMMON | _TASK | {"missing": "the city"},
    Purpose.ANSWER: _COMMON | _TASK,
}

_PROMPTS = Path(__file__).with_name("prompts")


@cache
def shipped_template(purpose: Purpose) -> str:
    """Return the template of a purpose with which projects begin."""
    return (_PROMPTS / f"{purpose.value}.jinja").read_text("utf-8")
