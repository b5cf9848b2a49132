"""The messages of a span, in both spellings of the conventions for generative AI, as the OpenAI chat API has them.

Since 1.37 they are attributes with a list of ``{"role", "parts"}``; before, each is an event of its own.
"""

from typing import Any, NamedTuple

from annotator.core.schema.exact_json import dumps, loads
from benchmark.core.files.spans import SpanError, attributes_of
from benchmark.core.formats.chat import as_json_text
from benchmark.core.formats.interface import Problems, describe, read_json_text
from benchmark.core.formats.openai_reading import SYSTEM, dump, text_of_parts

INPUT = "gen_ai.input.messages"
OUTPUT = "gen_ai.output.messages"
INSTRUCTIONS = "gen_ai.system_instructions"
DEFINITIONS = "gen_ai.tool.definitions"
CHOICES = "gen_ai.request.choice.count"
#: An event with the attributes of messages, next to the span's own.
DETAILS = "gen_ai.client.inference.operation.details"
CONTENT = frozenset((INPUT, OUTPUT, INSTRUCTIONS, DEFINITIONS))
#: Event → the role of its message.
_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}
_CHOICE = "gen_ai.choice"
_BODY = "gen_ai.event.content"

Attributes = dict[str, tuple[Any, str]]


class Said(NamedTuple):
    """A message of the OpenAI chat API, its place in the record, and a text that is the same for the same content."""

    message: dict[str, Any]
    place: str
    key: str


class Talk(NamedTuple):
    """The messages of one call of a model; the system prompt is apart."""

    system: tuple[str, str] | None
    input: list[Said]
    output: list[Said]


def structured(attributes: Attributes, name: str, problems: Problems) -> Any:
    """Return the value of an attribute, or of the JSON text in it."""
    value, place = attributes.get(name, (None, ""))
    if type(value) is str and value.lstrip()[:1] in ("[", "{"):
        return read_json_text(value.strip(), place, problems)
    return value


def talk_of(attributes: Attributes, events: list[tuple[str, Attributes, str]], problems: Problems) -> Talk:
    """Return the messages of a span. ``events``: the name, attributes and place of each."""
    given, said = (_messages(attributes, name, problems) for name in (INPUT, OUTPUT))
    if not given and not said:
        for name, body, place in events:
            if name in _EVENTS:
                (said if name == _CHOICE else given).extend(_of_event(name, body, place, problems))
    if attributes.get(CHOICES, (1, ""))[0] not in (None, 1):
        # Each message is another answer, of which the dialogue has one.
        said = said[:1]
    system = _instructions(attributes, problems)
    while given and given[0].message["role"] in SYSTEM:
        first = given.pop(0)
        system = system or (_text(first.message), first.place)
    return Talk(system, given, said)


def _instructions(attributes: Attributes, problems: Problems) -> tuple[str, str] | None:
    value, place = structured(attributes, INSTRUCTIONS, problems), attributes.get(INSTRUCTIONS, (None, ""))[1]
    if value is None:
        return None
    if type(value) is list:
        parts = [_part(one) for one in value]
        value = text_of_parts([one for one in parts if one])
    if type(value) is not str:
        problems.add(place, f"The {INSTRUCTIONS} must be text, or a list of parts with a type.")
        return None
    return value, place


def _messages(attributes: Attributes, name: str, problems: Problems) -> list[Said]:
    value, place = structured(attributes, name, problems), attributes.get(name, (None, ""))[1]
    if value is None:
        return []
    if type(value) is not list:
        problems.add(place, f"The {name} must be a list of messages with role and parts, not {describe(value)}.")
        return []
    found: list[Said] = []
    for n, one in enumerate(value):
        if type(one) is not dict or type(one.get("role")) is not str:
            problems.add(place, f"Message {n + 1} of {name} must be an object with a role, not {describe(one)}.")
        elif type(one.get("parts")) is list:
            found += _of_parts(one, place, problems)
        else:
            found.append(_said(_plain(one, one["role"], place, problems), place))
    return found


