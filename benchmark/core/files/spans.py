"""Spans of OTLP in JSON: where they are in a batch, and which dialogue each belongs to.

A batch is ``{"resourceSpans": [{"resource", "scopeSpans": [{"scope", "spans": […]}]}]}``. A dialogue has all spans of a
conversation (``gen_ai.conversation.id``), or of a trace that names none. An agent that another agent calls has a
dialogue of its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

#: The version of the conventions for generative AI that is read.
VERSION = "1.41"
PREFIX = "gen_ai."
OPERATION = "gen_ai.operation.name"
CONVERSATION = "gen_ai.conversation.id"
AGENT = "gen_ai.agent.name"
_CALLS_AGENT = "invoke_agent"
_CALLS_TOOL = "execute_tool"
#: Between the id of a conversation and the span that called an agent.
_SUFFIX = "#"
#: Levels of a value of an attribute.
_MAX_DEPTH = 60


class SpanError(Exception):
    """Something in a batch that cannot be read; ``pointer`` is its place."""

    def __init__(self, pointer: str, message: str) -> None:
        super().__init__(message)
        self.pointer = pointer


@dataclass(slots=True)
class Found:
    """A span of a batch, with the other fields of its ``resourceSpans`` and its ``scopeSpans``."""

    pointer: str
    span: dict[str, Any]
    resource: dict[str, Any]
    scope: dict[str, Any]


def spans_of(batch: dict[str, Any]) -> Iterator[Found | SpanError]:
    """Yield the spans of a batch in order, and what is no span."""
    for resource, here in _objects(batch, "resourceSpans", ""):
        if isinstance(resource, SpanError):
            yield resource
            continue
        about = {name: value for name, value in resource.items() if name != "scopeSpans"}
        for scope, there in _objects(resource, "scopeSpans", here):
            if isinstance(scope, SpanError):
                yield scope
                continue
            within = {name: value for name, value in scope.items() if name != "spans"}
            for span, place in _objects(scope, "spans", there):
                yield span if isinstance(span, SpanError) else Found(place, span, about, within)


def _objects(parent: dict[str, Any], name: str, here: str) -> Iterator[tuple[dict[str, Any] | SpanError, str]]:
    value = parent.get(name)
    here = f"{here}/{name}"
    if value is None:
        return
    if type(value) is not list:
        yield SpanError(here, f"The field {name} must be a list. Export the spans as OTLP in JSON."), here
        return
    for n, one in enumerate(value):
        place = f"{here}/{n}"
        if type(one) is dict:
            yield one, place
        else:
            yield SpanError(place, f"Every element of {name} must be an object. Remove it."), place


def id_of(span: dict[str, Any], name: str, pointer: str) -> str:
    """Return an id of a span, in lower case; an empty text if it has none. Raises SpanError."""
    value = span.get(name)
    if value is None or value == "":
        return ""
    if type(value) is not str or len(value) > 64 or not value.isalnum():
        raise SpanError(f"{pointer}/{name}", f"The {name} must be text in hexadecimal digits.")
    return value.lower()


def time_of(span: dict[str, Any], name: str = "startTimeUnixNano") -> int:
    """Return a time of a span in nanoseconds; 0 if it is unknown."""
    value = span.get(name)
    if type(value) is str and value.isdecimal() and value.isascii() and len(value) <= 19:
        value = int(value)
    return value if type(value) is int and 0 <= value < 2**63 else 0


def attributes_of(part: dict[str, Any], pointer: str) -> dict[str, tuple[Any, str]]:
    """Return the attributes of a span, an event or a resource: the value and the place of each. Raises SpanError."""
    found: dict[str, tuple[Any, str]] = {}
    for attribute, place in _objects(part, "attributes", pointer):
        if isinstance(attribute, SpanError):
            raise attribute
        key = attribute.get("key")
        if type(key) is not str:
            raise SpanError(f"{place}/key", "The key of an attribute must be text. Remove the attribute.")
        found[key] = _value(attribute.get("value"), f"{place}/value", 0), f"{place}/value"
    return found


def _value(value: Any, pointer: str, depth: int) -> Any:
    """Return a typed value as JSON has it."""
    if value is None or value == {}:
        return None
    if type(value) is not dict or len(value) != 1:
        raise SpanError(pointer, "A value must be an object with one type, such as stringValue. Correct the export.")
    if depth > _MAX_DEPTH:
        raise SpanError(pointer, f"The value is nested more than {_MAX_DEPTH} levels deep. Remove the attribute.")
    ((kind, content),) = value.items()
    if kind in ("stringValue", "bytesValue") and type(content) is str:
        return content
    if kind == "boolValue" and type(content) is bool:
        return content
    if kind == "intValue":
        digits = content.removeprefix("-") if type(content) is str else ""
        if digits.isdecimal() and digits.isascii() and len(digits) <= 19:
            return int(content)
        if type(content) is int:
            return content
    if kind == "doubleValue" and (type(content) in (int, float) or content in ("NaN", "Infinity", "-Infinity")):
        return content
    inner = content.get("values") if type(content) is dict else None
    if kind == "arrayValue" and type(content) is dict and type(inner or []) is list:
        return [_value(one, f"{pointer}/arrayValue/values/{n}", depth + 1) for n, one in enumerate(inner or [])]
    if kind == "kvlistValue" and type(content) is dict:
        found = {}
        for one, place in _objects(content, "values", f"{pointer}/kvlistValue"):
            if isinstance(one, SpanError):
                raise one
            if type(one.get("key")) is not str:
                raise SpanError(f"{place}/key", "The key of a value must be text. Remove the attribute.")
            found[one["key"]] = _value(one.get("value"), f"{place}/value", depth + 1)
        return found
    raise SpanError(pointer, "The value is not of a type of OTLP, such as stringValue. Correct the export.")


@dataclass(slots=True)
class Node:
    """What decides to which dialogue a span belongs. ``start``: nanoseconds."""

    span: str
    parent: str
    start: int
    operation: str
    conversation: str
    agent: str
    is_genai: bool


def node_of(span: dict[str, Any], pointer: str) -> Node:
    """Return the node of a span. Raises SpanError."""
    attributes = attributes_of(span, pointer)
    operation, conversation, agent = (
        value if type(value) is str else "" for value, _ in (attributes.get(name, ("", "")) for name in _NAMES)
    )
    events = span.get("events")
    named = [one.get("name") for one in events if type(one) is dict] if type(events) is list else []
    is_genai = any(type(name) is str and name.startswith(PREFIX) for name in (*attributes, *named))
    own, parent = (id_of(span, name, pointer) for name in ("spanId", "parentSpanId"))
    return Node(own, parent, time_of(span), operation, conversation, agent, is_genai)


_NAMES = (OPERATION, CONVERSATION, AGENT)


def place_spans(nodes: Sequence[Node], trace: str) -> list[tuple[str, str]]:
    """Return the dialogue of each span of a trace, and the dialogue that called its agent (or an empty text).

    A parent that is missing, or that is below its own child, is as none.
    """
    by_id = {node.span: n for n, node in enumerate(nodes) if node.span}
    order = sorted(range(len(nodes)), key=lambda n: (nodes[n].start, nodes[n].span))
    fallback = next((nodes[n].conversation for n in order if nodes[n].conversation), trace)
    placed: dict[int, _Placed] = {}
    for n in order:
        path: list[int] = []
        on_path: set[int] = set()
        at: int | None = n
        while at is not None and at not in placed and at not in on_path:
            path.append(at)
            on_path.add(at)
            at = by_id.get(nodes[at].parent) if nodes[at].parent else None
        above = placed.get(at) if at is not None else None
        for one in reversed(path):
            placed[one] = above = _below(above, nodes[one], fallback)
    return [(placed[n].dialogue, placed[n].caller) for n in range(len(nodes))]


@dataclass(slots=True, frozen=True)
class _Placed:
    """``agent``: the name of the agent that a span is part of; None if it is part of none. ``through_tool``: whether
    it called a tool since."""

    conversation: str
    dialogue: str
    caller: str
    agent: str | None
    through_tool: bool


def _below(above: _Placed | None, node: Node, fallback: str) -> _Placed:
    if above is None:
        conversation = node.conversation or fallback
        above = _Placed(conversation, conversation, "", None, False)
    if node.operation == _CALLS_AGENT:
        # An agent may have a span of its caller and one of its own.
        is_same = above.agent is None or (above.agent == node.agent and node.agent and not above.through_tool)
        if not is_same:
            dialogue = f"{above.conversation}{_SUFFIX}{node.span}"
            return _Placed(above.conversation, dialogue, above.dialogue, node.agent, False)
        above = _Placed(above.conversation, above.dialogue, above.caller, node.agent, False)
    through_tool = above.through_tool or node.operation == _CALLS_TOOL
    is_own = above.dialogue == above.conversation and node.conversation not in ("", above.conversation)
    conversation = node.conversation if is_own else above.conversation
    dialogue = conversation if is_own else above.dialogue
    return _Placed(conversation, dialogue, above.caller, above.agent, through_tool)
