"""The dialogue that a page shows already: an answer brings only the tasks that differ, and says what is current.

Of a toolset, it brings only the functions that differ.
"""

from typing import Any

from django.http import HttpResponse
from django.utils.translation import get_language

from annotator.core.schema.canonical import value_hash
from annotator.presentation.components.anchors import dom_id
from annotator.presentation.dialogue import DialogueView, StepView, TaskView
from annotator.presentation.toolset import FunctionView
from annotator.services.custom_fields import fields_of
from annotator.views.pages import PageRequest
from reviews.services.submission.workbench import Workbench
from reviews.views.workspace.next_item import assets_version

#: Sent by a page: the version of the dialogue that it shows (``static/app/workspace.js``). The answer names the newest
#: if it brings only the tasks that differ.
HEADER = "X-Dialogue"
#: The answer then names the DOM id of the current part, blank if there is none.
CURRENT = "X-Current"
#: With more tasks, their hashes are shorter; with more than the second number, they have one: no header gets too long.
MAX_TASKS, MAX_BLOCKS = 100, 512
_SHORT = 11


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
        [(key, value) for key, value in bench.document.items() if key not in ("tasks", "tools")],
        (fields_of(bench.work.slot.project), view.general, [block.id for block in view.blocks]),
    ]
    blocks = [value_hash(repr(_shown(block))) for block in view.blocks]
    if len(blocks) > MAX_BLOCKS:
        blocks = [value_hash(blocks)]
    elif len(blocks) > MAX_TASKS:
        blocks = [one[:_SHORT] for one in blocks]
    return " ".join([value_hash(repr(made_of)), *blocks])


def _shown(task: TaskView | FunctionView) -> list[Any]:
    if isinstance(task, FunctionView):
        return [task.data, task.findings, len(task.parameters)]
    return [task.data, task.topology, task.findings, *((step.findings, step.response) for step in task.steps)]


def outdated_tasks(request: PageRequest, view: DialogueView, version: str) -> list[TaskView | FunctionView] | None:
    """Return the tasks or functions of which the page shows another version; None if it needs the whole dialogue."""
    shown, newest = request.headers.get(HEADER, "").split(" "), version.split(" ")
    if not version:
        return None
    if shown == newest:
        return []
    if shown[0] != newest[0] or len(shown) != len(newest) or len(newest) != len(view.blocks) + 1:
        return None
    return [task for task, one, other in zip(view.blocks, shown[1:], newest[1:], strict=True) if one != other]


def name_shown(response: HttpResponse, version: str, selected: TaskView | StepView | FunctionView | None) -> None:
    """Tell the page which version it shows now, and which part is current."""
    anchor = selected.anchor if selected else ""
    response[HEADER] = version
    response[CURRENT] = dom_id(f"{anchor}/user_message" if isinstance(selected, TaskView) else anchor) if anchor else ""
