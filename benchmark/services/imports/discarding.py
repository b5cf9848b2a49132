"""Roll back what an import has written before it is published, in limited steps."""

from django.db.models import Exists, OuterRef

from annotator.models import (
    CompositeMember,
    Dialogue,
    DialogueMetadata,
    Event,
    Finding,
    Job,
    Revision,
    StoredSuggestion,
    Toolset,
    ToolsetRevision,
    ToolsetTag,
)
from benchmark.models import ImportBatch, NativeLine
from reviews.models import Cycle, Slot, StageRun

#: Dialogues that one step deletes, with everything that belongs to them.
SLICE = 1000
#: The tables with rows for each record of an import.
WRITTEN_IN_BULK = (Dialogue, Revision, NativeLine, Cycle, StageRun, Slot, Finding, Event, DialogueMetadata)


def discard_all(job: Job) -> None:
    """Roll back everything, in the caller's transaction."""
    while discard_slice(job):
        pass


def discard_slice(job: Job) -> bool:
    """Roll back one step, in the caller's transaction; return False if only the last remains were removed.

    Published rows are never changed.
    """
    suggestions = StoredSuggestion.objects.filter(batch=job, published=False)
    held = list(suggestions.order_by("pk").values_list("pk", flat=True)[:SLICE])
    if held:
        suggestions.filter(pk__in=held).delete()
        return True
    dialogues = Dialogue.objects.filter(batch=job, published=False)
    ids = list(dialogues.order_by("pk").values_list("pk", flat=True)[:SLICE])
    if ids:
        dialogues.filter(pk__in=ids).update(head=None)
        cycles = Cycle.objects.filter(dialogue__in=ids)
        for rows in (
            Slot.objects.filter(cycle__in=cycles.values("pk")),
            StageRun.objects.filter(cycle__in=cycles.values("pk")),
            cycles,
            Finding.objects.filter(dialogue__in=ids),
            CompositeMember.objects.filter(composite__in=ids),
            DialogueMetadata.objects.filter(dialogue__in=ids),
            Event.objects.filter(dialogue__in=ids),
            NativeLine.objects.filter(revision__in=Revision.objects.filter(dialogue__in=ids).values("pk")),
            Revision.objects.filter(dialogue__in=ids),
            dialogues.filter(pk__in=ids),
        ):
            # Nobody has seen these dialogues, so no other rows can refer to them.
            rows._raw_delete(rows.db)
        return True
    revisions = Revision.objects.filter(batch=job, sealed=True)
    revision_ids = list(revisions.order_by("pk").values_list("pk", flat=True)[:SLICE])
    if revision_ids:
        revisions.filter(pk__in=revision_ids).delete()
        return True
    _discard_toolsets(job)
    batch = ImportBatch.objects.filter(job=job)
    if not job.checkpoint.get("published"):
        batch.update(created=0, revised=0, with_errors=0, suggestions=0)
    return False


def _discard_toolsets(job: Job) -> None:
    """Delete toolsets that came with imports since this one started, that no dialogue uses and no person has described.

    Another import writes its toolsets and the revisions that use them in one transaction, so none of its toolsets are
    visible here without them.
    """
    unused = ToolsetRevision.objects.filter(
        ~Exists(Revision.objects.filter(toolset_revision=OuterRef("pk"))),
        ~Exists(ToolsetTag.objects.filter(toolset=OuterRef("toolset"))),
        toolset__category=None,
        toolset__licence="",
        toolset__source="",
        project=job.project,
        author=None,
        number=1,
        created_at__gte=job.created_at,
    )
    toolsets = list(unused.values_list("toolset_id", flat=True))
    unused.filter(toolset_id__in=toolsets).delete()
    Toolset.objects.filter(~Exists(ToolsetRevision.objects.filter(toolset=OuterRef("pk"))), pk__in=toolsets).delete()
