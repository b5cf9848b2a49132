"""What a dialogue shares with the verified one that it continues: its first tasks, and what holds for all tasks."""

from annotator.core.comparison.anchors import Document
from annotator.core.comparison.changes import Change, diff

#: Fields of the dialogue that hold for every task.
_SHARED = ("kind", "language", "env_info", "context")


def first_tasks(document: Document, tasks: int) -> Document:
    """Return the part of a document that a dialogue which continues its first tasks shares with it."""
    return {name: document[name] for name in _SHARED if name in document} | {"tasks": document["tasks"][:tasks]}


def past_changes(document: Document, past: Document, tasks: int) -> list[Change]:
    """Return every change that leads from a dialogue's first tasks to those of the dialogue that it continues.

    ``tasks``: how many it continues. Empty if the dialogue still continues the other one.
    """
    return diff(first_tasks(document, tasks), first_tasks(past, tasks))


def with_past(document: Document, past: Document, taken: Document, tasks: int) -> Document:
    """Return a dialogue with the first tasks of ``past``, and its own tasks after them.

    ``taken``: the document from which its first tasks were taken. Tasks with other ids than those there are its own, so
    none is lost if somebody has changed their number since.
    """
    before = {task["id"] for task in taken["tasks"][:tasks]}
    own = [task for task in document["tasks"] if task["id"] not in before]
    shared = first_tasks(past, tasks)
    return document | shared | {"tasks": [*shared["tasks"], *own]}
