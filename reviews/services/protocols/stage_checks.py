"""Runs the checks on a document in a stage: the stage decides which findings block submission."""

from dataclasses import replace
from typing import Any

from annotator.core.checks import Finding
from annotator.models import Project, ToolsetRevision
from annotator.services.dialogues.revisions import check_document
from reviews.core.protocols import Stage


def check_for_stage(
    document: dict[str, Any], toolset: ToolsetRevision, *, project: Project, stage: Stage
) -> list[Finding]:
    """Return the findings before submission; those of validators that a later stage checks are only notes."""
    found = check_document(document, toolset, project=project, stage="submit")
    if not stage.validators_are_checked_later:
        return found
    return [replace(one, severity="info") if one.check.startswith("validator.") else one for one in found]
