"""Edits of a single task: its category, what it starts from, and its trajectory as Python text."""

from typing import Any

from annotator.core.comparison.alignment import next_id
from annotator.core.editing import values
from annotator.core.editing.json_text import JsonProblem, read_json
from annotator.core.editing.scope import Edit, task_anchor
from annotator.core.execution.call_text import NotACall, argument_names, read_call, write_call
from annotator.core.execution.subjects import read_moment
from annotator.core.schema.canonical import canonical

_TEXTS = ("category", "now")
_JSON = ("initial_state", "seed")
#: Lines of a trajectory that are read.
MAX_LINES = 1_000


def set_value(edit: Edit) -> str:
    """Set the value at the anchor; the category and the time are null if they are blank."""
    parts = edit.parts()
    if len(parts) != 1 or parts[0] not in _TEXTS:
        return values.set_value(edit)
    value = edit.value()
    text = "" if value is None else edit.as_text(value).strip()
    if text and parts[0] == "now":
        try:
            read_moment(text)
        except (ValueError, OverflowError):
            edit.refuse("Write a date and time such as 2026-02-03T09:30:00.")
    return edit.put(edit.anchor, text or None)


def set_json(edit: Edit) -> str:
    """Set the initial state or the seed, given as “value” or as JSON “text”; an empty text is null."""
    parts = edit.parts()
    if len(parts) != 1 or parts[0] not in _JSON:
        edit.refuse("This place cannot be set as JSON.")
    if "text" not in edit.op:
        value = edit.value()
    else:
        text = edit.text("text")
        try:
            value = read_json(text) if text.strip() else None
        except JsonProblem as problem:
            edit.refuse(str(problem))
    if parts[0] == "seed" and value is not None and type(value) is not int:
        edit.refuse("The seed must be a whole number.")
    return edit.put(edit.anchor, value)


def set_calls(edit: Edit) -> str:
    """Replace the trajectory by calls in Python, one a line. A call that stays the same keeps its id and fields."""
    task = edit.task()
    tools = edit.toolset.tools if edit.toolset else {}
    names = {name: argument_names(tool.parameters) for name, tool in tools.items()}
    lines = [line for line in edit.text("text").splitlines() if line.strip()]
    if len(lines) > MAX_LINES:
        edit.refuse(f"There are {len(lines):,} calls. The limit is {MAX_LINES:,}.")
    before: list[dict[str, Any]] = task["steps"]
    known: dict[str, list[dict[str, Any]]] = {}
    for step in before:
        known.setdefault(canonical([step["name"], step["arguments"]]), []).append(step)
    used, steps = {step["id"] for step in before}, []
    for number, line in enumerate(lines, 1):
        try:
            call = read_call(line, names)
        except NotACall as problem:
            edit.refuse(f"Line {number}: {problem}")
        arguments = dict(call.arguments)
        kept = known.get(canonical([call.name, arguments]))
        if kept:
            steps.append(kept.pop(0))
            continue
        new = next_id("s", used)
        used.add(new)
        steps.append({"id": new, "type": "call", "name": call.name, "arguments": arguments, "depends_on": None})
    ids = {step["id"] for step in steps}
    for step in steps:
        if step["depends_on"]:
            step["depends_on"] = [one for one in step["depends_on"] if one["id"] in ids]
    task["steps"] = steps
    return task_anchor(task)


def calls_text(document: dict[str, Any]) -> str:
    """Return a trajectory as Python, one call a line; arguments that are no object are left out."""
    return "\n".join(
        write_call(step["name"], step["arguments"] if isinstance(step["arguments"], dict) else {})
        for step in document["tasks"][0]["steps"]
    )
