"""Where two people's versions of a dialogue differ in meaning."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from annotator.core.comparison.alignment import align
from annotator.core.comparison.anchors import Document, label_key, ordered_list, split
from annotator.core.comparison.changes import Change, ChangeKind, Comparison, one_sided
from annotator.core.schema.tool_places import place_in_tool


class Label(StrEnum):
    """The kind of content on which the two differ."""

    POLICY = "policy"
    INFORMATION = "information"
    ARGUMENTS = "arguments"
    CALL = "call"
    DEPENDENCIES = "dependencies"
    MESSAGE = "message"
    OBSERVATION = "observation"
    ANSWER = "answer"
    CLARIFICATION = "clarification"
    CONSTRAINT = "constraint"
    TOOL = "tool"
    #: The value of a custom field.
    CUSTOM = "custom"
    OTHER = "other"


_TASK_LABELS = {"policy": Label.POLICY, "information": Label.INFORMATION, "user_message": Label.MESSAGE}
_STEP_LABELS = {
    "name": Label.CALL,
    "arguments": Label.ARGUMENTS,
    "observation": Label.OBSERVATION,
    "depends_on": Label.DEPENDENCIES,
    "question": Label.CLARIFICATION,
    "user_reply": Label.CLARIFICATION,
    "text": Label.ANSWER,
    "answer_type": Label.ANSWER,
}
_CASE_LABELS = {
    "system_prompt": Label.MESSAGE,
    "user_query": Label.MESSAGE,
    "answer": Label.ANSWER,
    "constraints": Label.CONSTRAINT,
    "reference_trajectory": Label.CALL,
}
_CASE_READ = (
    *("system_prompt", "user_query", "scenario", "constraints", "unsolved_set", "answer", "reference_trajectory"),
    *("tool_codes", "tools"),
)
#: Lists whose order matters.
_ORDERED = ("/tasks", "/reference_trajectory")
#: Records how the message was chosen; only the message itself counts.
_RECORDS = frozenset({"candidate_messages", "candidate_messages#order", "chosen"})


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """One place where two versions differ. ``left`` and ``right`` are None if that version has nothing there."""

    anchor: str
    label: Label
    left: Any
    right: Any


def discrepancies(left: Document, right: Document) -> list[Discrepancy]:
    """Return every place where the versions differ in meaning, in the order of the document."""
    return [
        Discrepancy(change.anchor, _label(change), change.before, change.after)
        for change in differences(left, align(left, right))
        if matters(change)
    ]


_READ = ("user_message", "policy", "information", "labels", "env_info", "chosen", "steps")
_READ_STEP = (
    *("name", "arguments", "observation", "question", "user_reply", "text", "answer_type", "labels", "depends_on"),
)


def in_reading_order(left: Document, right: Document, found: list[Discrepancy]) -> list[Discrepancy]:
    """Return the discrepancies in reading order: a task's message and labels, then step by step."""
    tasks = _ranks(left.get("tasks", ()), right.get("tasks", ()))
    by_id = [{task["id"]: task["steps"] for task in side.get("tasks", ())} for side in (left, right)]
    steps = {key: _ranks(*(side.get(key, ()) for side in by_id)) for key in tasks}

    things = {
        name: _ranks(*(side.get(name) or () for side in (left, right)))
        for name in ("constraints", "reference_trajectory", "tools")
    }

    def rank(one: Discrepancy) -> tuple[float, ...]:
        parts = split(one.anchor)
        if parts[:1] != ("tasks",):
            head = parts[0] if parts else ""
            field = float(_CASE_READ.index(head)) if head in _CASE_READ else -1.0
            return (field, things[head].get(parts[1], 0.0)) if head in things and len(parts) > 1 else (field,)
        if len(parts) < 3:
            return (tasks.get(parts[1], 0.0) if len(parts) == 2 else -0.5,)
        at = (tasks.get(parts[1], 0.0), float(_READ.index(parts[2]) if parts[2] in _READ else len(_READ)))
        if len(parts) == 3:
            return at
        field = _READ_STEP.index(parts[4]) if len(parts) > 4 and parts[4] in _READ_STEP else -1
        return (*at, steps.get(parts[1], {}).get(parts[3], 0.0), float(field))

    return sorted(found, key=rank)


