"""Store new dialogues with the findings of their checks, and begin their review."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from annotator.core.checks import CleanMarks
from annotator.core.dialogue_rows import DialogueRow, listed_columns
from annotator.core.metadata import metadata_entries
from annotator.core.schema import canonical, content_hash
from annotator.models import Dialogue, Project, ToolsetRevision, User
from annotator.models.content import DialogueStatus
from annotator.services.dialogues.creation import Written, write_dialogues
from annotator.services.dialogues.revisions import check_document, check_settings, latest_guideline
from reviews.services.cycles.start import begin_cycles
from reviews.services.protocols.versions import current_version
from reviews.services.queue.co_authors import store_co_authors
from reviews.services.statistics.counters import write_deltas


@dataclass(frozen=True, slots=True)
class NewDialogue:
    """A dialogue to store. ``document``: validated. ``co_authors``: the keys of people who may not review it."""

    external_id: str
    document: dict[str, Any]
    toolset_revision: ToolsetRevision
    variant_group: str = ""
    co_authors: frozenset[int] = frozenset()


def add_dialogues(
    *, actor: User | None, project: Project, dialogues: Sequence[NewDialogue], native_format: str = "neutral"
) -> list[Written]:
    """Store dialogues and begin their review; without a protocol they stay candidates.

    Runs in the caller's transaction. Raises IntegrityError if an external id is taken.
    """
    marks, guideline = CleanMarks(check_settings(project)), latest_guideline(project)
    written = write_dialogues(
        actor=actor,
        project=project,
        rows=[_row(one, project, marks) for one in dialogues],
        native_format=native_format,
        batch=None,
        published=True,
        guideline_id=guideline.pk if guideline else None,
    )
    for new, one in zip(dialogues, written, strict=True):
        # Whom the first items are for depends on it.
        store_co_authors(dialogue=Dialogue(pk=one.dialogue_id), people=new.co_authors)
    if current_version(project) is not None:
        begin_cycles(actor=actor, project=project, dialogues=written, hidden=False)
    else:
        write_deltas(project_id=project.pk, deltas={f"status:{DialogueStatus.CANDIDATE}": len(written)})
    return written


def _row(new: NewDialogue, project: Project, marks: CleanMarks) -> DialogueRow:
    text = canonical(new.document)
    digest, tools = content_hash(text), new.toolset_revision
    findings = check_document(new.document, tools, project=project, stage="import")
    return DialogueRow(
        external_id=new.external_id,
        variant_group=new.variant_group,
        content=text,
        content_hash=digest,
        findings=findings,
        clean_mark=marks.mark_if_clean(new.document, findings, digest, tools.content_hash),
        toolset_revision_id=tools.pk,
        metadata=metadata_entries(new.document),
        **listed_columns(new.document),
    )
