"""The dialogue that a page shows already: an answer brings only the tasks that differ, and says what is current."""

from typing import Any

from django.http import HttpResponse
from django.utils.translation import get_language

from annotator.core.schema.canonical import value_hash
from annotator.presentation.components.anchors import dom_id
from annotator.presentation.dialogue import DialogueView, StepView, TaskView
from annotator.services.custom_fields import fields_of
from annotator.views.pages import PageRequest
from reviews.services.submission.workbench import Workbench
from reviews.views.workspace.next_item import assets_version

#: Sent by a page: the version of the dialogue that it shows (``static/app/workspace.js``). The answer names the newest
#: if it brings only the tasks that differ.
HEADER = "X-Dialogue"
#: The answer then names the DOM id of the current part, blank if there is none.
CURRENT = "X-Current"
#: With more tasks, a version has one hash for all of them: no header becomes too long.
MAX_TASKS = 100


def dialogue_version(bench: Workbench) -> str:
    """Return hashes of everything that the dialogue's template shows, but for which part is current.

    They are separated by spaces: the first is of what is in no task, the others are of one task each. Blank for a
    constrained case, whose rounds have no DOM id of their own.
    """
    if bench.document["kind"] == "constrained":
        return ""
    view = bench.view
    made_of = [
        (bench.draft.public_id, bench.draft.toolset_revision_id, get_language(), assets_version()),
        [(key, value) for key, value in bench.document.items() if key != "tasks"],
        (fields_of(bench.work.slot.project), view.general, [task.id for task in view.tasks]),
    ]
    tasks = [value_hash(repr(_shown(task))) for task in view.tasks]
    return " ".join([value_hash(repr(made_of)), *(tasks if len(tasks) <= MAX_TASKS else [value_hash(tasks)])])


def _shown(task: TaskView) -> list[Any]:
    return [task.data, task.topology, task.findings, *((step.findings, step.response) for step in task.steps)]


def outdated_tasks(request: PageRequest, view: DialogueView, version: str) -> list[TaskView] | None:
    """Return the tasks of which the page that asks shows another version; None if it needs the whole dialogue."""
    shown, newest = request.headers.get(HEADER, "").split(" "), version.split(" ")
    if not version:
        return None
    if shown == newest:
        return []
    if shown[0] != newest[0] or len(shown) != len(newest) or len(newest) != len(view.tasks) + 1:
        return None
    return [task for task, one, other in zip(view.tasks, shown[1:], newest[1:], strict=True) if one != other]


def name_shown(response: HttpResponse, version: str, selected: TaskView | StepView | None) -> None:
    """Tell the page which version it shows now, and which part is current."""
    anchor = selected.anchor if selected else ""
    response[HEADER] = version
    response[CURRENT] = dom_id(f"{anchor}/user_message" if isinstance(selected, TaskView) else anchor) if anchor else ""
