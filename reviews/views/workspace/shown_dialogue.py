"""The dialogue that a page shows already: another place or tab changes only which part of it is current."""

from django.http import HttpResponse
from django.utils.translation import get_language

from annotator.core.schema.canonical import value_hash
from annotator.presentation.components.anchors import dom_id
from annotator.presentation.dialogue import StepView, TaskView
from annotator.services.custom_fields import fields_of
from annotator.views.pages import PageRequest
from reviews.services.submission.workbench import Workbench
from reviews.views.workspace.next_item import assets_version

#: Sent by a page: the version of the dialogue that it shows (``static/app/workspace.js``).
HEADER = "X-Dialogue"
#: The answer if that is the newest: the DOM id of the current part, blank if there is none.
CURRENT = "X-Current"


def dialogue_version(bench: Workbench) -> str:
    """Return the hash of everything that the dialogue's template shows, but for which part is current.

    Blank for a constrained case, whose rounds have no DOM id of their own.
    """
    if bench.document["kind"] == "constrained":
        return ""
    fields = fields_of(bench.work.slot.project)
    made_of = [bench.draft.toolset_revision_id, bench.view.findings, fields, get_language(), assets_version()]
    return value_hash([bench.draft.public_id, bench.draft.content_hash(), *map(repr, made_of)])


def shows_it(request: PageRequest, version: str) -> bool:
    """Return whether the page that asks for another place or tab shows this version."""
    return request.method == "GET" and bool(version) and request.headers.get(HEADER) == version


def name_current(response: HttpResponse, selected: TaskView | StepView | None) -> None:
    """Tell the page which part is current."""
    anchor = selected.anchor if selected else ""
    response[CURRENT] = dom_id(f"{anchor}/user_message" if isinstance(selected, TaskView) else anchor) if anchor else ""
