"""Chats in the messages of the Anthropic API: ``{"id", "system", "messages": [{"role", "content"}], "tools"}``.

A content is text or a list of blocks. Calls are ``tool_use`` blocks of the assistant, results ``tool_result`` blocks
of the user, read before anything else in the same message. Thinking is kept with the assistant's message. Images become
parts of the OpenAI chat API; other blocks, such as documents and server tools, are kept as they are.
"""

from typing import Any

from annotator.core.schema import Problem
from benchmark.core.formats.chat import (
    Chat,
    ChatFormat,
    arguments_of,
    function_of,
    listed,
    read_tools,
    said_in,
    spaced,
)
from benchmark.core.formats.format_guess import refuse_other_format
from benchmark.core.formats.interface import Problems, describe, quote
from benchmark.core.formats.openai_reading import SYSTEM

#: Roles that messages of OpenAI have, and these have not.
_OTHER_ROLES = (*SYSTEM, "tool")
_THINKING = ("thinking", "redacted_thinking")
_CACHE = "cache_control"
_DATA = "data:"
_ENCODED = ";base64,"

Block = dict[str, Any]


class AnthropicFormat(ChatFormat):
    name = "anthropic"
    roles = {"id": "id", "messages": "messages", "tools": "tools", "system": "system"}
    known = frozenset(("id", "system", "messages", "tools"))
    needs = (("messages",), "a list of messages with role and content")
    #: A call whose arguments are no object cannot be written.
    holds_all = False

    def to_chat(self, record: dict[str, Any], problems: Problems, warnings: list[Problem]) -> Chat:
        """See ``chat.ChatFormat``."""
        chat = Chat()
        if "constraints_list" in record:
            refuse_other_format(record, self.name)
        system = record.get("system")
        if system is not None and system != "":
            chat.add("system", system, "/system")
        for n, message in enumerate(listed(record, "messages", self.needs[1], problems)):
            here = f"/messages/{n}"
            role, content = (message.get("role"), message.get("content")) if type(message) is dict else (None, None)
            if role is None or role in _OTHER_ROLES or "tool_calls" in message:
                refuse_other_format(record, self.name)
            if role not in ("user", "assistant"):
                problems.add(here, f"A message must have the role user or assistant, not {quote(role)}.")
            elif type(content) is not list:
                chat.add(role, content, here)
            elif not all(type(block) is dict and type(block.get("type")) is str for block in content):
                problems.add(f"{here}/content", "Every block must be an object with a type.")
            elif role == "user":
                _add_user(chat, content, here, problems)
            else:
                _add_assistant(chat, content, here, problems)
        chat.tools = read_tools(record, _as_function, problems, warnings)
        return chat

    def from_chat(self, chat: dict[str, Any], shape: dict[str, Any]) -> dict[str, Any]:
        """See ``chat.ChatFormat``. A system message after the first other message has no place here."""
        out: list[dict[str, Any]] = []
        system: list[Any] = []
        answers = False
        for message in chat["messages"]:
            role = message["role"]
            if role in SYSTEM:
                if not out:
                    system.append(_content(message))
            elif role == "assistant":
                out.append({"role": "assistant", "content": _blocks_of_assistant(message)})
            else:
                content = [_result(message)] if role == "tool" else _content(message)
                if answers:
                    # Everything between two messages of the assistant is one message of the user.
                    out[-1]["content"] += _as_blocks(content)
                else:
                    out.append({"role": "user", "content": content})
            answers = role == "tool"
        record: dict[str, Any] = {"id": chat["id"], "messages": out}
        if system:
            blocks = [block for content in system for block in _as_blocks(content)]
            record["system"] = system[0] if len(system) == 1 else blocks
        if chat["tools"]:
            record["tools"] = [_as_tool(tool) for tool in chat["tools"]]
        return record


def _add_user(chat: Chat, blocks: list[Block], here: str, problems: Problems) -> None:
    others = []
    for n, block in enumerate(blocks):
        if block["type"] != "tool_result":
            others.append(_as_part(block))
            continue
        place, content = f"{here}/content/{n}", block.get("content")
        if type(block.get("tool_use_id")) is not str:
            problems.add(f"{place}/tool_use_id", "A result must have the id of its call, as text.")
        if type(content) is list:
            content = [_as_part(part) for part in content]
        more = _cache(block) | ({"is_error": block["is_error"]} if "is_error" in block else {})
        chat.add_result(content, place, block.get("tool_use_id"), **more)
    if others or not blocks:
        chat.add("user", others, here)


