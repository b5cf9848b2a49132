"""The end of an import: everything it has written becomes visible in one transaction."""

from bisect import bisect_right
from collections.abc import Callable, Iterable

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from annotator.core.text import message
from annotator.errors import Conflict
from annotator.models import Dialogue, Job, Revision, ToolsetRevision
from annotator.services.custom_fields import refresh_fields
from annotator.services.database import bulk_insert
from annotator.services.dialogues.revisions import lock_dialogues, move_head, unseal
from annotator.services.dialogues.suggestions import publish_suggestions, suggested_dialogues
from annotator.services.history.event_chain import in_portions
from annotator.services.history.events import append_event
from benchmark.models import ImportBatch
from benchmark.services.imports.report import Note
from benchmark.services.imports.worked_on import named_before, settled_work_on
from reviews.models import GoldItem
from reviews.services.cycles.start import publish_batch, supersede_cycle
from reviews.services.gold.settings import retire_with, variants_there
from reviews.services.protocols.versions import current_version
from reviews.services.queue.notifications import notify_losses_last

#: Toolsets that the event of an import names; it counts all.
NAMED_TOOLSETS = 20
#: Dialogues that one statement reads; they are in memory until it ends.
READ_AT_ONCE = 50
#: Dialogues that join their variants in one transaction, locked until it ends.
JOINED_AT_ONCE = 10
#: Called with the import and its job when everything is visible, in the same transaction.
AFTER_PUBLISHING: list[Callable[[ImportBatch, Job], None]] = []
_JOINED = "Another variant of the known answer was imported."


def require_all_written(*, job: Job, created: int, revised: int) -> None:
    """Raise Conflict if the rows waiting to be published differ from what the import has counted."""
    stored = Dialogue.objects.filter(batch=job, published=False).count()
    held = Revision.objects.filter(batch=job, sealed=True).count()
    if (stored, held) != (created, revised):
        raise Conflict(
            message(
                "The import counted %(created)s new dialogues and %(revised)s revised ones, but %(stored)s and "
                "%(held)s are stored. Nothing was published. Import the file again, and report this to the operator.",
                created=f"{created:,}",
                revised=f"{revised:,}",
                stored=f"{stored:,}",
                held=f"{held:,}",
            )
        )


@notify_losses_last()
def publish(*, batch: ImportBatch, job: Job) -> list[Note]:
    """Make everything visible, in the caller's transaction.

    Return the reasons why revisions were dropped at the end: somebody has started to work on their dialogues.
    """
    late = []
    restart = current_version(batch.project) is not None
    # Locks are taken in the order of the dialogues' keys, as everywhere.
    held = Revision.objects.filter(batch=job, sealed=True).order_by("dialogue_id")
    joined = _joined_answers(batch, job)
    # Dialogues that are locked for another reason: with suggestions, or as the known answer of gold items to retire.
    others, done = sorted({*suggested_dialogues(batch=job), *joined, *_variants_of_new_ones(batch, job)}), 0
    for keys in in_portions(list(held.values_list("pk", flat=True)), READ_AT_ONCE):
        for revision in held.filter(pk__in=keys).select_related("toolset_revision"):
            name = ""
            # They have their turn, too: somebody who locks the same rows in order would wait for this transaction, and
            # it for them, until PostgreSQL ends one of both. A refusal must not release the lock of any of them.
            reached = bisect_right(others, revision.dialogue_id)
            _lock_each(others[done:reached])
            done = reached
            try:
                # A savepoint for each: a refusal rolls back none of the others and releases its lock, so that nobody
                # who works on this dialogue waits for the rest of the import.
                with transaction.atomic(), notify_losses_last():
                    [dialogue] = _lock([revision.dialogue_id])
                    name = dialogue.external_id
                    was_reviewed = _require_unchanged(batch, dialogue, revision)
                    # If the protocol has lost the stage meanwhile, this refuses, so that the dialogue stays as it is.
                    stage = batch.reopen_at if was_reviewed else ""
                    _revise(batch, job, dialogue, revision, restart=restart, stage=stage)
            except Conflict as refusal:
                late.append(Note(0, "", name, "", "import.conflict", "error", refusal.sentence, rejects=True))
                Revision.objects.filter(pk=revision.pk).delete()
    _lock_each(others[done:])
    if joined:
        retire_with(actor=batch.requester, dialogue_ids=joined, reason=_JOINED)
    bulk_insert.ease_indexing()
    _announce_toolsets(batch, job)
    publish_suggestions(batch=job)
    publish_batch(job=job)
    for tell in AFTER_PUBLISHING:
        tell(batch, job)
    return late


def _lock_each(keys: list[int]) -> None:
    for portion in in_portions(keys, READ_AT_ONCE):
        lock_dialogues(Dialogue.objects.filter(pk__in=portion))


def _lock(keys: Iterable[int]) -> list[Dialogue]:
    """Return the rows of these dialogues, locked until the caller's transaction ends, in the order of their keys."""
    rows = Dialogue.objects.select_for_update(of=("self",), no_key=True).filter(pk__in=list(keys)).order_by("pk")
    return list(rows.select_related("project", "head__toolset_revision").defer("search_text", "head__content"))


