"""One request to a model, its reply, and the conversation of which they are a part."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.core.constraints.rounds import without_thinking
from benchmark.core.scoring.transcripts import calls_of, text_of

#: Bounds of one reply: more calls, or characters of texts and arguments, are cut off.
MAX_CALLS = 500
MAX_CHARACTERS = 1_000_000
#: The tool of a call in a text that could not be read; its arguments are the text.
UNREADABLE = ""


@dataclass(frozen=True, slots=True)
class Ask:
    """A request: the messages so far, and the tools that may be called, both in the form of the OpenAI chat API."""

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """The model's message as ``read_message`` returns it; None if the service refused the request."""

    message: Mapping[str, Any] | None

    @property
    def is_text(self) -> bool:
        return self.message is not None and not calls_of(self.message)


#: Yields requests, takes replies, and returns the record of a prediction.
Conversation = Generator[Ask, Reply, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Unit:
    """One conversation to have. ``key`` names it within the inference; ``begin`` starts it from its first message."""

    key: str
    begin: Callable[[], Conversation]


def read_message(
    message: Mapping[str, Any], *, number: int, taken: set[str], strip_thinking: bool = False
) -> dict[str, Any]:
    """Return an assistant's message as it is sent back to the service: role, text, calls.

    Calls without an id, or with one that the conversation has, get an id of their own: scorers find the tool of a
    result by the id. ``taken``: the ids that the conversation has; those of the message are added. ``number`` (from 0)
    is the message's place among the model's messages. ``strip_thinking``: without ``<think>…</think>``.
    """
    text = text_of(message)[:MAX_CHARACTERS]
    if strip_thinking:
        text = without_thinking(text)
    calls, left = [], MAX_CHARACTERS
    for place, call in enumerate(calls_of(message)[:MAX_CALLS]):
        key = call.id if call.id and call.id not in taken else f"call_{number}_{place}"
        taken.add(key)
        arguments = call.arguments if isinstance(call.arguments, str) else ""
        arguments, left = arguments[:left], left - len(arguments[:left])
        calls.append({"id": key, "type": "function", "function": {"name": call.name, "arguments": arguments}})
    if calls:
        return {"role": "assistant", "content": text or None, "tool_calls": calls}
    return {"role": "assistant", "content": text}


def tool_message(call_id: str, content: str) -> dict[str, Any]:
    """Return the message with the result of a call."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def as_tools(tools: Iterable[Any]) -> list[dict[str, Any]]:
    """Return functions as the chat API takes them; the type “float” of the native formats is “number” there."""
    found = []
    for tool in tools:
        function = tool.get("function", tool) if isinstance(tool, Mapping) else None
        if isinstance(function, Mapping) and isinstance(function.get("name"), str):
            parameters = function.get("parameters")
            shown = {
                "name": function["name"],
                "description": str(function.get("description") or ""),
                "parameters": _with_numbers(parameters if isinstance(parameters, Mapping) else {"type": "object"}),
            }
            found.append({"type": "function", "function": shown})
    return found


def _with_numbers(schema: Any) -> Any:
    if isinstance(schema, Mapping):
        return {
            key: "number" if key == "type" and value == "float" else _with_numbers(value)
            for key, value in schema.items()
        }
    return [_with_numbers(one) for one in schema] if isinstance(schema, list) else schema
