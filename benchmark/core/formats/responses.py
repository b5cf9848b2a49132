"""Chats in the items of the OpenAI Responses API: ``{"id", "instructions", "input", "output", "tools"}``.

``input`` is text or a list of items, ``output`` a list of items that the model adds. A response object without its
input is read, too. Function calls in a row are parallel calls of one message of the assistant, together with a text
right before them. Reasoning and calls of built-in tools are kept with the assistant's next message.
"""

from collections.abc import Iterator
from typing import Any

from annotator.core.schema import Problem
from benchmark.core.formats.chat import Chat, ChatFormat, function_of, read_tools, said_in
from benchmark.core.formats.format_guess import refuse_other_format
from benchmark.core.formats.interface import Problems, describe, quote
from benchmark.core.formats.openai_reading import SYSTEM

_ROLES = ("user", "assistant", *SYSTEM)
#: The keys of a message for the items before it, and for what else its own item has.
_BEFORE, _ITEM = "items_before", "item"

Item = dict[str, Any]


class ResponsesFormat(ChatFormat):
    name = "responses"
    roles = {"id": "id", "tools": "tools"}
    known = frozenset(("id", "instructions", "input", "output", "tools"))
    needs = (("input", "output"), "what the user says, and the items of the response")

    def to_chat(self, record: dict[str, Any], problems: Problems, warnings: list[Problem]) -> Chat:
        """See ``chat.ChatFormat``."""
        if type(record.get("output")) is dict:
            refuse_other_format(record, self.name)
        reader = _ItemReader(problems, warnings)
        instructions = record.get("instructions")
        if type(instructions) is str and instructions:
            reader.chat.add("system", instructions, "/instructions")
        elif instructions:
            reader.read(_items(record, "instructions", problems), "/instructions")
            reader.close()
        given = record.get("input")
        if type(given) is str:
            reader.chat.add("user", given, "/input")
        else:
            reader.read(_items(record, "input", problems), "/input")
            if not given:
                reader.chat.add("user", "", "/input")
                warnings.append(Problem("/input", "The record has no input, so the user’s message is empty."))
        reader.read(_items(record, "output", problems), "/output")
        reader.close()
        # A trace may be all in its input.
        reader.chat.shape = {} if "output" in record else {"output": False}
        reader.chat.tools = read_tools(record, _as_function, problems, warnings)
        return reader.chat

    def from_chat(self, chat: dict[str, Any], shape: dict[str, Any]) -> dict[str, Any]:
        """See ``chat.ChatFormat``."""
        record: dict[str, Any] = {"id": chat["id"]}
        messages = chat["messages"]
        if messages and messages[0]["role"] == "system" and type(messages[0]["content"]) is str:
            record["instructions"], messages = messages[0]["content"], messages[1:]
        # The output is what the assistant adds at the end.
        begin = len(messages)
        while begin and messages[begin - 1]["role"] == "assistant":
            begin -= 1
        given = messages if shape.get("output") is False else messages[:begin]
        items = [item for message in given for item in _items_of(message)]
        alone = len(given) == 1 and given[0]["role"] == "user" and type(given[0]["content"]) is str
        record["input"] = given[0]["content"] if alone else items
        if shape.get("output") is not False:
            record["output"] = [item for message in messages[begin:] for item in _items_of(message)]
        if chat["tools"]:
            record["tools"] = [_as_tool(tool) for tool in chat["tools"]]
        return record


def _items(record: dict[str, Any], name: str, problems: Problems) -> list[Item]:
    """Return the items of a field; reports anything that is no item."""
    value = record.get(name)
    if value is None:
        return []
    if type(value) is not list:
        problems.add(f"/{name}", f"The field {name} must be a list of items, not {describe(value)}.")
        return []
    for n, item in enumerate(value):
        if type(item) is not dict or type(item.get("type", "role" in item and "message")) is not str:
            refuse_other_format(record, ResponsesFormat.name)
            problems.add(f"/{name}/{n}", f"An item must be an object with a type, not {describe(item)}.")
            return []
    return value


