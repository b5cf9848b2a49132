"""BFCL's single-turn tasks: ``{"id", "question": [[{"role", "content"}]], "function": […], "ground_truth": […]}``.

``ground_truth`` has an object for each call, ``{function: {parameter: [acceptable values]}}``. The first value becomes
the argument; all of them are kept with the call, and written again until the argument is edited. An empty text means
that the parameter may be left out. Several calls are made at once, so none needs another.
"""

from typing import Any

from annotator.core.schema import Problem
from annotator.core.schema.exact_json import same
from benchmark.core.formats.interface import Problems, ReadDialogue, check_id, describe, empty_task, guess_language
from benchmark.core.formats.native_remainder import native, note
from benchmark.core.formats.python_calls import call_step, numbered

#: The fields that the document has.
KNOWN = frozenset(("id", "question", "function", "ground_truth"))
_ROLES = ("system", "user", "assistant")
_LEFT_OUT = ""
_MISSING = object()
_MAX_CALLS = 256


def is_single_turn(record: dict[str, Any]) -> bool:
    """Return whether a record looks like a single-turn task."""
    return "question" in record and "function" in record and "involved_classes" not in record


def read_single_turn(record: dict[str, Any], problems: Problems, warnings: list[Problem]) -> ReadDialogue:
    """Return the dialogue of a record, without its ``extra``; what is wrong with it is in ``problems``."""
    external_id = check_id(record.get("id"), problems)
    functions = record["function"]
    if type(functions) is not list or not all(type(one) is dict for one in functions):
        problems.add("/function", f"The field function must be a list of functions, not {describe(functions)}.")
        functions = []
    messages = _read_messages(record["question"], problems)
    env_info = messages.pop(0)["content"] if messages and messages[0]["role"] == "system" else None
    task = empty_task(1, messages.pop()["content"] if messages else "")
    task["steps"] = numbered(_read_calls(record.get("ground_truth"), problems))
    if record.get("ground_truth") is None and "irrelevance" not in external_id:
        warnings.append(Problem("/ground_truth", "The record has no possible answer, so the task has no calls."))
    language = guess_language([task["user_message"]])
    document: dict[str, Any] = {
        "kind": "multi_turn",
        "language": language or None,
        "env_info": env_info,
        "context": messages,
        "tasks": [task],
    }
    return ReadDialogue(external_id, language, "", document, functions, warnings)


def plain_single_turn(item: ReadDialogue) -> dict[str, Any]:
    """Return the record of a dialogue with one task, without fields that Assay does not know."""
    document = item.document
    (task,) = document["tasks"]
    system = [] if document["env_info"] is None else [{"role": "system", "content": document["env_info"]}]
    said = [{"role": one["role"], "content": one["content"]} for one in document["context"]]
    return {
        "id": item.external_id,
        "question": [[*system, *said, {"role": "user", "content": task["user_message"]}]],
        "function": item.tools,
        "ground_truth": [{step["name"]: _acceptable(step)} for step in task["steps"] if step["type"] == "call"],
    }


def still_acceptable(kept: dict[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """Return those of a call's acceptable values of which the first is still the argument, by parameter."""
    out = {}
    for name, values in kept.items():
        first = _first(values) if type(values) is list else _MISSING
        as_it_was = first is not _MISSING and name in arguments and same(arguments[name], first)
        if as_it_was or (first is _MISSING and name not in arguments):
            out[name] = values
    return out


def _read_messages(question: Any, problems: Problems) -> list[dict[str, str]]:
    """Return the messages of the only turn; the last one is the user's."""
    if type(question) is str:
        return [{"role": "user", "content": question}]
    if type(question) is not list or len(question) != 1 or type(question[0]) is not list:
        problems.add("/question", "A single-turn task has a question with one list of messages.")
        return []
    out: list[dict[str, str]] = []
    for n, message in enumerate(question[0]):
        role, content = (message.get("role"), message.get("content")) if type(message) is dict else (None, None)
        if role in _ROLES and type(content) is str:
            out.append({"role": role, "content": content})
        else:
            where = f"/question/0/{n}"
            problems.add(where, f"A message must have a content, and a role, which is one of: {', '.join(_ROLES)}.")
    if not problems.found and (not out or out[-1]["role"] != "user"):
        problems.add("/question/0", "The last message must be the user’s.")
    return out


def _read_calls(calls: Any, problems: Problems) -> list[dict[str, Any]]:
    if calls is None:
        return []
    if type(calls) is not list or len(calls) > _MAX_CALLS:
        problems.add("/ground_truth", f"The ground_truth must be a list of at most {_MAX_CALLS} calls.")
        return []
    steps = []
    for n, call in enumerate(calls):
        name, values = next(iter(call.items())) if type(call) is dict and len(call) == 1 else ("", None)
        if not name or type(values) is not dict or not all(type(one) is list for one in values.values()):
            form = "{function: {parameter: [acceptable values]}}"
            problems.add(f"/ground_truth/{n}", f"A call must be an object such as {form}.")
            continue
        arguments = {one: first for one, listed in values.items() if (first := _first(listed)) is not _MISSING}
        step = call_step(name, arguments, depends_on=[])
        note(step, acceptable=values)
        steps.append(step)
    return steps


def _first(values: list[Any]) -> Any:
    """Return the argument for a list of acceptable values; ``_MISSING`` if the parameter is left out."""
    if not values or values[0] == _LEFT_OUT:
        return _MISSING
    value = values[0]
    return [_first_of_object(one) for one in value] if type(value) is list else _first_of_object(value)


def _first_of_object(value: Any) -> Any:
    """Return an object with the first acceptable value of each key; the published checker goes no deeper."""
    if type(value) is not dict:
        return value
    read = {key: inner for key, inner in value.items() if type(inner) is not list or _first(inner) is not _MISSING}
    return {key: inner[0] if type(inner) is list else inner for key, inner in read.items()}


def _acceptable(step: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the acceptable values of a call: those of its record, or else the argument alone."""
    arguments = step["arguments"] if type(step["arguments"]) is dict else {}
    kept = native(step).get("acceptable")
    out = still_acceptable(kept, arguments) if type(kept) is dict else {}
    for name, value in arguments.items():
        if name not in out:
            out[name] = [[_listed(one) for one in value] if type(value) is list else _listed(value)]
    return out


def _listed(value: Any) -> Any:
    return {key: [inner] for key, inner in value.items()} if type(value) is dict else value
