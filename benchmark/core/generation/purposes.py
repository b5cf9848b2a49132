"""The five roles of C3-Bench (A.1.2) and a writer, for what each is asked, and what their prompts may show."""

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
    #: Translates and rewrites texts of dialogues that exist.
    WRITER = "writer"


#: Those who generate a dialogue.
DIALOGUE_ROLES = tuple(role for role in Role if role is not Role.WRITER)


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
    TRANSLATION = "translation"
    REWRITING = "rewriting"


ROLE_OF: dict[Purpose, Role] = {
    Purpose.FIRST_TASK: Role.USER,
    Purpose.FOLLOW_UP: Role.USER,
    Purpose.REPLY: Role.USER,
    Purpose.ACTIONS: Role.PLANNER,
    Purpose.VERDICT: Role.CHECKER,
    Purpose.OBSERVATIONS: Role.TOOL,
    Purpose.QUESTION: Role.ASSISTANT,
    Purpose.ANSWER: Role.ASSISTANT,
    Purpose.TRANSLATION: Role.WRITER,
    Purpose.REWRITING: Role.WRITER,
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
#: ``texts``: those to write, with what must stay, and why the previous answer, ``refused``, was not accepted.
_TEXTS: dict[str, Any] = {
    "language": "Chinese",
    "source_language": "English",
    "texts": [
        {
            "key": "m1", "about": "user message", "text": "What is the weather in Ghent on 2025-05-02?",
            "keep": ["2025-05-02"], "problems": ["The answer is not JSON."], "refused": "",
        }
    ],
    "terms": [{"text": "Ghent", "translation": "根特"}],
}  # fmt: skip
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
    Purpose.TRANSLATION: _TEXTS,
    Purpose.REWRITING: _TEXTS,
}

_PROMPTS = Path(__file__).with_name("prompts")


@cache
def shipped_template(purpose: Purpose) -> str:
    """Return the template of a purpose with which projects begin."""
    return (_PROMPTS / f"{purpose.value}.jinja").read_text("utf-8")
