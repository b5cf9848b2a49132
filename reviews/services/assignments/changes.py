"""Changes of assignments by an administrator: reassign, open to everyone, change the owner or priority."""

from collections.abc import Callable, Collection, Mapping

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.text import message
from annotator.errors import Conflict, Invalid
from annotator.models import Dialogue, User
from annotator.services.access.permissions import require_administrator, roles_in
from annotator.services.dialogues.revisions import lock_dialogue
from reviews.core.protocols import AuthorRule, StageKind
from reviews.models import Priority, Slot, SlotState
from reviews.services.queue.claim_rows import lock_slot, stage_of
from reviews.services.queue.claims import withdraw
from reviews.services.queue.eligibility import refusal
from reviews.services.queue.notifications import notify_assignment, notify_withdrawal
from reviews.services.queue.order import new_position
from reviews.services.transitions.transition_log import Journal

#: What follows when people set the priority of a locked dialogue, even if it stays as it was. Other apps add theirs.
PRIORITISED: list[Callable[[Dialogue], None]] = []


def reassign(*, actor: User, slot: Slot, to: User, reason: str = "", tell: bool = True) -> Slot:
    """Reserve a slot for somebody and withdraw any claim on it; the draft is kept.

    ``tell``: whether they get a notice; plans send one notice for many slots.
    Raises Denied unless the actor administers the project, Conflict for a slot that is done, Invalid, with the reason,
    if ``to`` may not review it.
    """
    require_administrator(actor=actor, project=slot.project)
    with transaction.atomic():
        dialogue = lock_dialogue(slot.dialogue_id)
        slot = lock_slot(slot.pk)
        if slot.state not in (SlotState.OPEN, SlotState.CLAIMED):
            raise Conflict(_("This review is finished or cancelled and can’t be reassigned."))
        before = slot.reserved_for or slot.holder
        if slot.holder_id == to.pk:
            raise Conflict(_("%(person)s is already working on this item.") % {"person": to})
        slot.reserved_for = to
        stage = stage_of(slot)
        why_not = refusal(person=to, roles=roles_in(dialogue.project, to), slot=slot, stage=stage)
        siblings = Slot.objects.filter(stage_run_id=slot.stage_run_id, reserved_for=to, state=SlotState.OPEN)
        if not why_not and siblings.exclude(pk=slot.pk).exists():
            why_not = _("Another review of this item is already assigned to this person.")
        if why_not:
            raise Invalid(_("%(person)s can’t review this item. %(reason)s") % {"person": to, "reason": why_not})
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
            words = message(
                "%(dialogue)s is assigned to you: %(stage)s. %(reason)s",
                dialogue=dialogue.external_id,
                stage=stage.title,
                reason=reason[:300],
            )
            notify_assignment(actor=actor, dialogue=dialogue, person=to, words=words)
    return slot


