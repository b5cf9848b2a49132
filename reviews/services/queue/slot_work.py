"""The work on one slot: a person's claim on it, what is under review, and what the stage asks for."""

from dataclasses import dataclass

from annotator.errors import Conflict, Hidden
from annotator.models import Dialogue, User
from reviews.core.protocols import Protocol, Stage
from reviews.models import Claim, ClaimState, Review, Slot, SlotState
from reviews.services.protocols.versions import parse
from reviews.services.statements import read_claim


@dataclass(frozen=True)
class Work:
    """One person's hold on one slot, and what the slot asks for."""

    slot: Slot
    claim: Claim
    stage: Stage
    protocol: Protocol
    #: Whether the lease has run out; nobody else has taken the item, so it can still be submitted.
    expired: bool

    @property
    def blind(self) -> bool:
        """Whether nobody else may see anything of this review yet."""
        return self.slot.stage_run.blind

    @property
    def branch(self) -> str:
        """The branch its holder works on: their own in a blind stage, else the main one."""
        return branch_of(self.slot)

    @property
    def dialogue(self) -> Dialogue:
        return self.slot.dialogue


def branch_of(slot: Slot) -> str:
    """The branch on which a slot's holder keeps draft and fix."""
    return f"slot-{slot.public_id}" if slot.stage_run.blind else "main"


def load_claim(*, actor: User, slot: str, token: str | None = None) -> Claim:
    """The actor's latest claim on the slot with this public id, or the one with this token, over or not.

    All that hangs on the slot comes with it. Raises Hidden for what they never held.
    """
    found = read_claim(person=actor, slot=slot, token=token) if actor.is_active else None
    if found is None:
        raise Hidden("There is no such item, or you do not hold it.")
    return found[0]


def load_slot_work(*, actor: User, public_id: str) -> Work:
    """The actor's hold on a slot. Raises Hidden for what they never held, Conflict (saying why) for what they lost."""
    found = read_claim(person=actor, slot=public_id) if actor.is_active else None
    if found is None:
        raise Hidden("There is no such item, or you do not hold it.")
    claim, now = found
    slot = claim.slot
    if claim.state == ClaimState.SUBMITTED:
        verdict = Review.objects.get(slot=slot).get_verdict_display()
        raise Conflict(
            f"You have submitted your review of this item, with the verdict “{verdict}”; it cannot be changed any more."
        )
    if claim.state in (ClaimState.RELEASED, ClaimState.SKIPPED):
        raise Conflict("You gave this item back; claim it again to go on. Your draft is kept.")
    if claim.state == ClaimState.WITHDRAWN or slot.state in (SlotState.CANCELLED, SlotState.DONE):
        raise Conflict("This item was taken from you: it was reassigned or has begun anew. Your draft is kept.")
    free = slot.state == SlotState.OPEN and slot.reserved_for_id in (None, actor.pk)
    if claim.state == ClaimState.EXPIRED and not free:
        raise Conflict("Your time on this item ran out and a colleague has it now. Your draft is kept.")
    protocol = parse(slot.protocol)
    return Work(
        slot=slot,
        claim=claim,
        stage=protocol.stage(slot.stage),
        protocol=protocol,
        expired=claim.state == ClaimState.EXPIRED or claim.expires_at <= now,
    )
