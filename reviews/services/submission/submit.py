"""Submitting a review: one transaction that writes it, and settles the stage if it was the last one.

Locks are taken in one order everywhere: membership, dialogue, slot, claim.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotator.core.schema import SchemaProblem, canonical, read_document
from annotator.core.schema.canonical import MAX_DEPTH
from annotator.errors import Conflict, DomainError, Hidden, Invalid
from annotator.models import Dialogue, Draft, Guideline, Revision, Role, User
from annotator.presentation.components.labels import words_of
from annotator.services.access.permissions import OVERSEERS
from annotator.services.custom_fields import refresh_fields
from annotator.services.database.compiled import Change, compiled, compiled_update
from annotator.services.database.statements import insert, update
from annotator.services.dialogues.drafts import open_draft, replace_draft
from annotator.services.dialogues.revisions import create_revision, refresh_findings
from annotator.services.dialogues.suggestion_decisions import settle_decisions
from annotator.services.dialogues.untried import KINDS_WITH_CODE
from reviews.core.protocols import StageKind
from reviews.models import (
    Claim,
    ClaimState,
    ProtocolVersion,
    Review,
    ReviewDraft,
    ReviewError,
    Ruling,
    Slot,
    SlotState,
    Verdict,
)
from reviews.services.cycles.settlement import settle_if_complete
from reviews.services.gold.scoring import score_review
from reviews.services.gold.training_scores import score_training
from reviews.services.protocols.versions import parse
from reviews.services.queue.claim_rows import stage_of
from reviews.services.queue.eligibility import lock_eligibility, refusal
from reviews.services.queue.slot_work import branch_of, load_claim
from reviews.services.statistics.workload import await_work_count
from reviews.services.submission.answer_times import AnswerTimes, stored_times
from reviews.services.submission.validation import Submission, prepare
from reviews.services.transitions.moves import CycleContext
from reviews.services.transitions.transition_log import Journal

_GONE = gettext_lazy("Your claim expired, and a colleague has claimed this item. Your draft is kept.")


class _TooLate(Conflict):
    """The slot cannot be submitted any more."""


class _FieldsChanged(Exception):
    """The custom fields are no longer those with which the submission was checked."""


def submit_review(
    *,
    actor: User,
    slot: Slot,
    token: str,
    claim: Claim | None = None,
    verdict: str = "",
    draft: Draft | None = None,
    document: dict[str, Any] | None = None,
    checklist: Mapping[str, Any] | None = None,
    notes: Mapping[str, Any] | None = None,
    named_errors: Sequence[Mapping[str, Any]] = (),
    reason: str = "",
    rulings: Mapping[str, Any] | Sequence[Mapping[str, Any]] = (),
    answer_times: AnswerTimes | None = None,
) -> Review:
    """Submit the actor's review of a slot that they have claimed.

    ``claim``: the actor's claim, if the caller has loaded it with its slot; else both are looked up by the token.
    Content: ``document`` (whole), else ``draft``, else the actor's open draft, else the revision under review as it is.
    ``verdict`` may be blank in a self-check and in a dispute. ``checklist``: {task id or "dialogue":
    {item: true | false | null}}, ``notes``: the same with texts. ``named_errors``: [{kind, anchor, note}]. ``rulings``:
    {anchor: {choice: left | right | third | none, value, reason_kind, reason}}, one for each disputed place.
    ``answer_times``: how long the person took for each answer, where a browser measured it.

    Submitting the same twice returns the same review, unless it was taken back in between (see ``take_back``); anything
    else is a Conflict with the stored ``review``. An
    expired claim does not matter unless somebody else has claimed the item: then Conflict, and the draft is kept.
    Raises Hidden, Invalid (with ``findings`` of the checks).
    """
    if claim is None:
        claim = _load_claim(actor, slot, token)
        slot = claim.slot
    content = draft.content if document is None and draft is not None else document
    sent = _fingerprint(verdict, content, checklist, notes, named_errors, reason, rulings)
    if claim.state == ClaimState.SUBMITTED and (stored := Review.objects.filter(slot_id=slot.pk).first()):
        return _already_submitted(stored, sent)
    claim.slot = slot
    try:
        _require_holder(actor, slot)
        while True:
            submission = prepare(
                actor=actor,
                slot=slot,
                project=slot.dialogue.project,
                protocol=parse(slot.protocol),
                verdict=verdict,
                draft=draft,
                document=document,
                checklist=checklist or {},
                notes=notes or {},
                named_errors=named_errors,
                reason=reason,
                rulings=rulings,
            )
            with suppress(_FieldsChanged), transaction.atomic():
                return _submit(actor, claim, submission, sent, answer_times or {})
    except _TooLate as late:
        if document is not None and not _keep(actor, slot, document):
            raise Conflict(
                late.sentence + " " + _("Your document couldn’t be saved because it isn’t a valid dialogue.")
            ) from None
        raise
    except DomainError:
        # Another window or a second click may have submitted the same at this moment.
        done = Review.objects.filter(slot=slot, person=actor).first()
        if done is None:
            raise
        return _already_submitted(done, sent)


def _fingerprint(*parts: Any) -> str:
    """Return the SHA-256 of everything that was sent, to recognise a repeated submission. Raises Invalid."""
    try:
        text = json.dumps(parts, sort_keys=True, default=str)
    except RecursionError:
        # Nothing that can be stored is nested so deeply.
        raise Invalid(
            _("The document is nested more than %(limit)s levels deep and wasn’t saved.") % {"limit": MAX_DEPTH}
        ) from None
    return hashlib.sha256(text.encode()).hexdigest()


def _already_submitted(review: Review, sent: str) -> Review:
    """Return the stored review if it is the same as what was sent. Raises Conflict."""
    if review.submission_hash == sent:
        return review
    made = review.made_revision
    raise Conflict(
        _(
            "You have already submitted this review with the verdict “%(verdict)s”. A submitted review can’t be "
            "changed, so your new revision wasn’t saved."
        )
        % {"verdict": words_of("verdict", review.verdict)},
        review={
            "public_id": review.public_id,
            "verdict": review.verdict,
            "reason": review.reason,
            "checklist": review.checklist,
            "checklist_notes": review.checklist_notes,
            "named_errors": list(review.errors.values("kind", "anchor", "note")),
            "made_revision": made.public_id if made else None,
            "created_at": review.created_at,
        },
    )


def _load_claim(actor: User, slot: Slot, token: str) -> Claim:
    try:
        return load_claim(actor=actor, slot=slot.public_id, token=token)
    except Hidden:
        if Claim.objects.filter(slot=slot, person=actor, token=token).exists():
            # They have left the project, or the slot is hidden by now.
            raise
        raise Conflict(_("Claim this item first.")) from None


def _require_holder(actor: User, slot: Slot) -> None:
    """Refuse early if somebody else has the slot, before anything is checked."""
    if slot.state in (SlotState.CLAIMED, SlotState.DONE) and slot.holder_id != actor.pk:
        raise _TooLate(str(_GONE))


def _submit(actor: User, claim: Claim, submission: Submission, sent: str, times: AnswerTimes) -> Review:
    slot, seen, run = claim.slot, claim.slot.revision, claim.slot.stage_run
    dialogue = slot.dialogue
    roles, now, *_others = lock_eligibility(actor=actor, project=dialogue.project)
    guideline, has_form = lock_and_read_again(actor, slot)
    if refresh_fields(dialogue.project):
        raise _FieldsChanged
    if slot.state == SlotState.DONE and slot.holder_id == actor.pk:
        return _already_submitted(Review.objects.get(slot=slot), sent)
    seconds = _end_claim(actor, roles, slot, claim, now)
    if not run.blind and dialogue.head_id != seen.pk:
        raise Conflict(_("This dialogue has a newer revision than the one you reviewed. Merge your changes with it."))
    _close_draft(actor, slot, submission, now)

    stage = stage_of(slot)
    taken = stage.kind is StageKind.SELF_CHECK and dialogue.owner_id is None
    if taken:
        dialogue.owner = actor
    made = _make_revision(actor, dialogue, slot, seen, submission, stage.title)
    if made is None and not run.blind and submission.document.get("kind") in KINDS_WITH_CODE:
        # Its code has been run by now; the stored findings still say that it was not.
        refresh_findings(revision=seen)
    review = Review(
        slot=slot,
        stage_run=run,
        dialogue=dialogue,
        project_id=slot.project_id,
        person=actor,
        stage_kind=slot.stage_kind,
        verdict=submission.verdict,
        seen_revision=seen,
        seen_author_id=seen.author_id,
        made_revision=made,
        guideline_id=guideline,
        labels=submission.labels,
        checklist=submission.checklist,
        checklist_notes=submission.notes,
        reason=submission.reason,
        submission_hash=sent,
        seconds=seconds,
        answer_times=stored_times(times, submission.checklist),
        sealed=run.blind,
        created_at=now,
    )
    insert([review])
    _write_details(review, submission)
    slot.state, slot.holder = SlotState.DONE, actor
    update(slot, "state", "holder")

    journal = Journal(actor=actor, project=dialogue.project, dialogue=dialogue)
    journal.event(
        "review.submitted",
        after={
            "review": review.public_id,
            "stage": slot.stage,
            "round": slot.round,
            "verdict": review.verdict,
            "content_hash": made.content_hash if made else seen.content_hash,
        },
        sealed=run.blind,
    )
    if slot.is_gold and score_training(review=review, seen=seen, made=made):
        journal.write()
        return review
    if slot.is_gold:
        # Counts of errors would wait for a stage that never settles.
        await_work_count(review=review, errors=False)
        score_review(review=review, seen=seen, made=made)
        journal.write()
        return review
    await_work_count(review=review, errors=bool(submission.named_errors or submission.rulings))
    journal.count(f"left:{slot.stage}", -1)
    journal.count(f"done:{slot.stage}")
    run.entry_revision = seen
    # The cycle as loaded is current: if it had ended, this slot would be cancelled.
    outcome = settle_if_complete(
        CycleContext(journal, slot.cycle, parse(slot.protocol), slot.priority), run, stage, review
    )
    if outcome is not None:
        update(dialogue, "owner", "status", "stage", "updated_at")
        if has_form:
            # Until the stage settles, the review can be taken back (see ``take_back``), and with it the form.
            ReviewDraft.objects.filter(slot=slot, person=actor).delete()
    elif taken:
        dialogue.updated_at = now
        update(dialogue, "owner", "updated_at")
    journal.write()
    return review


def lock_and_read_again(actor: User, slot: Slot) -> tuple[int | None, bool]:
    """Lock the dialogue, then the slot, and reload both.

    Returns the id of the current guideline, and whether the actor has a stored form.
    """
    [now] = _lock_dialogue_and_slot(slot.pk, actor.pk)
    for name in _OF_SLOT:
        setattr(slot, name, getattr(now, name))
    for name in _OF_DIALOGUE:
        setattr(slot.dialogue, name, getattr(now.dialogue, name))
    if slot.cycle.protocol_id != slot.protocol_id:
        # The item was migrated to another version of the protocol in between.
        slot.protocol = ProtocolVersion.objects.defer("definition").get(pk=slot.protocol_id)
        slot.cycle.protocol_id = slot.protocol_id
    return now.guideline, now.has_form


#: What may have changed of a slot, and of its dialogue, since they were read.
_OF_SLOT = ("state", "holder_id", "reserved_for_id", "owner_id", "protocol_id")
_OF_DIALOGUE = ("status", "stage", "owner_id", "head_id")


@compiled
def _lock_dialogue_and_slot(slot_id: int, person_id: int) -> QuerySet[Any]:
    guidelines = Guideline.objects.filter(project=OuterRef("project")).order_by("-number")
    forms = ReviewDraft.objects.filter(slot=OuterRef("pk"), person=person_id)
    # Locked in the order in which they are named.
    slots = Slot.objects.select_for_update(of=("dialogue", "self")).filter(pk=slot_id).select_related("dialogue")
    slots = slots.only(*_OF_SLOT, *(f"dialogue__{name}" for name in _OF_DIALOGUE))
    return slots.annotate(guideline=Subquery(guidelines.values("pk")[:1]), has_form=Exists(forms))


def _end_claim(actor: User, roles: frozenset[Role], slot: Slot, claim: Claim, now: datetime) -> int:
    """End the actor's claim by compare-and-swap and return the seconds of active work.

    An expired or released claim still counts while nobody else has the slot.
    """
    if slot.state == SlotState.CANCELLED:
        raise _TooLate(_("The review of this item was restarted from another revision. Your draft is kept."))
    if slot.state == SlotState.HIDDEN:
        raise Hidden(_("This item doesn’t exist."))
    if slot.holder_id not in (None, actor.pk) or slot.reserved_for_id not in (None, actor.pk):
        raise _TooLate(str(_GONE))
    if slot.is_gold and roles & OVERSEERS:
        # They may read the answer now, so their review would not test anything.
        raise _TooLate(_("You can no longer submit this item because your role has changed. Your draft is kept."))
    if slot.state == SlotState.OPEN:
        reason = refusal(person=actor, roles=roles, slot=slot, stage=stage_of(slot))
        if reason:
            raise _TooLate(_("Your claim has expired.") + " " + reason)
        Claim.objects.filter(pk=claim.pk).update(state=ClaimState.SUBMITTED, ended_at=now)
    elif not _submit_live_claim(claim.pk, now):
        # The same person claimed it again in another window, with another token.
        claim = Claim.objects.get(slot=slot, state=ClaimState.LIVE)
        _submit_live_claim(claim.pk, now)
    return claim.active_seconds


@compiled_update
def _submit_live_claim(claim_id: int, now: datetime) -> Change:
    live = Claim.objects.filter(pk=claim_id, state=ClaimState.LIVE)
    return live, {"state": ClaimState.SUBMITTED, "ended_at": now}


def _close_draft(actor: User, slot: Slot, submission: Submission, now: datetime) -> None:
    """Close the draft if it is still the one that was checked; an unused draft is kept. Raises Conflict."""
    draft = submission.draft
    if draft is None:
        if submission.as_document:
            unused = Draft.objects.filter(
                dialogue_id=slot.dialogue_id, author=actor, branch=branch_of(slot), closed_at=None
            )
            unused.update(closed_at=now, outcome="kept")
        return
    if not _submit_draft(draft.pk, draft.version, now):
        raise Conflict(_("The draft was changed in another window. Check it, then submit again."))
    settle_decisions(draft=draft, document=submission.document, seen=slot.revision)


@compiled_update
def _submit_draft(draft_id: int, version: int, now: datetime) -> Change:
    checked = Draft.objects.filter(pk=draft_id, version=version, closed_at=None)
    return checked, {"closed_at": now, "outcome": "submitted"}


def _make_revision(
    actor: User, dialogue: Dialogue, slot: Slot, seen: Revision, submission: Submission, title: str
) -> Revision | None:
    """Store the submitted revision if it differs, even one that is rejected or escalated, for the senior reviewer."""
    if not submission.changed:
        return None
    moves_head = submission.verdict == Verdict.FIX
    own = f"slot-{slot.public_id}"
    return create_revision(
        actor=actor,
        dialogue=dialogue,
        document=submission.document,
        parent=seen,
        message=submission.reason or f"{title}: {words_of('verdict', submission.verdict).lower()}",
        branch=branch_of(slot) if moves_head else own,
        sealed=slot.stage_run.blind,
        stored=True,
    )


def _write_details(review: Review, submission: Submission) -> None:
    if submission.named_errors:
        ReviewError.objects.bulk_create(
            ReviewError(review=review, kind=one.kind, anchor=one.anchor, value_hash=one.value_hash, note=one.note)
            for one in submission.named_errors
        )
    if submission.rulings:
        Ruling.objects.bulk_create(
            Ruling(
                review=review,
                anchor=line.anchor,
                choice=line.choice,
                value=line.value if line.choice == "third" else None,
                reason_kind=line.reason_kind,
                reason=line.reason,
            )
            for line in submission.rulings
        )


def _keep(actor: User, slot: Slot, document: dict[str, Any]) -> bool:
    """Store a late document as the actor's draft, and return whether that was possible."""
    try:
        document = read_document(document)
    except SchemaProblem:
        return False
    draft = open_draft(actor=actor, dialogue=slot.dialogue, base=slot.revision, branch=branch_of(slot))
    if draft.content != canonical(document):
        replace_draft(actor=actor, draft=draft, document=document, operation="late")
    return True
