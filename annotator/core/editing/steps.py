"""Edits of a task's steps and of their dependencies."""

from typing import Any

from annotator.core.comparison.alignment import next_id
from annotator.core.comparison.anchors import find
from annotator.core.editing.scope import Edit, child, task_anchor

Step = dict[str, Any]

TYPES = ("call", "clarification", "answer")


def add_step(edit: Edit) -> str:
    """Add a step: a call or clarification before the answer, an answer last.

    Its dependencies are not annotated, unless it is the only step: then it depends on nothing.
    """
    task = edit.task()
    steps: list[Step] = task["steps"]
    kind = edit.op.get("type")
    if kind not in TYPES:
        edit.refuse("A step must be a call, a clarification or an answer.")
    step: Step = {"id": _new_id(steps), "type": kind, "depends_on": None if steps else []}
    end = len(steps)
    if kind == "answer":
        known = next((other for other in steps if other["type"] == "answer"), None)
        if known is not None:
            edit.refuse(f"This task already has an answer, {known['id']}. Change that one.", child(task, known))
    else:
        if kind == "call":
            step |= {"name": edit.known_tool(edit.op.get("name")), "arguments": {}}
        end = len(steps) - _answer_is_last(steps)
        after = edit.after(steps)
        end = end if after is None else min(after, end)
    steps.insert(end, step)
    return child(task, step)


def delete_step(edit: Edit) -> str:
    """Delete a step, and every edge to it."""
    task, step = edit.task(), edit.step()
    steps: list[Step] = task["steps"]
    index = find(steps, step["id"])
    del steps[index]
    for other in steps:
        if other["depends_on"]:
            other["depends_on"] = [d for d in other["depends_on"] if d["id"] != step["id"]]
    return child(task, steps[min(index, len(steps) - 1)]) if steps else task_anchor(task)


def move_step(edit: Edit) -> str:
    """Move a step; a final answer stays last."""
    task, step = edit.task(), edit.step()
    steps: list[Step] = task["steps"]
    index = find(steps, step["id"])
    target = edit.target(steps, index)
    if _answer_is_last(steps) and len(steps) - 1 in (index, target) and index != target:
        if "to" in edit.op:
            edit.refuse("The answer is the last step of a task. Nothing can come after it.")
        return child(task, step)
    steps.insert(target, steps.pop(index))
    return child(task, step)


def duplicate_step(edit: Edit) -> str:
    """Insert a copy after a step, without the tool's result, because the copy will be changed."""
    task, step = edit.task(), edit.step()
    if step["type"] == "answer":
        edit.refuse("A task has one answer, so it cannot be duplicated.")
    steps: list[Step] = task["steps"]
    copy = {**step, "id": _new_id(steps), "extra": {}}
    if step["type"] == "call":
        copy["observation"] = None
    steps.insert(find(steps, step["id"]) + 1, copy)
    return child(task, copy)


def set_dependencies(edit: Edit) -> str:
    return _set_edges(edit, edit.value())


def add_dependency(edit: Edit) -> str:
    """Add one edge, or change its kind; a step without annotated dependencies then has this one."""
    key, kind = edit.text("id"), edit.op.get("kind", "parameter")
    edges = edit.step()["depends_on"] or ()
    if {"id": key, "kind": kind} in edges:
        edit.refuse(f"This step already depends on {key[:80]}.")
    return _set_edges(edit, [*(d for d in edges if d["id"] != key), {"id": key, "kind": kind}])


def remove_dependency(edit: Edit) -> str:
    key = edit.text("id")
    edges = edit.step()["depends_on"] or []
    if all(d["id"] != key for d in edges):
        edit.refuse(f"This step does not depend on {key[:80]}.")
    return _set_edges(edit, [d for d in edges if d["id"] != key])


def _set_edges(edit: Edit, value: Any) -> str:
    task, step = edit.task(), edit.step()
    steps: list[Step] = task["steps"]
    anchor = f"{child(task, step)}/depends_on"
    if value is not None:
        edges = [as_edge(edit, item, step, steps, anchor) for item in value] if isinstance(value, list) else None
        if edges is None:
            edit.refuse("Dependencies must be a list of steps, or null if they are not annotated.", anchor)
        if len({edge["id"] for edge in edges}) != len(edges):
            edit.refuse("A step is listed twice among the dependencies. Remove one.", anchor)
        edges.sort(key=lambda edge: find(steps, edge["id"]))
        refuse_circle(edit, steps, step, edges, anchor)
        value = edges
    step["depends_on"] = value
    return anchor


def refuse_circle(edit: Edit, steps: list[Step], step: Step, edges: list[dict[str, Any]], anchor: str) -> None:
    """End the edit if ``step`` with these edges would close a cycle."""
    circle = find_circle(steps, step["id"], [edge["id"] for edge in edges])
    if circle:
        edit.refuse(
            f"The dependencies would form a cycle: {' → '.join(circle)}. Remove one of them.",
            anchor,
            circle=circle,
        )


def as_edge(edit: Edit, item: Any, step: Step, steps: list[Step], anchor: str) -> dict[str, Any]:
    """Return a dependency of ``step`` as the document stores it, if it is valid."""
    if not isinstance(item, dict) or not isinstance(item.get("id"), str) or not item.keys() <= {"id", "kind"}:
        edit.refuse("A dependency needs the id of a step and a kind.", anchor)
    key = item["id"]
    if item in (step["depends_on"] or ()):
        # An imported edge may be invalid; it does not prevent other edits, and stays until somebody removes it.
        return {"id": key, "kind": item.get("kind", "parameter")}
    if key == step["id"]:
        edit.refuse("A step cannot depend on itself.", anchor)
    index = find(steps, key)
    if index < 0:
        edit.refuse(f"There is no step {key[:80]} in this task to depend on.", anchor)
    if steps[index]["type"] == "answer":
        edit.refuse(f"{key} is the answer, which ends the task. Nothing can depend on it.", anchor)
    return {"id": key, "kind": item.get("kind", "parameter")}


def find_circle(steps: list[Step], start: str, needs: list[str]) -> list[str]:
    """Return the cycle through ``start`` if it depended on ``needs``, from it back to it; empty if there is none."""
    edges = {step["id"]: [d["id"] for d in step["depends_on"] or ()] for step in steps}
    edges[start] = needs
    path, seen = [[start]], {start}
    while path:
        way = path.pop()
        for needed in reversed(edges.get(way[-1], [])):
            if needed == start:
                return [*way, start]
            if needed not in seen:
                seen.add(needed)
                path.append([*way, needed])
    return []


def _answer_is_last(steps: list[Step]) -> bool:
    return bool(steps) and steps[-1]["type"] == "answer"


def _new_id(steps: list[Step]) -> str:
    return next_id("s", [step["id"] for step in steps])
