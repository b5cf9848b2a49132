"""Traces of OpenTelemetry (OTLP in JSON) with the semantic conventions for generative AI, 1.41.

A record has the spans of one dialogue: ``{"id", "parent", "resourceSpans": […]}``, as reading a file collects them
(``files.span_groups``). Spans of models have its messages, spans of tools the results that no message repeats. All
attributes but the messages are kept with the document, under ``spans`` and ``resources``.
"""

from dataclasses import dataclass
from typing import Any

from annotator.core.schema import Problem
from benchmark.core.files.spans import (
    OPERATION,
    VERSION,
    Found,
    SpanError,
    attributes_of,
    id_of,
    node_of,
    place_spans,
    spans_of,
    time_of,
)
from benchmark.core.formats.chat import Chat, LogFormat, as_json_text
from benchmark.core.formats.interface import NO_TOOLS, Problems, check_id
from benchmark.core.formats.otlp_dialogue import Chain, Model, Result, join_calls, with_results
from benchmark.core.formats.otlp_messages import (
    CONTENT,
    DEFINITIONS,
    DETAILS,
    INPUT,
    Attributes,
    Talk,
    events_of,
    structured,
    talk_of,
)

_TOOL = "execute_tool"
#: Operations that include calls of models: their messages count if there are no such calls.
_AROUND = frozenset(("invoke_agent", "invoke_workflow", "create_agent", _TOOL))
_ARGUMENTS, _RESULT = "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"
_FAILED = (2, "STATUS_CODE_ERROR")
#: Versions named in warnings.
_NAMED = 5
_NO_MESSAGES = (
    "No span has messages (gen_ai.input.messages or gen_ai.output.messages). Switch on the capture of message content "
    "in the program that was traced, and trace it again."
)


@dataclass(slots=True)
class _Span:
    found: Found
    trace: str
    operation: str
    attributes: Attributes
    events: list[tuple[str, Attributes, str]]
    talk: Talk


class OtlpFormat(LogFormat):
    name = "otlp"
    losses = (
        "The text of a message that several spans repeat is kept once.",
        "Headers of HTTP requests and responses are not kept, because they may contain secrets.",
    )
    known = frozenset(("id", "parent", "resourceSpans"))
    needs = (("resourceSpans",), "spans as OTLP in JSON has them")

    def id_of(self, record: dict[str, Any], problems: Problems) -> str:
        """See ``chat.ChatFormat``: a record that was not collected has the id of its conversation, or of its trace."""
        if record.get("id") is not None:
            return check_id(record["id"], problems)
        names = _dialogues_in(record)
        if len(names) > 1:
            message = f"The record has spans of {len(names)} dialogues. Import its file, which collects them."
            problems.add("/resourceSpans", message)
        return check_id(next(iter(names)), problems, "/resourceSpans") if len(names) == 1 else ""

    def to_chat(self, record: dict[str, Any], problems: Problems, warnings: list[Problem]) -> Chat:
        """See ``chat.ChatFormat``."""
        spans = _read_spans(record, problems)
        models = [n for n, one in enumerate(spans) if one.operation not in _AROUND and _has_messages(one)]
        models = models or [n for n, one in enumerate(spans) if one.operation != _TOOL and _has_messages(one)]
        whole = join_calls([Model(n, spans[n].trace, spans[n].talk) for n in models])
        if not whole.said and not problems.found:
            problems.add("/resourceSpans", _NO_MESSAGES)
        chat = Chat()
        if whole.system:
            chat.add("system", *whole.system)
        results = [_result(one) for one in spans if one.operation == _TOOL]
        for message, place in with_results(whole.said, results):
            chat.add_message(message, place)
        chat.tools = _tools(spans, problems)
        if not chat.tools and any("tool_calls" in message for message in chat.messages):
            warnings.append(Problem("/resourceSpans", f"No span has {DEFINITIONS}. {NO_TOOLS}"))
        _warn(spans, models, whole, warnings)
        chat.beside = _beside(record, spans, whole)
        return chat


def _dialogues_in(record: dict[str, Any]) -> list[str]:
    """Return the dialogues of the spans of a record, in order."""
    by_trace: dict[str, list[Any]] = {}
    for found in spans_of(record):
        try:
            if isinstance(found, Found):
                node = node_of(found.span, found.pointer)
                by_trace.setdefault(id_of(found.span, "traceId", found.pointer), []).append(node)
        except SpanError:
            continue
    return list(dict.fromkeys(name for trace, nodes in by_trace.items() for name, _ in place_spans(nodes, trace)))


def _read_spans(record: dict[str, Any], problems: Problems) -> list[_Span]:
    """Return the spans in the order of time."""
    out = []
    for found in spans_of(record):
        try:
            if isinstance(found, SpanError):
                raise found
            attributes = attributes_of(found.span, found.pointer)
            events = events_of(found.span, found.pointer)
            for name, more, _ in events:
                attributes = more | attributes if name == DETAILS else attributes
            operation = attributes.get(OPERATION, ("", ""))[0]
            trace = id_of(found.span, "traceId", found.pointer)
            talk = talk_of(attributes, events, problems)
            out.append(_Span(found, trace, operation if type(operation) is str else "", attributes, events, talk))
        except SpanError as error:
            problems.add(error.pointer, str(error))
    return sorted(out, key=lambda one: (time_of(one.found.span), time_of(one.found.span, "endTimeUnixNano")))