def _add_assistant(chat: Chat, blocks: list[Block], here: str, problems: Problems) -> None:
    calls, cached, others, thoughts = [], [], [], []
    for n, block in enumerate(blocks):
        if block["type"] in _THINKING:
            thoughts.append(block)
        elif block["type"] != "tool_use":
            others.append(_as_part(block))
        elif type(block.get("input", {})) is dict:
            calls.append((block.get("id"), block.get("name"), spaced(block.get("input", {}))))
            cached.append(_cache(block))
        else:
            place = f"{here}/content/{n}/input"
            problems.add(place, f"The input of a call must be an object, not {describe(block['input'])}.")
    more = {"reasoning_content": _thought(thoughts), "thinking_blocks": thoughts} if thoughts else {}
    if calls:
        chat.add_calls(calls, others or None, here, **more)
        for call, cache in zip(chat.messages[-1]["tool_calls"], cached, strict=True):
            call |= cache
    else:
        chat.add("assistant", others, here, **more)


def _thought(blocks: list[Block]) -> str:
    return "\n\n".join(block["thinking"] for block in blocks if type(block.get("thinking")) is str)


def _blocks_of_assistant(message: dict[str, Any]) -> Any:
    thought, kept = message.get("reasoning_content"), message.get("thinking_blocks")
    blocks: list[Block] = []
    if type(kept) is list and all(type(one) is dict and one.get("type") in _THINKING for one in kept):
        blocks = kept
    if _thought(blocks) != (thought or ""):
        # From another format, or edited there.
        blocks = [{"type": "thinking", "thinking": thought, "signature": ""}] if type(thought) is str else []
    content = _content(message)
    calls = [
        {"type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": _input(call["function"])}
        | _cache(call)
        for call in message.get("tool_calls", ())
    ]
    return [*blocks, *_as_blocks(content), *calls] if blocks or calls else content


def _input(function: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call. Raises ValueError if they are no object, which the API requires."""
    arguments = arguments_of(function)
    if type(arguments) is not dict:
        raise ValueError(f"the arguments of {function['name'][:80]} are not an object.")
    return arguments


def _content(message: dict[str, Any]) -> Any:
    """Return what a message says as text or blocks."""
    content = message["content"]
    if type(content) is not list or "refusal" in message:
        return said_in(message)
    return [_as_block(part) for part in content]


def _as_blocks(content: Any) -> list[Block]:
    if type(content) is list:
        return content
    return [{"type": "text", "text": content}] if content else []


def _result(message: dict[str, Any]) -> Block:
    block = {"type": "tool_result", "tool_use_id": message.get("tool_call_id", ""), "content": _content(message)}
    failed = message.get("is_error", True if message.get("status") == "error" else None)
    return block | ({"is_error": failed} if type(failed) is bool else {}) | _cache(message)


def _cache(holder: dict[str, Any]) -> dict[str, Any]:
    """Return where the prompt is cached."""
    return {_CACHE: holder[_CACHE]} if _CACHE in holder else {}


def _as_part(block: Any) -> Any:
    """Return a block as a part of the OpenAI chat API: only images have another form there."""
    source = block.get("source") if type(block) is dict and block.get("type") == "image" else None
    if type(source) is not dict:
        return block
    url, kind, data = source.get("url"), source.get("media_type"), source.get("data")
    if source.get("type") == "base64" and type(kind) is str and type(data) is str:
        url = f"{_DATA}{kind}{_ENCODED}{data}"
    if type(url) is not str:
        return block
    beside = {key: value for key, value in block.items() if key != "source"}
    return beside | {"type": "image_url", "image_url": {"url": url}}


def _as_block(part: dict[str, Any]) -> Block:
    image = part.get("image_url")
    url = image.get("url") if type(image) is dict else None
    if part["type"] == "refusal":
        return {"type": "text", "text": said_in({"content": [part]})}
    if part["type"] != "image_url" or type(url) is not str:
        return part
    kind, encoded, data = url.removeprefix(_DATA).partition(_ENCODED)
    source = {"type": "url", "url": url}
    if encoded and url.startswith(_DATA):
        source = {"type": "base64", "media_type": kind, "data": data}
    return {key: value for key, value in part.items() if key != "image_url"} | {"type": "image", "source": source}


def _as_function(tool: dict[str, Any]) -> dict[str, Any]:
    """Return a tool as a function of the OpenAI chat API; a server tool has no schema and stays as it is."""
    if "input_schema" not in tool:
        return tool
    known = {"name": "name", "description": "description", "input_schema": "parameters"}
    return {"type": "function", "function": {known[key]: tool[key] for key in known if key in tool}}


def _as_tool(tool: dict[str, Any]) -> dict[str, Any]:
    function = function_of(tool)
    if "parameters" not in function and type(function.get("type")) is str:
        return function
    out = {key: function[key] for key in ("name", "description") if key in function}
    return out | {"input_schema": function.get("parameters") or {"type": "object", "properties": {}}}
