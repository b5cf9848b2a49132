"""The editor of a composite's task: what it refers to, and the single tasks that could replace it."""

from typing import Any

from annotator.core.editing.single import calls_text
from annotator.models.content import DialogueStatus
from annotator.presentation.dialogue import TaskView
from annotator.services.dialogues.composites import member_revisions, single_tasks
from reviews.services.submission.workbench import Workbench

#: Single tasks that the field suggests.
MAX_SUGGESTED = 500
_OUTDATED = ("composite.outdated", "composite.no_revision", "composite.differs")


def composite_editor(bench: Workbench, selected: TaskView) -> dict[str, Any]:
    """Return the context of the editor of a composite's task."""
    project, actor = bench.work.slot.project, bench.actor
    revision = member_revisions(actor=actor, project=project, tasks=[selected.data]).get(selected.id)
    others = single_tasks(project).shown_to(actor).filter(status=DialogueStatus.VERIFIED)
    others = others.exclude(external_id__in=[task["single"] for task in bench.document["tasks"]])
    return {
        "member_url": revision.dialogue.get_absolute_url() if revision else "",
        "member_calls": calls_text(revision.document()) if revision else "",
        "member_outdated": any(finding.check in _OUTDATED for finding in selected.findings),
        "alternatives": list(others.order_by("external_id").values_list("external_id", "title")[:MAX_SUGGESTED]),
    }
