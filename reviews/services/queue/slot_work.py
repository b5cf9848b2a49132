"""The work on one slot: a person's claim on it, what is under review, and what the stage asks for."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from annotator.errors import Conflict, Hidden
from annotator.models import Dialogue, Membership, User
from annotator.services.database.compiled import compiled
from annotator.services.database.statements import Clock
from reviews.core.protocols import Protocol, Stage
from reviews.models import Claim, ClaimState, Review, Slot, SlotState
from reviews.services.protocols.versions import parse


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
    return _read_claim(actor, slot, token)[0]


def load_slot_work(*, actor: User, public_id: str) -> Work:
    """The actor's hold on a slot. Raises Hidden for what they never held, Conflict (saying why) for what they lost."""
    claim, now = _read_claim(actor, public_id, None)
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


def _read_claim(actor: User, slot: str, token: str | None) -> tuple[Claim, datetime]:
    """The claim with all that hangs on its slot, and what time it is. Raises Hidden."""
    found: list[Any] = []
    if actor.is_active:
        found = _latest_claim(actor.pk, slot) if token is None else _claim_by_token(actor.pk, slot, token)
    if not found:
        raise Hidden("There is no such item, or you do not hold it.")
    [claim] = found
    # What was read once need not be fetched again.
    claim.project = claim.slot.dialogue.project = claim.slot.project
    return claim, claim.now


@compiled
def _latest_claim(person_id: int, slot: str) -> QuerySet[Claim]:
    return _claims(person_id, slot).order_by("-pk")[:1]


@compiled
def _claim_by_token(person_id: int, slot: str, token: str) -> QuerySet[Claim]:
    return _claims(person_id, slot).filter(token=token)


def _claims(person_id: int, slot: str) -> QuerySet[Claim]:
    """The person's claims on a slot that they may see (``Slot.objects.visible_to``)."""
    member = Membership.objects.live().filter(project=OuterRef("project"), user=person_id)
    claims = Claim.objects.filter(Exists(member), person=person_id, slot__public_id=slot)
    claims = claims.exclude(slot__state=SlotState.HIDDEN).select_related(
        "slot__project",
        "slot__stage_run",
        "slot__dialogue",
        "slot__cycle",
        "slot__protocol",
        "slot__revision__toolset_revision",
    )
    return claims.defer("slot__dialogue__search_text", "slot__protocol__definition").annotate(now=Clock())
