"""Match the steps that two people added independently.

New steps get the next free id, so if two reviewers add the same two calls in a different order, the ids are swapped.
Before two versions are compared, steps with the same content get the same id.
"""

from collections.abc import Callable, Hashable
from typing import Any

import orjson

from annotator.core.comparison.anchors import Document
from annotator.core.comparison.case_alignment import align_case
from annotator.core.comparison.tool_alignment import align_tools
from annotator.core.schema.exact_json import dumps

Step = dict[str, Any]


def align(left: Document, right: Document) -> Document:
    """Return ``right`` with the ids of its steps changed to those of the same steps in ``left``.

    Steps are the same if their content is equal (first under one id, then under any), else if id and tool are equal,
    else if the tool is equal. ``case_alignment`` matches the parts of a constrained case, ``tool_alignment`` the tools
    of a toolset. Returns ``right`` itself if
    there is nothing to rename.
    """
    if "constraints" in left and "constraints" in right:
        return align_case(left, right)
    if "tools" in left and "tools" in right:
        return align_tools(left, right)
    if "tasks" not in left or "tasks" not in right:
        # Documents of different kinds are not renamed.
        return right
    by_id = {task["id"]: task for task in left["tasks"]}
    tasks = []
    for task in right["tasks"]:
        names = _renamings(by_id[task["id"]]["steps"], task["steps"]) if task["id"] in by_id else {}
        tasks.append({**task, "steps": [_renamed(step, names) for step in task["steps"]]} if names else task)
    return right if all(a is b for a, b in zip(tasks, right["tasks"], strict=True)) else {**right, "tasks": tasks}


def _renamings(left: list[Step], right: list[Step]) -> dict[str, str]:
    pairing = _Pairing(left, right)
    pairing.pair(lambda step: (step["id"], _content(step)))
    if not (pairing.left and pairing.right):
        return {}
    for key in (_content, lambda step: (step["id"], _kind(step)), _kind):
        pairing.pair(key)
    # A step without a partner must not keep an id that now means another step.
    names, taken = pairing.names, set(pairing.names.values())
    used = {step["id"] for step in (*left, *right)}
    for step in pairing.right:
        if step["id"] in taken:
            names[step["id"]] = new = next_id("s", used)
            used.add(new)
    return {old: new for old, new in names.items() if old != new}


class _Pairing:
    """Steps of both sides that are not paired yet, and the new ids of those on the right."""

    def __init__(self, left: list[Step], right: list[Step]) -> None:
        self.left, self.right = left, right
        self.names: dict[str, str] = {}

    def pair(self, key: Callable[[Step], Hashable]) -> None:
        """Pair steps with equal keys, in their order."""
        free: dict[Hashable, list[Step]] = {}
        for step in self.left:
            free.setdefault(key(step), []).append(step)
        rest = []
        for step in self.right:
            partners = free.get(key(step))
            if partners:
                self.names[step["id"]] = partners.pop(0)["id"]
            else:
                rest.append(step)
        named = set(self.names.values())
        self.left, self.right = [step for step in self.left if step["id"] not in named], rest


def _kind(step: Step) -> Hashable:
    return step["type"], step.get("name")


def _content(step: Step) -> Hashable:
    arguments = dumps(step["arguments"], option=orjson.OPT_SORT_KEYS) if step["type"] == "call" else b""
    return step["type"], step.get("name"), arguments, step.get("question")


def _renamed(step: Step, names: dict[str, str]) -> Step:
    depends_on = step["depends_on"]
    if depends_on:
        depends_on = [{**d, "id": names.get(d["id"], d["id"])} for d in depends_on]
    return {**step, "id": names.get(step["id"], step["id"]), "depends_on": depends_on}


def next_id(prefix: str, used: Any) -> str:
    """Return the id after the highest of that form: ``s5`` if ``s4`` is the highest used."""
    numbers = [int(key[len(prefix) :]) for key in used if key.startswith(prefix) and key[len(prefix) :].isdecimal()]
    return f"{prefix}{max(numbers, default=0) + 1}"
