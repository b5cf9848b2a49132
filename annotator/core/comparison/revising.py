"""Merge a record that was imported again with what people have made of the dialogue since.

Readers count tasks and steps, so the ids of a record mean positions: a task or step inserted in the record renames all
that follow. Before the merge, its parts get the ids of the same parts of the last import, by their content.
"""

from collections.abc import Hashable
from typing import Any

import orjson

from annotator.core.comparison.alignment import align, next_id
from annotator.core.comparison.anchors import Document, split
from annotator.core.comparison.changes import same_value
from annotator.core.comparison.discrepancies import is_remainder
from annotator.core.comparison.merging import MergeResult, merge
from annotator.core.comparison.native_remainders import with_fitting_remainder
from annotator.core.schema.exact_json import dumps

Part = dict[str, Any]


def aligned_record(last: Document, head: Document, record: Document) -> Document:
    """Return ``record`` with the ids that its parts have in the last import; its new parts have ids that neither the
    last import nor the head uses.
    """
    if not all("tasks" in document for document in (last, head, record)):
        return align(last, record)
    record = {**record, "tasks": _with_ids_of(last["tasks"], head["tasks"], record["tasks"])}
    record = align(last, record)
    was, now = ({task["id"]: task["steps"] for task in document["tasks"]} for document in (last, head))
    tasks = [_apart(task, was.get(task["id"], []), now.get(task["id"], [])) for task in record["tasks"]]
    return {**record, "tasks": tasks}


def merge_record(last: Document, head: Document, record: Document, *, at_conflicts: str = "") -> MergeResult:
    """Merge ``record``, whose parts have the ids of the last import (``aligned_record``), into the head.

    ``at_conflicts``: whose value to take where both changed the same place: ``mine`` (the head's), ``theirs`` (the
    record's), or neither. Fields that the format does not know follow the part that they belong to.
    """
    choices: dict[str, str] = {}
    while True:
        result = merge(last, head, record, choices=choices)
        sides = {
            conflict.anchor: "mine" if is_remainder(split(conflict.anchor)) else at_conflicts
            for conflict in result.conflicts
        }
        more = {anchor: side for anchor, side in sides.items() if side and anchor not in choices}
        if not more:
            break
        choices |= more
    return MergeResult(with_fitting_remainder(result.document, last, head, record), result.conflicts)


def _with_ids_of(last: list[Part], head: list[Part], tasks: list[Part]) -> list[Part]:
    """Return the tasks with the ids of the same tasks of the last import, and other ids for new ones.

    Tasks are the same if message and steps are equal, else if the steps are, else if the message is and no other task
    that is left has it. An id alone is only a position, so it decides nothing: a task whose message and steps both
    changed is a new one.
    """
    names: dict[int, str] = {}
    free = list(last)
    for key, only in ((_whole, False), (_steps, True), (_message, True)):
        theirs: dict[Hashable, list[int]] = {}
        ours: dict[Hashable, list[Part]] = {}
        for position, task in enumerate(tasks):
            if position not in names:
                theirs.setdefault(key(task), []).append(position)
        for task in free:
            ours.setdefault(key(task), []).append(task)
        for mark, positions in theirs.items():
            partners = ours.get(mark, [])
            if mark is None or (only and (len(positions) > 1 or len(partners) > 1)):
                continue
            # Of equal tasks, those with equal ids first.
            positions.sort(key=lambda position: tasks[position]["id"] not in {task["id"] for task in partners})
            for position in positions:
                same = next((one for one in partners if one["id"] == tasks[position]["id"]), None)
                partner = same or next(iter(partners), None)
                if partner is not None:
                    partners.remove(partner)
                    names[position] = partner["id"]
        taken = set(names.values())
        free = [task for task in free if task["id"] not in taken]
    used = {task["id"] for task in (*last, *head)} | set(names.values())
    out = []
    for position, task in enumerate(tasks):
        name = names.get(position)
        if name is None:
            name = task["id"] if task["id"] not in used else next_id("t", used)
            used.add(name)
        out.append(task if name == task["id"] else {**task, "id": name})
    return out


def _message(task: Part) -> Hashable:
    return task.get("user_message") or None


def _steps(task: Part) -> Hashable:
    """Return what is said and done in a task, without labels and ids; None if there are no steps."""
    steps = [[step.get(name) for name in _SAID] for step in task.get("steps") or ()]
    return dumps(steps, option=orjson.OPT_SORT_KEYS) if steps else None


def _whole(task: Part) -> Hashable:
    return task.get("user_message"), _steps(task)


#: The fields that make two steps the same; their dependencies do not.
_SAID = ("type", "name", "arguments", "observation", "text", "question", "user_reply")


def _apart(task: Part, last: list[Part], head: list[Part]) -> Part:
    """Return a task in which no new step has the id of another step that people have added."""
    known = {step["id"] for step in last}
    added = {step["id"]: step for step in head if step["id"] not in known}
    used = known | added.keys() | {step["id"] for step in task["steps"]}
    names = {}
    for step in task["steps"]:
        mine = added.get(step["id"])
        if step["id"] not in known and mine is not None and not _alike(mine, step):
            names[step["id"]] = name = next_id("s", used)
            used.add(name)
    if not names:
        return task
    steps = []
    for step in task["steps"]:
        depends_on = step["depends_on"] and [
            {**one, "id": names.get(one["id"], one["id"])} for one in step["depends_on"]
        ]
        steps.append({**step, "id": names.get(step["id"], step["id"]), "depends_on": depends_on})
    return {**task, "steps": steps}


def _alike(one: Part, other: Part) -> bool:
    names = ("type", "name", "arguments", "text", "question")
    return all(same_value(one.get(name), other.get(name)) for name in names)
