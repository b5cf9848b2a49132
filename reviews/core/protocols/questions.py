"""Which questions of a checklist are asked about a dialogue."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reviews.core.protocols.protocol import Applies, Checklist, ChecklistItem

#: Key of the whole dialogue in a checklist's answers, next to the ids of tasks.
WHOLE = "dialogue"


@dataclass(frozen=True, slots=True)
class Question:
    """A question that is asked. ``place``: the id of its task, or ``WHOLE``."""

    place: str
    item: ChecklistItem
    required: bool


def questions_about(checklist: Checklist, document: Mapping[str, Any]) -> list[Question]:
    """Return the questions that apply to the document: about the whole of it, then about each task, in order."""
    tasks = document.get("tasks", ())
    applying = [(WHOLE, _applying(len(tasks) > 1, len(tasks) > 1, _calls(document)))]
    for number, task in enumerate(tasks):
        calls = any(step["type"] == "call" for step in task.get("steps", ())) or document.get("kind") == "composite"
        applying.append((task["id"], _applying(len(tasks) > 1, number > 0, calls)))
    return [
        Question(place, item, checklist.required or item.required)
        for place, applies in applying
        for item in checklist.items
        if item.per_task is not (place == WHOLE) and item.applies in applies
    ]


def _applying(several: bool, later: bool, calls: bool) -> frozenset[Applies]:
    met = {Applies.ALWAYS: True, Applies.SEVERAL_TASKS: several, Applies.LATER_TASKS: later, Applies.HAS_CALLS: calls}
    return frozenset(condition for condition, holds in met.items() if holds)


def _calls(document: Mapping[str, Any]) -> bool:
    """Return whether anything in the document calls a tool. The calls of a composite are those of its single tasks."""
    steps = any(step["type"] == "call" for task in document.get("tasks", ()) for step in task.get("steps", ()))
    rounds = any(one.get("calls") for one in document.get("reference_trajectory") or ())
    return steps or rounds or document.get("kind") == "composite"
