"""Conversations in which the tools are described in the prompt, and calls are text, as Hermes and Qwen write them.

A call is ``<tool_call>{"name": …, "arguments": {…}}</tool_call>``; results come as a user's message with a
``<tool_response>`` each.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from annotator.core.constraints.rounds import without_thinking
from annotator.core.schema.exact_json import dumps, loads
from benchmark.core.inference.asking import MAX_CALLS, UNREADABLE, Ask, Conversation, Reply
from benchmark.core.scoring.transcripts import calls_of, text_of

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_PROMPT = """You can call tools. Each of them is described by a JSON object:

<tools>
{tools}
</tools>

To call a tool, write its name and its arguments as a JSON object between two tags. You may write several calls in one \
reply:

<tool_call>
{{"name": "the tool's name", "arguments": {{}}}}
</tool_call>

The results come in the next message, in the order of your calls. Write no call if you answer or ask the user."""


def prompted(begin: Callable[[], Conversation]) -> Conversation:
    """Have a conversation as texts: calls and results are written into the messages, and read from the replies."""
    conversation = begin()
    ask = next(conversation)
    #: What the model wrote, by the id of its first call: it gets its own words back.
    written: dict[str, str] = {}
    number = 0
    while True:
        reply = yield Ask(tuple(as_texts(ask.messages, ask.tools, written)))
        message = None if reply.message is None else _with_calls(reply.message, number, written)
        number += 1
        try:
            ask = conversation.send(Reply(message))
        except StopIteration as end:
            record: dict[str, Any] = end.value
            return record


def as_texts(
    messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], written: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield messages without calls and results; the first one describes the tools."""
    described = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools)
    prompt = _PROMPT.format(tools=described) if tools else ""
    system = [text_of(one) for one in messages if one["role"] == "system"]
    parts = [*system, prompt] if prompt else system
    if parts:
        yield {"role": "system", "content": "\n\n".join(parts)}
    results: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            results.append(f"<tool_response>\n{text_of(message)}\n</tool_response>")
            continue
        if results:
            yield {"role": "user", "content": "\n".join(results)}
            results = []
        if message["role"] != "system":
            yield {"role": message["role"], "content": _text_with_calls(message, written)}
    if results:
        yield {"role": "user", "content": "\n".join(results)}


def _text_with_calls(message: Mapping[str, Any], written: Mapping[str, str]) -> str:
    calls = calls_of(message)
    if calls and calls[0].id in written:
        return written[str(calls[0].id)]
    texts = [text_of(message)] if text_of(message) else []
    for call in calls:
        arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
        texts.append(f'{_OPEN}\n{{"name": {json.dumps(call.name)}, "arguments": {arguments}}}\n{_CLOSE}')
    return "\n".join(texts)


def _with_calls(message: Mapping[str, Any], number: int, written: dict[str, str]) -> Mapping[str, Any]:
    """Return a reply with the calls in its text as calls. Some services read the tags themselves, and give calls."""
    if calls_of(message):
        return message
    text = text_of(message)
    # What the model thought about calls is none.
    visible = without_thinking(text)
    pieces = _pieces(visible)
    if not pieces:
        return {"role": "assistant", "content": text}
    # No id that a reply with calls may get.
    calls = [_read_call(piece, f"text_{number}_{place}") for place, piece in enumerate(pieces[:MAX_CALLS])]
    written[calls[0]["id"]] = text
    before = visible.partition(_OPEN)[0].strip()
    return {"role": "assistant", "content": before or None, "tool_calls": calls}


def _pieces(text: str) -> list[str]:
    """Return what is written between the tags; a call that is not closed ends with the text."""
    return [piece.partition(_CLOSE)[0] for piece in text.split(_OPEN)[1:]]


def _read_call(piece: str, key: str) -> dict[str, Any]:
    name, arguments = UNREADABLE, piece
    try:
        value = loads(piece)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict) and isinstance(value.get("name"), str) and value["name"]:
        given = value.get("arguments", {})
        name, arguments = value["name"], given if isinstance(given, str) else dumps(given).decode()
    return {"id": key, "type": "function", "function": {"name": name, "arguments": arguments}}
