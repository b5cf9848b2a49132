"""Write many new dialogues, each with its first revision, findings and first event."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.utils import timezone

from annotator.core.dialogue_rows import DialogueRow
from annotator.core.schema.exact_json import load_stored
from annotator.models import (
    CompositeMember,
    Dialogue,
    DialogueMetadata,
    Finding,
    Job,
    Project,
    Revision,
    ToolsetRevision,
    User,
)
from annotator.models.keys import new_public_ids
from annotator.services.database.bulk_insert import allocate_ids, insert_rows
from annotator.services.history.event_chain import extend_chains


@dataclass(slots=True, frozen=True)
class Written:
    """The keys of a written dialogue and its first revision."""

    dialogue_id: int
    revision_id: int


def write_dialogues(
    *,
    actor: User | None,
    project: Project,
    rows: Sequence[DialogueRow],
    native_format: str,
    batch: Job | None,
    published: bool,
    guideline_id: int | None = None,
) -> list[Written]:
    """Write new dialogues, each with its first revision, its findings and the first event of its chain.

    Runs in the caller's transaction. Raises IntegrityError if an external id is taken.
    """
    if not rows:
        return []
    count = len(rows)
    found = ToolsetRevision.objects.filter(pk__in={row.toolset_revision_id for row in rows})
    toolsets = {key: (toolset, tools) for key, toolset, tools in found.values_list("pk", "toolset", "content_hash")}
    dialogue_ids, revision_ids = allocate_ids(Dialogue, count), allocate_ids(Revision, count)
    now = timezone.now()
    insert_rows(
        Dialogue,
        _DIALOGUE_FIELDS,
        [
            (
                dialogue_id, public_id, revision_id, row.external_id, row.kind, row.language, row.variant_group,
                row.content_hash, row.title, row.policies, row.sequence, row.topologies, row.information,
                row.topology_tally, row.information_tally, row.difficulty_tally, row.labels,
                toolsets[row.toolset_revision_id][0], row.task_count, row.call_count, row.switches,
                _count(row, "error"), _count(row, "warning"), row.search_text, moment,
            )
            for row, dialogue_id, public_id, revision_id, moment in zip(
                rows, dialogue_ids, new_public_ids(count), revision_ids, _moments(now, count), strict=True
            )
        ],
        constants={
            "project_id": project.pk, "native_format": native_format, "published": published,
            "batch_id": batch.pk if batch else None, "updated_at": now,
        },
    )  # fmt: skip
    insert_rows(
        Revision,
        ("id", "public_id", "dialogue_id", "toolset_revision_id", "content_hash", "clean_mark", "content"),
        [
            (
                revision_id, public_id, dialogue_id, row.toolset_revision_id, row.content_hash, row.clean_mark,
                row.content,
            )
            for row, dialogue_id, public_id, revision_id in zip(
                rows, dialogue_ids, new_public_ids(count), revision_ids, strict=True
            )
        ],
        constants={
            "number": 1, "batch_id": batch.pk if batch else None, "guideline_id": guideline_id, "created_at": now,
        },
    )  # fmt: skip
    insert_rows(
        Finding,
        ("dialogue_id", "revision_id", "check_id", "severity", "anchor", "value_hash", "message"),
        [
            (dialogue_id, revision_id, f.check, f.severity, f.anchor, f.value_hash, f.message[:1000])
            for row, dialogue_id, revision_id in zip(rows, dialogue_ids, revision_ids, strict=True)
            for f in row.findings
        ],
    )
    insert_rows(
        CompositeMember,
        ("composite_id", "single"),
        [
            (dialogue_id, task["single"])
            for row, dialogue_id in zip(rows, dialogue_ids, strict=True)
            if row.kind == "composite"
            for task in load_stored(row.content)["tasks"]
        ],
    )
    insert_rows(
        DialogueMetadata,
        ("dialogue_id", "key", "value"),
        [(dialogue_id, *entry) for row, dialogue_id in zip(rows, dialogue_ids, strict=True) for entry in row.metadata],
        constants={"project_id": project.pk},
    )
    imported = {"job": batch.public_id} if batch else {}
    entries = {
        dialogue_id: {
            **imported, "content_hash": row.content_hash, "toolset_hash": toolsets[row.toolset_revision_id][1]
        }
        for row, dialogue_id in zip(rows, dialogue_ids, strict=True)
    }  # fmt: skip
    extend_chains(actor=actor, project=project, kind="dialogue.imported", entries=entries, new_at=now)
    return list(map(Written, dialogue_ids, revision_ids))


_DIALOGUE_FIELDS = (
    "id", "public_id", "head_id", "external_id", "kind", "language", "variant_group", "content_hash", "title",
    "policies", "sequence", "topologies", "information", "topology_tally", "information_tally",
    "difficulty_tally", "labels", "toolset_id", "task_count", "call_count", "switches",
    "error_count", "warning_count", "search_text", "created_at",
)  # fmt: skip


def _moments(now: datetime, count: int) -> list[Any]:
    """Return this many moments, a microsecond apart, so that lists keep the order of the rows."""
    return [connection.ops.adapt_datetimefield_value(now + timedelta(microseconds=n)) for n in range(count)]


def _count(row: DialogueRow, severity: str) -> int:
    return sum(1 for finding in row.findings if finding.severity == severity)
