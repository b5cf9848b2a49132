"""The suggestions of models and scripts in the workspace: beside their fields, and one after the other."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from annotator.presentation.suggestions import by_field, open_elsewhere, proposals_of, view_ghost
from annotator.services.custom_fields import fields_of
from annotator.services.dialogues.suggestion_decisions import Ghost
from reviews.services.submission.workbench import Workbench

__all__ = ["proposals_of", "suggested_context"]


def suggested_context(bench: Workbench, ghosts: Sequence[Ghost], anchor: str, work_url: str) -> dict[str, Any]:
    """Return the suggestions for the part at ``anchor`` (blank: the dialogue's own) by field, and a link to others."""
    fields = fields_of(bench.work.slot.project) if ghosts else ()
    views = [view_ghost(ghost, fields) for ghost in ghosts]
    order = [""]
    for task in bench.document.get("tasks", ()) if ghosts else ():
        order.append(f"/tasks/{task['id']}")
        order += [f"/tasks/{task['id']}/steps/{step['id']}" for step in task["steps"]]
    elsewhere, following = open_elsewhere(views, anchor, order)
    return {
        "suggested": by_field(views, anchor),
        "suggested_elsewhere": elsewhere,
        "next_suggested_url": f"{work_url}?at={quote(following or '/', safe='')}" if elsewhere else "",
    }
