"""ShareGPT's conversations, with calls in text as Hermes writes them.

``{"id", "conversations": [{"from", "value"}], "tools"}``. A call is JSON in ``<tool_call>`` tags of a ``gpt`` message,
or a ``function_call`` message; several tags are parallel calls. Results are in ``tool`` or ``observation`` messages,
perhaps in ``<tool_response>`` tags. Nothing names the call of a result, so results follow the order of the calls. The
tools are a field (a list, or a JSON text), or in ``<tools>`` tags of the system prompt.
"""

from collections.abc import Iterator
from typing import Any

from annotator.core.schema import Problem
from annotator.core.schema.exact_json import loads, same
from benchmark.core.formats.chat import Chat, ChatFormat, arguments_of, listed, said_in, spaced
from benchmark.core.formats.interface import Problems, describe, from_json_text, quote, read_json_text

_ROLES = {
    "system": "system",
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "chatgpt": "assistant",
    "model": "assistant",
    "function_call": "call",
    "tool_call": "call",
    "tool": "tool",
    "observation": "tool",
    "function_response": "tool",
    "function": "tool",
    "ipython": "tool",
}
_CALL = ("<tool_call>", "</tool_call>")
_RESULT = ("<tool_response>", "</tool_response>")
_TOOLS = ("<tools>", "</tools>")


class ShareGptFormat(ChatFormat):
    name = "sharegpt"
    roles = {"id": "id", "messages": "conversations", "tools": "tools", "system": "system"}
    known = frozenset(("id", "conversations", "system", "tools"))
    needs = (("conversations",), "a list of messages with from and value")

    def to_chat(self, record: dict[str, Any], problems: Problems, warnings: list[Problem]) -> Chat:
        """See ``chat.ChatFormat``."""
        chat = Chat()
        if type(record.get("system")) is str and record["system"]:
            chat.add("system", record["system"], "/system")
        for n, message in enumerate(listed(record, "conversations", self.needs[1], problems)):
            here = f"/conversations/{n}"
            says = message.get("from", message.get("role")) if type(message) is dict else None
            value = message.get("value", message.get("content")) if type(message) is dict else None
            role = _ROLES.get(says) if type(says) is str else None
            if type(value) is not str:
                problems.add(here, f"A message must have from and value, both of them text, not {describe(message)}.")
            elif role is None:
                problems.add(f"{here}/from", f"The speaker {quote(says)} is unknown. Use one of: {', '.join(_ROLES)}.")
            elif role in ("assistant", "call"):
                _add_calls(chat, value, here, problems, bare=role == "call")
            elif role == "tool":
                for content in _tagged(value, *_RESULT)[1] or [value]:
                    chat.add_result(_result(content), here)
            else:
                chat.add(role, value, here)
        chat.tools = _functions(record, chat, problems)
        return chat

    def from_chat(self, chat: dict[str, Any], shape: dict[str, Any]) -> dict[str, Any]:
        """See ``chat.ChatFormat``."""
        out: list[dict[str, str]] = []
        for message in chat["messages"]:
            text, calls = said_in(message), message.get("tool_calls")
            if calls:
                blocks = [_in_tags(_CALL, _call_text(call["function"])) for call in calls]
                out.append({"from": "gpt", "value": "\n".join(([text] if text else []) + blocks)})
            elif message["role"] == "assistant":
                out.append({"from": "gpt", "value": text})
            elif message["role"] == "tool":
                block = _in_tags(_RESULT, text)
                if out and out[-1]["from"] == "tool":
                    out[-1]["value"] += f"\n{block}"
                else:
                    out.append({"from": "tool", "value": block})
            else:
                out.append({"from": "human" if message["role"] == "user" else "system", "value": text})
        record: dict[str, Any] = {"id": chat["id"], "conversations": out}
        tools = chat["tools"]
        if tools and not (out and out[0]["from"] == "system" and same(_tools_in(out[0]["value"]), tools)):
            record["tools"] = spaced(tools)
        return record


def _add_calls(chat: Chat, value: str, here: str, problems: Problems, *, bare: bool) -> None:
    """Add what the assistant says, with its calls. ``bare``: the whole value is a call, or a list of calls."""
    text, blocks = ("", [value]) if bare else _tagged(value, *_CALL)
    if not blocks:
        chat.add("assistant", value, here)
        return
    calls = []
    for block in blocks:
        read = read_json_text(block.strip(), f"{here}/value", problems)
        for call in read if type(read) is list else [read]:
            if type(call) is not dict or type(call.get("name")) is not str:
                problems.add(
                    f"{here}/value", f"A call must be an object with a name, as JSON, not {quote(block.strip())}."
                )
                return
            arguments = call.get("arguments", call.get("parameters"))
            calls.append((None, call["name"], spaced(arguments) if type(arguments) is dict else arguments))
    chat.add_calls(calls, text or None, here)


def _tagged(value: str, begin: str, end: str) -> tuple[str, list[str]]:
    """Return the text outside the tags, and what is in each of them. A tag may be open at the end."""
    outside, inside, at = [], [], 0
    while (start := value.find(begin, at)) >= 0:
        outside.append(value[at:start])
        stop = value.find(end, start + len(begin))
        at = len(value) if stop < 0 else stop + len(end)
        inside.append(value[start + len(begin) : len(value) if stop < 0 else stop])
    outside.append(value[at:])
    return "".join(outside).strip(), inside


def _in_tags(tags: tuple[str, str], text: str) -> str:
    return f"{tags[0]}\n{text}\n{tags[1]}"


def _call_text(function: dict[str, Any]) -> str:
    return spaced({"name": function["name"], "arguments": arguments_of(function)})


def _result(content: str) -> str:
    """Return the text of a result; Hermes puts it into an object with the name of the function."""
    content = content.strip()
    try:
        read = loads(content)
    except ValueError:
        return content
    if type(read) is dict and read.keys() in ({"name", "content"}, {"name", "content", "tool_call_id"}):
        inner = read["content"]
        return inner if type(inner) is str else spaced(inner)
    return content


def _functions(record: dict[str, Any], chat: Chat, problems: Problems) -> list[Any]:
    """Return the tools of a record, from its field or its system prompt."""
    tools = from_json_text(record, "tools", problems)
    if type(tools) is list:
        return tools
    if tools:
        problems.add("/tools", f"The tools must be a list of functions, or JSON of it, not {describe(tools)}.")
    system = next((message["content"] for message in chat.messages if message["role"] == "system"), "")
    return _tools_in(system)


def _tools_in(system: str) -> list[Any]:
    """Return the functions that a system prompt lists: as a list, or one after the other."""
    found: list[Any] = []
    for block in _tagged(system, *_TOOLS)[1]:
        try:
            read = loads(block.strip())
        except ValueError:
            read = list(_lines(block))
        found += read if type(read) is list else [read]
    return [tool for tool in found if type(tool) is dict]


def _lines(block: str) -> Iterator[Any]:
    for line in block.splitlines():
        try:
            yield loads(line)
        except ValueError:
            continue
