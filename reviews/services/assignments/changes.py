"""What an administrator decides about who works on what: reassign, free, hand over, hurry."""

from django.db import transaction

from annotator.errors import Conflict, Invalid
from annotator.models import Dialogue, User
from annotator.services.access.permissions import require_administrator, roles_in
from annotator.services.dialogues.revisions import lock_dialogue
from reviews.core.protocols import AuthorRule, StageKind
from reviews.models import Priority, Slot, SlotState
from reviews.services.queue.claims import lock_slot, stage_of, withdraw
from reviews.services.queue.eligibility import refusal
from reviews.services.queue.notifications import notify_assignment, notify_withdrawal
from reviews.services.queue.order import new_position
from reviews.services.transitions.transition_log import Journal


def reassign(*, actor: User, slot: Slot, to: User, reason: str = "", tell: bool = True) -> Slot:
    """Reserve a slot for somebody, taking it from whoever is at work on it; their draft is kept.

    ``tell``: whether they get a notice of it; who reassigns many tells them once.
    Raises Denied unless the actor administers the project, Conflict for a slot that is done, Invalid, with the reason,
    where ``to`` may not take it.
    """
    require_administrator(actor=actor, project=slot.project)
    with transaction.atomic():
        dialogue = lock_dialogue(slot.dialogue_id)
        slot = lock_slot(slot.pk)
        if slot.state not in (SlotState.OPEN, SlotState.CLAIMED):
            raise Conflict("This slot is finished or has been cancelled; there is nothing left to reassign.")
        before = slot.reserved_for or slot.holder
        if slot.holder_id == to.pk:
            raise Conflict(f"{to} is at work on this item already.")
        slot.reserved_for = to
        stage = stage_of(slot)
        why_not = refusal(person=to, roles=roles_in(dialogue.project, to), slot=slot, stage=stage)
        siblings = Slot.objects.filter(stage_run_id=slot.stage_run_id, reserved_for=to, state=SlotState.OPEN)
        if not why_not and siblings.exclude(pk=slot.pk).exists():
            why_not = "The other review of this item is reserved for them already."
        if why_not:
            raise Invalid(f"{to} cannot take it. {why_not}")
        withdraw(slot)
        slot.save(update_fields=["reserved_for"])
        journal = Journal(actor=actor, project=dialogue.project, dialogue=dialogue)
        journal.event(
            "slot.reassigned",
            before={"person": before.public_id} if before else {},
            after={"slot": slot.public_id, "stage": slot.stage, "person": to.public_id, "reason": reason[:500]},
        )
        journal.write()
        notify_withdrawal(actor=actor, dialogue=dialogue, people=[before.pk if before and before != to else None])
        if tell:
            words = f"{dialogue.external_id} is reserved for you: {stage.title}. {reason[:300]}"
            notify_assignment(actor=actor, dialogue=dialogue, person=to, words=words)
    return slot


def hand_over(*, actor: User, dialogue: Dialogue, to: User, reason: str = "", tell: bool = True) -> Dialogue:
    """Make somebody else the owner of a dialogue; what waits for the owner then waits for them. ``tell``: as above.

    Raises Denied, or Invalid where ``to`` holds no role in the project.
    """
    require_administrator(actor=actor, project=dialogue.project)
    if not roles_in(dialogue.project, to):
        raise Invalid(f"{to} is no member of this project; invite them first.")
    with transaction.atomic():
        dialogue = lock_dialogue(dialogue.pk)
        before = dialogue.owner
        if before == to:
            return dialogue
        dialogue.owner = to
        dialogue.save(update_fields=["owner"])
        lost = False
        waiting = Slot.objects.select_for_update(of=("self",)).select_related("protocol", "stage_run")
        for slot in waiting.filter(dialogue=dialogue, state__in=[SlotState.OPEN, SlotState.HIDDEN]).order_by("pk"):
            slot.owner = to
            theirs = before is not None and slot.reserved_for_id == before.pk
            own = theirs and slot.stage_kind == StageKind.SELF_CHECK
            if own or stage_of(slot).eligible.author is AuthorRule.OWNER:
                slot.reserved_for = to
            elif slot.reserved_for_id == to.pk and slot.stage_kind != StageKind.SELF_CHECK:
                slot.reserved_for = None
            slot.save(update_fields=["owner", "reserved_for"])
            lost = lost or (theirs and slot.state == SlotState.OPEN and slot.reserved_for_id == to.pk)
        journal = Journal(actor=actor, project=dialogue.project, dialogue=dialogue)
        journal.event(
            "dialogue.owner_changed",
            before={"owner": before.public_id} if before else {},
            after={"owner": to.public_id, "reason": reason[:500]},
        )
        journal.write()
        notify_withdrawal(actor=actor, dialogue=dialogue, people=[before.pk if before and lost else None])
        if tell:
            words = f"{dialogue.external_id} is yours now. {reason[:300]}"
            notify_assignment(actor=actor, dialogue=dialogue, person=to, words=words)
    return dialogue


def prioritise(*, actor: User, dialogue: Dialogue, priority: Priority) -> int:
    """Let a dialogue's open slots be taken before (or after) the others; returns how many there were. Raises Denied."""
    require_administrator(actor=actor, project=dialogue.project)
    with transaction.atomic():
        dialogue = lock_dialogue(dialogue.pk)
        open_slots = Slot.objects.filter(dialogue=dialogue, state__in=["open", "hidden"], is_gold=False)
        earlier = sorted(set(open_slots.values_list("priority", flat=True)))
        # A new place as well: an old one may lie behind everybody's cursor in the queue it comes into.
        count = open_slots.exclude(priority=priority).update(priority=priority, position=new_position())
        if count:
            journal = Journal(actor=actor, project=dialogue.project, dialogue=dialogue)
            journal.event(
                "dialogue.prioritised",
                before={"priority": ", ".join(Priority(one).label.lower() for one in earlier)},
                after={"priority": Priority(priority).label.lower()},
            )
            journal.write()
    return count


def free_claim(*, actor: User, slot: Slot, reason: str = "") -> Slot:
    """Take a slot from whoever is at work on it, or for whom it is reserved, and open it to all; a draft is kept.

    Raises Denied, or Conflict where nobody holds it.
    """
    require_administrator(actor=actor, project=slot.project)
    with transaction.atomic():
        dialogue = lock_dialogue(slot.dialogue_id)
        slot = lock_slot(slot.pk)
        before = slot.holder or slot.reserved_for
        if slot.state not in (SlotState.OPEN, SlotState.CLAIMED) or before is None:
            raise Conflict("Nobody holds this slot and it is reserved for nobody; there is nothing to free.")
        withdraw(slot)
        # A new place: the old one may lie behind everybody's cursor.
        slot.reserved_for, slot.position = None, slot.position if slot.is_gold else new_position()
        slot.save(update_fields=["reserved_for", "position"])
        journal = Journal(actor=actor, project=dialogue.project, dialogue=dialogue)
        journal.event(
            "slot.freed",
            before={"person": before.public_id},
            after={"slot": slot.public_id, "stage": slot.stage, "reason": reason[:500]},
        )
        journal.write()
        notify_withdrawal(actor=actor, dialogue=dialogue, people=[before.pk])
    return slot
