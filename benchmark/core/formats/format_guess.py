"""Guess the format of a record, to report that the wrong one was chosen."""

from typing import Any

from annotator.core.schema import Problem, SchemaProblem
from annotator.core.schema.exact_json import loads


def guess_format(record: Any) -> str | None:
    """Return the name of the format that a record looks like, from its field names; None if there is no such format.

    c3 and mmtb share all their fields, so either is reported as c3. Only formats that can be imported are named.
    """
    return _guess(record)[0]


def refuse_other_format(record: dict[str, Any], chosen: str) -> None:
    """Raise SchemaProblem, naming the probable format, if a record is clearly not of the chosen one."""
    guess, why = _guess(record)
    other = _unread(record) if guess is None else ""
    if other:
        raise SchemaProblem([Problem("", f"{other}, which Assay can’t read alone. {_INSTEAD}")])
    if guess is not None and guess != chosen and {guess, chosen} not in _ALIKE:
        message = f"The record looks like {guess}, not {chosen}: {why}. Choose the format {guess}."
        raise SchemaProblem([Problem("", message)])


#: Formats whose records look alike.
_ALIKE = ({"c3", "mmtb"}, {"bfcl", "bfcl_single"})
_INSTEAD = "Put it into one .zip with the file of tasks, and import that as bfcl."


def _unread(record: dict[str, Any]) -> str:
    """Return what a record that is only a part of a task looks like, as the beginning of a sentence."""
    if "ground_truth" in record:
        return "The record looks like a possible answer of BFCL (it has ground_truth)"
    if {"name", "description", "parameters"} <= record.keys():
        return "The record looks like the description of a function, not a dialogue (it has name and parameters)"
    return ""


def _guess(record: Any) -> tuple[str | None, str]:
    if type(record) is not dict:
        return None, ""
    if type(record.get("document")) is dict:
        return "neutral", "it has a document"
    if "constraints_list" in record or "unsolved_set" in record:
        return "cctu", "it has constraints_list"
    for prefix in ("english_", ""):
        if f"{prefix}answer_list" in record or f"{prefix}turn_subtypes" in record:
            if f"{prefix}tasks" in record:
                return "wild", f"it has {prefix}tasks"
            if f"{prefix}task" in record:
                return "c3", f"it has {prefix}task"
    for field, name in (("english_tasks", "wild"), ("task_ids", "c3"), ("english_task", "c3")):
        if field in record:
            return name, f"it has {field}"
    if record.get("kind") in ("similar", "cross") and type(record.get("tasks")) is list:
        return "async", "it is a composite of single tasks"
    if type(record.get("question")) is list and "involved_classes" in record:
        return "bfcl", "it has involved_classes"
    if "question" in record and "function" in record:
        return "bfcl", "it has question and function"
    if record.get("object") == "response" or any(_types(record.get(name)) & _ITEMS for name in ("output", "input")):
        return "responses", "it has items of the Responses API"
    if isinstance(record.get("input"), str) and type(record.get("output")) is list:
        return "nestful", "it has input and output"
    calls = record.get("ground_truth")
    if isinstance(record.get("question"), str) and type(calls) is list and all(type(call) is str for call in calls):
        return "async", "it has question and ground_truth"
    return _guess_chat(record)


def _guess_chat(record: dict[str, Any]) -> tuple[str | None, str]:
    """Guess among the formats of chats and traces."""
    if "resourceSpans" in record:
        return "otlp", "it has resourceSpans"
    if type(record.get("samples")) is list and type(record.get("eval")) is dict:
        return "inspect", "it has samples of an evaluation"
    if {"version", "status", "eval"} <= record.keys() and type(record["eval"]) is dict:
        return "inspect", "it is the log of an evaluation"
    if "epoch" in record and type(record.get("messages")) is list and type(record.get("output")) is dict:
        return "inspect", "it is a sample of an evaluation"
    if guess_messages(record.get("conversations")) == "sharegpt":
        return "sharegpt", "it has conversations with from and value"
    if type(record.get("fields")) is dict and record.keys() & {"responses", "suggestions", "metadata", "status"}:
        return "argilla", "it has fields, and responses or suggestions"
    if type(record.get("data")) is dict and record.keys() & {"annotations", "predictions", "completed_by"}:
        return "labelstudio", "it has data, and annotations or predictions"
    messages = _read_list(record.get("messages"))
    if any("role" in message for message in messages):
        why = blocks_in(messages, record.get("tools"))
        if why:
            return "anthropic", why
        if "system" in record and not any(message.get("role") == "system" for message in messages):
            return "anthropic", "it has messages, and its system prompt apart from them"
        return "openai", "it has messages with roles"
    return None, ""


def guess_messages(value: Any) -> str | None:
    """Return the format whose messages a value looks like: a list, or a JSON text with a list."""
    messages = _read_list(value)
    if any("from" in message and "value" in message for message in messages):
        return "sharegpt"
    if not any("role" in message for message in messages):
        return None
    return "anthropic" if blocks_in(messages, None) else "openai"


def blocks_in(messages: list[Any], tools: Any) -> str:
    """Return what shows that messages are of the Anthropic API; empty if nothing does."""
    said = [message for message in messages[:_FIRST] if type(message) is dict]
    if any("tool_calls" in message or message.get("role") == "tool" for message in said):
        return ""
    contents = (message.get("content") for message in said)
    if any(_types(content) & {"tool_use", "tool_result"} for content in contents if type(content) is list):
        return "its messages have blocks such as tool_use"
    if type(tools) is list and any("input_schema" in tool for tool in _read_list(tools)):
        return "its tools have input_schema"
    return ""


#: Types of items of the Responses API.
_ITEMS = frozenset(("message", "function_call", "function_call_output", "reasoning"))
#: Parts of a list that are looked at.
_FIRST = 200


def _read_list(value: Any) -> list[dict[str, Any]]:
    """Return the first objects of a list, or of a list in a JSON text."""
    if type(value) is str and value[:1] == "[":
        try:
            value = loads(value)
        except ValueError:
            return []
    return [one for one in value[:_FIRST] if type(one) is dict] if type(value) is list else []


def _types(value: Any) -> set[str]:
    """Return the types of the objects in a list."""
    return {one["type"] for one in _read_list(value) if type(one.get("type")) is str}
