"""Anchors in words: how sentences name a place in a dialogue."""

from collections.abc import Callable
from typing import Any

from annotator.core.comparison.anchors import AnchorMissing, Document, find, join, ordered_list, owner, resolve, split
from annotator.core.schema.tool_places import place_in_tool

#: Fields whose word is not their key.
_FIELDS = {
    "env_info": "environment information",
    "initial_state": "initial state",
    "now": "current time",
    "context": "dialogue so far",
    "extra": "extra field",
    "native_information": "native information label",
    "chosen": "chosen candidate message",
    "name": "tool",
    "inferable": "inferable argument",
    "depends_on": "dependencies",
    "user_query": "query",
    "anchor": "span of the system prompt",
    "form": "built-in validator",
    "good": "good examples",
    "bad": "bad examples",
    "final": "final response",
    "tool_codes": "code of the tool",
}


def describe(document: Document, anchor: str) -> str:
    """Return the place in words: “task 2, call s3 searchFlights, argument city”.

    Places that no longer exist are named by id.
    """
    try:
        listed = ordered_list(anchor)
        parts = split(anchor if listed is None else listed)
    except AnchorMissing:
        return anchor
    if not parts:
        return "the dialogue"
    words = _PARTS[parts[0]](document, parts) if parts[0] in _PARTS and len(parts) > 1 else _field(parts)
    return ", ".join(words if listed is None else [*words[:-1], f"order of {words[-1]}"])


def part_words(anchor: str) -> str:
    """Return a place within its step, task or other part in words: “argument city”."""
    parts = split(anchor)
    above = len(split(owner(anchor)))
    if above == 2 and len(parts) > 4 and parts[2] == "candidate_messages":
        return f"candidate message {parts[3]}, {', '.join(_field(parts[4:]))}"
    if parts[:1] == ("tools",) and len(parts) > 2:
        return ", ".join(_in_tool(parts[2:]))
    if parts[2:3] == ("validator",) and len(parts) > 3 and parts[0] == "constraints":
        return ", ".join(["validator", *_field(parts[3:])])
    return ", ".join(_field(parts[above:]))


def _task(document: Document, parts: tuple[str, ...]) -> list[str]:
    tasks = document.get("tasks", [])
    index = find(tasks, parts[1])
    words = [f"task {index + 1}" if index >= 0 else f"task {parts[1]} (missing)"]
    rest = parts[2:]
    if len(rest) > 1 and rest[0] == "steps":
        words.append(_step(document, parts[:4]))
        rest = rest[2:]
    elif len(rest) > 1 and rest[0] == "candidate_messages":
        words.append(f"candidate message {rest[1]}")
        rest = rest[2:]
    return [*words, *_field(rest)] if rest else words


def _constraint(document: Document, parts: tuple[str, ...]) -> list[str]:
    constraints = document.get("constraints", [])
    index = find(constraints, parts[1])
    if index < 0:
        words = [f"constraint {parts[1]} (missing)"]
    else:
        words = [f"constraint {index + 1} ({constraints[index].get('category') or 'no category'})"]
    rest = parts[2:]
    if rest[:1] == ("validator",) and len(rest) > 1:
        return [*words, "validator", *_field(rest[1:])]
    return [*words, *_field(rest)] if rest else words


def _round(document: Document, parts: tuple[str, ...]) -> list[str]:
    rounds = document.get("reference_trajectory") or []
    index = find(rounds, parts[1])
    words = [f"round {index + 1}" if index >= 0 else f"round {parts[1]} (missing)"]
    rest = parts[2:]
    if len(rest) > 1 and rest[0] == "calls":
        calls = rounds[index].get("calls", []) if index >= 0 else []
        at = find(calls, rest[1])
        words.append(f"call {rest[1]} {calls[at]['name']}" if at >= 0 else f"call {rest[1]} (missing)")
        rest = rest[2:]
    return [*words, *_field(rest)] if rest else words


def _tool(document: Document, parts: tuple[str, ...]) -> list[str]:
    tools = document.get("tools") or []
    index = find(tools, parts[1])
    if index < 0:
        words = [f"function {parts[1]} (missing)"]
    else:
        words = [f"function {tools[index]['tool'].get('function', tools[index]['tool'])['name']}"]
    return [*words, *_in_tool(parts[2:])] if len(parts) > 2 else words


def _in_tool(parts: tuple[str, ...]) -> list[str]:
    """Return a place within a tool: “parameter legs[].to”, “description”."""
    if parts[0] != "tool":
        return _field(parts)
    place = place_in_tool(parts[1:])
    words = [f"parameter {'.'.join(place.parameter).replace('.[]', '[]')}"] if place.parameter else []
    field = place.field
    if not words and len(field) > 1 and field[0] == "parameters":
        words, field = ["parameters"], field[1:]
    if not words and not field:
        return ["JSON"]
    return [*words, *([" › ".join(field).replace("_", " ")] if field else [])]


def _step(document: Document, parts: tuple[str, ...]) -> str:
    try:
        step: dict[str, Any] = resolve(document, join(parts))
    except AnchorMissing:
        return f"step {parts[3]} (missing)"
    return step_words(step)


def step_words(step: dict[str, Any]) -> str:
    """Return a step in words: “call s3 searchFlights”, “answer s4”."""
    name = f" {step['name']}" if step["type"] == "call" else ""
    return f"{step['type']} {step['id']}{name}"


def _field(parts: tuple[str, ...]) -> list[str]:
    head, rest = parts[0], parts[1:]
    if head == "arguments" and rest:
        return ["argument " + " › ".join(rest)]
    if head == "inferable" and rest:
        return ["reason why " + " › ".join(split(rest[0]) if rest[0][:1] == "/" else rest) + " is inferable"]
    if head == "labels" and rest:
        return [f"label {rest[0]}"]
    if head == "context" and rest:
        number = int(rest[0]) + 1 if rest[0].isdigit() and rest[0].isascii() and len(rest[0]) < 9 else rest[0]
        return [f"message {number} of the dialogue so far", *([_word(rest[1])] if rest[1:] else [])]
    word = _word(head)
    return [f"{word} " + " › ".join(rest)] if rest else [word]


def _word(field: str) -> str:
    return _FIELDS.get(field, field.replace("_", " "))


#: Lists of items that are named by their number, each with its own function.
_PARTS: dict[str, Callable[[Document, tuple[str, ...]], list[str]]] = {
    "tasks": _task,
    "constraints": _constraint,
    "reference_trajectory": _round,
    "tools": _tool,
}