def _of_parts(message: dict[str, Any], place: str, problems: Problems) -> list[Said]:
    """Return a message for the text and calls of the parts, after one for each result."""
    out: list[Said] = []
    content: list[Any] = []
    calls: list[Any] = []
    thoughts: list[str] = []
    for part in message["parts"]:
        kind = part.get("type") if type(part) is dict else None
        if kind == "tool_call":
            calls.append(_call(part.get("id"), part.get("name"), part.get("arguments")))
        elif kind == "tool_call_response":
            text = _result(part.get("response", part.get("result")))
            out.append(_said({"role": "tool", "tool_call_id": part.get("id"), "content": text}, place))
        elif kind == "reasoning" and type(part.get("content")) is str:
            thoughts.append(part["content"])
        elif type(kind) is str:
            content.append(_part(part))
        else:
            problems.add(place, f"A part of a message must be an object with a type, not {describe(part)}.")
    if content or calls or thoughts or not out:
        only = content[0].get("text") if len(content) == 1 and content[0]["type"] == "text" else None
        written = {"role": message["role"], "content": only if type(only) is str else content or None}
        if calls:
            written["tool_calls"] = calls
        if thoughts:
            written["reasoning_content"] = "\n\n".join(thoughts)
        out.append(_said(written, place))
    return out


def _part(part: Any) -> dict[str, Any]:
    """Return a part as the chat API has it: a text has ``text``, not ``content``."""
    if type(part) is dict and part.get("type") == "text" and type(part.get("content")) is str:
        return {"type": "text", "text": part["content"]}
    return part if type(part) is dict else {}


def _of_event(name: str, body: Attributes, place: str, problems: Problems) -> list[Said]:
    """Return the message of an event: its attributes, or one of them, have the fields."""
    inner = structured(body, _BODY, problems)
    fields = inner if type(inner) is dict else {key: one for key, (one, _) in body.items()}
    if name == _CHOICE:
        fields = fields | {"message": structured({"message": (fields.get("message"), place)}, "message", problems)}
    if name == _CHOICE and type(fields.get("message")) is dict:
        fields = fields["message"]
    elif name == _CHOICE and type(fields.get("message")) is str:
        fields = {"content": fields["message"]}
    role = fields.get("role")
    role = role if role in ("system", "user", "assistant", "tool") else _EVENTS[name]
    return [_said(_plain(fields, role, place, problems), place)]


def _plain(message: dict[str, Any], role: str, place: str, problems: Problems) -> dict[str, Any]:
    """Return a message that already has ``content`` and ``tool_calls``."""
    content = message.get("content")
    if type(content) is list:
        content = [_part(one) for one in content]
    elif content is not None:
        content = as_json_text(content)
    out: dict[str, Any] = {"role": role, "content": content}
    if role == "tool":
        return out | {"tool_call_id": message.get("tool_call_id", message.get("id"))}
    calls = structured({"tool_calls": (message.get("tool_calls"), place)}, "tool_calls", problems)
    if calls:
        if type(calls) is not list:
            problems.add(place, f"The tool_calls must be a list, not {describe(calls)}.")
            calls = []
        functions = [(one, one.get("function")) for one in calls if type(one) is dict]
        out["tool_calls"] = [
            _call(one.get("id"), function.get("name"), function.get("arguments"))
            for one, function in functions
            if type(function) is dict
        ]
    return out


def _call(call_id: Any, name: Any, arguments: Any) -> dict[str, Any]:
    text = "{}" if arguments is None else as_json_text(arguments)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def _result(response: Any) -> str:
    return "" if response is None else as_json_text(response)


def _said(message: dict[str, Any], place: str) -> Said:
    """Return a message with its key, which ignores ids, reasoning and the spelling of arguments."""
    functions = [call["function"] for call in message.get("tool_calls", ())]
    calls = [[one["name"], _respelled(one["arguments"])] for one in functions]
    return Said(message, place, dumps([message["role"], _text(message).strip(), calls]).decode())


def _text(message: dict[str, Any]) -> str:
    content = message["content"]
    if type(content) is list:
        content = text_of_parts(content)
    return content if type(content) is str else ""


def _respelled(text: str) -> str:
    try:
        return dump(loads(text))
    except (ValueError, TypeError):
        return text


def events_of(span: dict[str, Any], pointer: str) -> list[tuple[str, Attributes, str]]:
    """Return the name, attributes and place of each event of a span. Raises SpanError."""
    events = span.get("events")
    if events is None:
        return []
    if type(events) is not list or not all(type(one) is dict and type(one.get("name")) is str for one in events):
        raise SpanError(f"{pointer}/events", "The events must be a list of objects with a name. Correct the export.")
    places = [f"{pointer}/events/{n}" for n in range(len(events))]
    return [(one["name"], attributes_of(one, place), place) for one, place in zip(events, places, strict=True)]