def _ranks(left: Sequence[dict[str, Any]], right: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return id → position in the left list; an item that only the right list has comes after its predecessor there."""
    ranks = {item["id"]: float(number) for number, item in enumerate(left)}
    last = -1.0
    for item in right:
        last = ranks.setdefault(item["id"], last + 0.01)
    return ranks


def same_content(left: Document, right: Document) -> bool:
    """Return whether two versions have the same meaning."""
    return not discrepancies(left, right)


def differences(left: Document, right: Document) -> list[Change]:
    """Yield every difference of two aligned versions, one for each place that a person can decide."""
    return Comparison(whole_calls=True, ignored=one_sided(left, right)).run(left, right)


def matters(change: Change) -> bool:
    """Return whether a difference changes the meaning."""
    parts = split(change.anchor)
    if (len(parts) > 2 and parts[0] == "tasks" and parts[2] in _RECORDS) or is_remainder(parts):
        return False
    if change.kind is ChangeKind.MOVED:
        return ordered_list(change.anchor) in _ORDERED
    if parts[0:1] == ("tools",) and parts[-1] == "required" and _same_names(change.before, change.after):
        return False
    if change.kind is ChangeKind.CHANGED and isinstance(change.before, str) and isinstance(change.after, str):
        # Spaces inside an argument reach the tool; anywhere else they are typography.
        return _is_exact(parts) or change.before.split() != change.after.split()
    return True


def is_remainder(parts: Sequence[str]) -> bool:
    """Return whether a place is a remainder of the native record: of the dialogue, or of a part of it."""
    depths = {"tasks": (2, 4), "constraints": (2,), "reference_trajectory": (2, 4), "tools": (2,)}
    if parts[0:1] == ("extra",) or "native_information" in parts[2:3]:
        return True
    return any(parts[depth : depth + 1] == ("extra",) for depth in depths.get(parts[0] if parts else "", ()))


def _is_exact(parts: Sequence[str]) -> bool:
    """Return whether white space counts at a place, because a tool or a program reads it."""
    if len(parts) > 4 and parts[4] in ("arguments", "name"):
        return True
    if len(parts) > 2 and parts[0] == "constraints":
        return parts[2] in ("parameters", "variants", "validator")
    if len(parts) > 2 and parts[0] == "tools":
        return not place_in_tool(tuple(parts[3:])).is_prose
    if parts[0:1] == ("reference_trajectory",):
        # Validators judge the layout of a response.
        return parts[2:] == ("final",)
    return bool(parts) and parts[0] in ("tool_codes", "unsolved_set", "answer", "implementation")


def _same_names(before: Any, after: Any) -> bool:
    """Return whether two values are lists of the same names, in any order."""
    if not all(isinstance(one, list) and all(isinstance(name, str) for name in one) for one in (before, after)):
        return False
    return set(before) == set(after)


def _label(change: Change) -> Label:
    parts = split(change.anchor)
    if label_key(parts):
        return Label.CUSTOM
    if parts and parts[0] in _CASE_LABELS:
        field = parts[4] if len(parts) > 4 and parts[0] == "reference_trajectory" else ""
        return _STEP_LABELS.get(field, _CASE_LABELS[parts[0]])
    if parts[:1] == ("tools",):
        return Label.TOOL
    if parts[:1] == ("context",):
        return Label.MESSAGE
    if len(parts) < 3 or parts[0] != "tasks":
        return Label.OTHER
    if parts[2] != "steps" or len(parts) == 3:
        return _TASK_LABELS.get(parts[2], Label.OTHER)
    if len(parts) == 4:
        types = {step["type"] for step in (change.before, change.after) if step is not None}
        return next(label for label in (Label.CALL, Label.CLARIFICATION, Label.ANSWER) if label in types)
    return _STEP_LABELS.get(parts[4], Label.OTHER)
