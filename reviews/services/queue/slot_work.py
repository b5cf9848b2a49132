"""The work on one slot: a person's claim on it, its stage and its protocol."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _

from annotator.errors import Conflict, Hidden
from annotator.models import Dialogue, Membership, User
from annotator.presentation.components.labels import words_of
from annotator.services.database.compiled import compiled
from annotator.services.database.statements import Clock
from reviews.core.protocols import Protocol, Stage
from reviews.models import Claim, ClaimState, Review, Slot, SlotState
from reviews.services.protocols.versions import parse


@dataclass(frozen=True)
class Work:
    """One person's claim on one slot, with its stage and protocol."""

    slot: Slot
    claim: Claim
    stage: Stage
    protocol: Protocol
    #: Whether the claim has expired; nobody else has claimed the item, so it can still be submitted.
    expired: bool

    @property
    def blind(self) -> bool:
        """Return whether nobody else may see anything of this review yet."""
        return self.slot.stage_run.blind

    @property
    def branch(self) -> str:
        """Return the branch of the work: the slot's own in a blind stage, else the main one."""
        return branch_of(self.slot)

    @property
    def dialogue(self) -> Dialogue:
        return self.slot.dialogue


def branch_of(slot: Slot) -> str:
    """Return the branch for the draft and the fix of a slot."""
    return f"slot-{slot.public_id}" if slot.stage_run.blind else "main"


def load_claim(*, actor: User, slot: str, token: str | None = None) -> Claim:
    """Return the actor's latest claim on the slot, or the one with this token, even if it has ended.

    Related rows of the slot are loaded with it. Raises Hidden if they never claimed it.
    """
    return _read_claim(actor, slot, token)[0]


def load_slot_work(*, actor: User, public_id: str) -> Work:
    """Return the actor's work on a slot. Raises Hidden if they never claimed it, Conflict if their claim has ended or
    the project is archived.
    """
    claim, now = _read_claim(actor, public_id, None)
    slot = claim.slot
    if claim.state == ClaimState.SUBMITTED:
        verdict = Review.objects.filter(slot=slot).values_list("verdict", flat=True).first()
        if verdict is None:
            # It was taken back since the claim was read.
            return load_slot_work(actor=actor, public_id=public_id)
        raise Conflict(
            _("You have submitted your review of this item with the verdict “%(verdict)s”. It can’t be changed.")
            % {"verdict": words_of("verdict", verdict)}
        )
    if claim.state in (ClaimState.RELEASED, ClaimState.SKIPPED):
        raise Conflict(_("You have released this item. Claim it again to continue. Your draft is kept."))
    if claim.state == ClaimState.WITHDRAWN or slot.state in (SlotState.CANCELLED, SlotState.DONE):
        raise Conflict(_("This item was reassigned or its review was restarted. Your draft is kept."))
    free = slot.state == SlotState.OPEN and slot.reserved_for_id in (None, actor.pk)
    if claim.state == ClaimState.EXPIRED and not free:
        raise Conflict(_("Your claim expired, and a colleague has claimed this item. Your draft is kept."))
    protocol = parse(slot.protocol)
    return Work(
        slot=slot,
        claim=claim,
        stage=protocol.stage(slot.stage),
        protocol=protocol,
        expired=claim.state == ClaimState.EXPIRED or claim.expires_at <= now,
    )


def load_claimed_item(claim: Claim) -> Slot:
    """Return the slot of a claim that was just made, with what a program gets of its item and nothing else."""
    [slot] = _item(claim.slot_id)
    return slot


def _read_claim(actor: User, slot: str, token: str | None) -> tuple[Claim, datetime]:
    """Return the claim with its slot's related rows, and the database's time. Raises Hidden."""
    found: list[Any] = []
    if actor.is_active:
        found = _latest_claim(actor.pk, slot) if token is None else _claim_by_token(actor.pk, slot, token)
    if not found or not actor.reaches(found[0].project_id):
        raise Hidden(_("This item doesn’t exist, or you haven’t claimed it."))
    [claim] = found
    if claim.slot.project.archived_at is not None:
        raise Conflict(_("This project is archived. Your draft is kept, and you can go on when it is restored."))
    # Reuse what was loaded.
    claim.project = claim.slot.dialogue.project = claim.slot.project
    return claim, claim.now


@compiled
def _latest_claim(person_id: int, slot: str) -> QuerySet[Claim]:
    return _claims(person_id, slot).order_by("-pk")[:1]


@compiled
def _claim_by_token(person_id: int, slot: str, token: str) -> QuerySet[Claim]:
    return _claims(person_id, slot).filter(token=token)


def _claims(person_id: int, slot: str) -> QuerySet[Claim]:
    """Return the person's claims on a slot that they may see (``Slot.objects.visible_to``)."""
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


@compiled
def _item(slot_id: int) -> QuerySet[Slot]:
    slots = Slot.objects.filter(pk=slot_id).select_related("dialogue", "protocol", "revision__toolset_revision")
    return slots.only(
        "public_id",
        "stage",
        "dialogue__external_id",
        "dialogue__public_id",
        "protocol__content_hash",
        "revision__content",
        "revision__content_hash",
        "revision__public_id",
        "revision__toolset_revision__content",
    )
