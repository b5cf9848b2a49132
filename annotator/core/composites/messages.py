"""What a model says in a dialogue: one call, a pass, or that everything is completed."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from annotator.core.schema.exact_json import loads

COMPLETED = "ALL COMPLETED"
#: Characters of a message that are read.
MAX_LENGTH = 1 << 20
_FENCE = re.compile(r"\A```[A-Za-z]*[ \t]*\n(.*)\n[ \t]*```\Z", re.DOTALL)
_CALL = {"id", "func_name", "params"}


class MessageKind(StrEnum):
    CALL = "call"
    COMPLETED = "completed"
    #: The model waits.
    PASS = "pass"  # noqa: S105 - no password
    FORMAT = "format"


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the model. Only a call has ``task``, ``name`` and ``arguments``, only a format error ``problem``."""

    kind: MessageKind
    task: str = ""
    name: str = ""
    arguments: Mapping[str, Any] | None = None
    problem: str = ""


def read_message(text: str) -> Message:
    """Read a message: one JSON object, perhaps in a Markdown fence. Never raises."""
    if len(text) > MAX_LENGTH:
        return _wrong(f"The message has more than {MAX_LENGTH:,} characters.")
    text = text.strip()
    fenced = _FENCE.match(text)
    try:
        data = loads(fenced.group(1) if fenced else text)
    except (ValueError, RecursionError):
        return _wrong("The message is not one JSON object.")
    if not isinstance(data, dict):
        return _wrong("The message is not a JSON object.")
    if set(data) == {"content"}:
        if not isinstance(data["content"], str):
            return _wrong("The content must be a text.")
        return Message(MessageKind.COMPLETED if data["content"].strip() == COMPLETED else MessageKind.PASS)
    if set(data) != _CALL:
        return _wrong("The message must have the keys id, func_name and params, or only content.")
    if not isinstance(data["id"], str) or not isinstance(data["func_name"], str):
        return _wrong("The id and the func_name must be texts.")
    if not isinstance(data["params"], dict):
        return _wrong("The params must be an object.")
    return Message(MessageKind.CALL, data["id"], data["func_name"], data["params"])


def write_call_message(task: str, name: str, arguments: Mapping[str, Any]) -> str:
    """Return the message of a model that makes a call."""
    return json.dumps({"id": task, "func_name": name, "params": dict(arguments)}, ensure_ascii=False)


def write_content(text: str) -> str:
    """Return the message of a model that waits or, with ``COMPLETED``, has finished."""
    return json.dumps({"content": text}, ensure_ascii=False)


def _wrong(problem: str) -> Message:
    return Message(MessageKind.FORMAT, problem=problem)