def _alone(batch: ImportBatch, job: Job) -> QuerySet[Dialogue]:
    """Return dialogues that the project had in one language only, and whose record now has imported variants.

    Those of earlier imports too, if these did not join them.
    """
    members = Dialogue.objects.filter(Q(published=True) | Q(batch=job), project=batch.project).counted()
    alone = Dialogue.objects.filter(project=batch.project, published=True, variant_group="").counted()
    return alone.filter(external_id__in=members.exclude(variant_group="").values("variant_group"))


def _joined_answers(batch: ImportBatch, job: Job) -> list[int]:
    """Return keys of the dialogues that variants join and of which gold items were made. The items are retired before
    everybody works on the variants.
    """
    answers = GoldItem.objects.filter(project=batch.project, retired_at=None, source__in=_alone(batch, job))
    return list(answers.values_list("source", flat=True).distinct())


def _variants_of_new_ones(batch: ImportBatch, job: Job) -> list[int]:
    """Return keys of the dialogues that ``publish_batch`` locks, because it publishes variants of them."""
    new = Dialogue.objects.filter(batch=job, published=False)
    return list(variants_there(project=batch.project, coming=new).values_list("pk", flat=True))


def to_join(batch: ImportBatch, job: Job) -> list[list[int]]:
    """Return keys of the dialogues that ``join_variants`` must see, in the portions in which to call it."""
    return list(in_portions(list(_alone(batch, job).order_by("pk").values_list("pk", flat=True)), JOINED_AT_ONCE))


def join_variants(batch: ImportBatch, job: Job, keys: Iterable[int]) -> None:
    """Let dialogues join the group of the imported variants of their record; in the caller's transaction.

    A separate and short transaction: people who work on one of them must not wait for the others.
    """
    for dialogue in _lock(keys):
        if dialogue.variant_group:
            # Another import has done it since.
            continue
        group = dialogue.external_id
        Dialogue.objects.filter(pk=dialogue.pk).update(variant_group=group)
        append_event(
            actor=batch.requester,
            project=batch.project,
            dialogue=dialogue,
            kind="dialogue.joined_variants",
            before={"variant_group": ""},
            after={"variant_group": group, "job": job.public_id},
        )
        # A gold item made since from it, or from a variant, would be the only one there.
        retire_with(actor=batch.requester, dialogue_ids=[dialogue.pk], reason=_JOINED)


def _require_unchanged(batch: ImportBatch, dialogue: Dialogue, revision: Revision) -> bool:
    """Return whether the dialogue is reviewed or verified.

    Raises Conflict if it has changed since its record was read.
    """
    name = dialogue.external_id
    if dialogue.head_id != revision.parent_id:
        raise Conflict(f"{name} has a newer revision than when its record was read. Import again.")
    worked_on = settled_work_on([dialogue.pk])
    if worked_on and not (batch.reopen and name in named_before(batch, [name])):
        what = worked_on[dialogue.pk]
        raise Conflict(
            f"{name} {what} since its record was read, so it was not changed. Do a dry run and check the list."
        )
    return bool(worked_on)


def _announce_toolsets(batch: ImportBatch, job: Job) -> None:
    """Record one event for all toolsets that came with the import and are used by it."""
    mine = Revision.objects.filter(Q(dialogue__batch=job) | Q(batch=job), toolset_revision=OuterRef("pk"))
    new = ToolsetRevision.objects.filter(
        Exists(mine), project=batch.project, author=None, number=1, created_at__gte=job.created_at
    )
    named = new.order_by("pk").values_list("toolset__name", "content_hash")[:NAMED_TOOLSETS]
    toolsets = [{"name": name, "sha256": sha256} for name, sha256 in named]
    if toolsets:
        after = {"job": job.public_id, "count": new.count(), "toolsets": toolsets}
        append_event(actor=batch.requester, project=batch.project, kind="toolset.imported", after=after)


def _revise(batch: ImportBatch, job: Job, dialogue: Dialogue, revision: Revision, *, restart: bool, stage: str) -> None:
    """Make the revision of an import the newest one. ``restart``: start a cycle, in this ``stage``."""
    before = {"content_hash": dialogue.content_hash, "status": dialogue.status}
    after = {"content_hash": revision.content_hash, "job": job.public_id}
    old = dialogue.head.toolset_revision if dialogue.head is not None else None
    if old is not None and old.pk != revision.toolset_revision_id:
        before["toolset_hash"], after["toolset_hash"] = old.content_hash, revision.toolset_revision.content_hash
    revision.dialogue = dialogue
    unseal([revision])
    refresh_fields(dialogue.project)
    move_head(dialogue=dialogue, revision=revision, stage="import")
    append_event(
        actor=batch.requester,
        project=batch.project,
        dialogue=dialogue,
        kind="dialogue.revised_by_import",
        before=before,
        after=after,
    )
    if restart:
        reason = f"Revised by an import ({batch.filename})."
        supersede_cycle(actor=batch.requester, dialogue=dialogue, reason=reason, stage=stage)
