"""Edits of tasks and their candidate messages."""

from typing import Any

from annotator.core.comparison.alignment import next_id
from annotator.core.comparison.anchors import find
from annotator.core.editing.scope import Edit, task_anchor


def add_task(edit: Edit) -> str:
    tasks = edit.document["tasks"]
    task: dict[str, Any] = {
        "id": next_id("t", [task["id"] for task in tasks]),
        "user_message": edit.text("user_message", ""),
        "steps": [],
    }
    index = edit.after(tasks)
    tasks.insert(len(tasks) if index is None else index, task)
    return task_anchor(task)


def delete_task(edit: Edit) -> str:
    tasks = edit.document["tasks"]
    index = find(tasks, edit.task()["id"])
    if len(tasks) == 1:
        edit.refuse("A dialogue needs at least one task. Change this one instead.")
    del tasks[index]
    return task_anchor(tasks[min(index, len(tasks) - 1)])


def move_task(edit: Edit) -> str:
    tasks = edit.document["tasks"]
    task = edit.task()
    index = find(tasks, task["id"])
    tasks.insert(edit.target(tasks, index), tasks.pop(index))
    return task_anchor(task)


def choose_candidate(edit: Edit) -> str:
    """Make a candidate the user's message; the previous message becomes a candidate, so that nothing is lost."""
    task = edit.task()
    candidates = task["candidate_messages"]
    index = find(candidates, edit.text("id"))
    if index < 0:
        edit.refuse("This candidate message no longer exists. Reload the page.")
    message = task["user_message"]
    if message.strip() and all(candidate["text"] != message for candidate in candidates):
        candidates.append(_candidate(candidates, message))
    task["user_message"], task["chosen"] = candidates[index]["text"], candidates[index]["id"]
    return f"{task_anchor(task)}/user_message"


def add_candidate(edit: Edit) -> str:
    candidates = edit.task()["candidate_messages"]
    text = edit.text("text")
    if not text.strip():
        edit.refuse("The candidate message is empty. Write it first.")
    candidates.append(_candidate(candidates, text))
    return f"{task_anchor(edit.task())}/candidate_messages/{candidates[-1]['id']}"


def _candidate(candidates: list[dict[str, Any]], text: str) -> dict[str, Any]:
    return {"id": next_id("m", [candidate["id"] for candidate in candidates]), "text": text}
