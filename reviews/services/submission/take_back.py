"""Taking back what one has just submitted or skipped: the item is claimed by the same person as it was before.

A submission can be taken back while its stage is open. Its review is deleted and everything that followed from it is
reversed in one transaction; the history keeps the event of the submission, and one of taking it back. A revision that
it made stays on its branch, but no review names it, so nothing is compared with it and it is never the head.

The answer must not depend on what colleagues did in a blind stage before it has settled, nor on whether the item is a
gold item. Gold items never settle, so their reviews are taken back as those of any item whose second review is missing.

Locks are taken in one order everywhere: membership, dialogue, slot, claim; the lock of the counts comes last.
"""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotator.errors import Conflict
from annotator.models import Draft, User
from reviews.models import (
    Claim,
    ClaimState,
    GoldItem,
    GoldScore,
    Review,
    ReviewDraft,
    ReviewError,
    Ruling,
    Slot,
    SlotState,
    StageRun,
    StageRunState,
)
from reviews.services.queue.claim_rows import require_room, stage_of
from reviews.services.queue.eligibility import lock_eligibility, refusal
from reviews.services.queue.slot_work import branch_of
from reviews.services.queue.training_claims import is_training_slot
from reviews.services.queue.undoing import put_back_untouched, retake, revive
from reviews.services.statistics.workload import withdraw_work_count
from reviews.services.submission.submit import lock_and_read_again
from reviews.services.transitions.transition_log import Journal

#: How long a submission can be taken back. Pages offer it for 15 seconds; the rest is for people who hold the notice
#: open with the pointer or the focus, and for slow connections. Much longer, and figures would change after the fact.
TAKE_BACK_SECONDS = 60


def can_take_back(review: Review) -> bool:
    """Return whether a review that was just submitted can be taken back, which its stage decides."""
    return review.stage_run.state == StageRunState.OPEN


def take_back(*, actor: User, claim: Claim) -> Claim:
    """Undo what ended the actor's claim, and return the claim, live again with the same token.

    A submitted review is taken back, with the draft and the form as they were; a skipped or released item is claimed
    again. Items that the actor has claimed since and not worked on go back to their places in the queues. A claim that
    is live stays as it is, so the same request twice is the same as once.

    ``claim``: loaded with its slot. Raises Conflict with the reason: the stage has settled, the item was reassigned or
    restarted, the time is over, or the actor has as many items as the project allows. Raises Hidden.
    """
    if claim.state in (ClaimState.SKIPPED, ClaimState.RELEASED):
        return retake(actor=actor, token=claim.token)
    slot = claim.slot
    with transaction.atomic():
        roles, now, *_others = lock_eligibility(actor=actor, project=slot.project)
        lock_and_read_again(actor, slot)
        claim = Claim.objects.select_for_update(of=("self",)).get(pk=claim.pk)
        claim.slot = slot
        if claim.state == ClaimState.LIVE:
            return claim
        review = _require_last_word(actor, claim, now)
        reason = refusal(person=actor, roles=roles, slot=slot, stage=stage_of(slot))
        if reason:
            raise Conflict(reason)
        put_back_untouched(actor=actor, project=slot.project, since=review.created_at)
        require_room(actor=actor, project=slot.project)
        _undo(actor, review, slot)
        revive(claim, slot, actor)
    return claim


def _require_last_word(actor: User, claim: Claim, now: datetime) -> Review:
    """Return the review that the claim submitted. Raises Conflict if something has followed from it or is too late."""
    slot = claim.slot
    if is_training_slot(slot):
        raise Conflict(_("You have seen the known answer of this training item, so your answer can’t be taken back."))
    # First, and whatever has become of the item: a gold item never settles, so another reason would tell it apart.
    review = Review.objects.select_related("seen_revision", "made_revision").filter(slot=slot, person=actor).first()
    if review is not None and now - review.created_at > timedelta(seconds=TAKE_BACK_SECONDS):
        sentence = ngettext(
            "A review can be taken back for %(count)s second after it was submitted. That time is over.",
            "A review can be taken back for %(count)s seconds after it was submitted. That time is over.",
            TAKE_BACK_SECONDS,
        )
        raise Conflict(sentence % {"count": TAKE_BACK_SECONDS})
    state = StageRun.objects.values_list("state", flat=True).get(pk=slot.stage_run_id)
    held = claim.state == ClaimState.SUBMITTED and slot.state == SlotState.DONE and slot.holder_id == actor.pk
    if review is None or not held or state == StageRunState.CANCELLED:
        raise Conflict(_("This item was reassigned or its review was restarted. Your draft is kept."))
    retired = slot.is_gold and not GoldItem.objects.filter(stage_run=slot.stage_run_id, retired_at=None).exists()
    if state != StageRunState.OPEN or retired:
        raise Conflict(
            _(
                "This stage has ended for the item and its result counts, so your review can’t be taken back. If it is "
                "wrong, tell an administrator, who can send the item back."
            )
        )
    return review


def _undo(actor: User, review: Review, slot: Slot) -> None:
    """Reverse what ``submit_review`` did in a stage that it did not settle. Everything is locked."""
    dialogue, sealed = slot.dialogue, slot.stage_run.blind
    made = review.made_revision or review.seen_revision
    journal = Journal(actor=actor, project=dialogue.project, dialogue=dialogue)
    journal.event(
        "review.taken_back",
        after={
            "review": review.public_id,
            "stage": slot.stage,
            "round": slot.round,
            "verdict": review.verdict,
            "content_hash": made.content_hash,
        },
        sealed=sealed,
    )
    if not slot.is_gold:
        journal.count(f"left:{slot.stage}")
        journal.count(f"done:{slot.stage}", -1)
    withdraw_work_count(review=review)
    for rows in (GoldScore, ReviewError, Ruling):
        rows._default_manager.filter(review=review).delete()
    submitted_at = review.created_at
    review.delete()
    _reopen_draft(actor, slot, submitted_at)
    journal.write()


def _reopen_draft(actor: User, slot: Slot, submitted_at: datetime) -> None:
    """Open the draft that was closed by the submission."""
    drafts = Draft.objects.filter(dialogue=slot.dialogue_id, author=actor, branch=branch_of(slot))
    if not drafts.filter(closed_at=None).exists():
        drafts.filter(closed_at=submitted_at).update(closed_at=None, outcome="")


def forget_forms() -> int:
    """Delete the forms of reviews that can no longer be taken back; return how many."""
    before = timezone.now() - timedelta(seconds=TAKE_BACK_SECONDS)
    forms = ReviewDraft.objects.filter(slot__review__person=F("person"), slot__review__created_at__lt=before)
    return forms.delete()[0]
