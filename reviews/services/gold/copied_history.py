"""Copies the history of a verified dialogue up to a stage into a gold item.

Revisions, reviews, comments and events get new keys and hashes; people, texts and times are the same.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from annotator.core.comparison import same_content
from annotator.core.schema import content_hash, load_text
from annotator.errors import Invalid
from annotator.models import Dialogue, Event, Replay, Revision, VariantMatch
from annotator.models.events import TAGS_CHANGED
from annotator.models.keys import new_public_id
from annotator.services.history.events import event_digest
from reviews.models import Comment, Cycle, Review, ReviewError, StageRun, StageRunState

#: Within a cycle that was verified, these belong to sending back that was undone.
_UNDONE = ("cycle.superseded", "cycle.begun", "cycle.withdrawn")
#: An event about the group of variants, which the item shares with its dialogue.
JOINED = "dialogue.joined_variants"


def copy_history(*, dialogue: Dialogue, cycle: Cycle, run: StageRun, text: str) -> tuple[StageRun, dict[int, Revision]]:
    """Give ``dialogue`` the history that ``cycle`` had when ``run`` opened.

    Returns its own open run of that stage, and {key of a revision: its copy}. ``text``: canonical content of the shown
    revision, in place of the one that entered the run.
    """
    revisions = _copy_revisions(dialogue, run, text)
    own = Cycle.objects.create(
        dialogue=dialogue,
        project_id=cycle.project_id,
        protocol_id=cycle.protocol_id,
        number=1,
        entry_revision=revisions.get(cycle.entry_revision_id, revisions[run.entry_revision_id]),
        created_at=cycle.created_at,
    )
    runs, reviews = _copy_runs(dialogue, own, cycle, run, revisions)
    seen = _revisions(run)
    hashes = {imported_revision(run).content_hash: revisions[seen[0].pk].content_hash}
    hashes |= {revision.content_hash: revisions[revision.pk].content_hash for revision in seen}
    _copy_events(dialogue, cycle, run, reviews, hashes)
    _copy_comments(dialogue, cycle, run, runs)
    _copy_replays(dialogue, cycle, run, revisions)
    return runs[run.pk], revisions


def copy_matches(revisions: Mapping[int, Revision], *, until: datetime) -> None:
    """Copy the matches between variants that were recorded before ``until``.

    ``revisions``: {key of a revision: its copy}, of all variants.
    """
    known = VariantMatch.objects.filter(first__in=revisions, second__in=revisions, created_at__lte=until)
    VariantMatch.objects.bulk_create(
        _again(match, first=revisions[match.first_id], second=revisions[match.second_id]) for match in known
    )


def _revisions(run: StageRun) -> list[Revision]:
    """Return the revisions that existed when the run opened, from the start of its cycle, oldest first: those that led
    to the revision that entered the run, and what reviewers made in earlier stages.

    Older revisions would appear without the reviews and events that made them.
    """
    chain: dict[int, Revision] = {}
    revision: Revision | None = run.entry_revision
    while revision is not None:
        chain[revision.pk] = revision
        revision = None if revision.pk == run.cycle.entry_revision_id else revision.parent
    reviews = Review.objects.filter(stage_run__cycle=run.cycle_id, stage_run__lt=run.pk)
    made = Revision.objects.filter(pk__in=reviews.values("made_revision"), parent__in=chain, sealed=False)
    return sorted([*chain.values(), *made.exclude(pk__in=chain)], key=lambda one: one.pk)


def imported_revision(run: StageRun) -> Revision:
    """Return the revision that was imported."""
    revision = run.cycle.entry_revision
    while revision.parent is not None:
        revision = revision.parent
    return revision


def _copy_revisions(dialogue: Dialogue, run: StageRun, text: str) -> dict[int, Revision]:
    """Return {key of a revision: its copy}."""
    out: dict[int, Revision] = {}
    first = imported_revision(run)
    for number, original in enumerate(_revisions(run), 1):
        # The first revision looks imported, even if it was edited before.
        origin = original if out else first
        # Two reviewers may have made the same fix; the other's copy would reveal a planted error.
        content = text if original.content_hash == run.entry_revision.content_hash else original.content
        parent = out.get(original.parent_id or 0)
        if parent is not None and original.parent is not None:
            shown = (content, parent.content) != (original.content, original.parent.content)
            if shown and same_content(load_text(content), parent.document()):
                sentence = _(
                    "Revisions %(one)s and %(other)s of the item would have the same content. In ordinary dialogues "
                    "this doesn’t happen, so the item would stand out. Plant a different error."
                )
                raise Invalid(sentence % {"one": parent.number, "other": number}, field="document")
        out[original.pk] = Revision.objects.create(
            dialogue=dialogue,
            parent=parent,
            branch=original.branch if out else "main",
            number=number,
            author_id=origin.author_id,
            message=origin.message,
            toolset_revision=original.toolset_revision,
            guideline_id=origin.guideline_id,
            # The batch shows which dialogues were imported together.
            batch_id=origin.batch_id,
            content_hash=content_hash(content),
            content=content,
            created_at=origin.created_at,
        )
    return out


def _copy_runs(
    dialogue: Dialogue, own: Cycle, cycle: Cycle, run: StageRun, revisions: dict[int, Revision]
) -> tuple[dict[int, StageRun], dict[str, str]]:
    """Return {key of a run up to ``run``: its copy} and {public id of an earlier review: its copy's}."""
    runs: dict[int, StageRun] = {}
    reviews: dict[str, str] = {}
    shown = revisions[run.entry_revision_id]
    for original in StageRun.objects.filter(cycle=cycle, pk__lte=run.pk).order_by("pk"):
        last = original.pk == run.pk
        runs[original.pk] = copy = _again(
            original,
            cycle=own,
            entry_revision=shown if last else revisions.get(original.entry_revision_id, shown),
            exit_revision=None if last else revisions.get(original.exit_revision_id or 0, shown),
            escalated_from=runs.get(original.escalated_from_id or 0),
        )
        if last:
            copy.state, copy.outcome, copy.settled_at, copy.discrepancy_count = StageRunState.OPEN, "", None, None
        copy.save(force_insert=True)
        if not last:
            _copy_reviews(dialogue, own, original, copy, revisions, reviews)
    return runs, reviews


def _copy_reviews(
    dialogue: Dialogue,
    own: Cycle,
    original: StageRun,
    copy: StageRun,
    revisions: dict[int, Revision],
    reviews: dict[str, str],
) -> None:
    for review in Review.objects.filter(stage_run=original).select_related("slot").order_by("pk"):
        seen, made = revisions.get(review.seen_revision_id), revisions.get(review.made_revision_id or 0)
        if seen is None or (made is None and review.verdict == "fix"):
            # It belongs to an abandoned branch, whose revisions are not shown.
            continue
        slot = _again(
            review.slot, stage_run=copy, dialogue=dialogue, cycle=own, protocol_id=own.protocol_id, revision=seen
        )
        slot.public_id = new_public_id()
        slot.save(force_insert=True)
        twin = _again(
            review, slot=slot, stage_run=copy, dialogue=dialogue, seen_revision=seen, made_revision=made, sealed=False
        )
        twin.public_id = reviews[review.public_id] = new_public_id()
        document = (made or seen).document()
        twin.labels = {
            task["id"]: {"policy": task["policy"], "information": task["information"]}
            for task in document.get("tasks", [])
        }
        twin.save(force_insert=True)
        ReviewError.objects.bulk_create(_again(finding, review=twin) for finding in review.errors.order_by("pk"))


def _copy_events(
    dialogue: Dialogue,
    cycle: Cycle,
    run: StageRun,
    reviews: dict[str, str],
    hashes: dict[str, str],
) -> None:
    """Copy the events of the source's import, and of the cycle until the run opened, to a chain of the item."""
    chain = list(Event.objects.filter(dialogue=cycle.dialogue_id).order_by("number"))
    begun = [event for event in chain if event.kind == "cycle.begun"]
    first = begun[cycle.number - 1].number or 0 if len(begun) >= cycle.number else 0
    before = StageRun.objects.filter(cycle=cycle, pk__lt=run.pk).order_by("pk").last()
    until = max(
        [first]
        + [
            event.number or 0
            for event in chain
            if (event.number or 0) > first
            and before is not None
            and event.kind == "stage.settled"
            and (event.after.get("stage"), event.after.get("round")) == (before.stage, before.round)
        ]
    )
    digest, number = "", 0
    copies = []
    for event in chain:
        place = event.number or 0
        of_then = place <= until and (place >= first or event.kind == "dialogue.imported")
        if place > first and event.kind in _UNDONE:
            continue
        # Items in the stage were moved to another version of the protocol as well.
        moved = place > first and event.kind == "cycle.migrated"
        if (not of_then and not moved and event.kind != JOINED) or event.kind == TAGS_CHANGED:
            continue
        number += 1
        after = _renamed(event.after, event.kind, reviews, hashes)
        created_at = event.created_at
        if event.kind == "cycle.begun":
            # Looks as if the item had just been imported: its first review starts at the time of its import.
            created_at, after["protocol"] = begun[0].created_at, begun[0].after.get("protocol", 1)
        previous, stamp = digest, created_at.isoformat(timespec="microseconds")
        digest = event_digest(
            previous, event.project_id, dialogue.pk, number, event.actor_id, event.kind, event.before, after, stamp
        )
        copies.append(
            _again(event, dialogue=dialogue, number=number, after=after, previous_hash=previous, hash=digest,
                   created_at=created_at, sealed=False)
        )  # fmt: skip
    Event.objects.bulk_create(copies)


def _copy_comments(dialogue: Dialogue, cycle: Cycle, run: StageRun, runs: Mapping[int, StageRun]) -> None:
    """Copy the comments that people could read when the run opened; those resolved later are open again."""
    said = Comment.objects.filter(dialogue=cycle.dialogue_id, sealed=False, created_at__lte=run.opened_at)
    copies: dict[int | None, Comment] = {}
    for comment in said.order_by("pk"):
        if comment.parent_id is not None and comment.parent_id not in copies:
            continue
        copies[comment.pk] = copy = _again(
            comment,
            dialogue=dialogue,
            parent=copies.get(comment.parent_id),
            stage_run=runs.get(comment.stage_run_id or 0),
            public_id=new_public_id(),
        )
        if copy.resolved_at and copy.resolved_at > run.opened_at:
            copy.resolved_at = copy.resolved_by = None
        copy.save(force_insert=True)


def _copy_replays(dialogue: Dialogue, cycle: Cycle, run: StageRun, revisions: Mapping[int, Revision]) -> None:
    """Copy the replays that everyone could read when the run opened; a revision with a planted error has none."""
    ran = Replay.objects.filter(dialogue=cycle.dialogue_id, revision__in=revisions, draft=None, trajectory__isnull=True)
    ran = ran.filter(record__isnull=False, created_at__lte=run.opened_at).select_related("job", "revision")
    for replay in ran.order_by("pk"):
        shown = revisions[replay.revision_id or 0]
        if replay.revision is not None and shown.content_hash == replay.revision.content_hash:
            # Without a requester, who would otherwise find the copy among their jobs.
            job = _again(replay.job, requester=None, public_id=new_public_id())
            job.save(force_insert=True)
            twin = _again(replay, dialogue=dialogue, revision=shown, job=job, public_id=new_public_id())
            twin.save(force_insert=True)


def _renamed(after: dict[str, Any], kind: str, reviews: dict[str, str], hashes: dict[str, str]) -> dict[str, Any]:
    out = dict(after)
    if kind == "cycle.begun":
        out = {"cycle": 1}
    if "review" in out:
        # One that was taken back has two events.
        out["review"] = reviews.setdefault(out["review"], new_public_id())
    if "content_hash" in out:
        out["content_hash"] = hashes.get(out["content_hash"], out["content_hash"])
    return out


def _again(row: Any, **changes: Any) -> Any:
    """Return an unsaved copy of a row with these fields changed."""
    fields = {
        field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields if not field.primary_key
    }
    copy = type(row)(**fields)
    for name, value in changes.items():
        setattr(copy, name, value)
    return copy