def hand_over(
    *,
    actor: User,
    dialogue: Dialogue,
    to: User | None,
    reason: str = "",
    tell: bool = True,
    reserved: Mapping[int, int | None] | None = None,
) -> Dialogue:
    """Make somebody else the owner of a dialogue; items reserved for the owner follow. ``tell``: as above.

    ``to`` is None if a change of owner is undone and the dialogue had no owner. ``reserved``: {slot: person or None}
    for slots whose reservations differ from what the new owner implies. Raises Denied, or Invalid if ``to`` is not a
    member of the project.
    """
    require_administrator(actor=actor, project=dialogue.project)
    if to is not None and not roles_in(dialogue.project, to):
        raise Invalid(_("%(person)s isn’t a member of this project. Invite them first.") % {"person": to})
    with transaction.atomic():
        dialogue = lock_dialogue(dialogue.pk)
        before = dialogue.owner
        if before == to:
            return dialogue
        dialogue.owner, dialogue.updated_at = to, timezone.now()
        dialogue.save(update_fields=["owner", "updated_at"])
        lost = False
        waiting = Slot.objects.select_for_update(of=("self",)).select_related("protocol", "stage_run")
        for slot in waiting.filter(dialogue=dialogue, state__in=[SlotState.OPEN, SlotState.HIDDEN]).order_by("pk"):
            slot.owner = to
            theirs = before is not None and slot.reserved_for_id == before.pk
            own = theirs and slot.stage_kind == StageKind.SELF_CHECK
            if own or stage_of(slot).eligible.author is AuthorRule.OWNER:
                slot.reserved_for = to
            elif to is not None and slot.reserved_for_id == to.pk and slot.stage_kind != StageKind.SELF_CHECK:
                slot.reserved_for = None
            if reserved is not None and slot.pk in reserved:
                slot.reserved_for_id = reserved[slot.pk]
            slot.save(update_fields=["owner", "reserved_for"])
            lost = lost or (theirs and slot.state == SlotState.OPEN and slot.reserved_for_id == (to and to.pk))
        journal = Journal(actor=actor, project=dialogue.project, dialogue=dialogue)
        journal.event(
            "dialogue.owner_changed",
            before={"owner": before.public_id} if before else {},
            after={"owner": to.public_id if to else "", "reason": reason[:500]},
        )
        journal.write()
        notify_withdrawal(actor=actor, dialogue=dialogue, people=[before.pk if before and lost else None])
        if tell and to is not None:
            words = message("You now own %(dialogue)s. %(reason)s", dialogue=dialogue.external_id, reason=reason[:300])
            notify_assignment(actor=actor, dialogue=dialogue, person=to, words=words)
    return dialogue


def prioritise(
    *,
    actor: User | None,
    dialogue: Dialogue,
    priority: Priority,
    slots: Collection[int] | None = None,
    reason: str = "",
    only: Priority | None = None,
) -> int:
    """Change the priority of a dialogue's open slots, or of these (by key); return how many changed.

    ``actor`` None is a standing order of the project: it only changes slots whose priority is ``only``, and these keep
    their place in the queue. Raises Denied.
    """
    if actor is not None:
        require_administrator(actor=actor, project=dialogue.project)
    with transaction.atomic():
        dialogue = lock_dialogue(dialogue.pk)
        open_slots = Slot.objects.filter(dialogue=dialogue, state__in=["open", "hidden"], is_gold=False)
        if slots is not None:
            open_slots = open_slots.filter(pk__in=slots)
        if only is not None:
            open_slots = open_slots.filter(priority=only)
        earlier = sorted(set(open_slots.values_list("priority", flat=True)))
        # A new position too: the old one may be behind everyone's cursor in the new queue.
        placed = {} if actor is None else {"position": new_position()}
        count = open_slots.exclude(priority=priority).update(priority=priority, **placed)
        if count:
            journal = Journal(actor=actor, project=dialogue.project, dialogue=dialogue)
            journal.event(
                "dialogue.prioritised",
                before={"priority": ", ".join(Priority(one).name.lower() for one in earlier)},
                after={"priority": Priority(priority).name.lower()} | ({"reason": reason[:500]} if reason else {}),
            )
            journal.write()
        if actor is not None:
            for follow in PRIORITISED:
                follow(dialogue)
    return count


def free_claim(*, actor: User, slot: Slot, reason: str = "") -> Slot:
    """Withdraw the claim or assignment of a slot and open it to everyone; the draft is kept.

    Raises Denied, or Conflict if it has neither.
    """
    require_administrator(actor=actor, project=slot.project)
    return open_to_everyone(actor=actor, slot=slot, reason=reason)


def open_to_everyone(*, actor: User, slot: Slot, reason: str) -> Slot:
    """Do what ``free_claim`` does, also for a rule or an operator: the caller has checked who may. Raises Conflict."""
    with transaction.atomic():
        dialogue = lock_dialogue(slot.dialogue_id)
        slot = lock_slot(slot.pk)
        before = slot.holder or slot.reserved_for
        if slot.state not in (SlotState.OPEN, SlotState.CLAIMED) or before is None:
            raise Conflict(_("This review is already open to everyone."))
        withdraw(slot)
        # A new position: the old one may be behind everyone's cursor.
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
