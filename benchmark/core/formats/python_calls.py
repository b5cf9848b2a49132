"""Calls of a record as Python text: read into steps, with the arguments' names from the record's tools."""

from collections.abc import Mapping, Sequence
from typing import Any

from annotator.core.execution.call_text import NotACall, argument_names, read_call, write_call
from benchmark.core.formats.interface import Problems, describe

Names = Mapping[str, tuple[str, ...]]


def names_of(tools: Sequence[Any]) -> Names:
    """Return function → names of its arguments in order; tools without a name are left out."""
    names: dict[str, tuple[str, ...]] = {}
    for tool in tools:
        function = tool.get("function", tool)
        if isinstance(function, dict) and isinstance(function.get("name"), str):
            schema = function.get("parameters")
            names[function["name"]] = argument_names(schema) if isinstance(schema, dict) else ()
    return names


def read_calls(texts: Sequence[Any], pointer: str, names: Names, problems: Problems) -> list[dict[str, Any]]:
    """Return a step without an id for each call of the list at ``pointer``; report those that cannot be read."""
    steps = []
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            problems.add(f"{pointer}/{index}", f"A call must be text, not {describe(text)}.")
            continue
        try:
            call = read_call(text, names)
        except NotACall as error:
            problems.add(f"{pointer}/{index}", str(error))
        else:
            steps.append(call_step(call.name, dict(call.arguments)))
    return steps


def call_step(name: str, arguments: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a call as a step. Without an id among ``fields``, it has to be numbered."""
    return {
        "depends_on": None, "type": "call", "name": name, "arguments": arguments, "observation": None,
        "inferable": {}, "extra": {}, **fields,
    }  # fmt: skip


def numbered(steps: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the steps with ids: s1, s2 and so on."""
    return [{"id": f"s{number}", **step} for number, step in enumerate(steps, 1)]


def write_calls(task: Mapping[str, Any]) -> list[str]:
    """Return the calls of a task as Python text; unreadable arguments are left out."""
    return [
        write_call(step["name"], step["arguments"] if isinstance(step["arguments"], dict) else {})
        for step in task["steps"]
        if step["type"] == "call"
    ]