def _has_messages(span: _Span) -> bool:
    return bool(span.talk.input or span.talk.output)


def _result(span: _Span) -> Result:
    """Return what a span of a tool says."""
    attributes, status = span.attributes, span.found.span.get("status")
    value = attributes.get(_RESULT, (None, ""))[0]
    kind = attributes.get("error.type", (None, ""))[0]
    status = status if type(status) is dict else {}
    is_error = kind is not None or status.get("code") in _FAILED
    text = None if value is None else as_json_text(value)
    if is_error and not text:
        text = next((one for one in (status.get("message"), kind) if type(one) is str and one), "")
    call_id, name = (attributes.get(f"gen_ai.tool.{one}", (None, ""))[0] for one in ("call.id", "name"))
    return Result(call_id, name, text, is_error, span.found.pointer)


def _tools(spans: list[_Span], problems: Problems) -> list[Any]:
    """Return the tools that the spans define, each once by its name."""
    found: dict[str, Any] = {}
    for span in spans:
        value = structured(span.attributes, DEFINITIONS, problems)
        for tool in value if type(value) is list else []:
            tool = structured({DEFINITIONS: (tool, span.found.pointer)}, DEFINITIONS, problems)
            function = tool.get("function", tool) if type(tool) is dict else None
            if type(function) is dict and type(function.get("name")) is str:
                fields = {name: one for name, one in function.items() if name != "type"}
                found.setdefault(function["name"], {"type": "function", "function": fields})
    return list(found.values())


def _warn(spans: list[_Span], models: list[int], whole: Chain, warnings: list[Problem]) -> None:
    """Say what else the spans have."""
    urls = [one.get("schemaUrl") for span in spans for one in (span.found.resource, span.found.scope)]
    versions = {url.rpartition("/")[2] for url in urls if type(url) is str and url}
    for version in sorted(one for one in versions if not one.startswith(f"{VERSION}."))[:_NAMED]:
        message = (
            f"The spans follow version {version[:40]} of the conventions. Assay reads {VERSION}: check the messages."
        )
        warnings.append(Problem("/resourceSpans", message))
    for n in sorted(set(models) - whole.models)[:_NAMED]:
        message = "The messages of this span do not continue the dialogue. They are kept with the span."
        warnings.append(Problem(spans[n].found.pointer, message))
    prompts = {span.talk.system[0] for span in spans if span.talk.system}
    if len(prompts) > 1:
        message = f"The spans have {len(prompts)} different system prompts. The dialogue has the first."
        warnings.append(Problem("/resourceSpans", message))


def _beside(record: dict[str, Any], spans: list[_Span], whole: Chain) -> dict[str, Any]:
    """Return what is kept with the document: everything but the messages that it has."""
    functions = [call for one in whole.said for call in one.message.get("tool_calls", ())]
    calls = {str(call["id"]) for call in functions} | {str(call["function"]["name"]) for call in functions}
    owners: list[dict[str, Any]] = []
    numbers: dict[int, int] = {}
    kept = []
    for n, span in enumerate(spans):
        found = span.found
        if id(found.scope) not in numbers:
            numbers[id(found.scope)] = len(owners)
            owners.append({"resource": found.resource, "scope": found.scope})
        left_out = _told(n, span, whole, calls)
        fields = {name: value for name, value in found.span.items() if name not in ("attributes", "events")}
        fields["attributes"] = {name: one for name, (one, _) in span.attributes.items() if name not in left_out}
        events = [
            fields_of | {"attributes": {key: one for key, (one, _) in attributes.items() if key not in left_out}}
            for fields_of, (name, attributes, _) in zip(found.span.get("events") or (), span.events, strict=True)
            if not (n in whole.models and name.startswith("gen_ai.") and name != DETAILS)
        ]
        kept.append(fields | ({"events": events} if events else {}) | {"source": numbers[id(found.scope)]})
    beside: dict[str, Any] = {"spans": kept, "resources": owners}
    if type(record.get("parent")) is str:
        beside["parent_dialogue"] = record["parent"]
    return beside


def _told(number: int, span: _Span, whole: Chain, calls: set[str]) -> frozenset[str]:
    """Return the attributes of a span that the dialogue has, or that repeat it. ``calls``: their ids and names."""
    if number in whole.models:
        return CONTENT
    if span.operation == _TOOL:
        result = _result(span)
        is_known = (result.call_id if result.call_id is not None else result.name) in calls
        return frozenset((_ARGUMENTS, _RESULT)) if is_known else frozenset()
    given = span.talk.input
    if given and whole.said and given[0].key == whole.said[0].key:
        return frozenset((INPUT, DEFINITIONS))
    return frozenset((DEFINITIONS,))