class _ItemReader:
    """Walks the items of one record once, and collects each message of the assistant from its items."""

    def __init__(self, problems: Problems, warnings: list[Problem]) -> None:
        self.chat = Chat()
        self.problems = problems
        self.warnings = warnings
        #: The items before the assistant's message, what it says, and its calls.
        self.before: list[Item] = []
        self.said: dict[str, Any] | None = None
        self.calls: list[Item] = []
        self.place = ""

    def read(self, items: list[Item], pointer: str) -> None:
        for n, item in enumerate(items):
            here, kind = f"{pointer}/{n}", item.get("type", "message")
            if kind == "message":
                self._message(item, here)
            elif kind == "function_call":
                if not self.calls and self.said is None:
                    self.place = here
                self.calls.append(item)
            elif kind == "function_call_output":
                self.close()
                output = item.get("output")
                if type(output) not in (str, list):
                    self.problems.add(f"{here}/output", f"The output must be text or parts, not {describe(output)}.")
                content = list(map(_as_part, output)) if type(output) is list else output
                self.chat.add_result(content, here, item.get("call_id"), **_beside(item, ("call_id", "output")))
            else:
                self.close()
                self.before.append(item)
                if kind != "reasoning":
                    self.warnings.append(Problem(here, f"An item of the type {quote(kind)} is kept, but not shown."))

    def close(self) -> None:
        """Add the assistant's message that was collected, if any."""
        more: dict[str, Any] = {}
        if (self.said is None and not self.calls) or self.problems.found:
            return
        if self.before:
            more = {_BEFORE: self.before}
            thought = "\n\n".join(filter(None, map(_thought, self.before)))
            if thought:
                more["reasoning_content"] = thought
        said = self.said or {"content": None}
        if self.calls:
            calls = [(one.get("call_id"), one.get("name"), one.get("arguments")) for one in self.calls]
            self.chat.add_calls(calls, said.pop("content"), self.place, **said, **more)
            for call, item in zip(self.chat.messages[-1]["tool_calls"], self.calls, strict=True):
                call |= _beside(item, ("call_id", "name", "arguments"))
        else:
            self.chat.add("assistant", said.pop("content"), self.place, **said, **more)
        self.before, self.said, self.calls = [], None, []

    def _message(self, item: Item, here: str) -> None:
        self.close()
        role, content = item.get("role"), item.get("content")
        refusals = []
        if role not in _ROLES:
            self.problems.add(f"{here}/role", f"The role {quote(role)} is unknown. Use one of: {', '.join(_ROLES)}.")
            return
        if type(content) is list:
            refusals = [part["refusal"] for part in content if _is_refusal(part)]
            content = [_as_part(part) for part in content if not _is_refusal(part)] or (None if refusals else [])
        more = _beside(item, ("role", "content"))
        if role != "assistant":
            self.chat.add(role, content, here, **more)
            return
        self.said, self.place = {"content": content, **more}, here
        if refusals:
            self.said["refusal"] = "\n\n".join(refusals)


def _beside(item: Item, read: tuple[str, ...]) -> dict[str, Any]:
    """Return the other fields of an item, such as its id, under a key."""
    beside = {key: value for key, value in item.items() if key not in ("type", *read)}
    return {_ITEM: beside} if beside else {}


def _item(holder: dict[str, Any], **fields: Any) -> Item:
    """Return the item of a message or a call."""
    beside = holder.get(_ITEM)
    return {**beside, **fields} if type(beside) is dict else fields


def _is_refusal(part: Any) -> bool:
    return type(part) is dict and part.get("type") == "refusal" and type(part.get("refusal")) is str


def _thought(item: Item) -> str:
    """Return what an item of reasoning says: its text, else its summary."""
    for name in ("content", "summary"):
        parts = item.get(name) if item.get("type") == "reasoning" else None
        texts = [part.get("text") for part in parts if type(part) is dict] if type(parts) is list else []
        if any(type(text) is str for text in texts):
            return "\n\n".join(text for text in texts if type(text) is str)
    return ""


def _as_part(part: Any) -> Any:
    """Return a part as the OpenAI chat API has it."""
    kind = part.get("type") if type(part) is dict else None
    if kind in ("input_text", "output_text"):
        return part | {"type": "text"}
    if kind == "input_image" and type(part.get("image_url")) is str:
        image = {"url": part["image_url"], **({"detail": part["detail"]} if "detail" in part else {})}
        return {key: value for key, value in part.items() if key != "detail"} | {
            "type": "image_url",
            "image_url": image,
        }
    return part


def _items_of(message: dict[str, Any]) -> Iterator[Item]:
    """Yield the items of a message."""
    role = message["role"]
    if role == "tool":
        content = message["content"]
        output = [_part_of(part, "input_text") for part in content] if type(content) is list else content or ""
        yield _item(message, type="function_call_output", call_id=message.get("tool_call_id", ""), output=output)
        return
    before, thought = message.get(_BEFORE), message.get("reasoning_content")
    if type(before) is list and all(type(item) is dict for item in before):
        yield from before
    elif type(thought) is str:
        yield {"type": "reasoning", "summary": [{"type": "summary_text", "text": thought}]}
    content, refusal = message["content"], message.get("refusal")
    if role != "assistant":
        if type(content) is list:
            parts = [_part_of(part, "input_text") for part in content]
            yield _item(message, type="message", role=role, content=parts)
        else:
            yield _item(message, role=role, content=said_in(message))
    else:
        if type(content) is str and (content or not (refusal or message.get("tool_calls"))):
            content = [{"type": "text", "text": content, "annotations": []}]
        parts = [_part_of(part, "output_text") for part in content or ()]
        if refusal:
            parts.append({"type": "refusal", "refusal": refusal})
        if parts or not message.get("tool_calls"):
            yield _item(message, type="message", role="assistant", content=parts)
    for call in message.get("tool_calls", ()):
        yield _item(call, type="function_call", call_id=call["id"], **call["function"])


def _part_of(part: dict[str, Any], text: str) -> dict[str, Any]:
    image = part.get("image_url")
    if part["type"] == "text":
        return part | {"type": text}
    if part["type"] == "image_url" and type(image) is dict:
        return part | {"type": "input_image", "image_url": image.get("url"), "detail": image.get("detail", "auto")}
    return part


def _as_function(tool: dict[str, Any]) -> dict[str, Any]:
    """Return a tool as a function of the OpenAI chat API; a built-in tool stays as it is."""
    if tool.get("type") != "function":
        return tool
    return {"type": "function", "function": {key: value for key, value in tool.items() if key != "type"}}


def _as_tool(tool: dict[str, Any]) -> dict[str, Any]:
    function = function_of(tool)
    if "parameters" not in function and type(function.get("type")) is str:
        return function
    return {key: value for key, value in function.items() if key != "type"} | {"type": "function"}
