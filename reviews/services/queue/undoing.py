"""Claiming an item again that one has just left, and putting back what was claimed since."""

from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from annotator.errors import Denied
from annotator.models import Draft, Project, User
from annotator.services.database.statements import database_time
from reviews.models import Claim, ClaimState, ReviewDraft, Slot, SlotState
from reviews.services.queue.claim_rows import (
    can_skip,
    check_limits,
    hold,
    lock_slot,
    open_slot,
    own_claim,
    stage_of,
)
from reviews.services.queue.claims import claim_slot
from reviews.services.queue.eligibility import lock_eligibility, refusal
from reviews.services.queue.order import come_back_to
from reviews.services.queue.pauses import read_claim_limits


def retake(*, actor: User, token: str) -> Claim:
    """Claim an item again that the actor has just skipped or released: the same claim, if it is the slot's last one.

    Items that they have claimed since and not worked on go back to their places. Raises as ``claim_slot``.
    """
    with transaction.atomic():
        claim = own_claim(actor, token)
        roles, now, limited, _prepares = lock_eligibility(actor=actor, project=claim.project)
        slot = lock_slot(claim.slot_id)
        claim.refresh_from_db()
        if slot.state == SlotState.OPEN and claim.state in (ClaimState.SKIPPED, ClaimState.RELEASED):
            reason = refusal(person=actor, roles=roles, slot=slot, stage=stage_of(slot))
            if reason:
                raise Denied(reason)
            if claim.ended_at is not None:
                put_back_untouched(actor=actor, project=claim.project, since=claim.ended_at)
            if limited:
                limits = read_claim_limits(actor=actor, project=claim.project)
                check_limits(actor, claim.project, limits, [slot.stage], now)
            if not slot.claims.filter(pk__gt=claim.pk).exists():
                revive(claim, slot, actor)
                return claim
        return claim_slot(actor=actor, slot=slot)


def revive(claim: Claim, slot: Slot, actor: User) -> None:
    """Make the last claim on a slot live again, with the same token. The caller has locked both and checked it."""
    hold(actor, slot)
    claim.state, claim.ended_at = ClaimState.LIVE, None
    claim.heartbeat_at = database_time()
    claim.expires_at = claim.heartbeat_at + claim.lease
    claim.save(update_fields=["state", "ended_at", "heartbeat_at", "expires_at"])
    claim.slot = slot


def put_back_untouched(*, actor: User, project: Project, since: datetime) -> None:
    """Release what the actor has claimed since then, except what they have worked on; it is their next item again.

    A page that opens the next item at once has claimed it before the person could undo the last one.
    """
    fresh = Claim.objects.filter(project=project, person=actor, state=ClaimState.LIVE, created_at__gte=since)
    edited = Draft.objects.filter(dialogue=OuterRef("slot__dialogue"), author=actor, closed_at=None, version__gt=0)
    filled = ReviewDraft.objects.filter(slot=OuterRef("slot"), person=actor, version__gt=0)
    for claim in fresh.filter(~Exists(edited), ~Exists(filled)):
        # Not one that somebody is just changing: the caller holds another item's locks.
        locked = Slot.objects.select_for_update(skip_locked=can_skip(), of=("self",)).filter(pk=claim.slot_id)
        slot = locked.first()
        live = Claim.objects.filter(pk=claim.pk, state=ClaimState.LIVE)
        if slot is not None and live.update(state=ClaimState.RELEASED, ended_at=Now()):
            open_slot(slot)
            come_back_to(actor=actor, slot=slot)
