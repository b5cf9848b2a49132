"""Edits of a composite: its tasks, which refer to single tasks, and the ceiling of rounds."""

from typing import Any

from annotator.core.comparison.anchors import find, label_key
from annotator.core.composites.members import rounds_of
from annotator.core.editing import values
from annotator.core.editing.scope import Edit, task_anchor

MAX_REASON = 2_000


def set_value(edit: Edit) -> str:
    """Set the language, the kind of composition or the ceiling of rounds."""
    if edit.anchor == "/language" or label_key(edit.parts()):
        return values.set_value(edit)
    if edit.anchor not in ("/composition", "/max_rounds"):
        edit.refuse("This place cannot be edited here. Edit the single task instead.")
    value = edit.value()
    if edit.anchor == "/max_rounds" and isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:9])
    return edit.put(edit.anchor, value)


def replace_task(edit: Edit) -> str:
    """Replace a task by another single task, with a reason; by the same one, use the revision that “member” names."""
    task, new = edit.task(), edit.op.get("member")
    if not isinstance(new, dict):
        edit.refuse("Choose a single task.")
    tasks: list[dict[str, Any]] = edit.document["tasks"]
    index = find(tasks, task["id"])
    if any(other["single"] == new.get("single") for other in tasks if other is not task):
        edit.refuse(f"{new.get('single')} is in this composite already. Choose another single task.")
    changed = new.get("single") != task["single"]
    if changed:
        reason = edit.text("reason", "").strip()
        if not reason:
            edit.refuse("Say why the task is replaced.")
        if len(reason) > MAX_REASON:
            edit.refuse(f"The reason has {len(reason):,} characters. The limit is {MAX_REASON:,}.")
        replaced: Any = {"single": task["single"], "reason": reason}
    else:
        replaced = task["replaced"]
        if "labels" in task:
            new = {**new, "labels": task["labels"]}
    usual = edit.document["max_rounds"] == rounds_of(tasks)
    tasks[index] = {**new, "replaced": replaced}
    if usual:
        edit.document["max_rounds"] = rounds_of(tasks)
    return task_anchor(tasks[index])
