"""The dispute of one dialogue, for the person who may settle it."""

from django.utils.translation import gettext as _

from annotator.errors import Conflict
from annotator.models import Dialogue, User
from annotator.services.access.permissions import OVERSEERS, require_role, roles_in
from reviews.models import Claim, Slot, SlotState, StageRunState
from reviews.services.queue import claims
from reviews.services.queue.claim_rows import stage_of
from reviews.services.queue.eligibility import refusal


def find_dispute(*, actor: User, dialogue: Dialogue) -> Slot | None:
    """Return the slot in which the actor settles the dialogue's dispute or may claim it, their own first; else None."""
    roles = roles_in(dialogue.project, actor)
    if not roles & OVERSEERS:
        return None
    waiting = Slot.objects.filter(
        dialogue=dialogue,
        stage_run__state=StageRunState.OPEN,
        stage_run__escalated_from__isnull=False,
        state__in=[SlotState.OPEN, SlotState.CLAIMED],
    ).select_related("protocol", "project")
    slots = sorted(waiting.order_by("index"), key=lambda slot: slot.holder_id != actor.pk)
    for slot in slots:
        taken = slot.holder_id not in (None, actor.pk)
        if not taken and not refusal(person=actor, roles=roles, slot=slot, stage=stage_of(slot)):
            return slot
    return None


def claim_dispute(*, actor: User, dialogue: Dialogue) -> Claim:
    """Claim the dialogue's dispute. Raises Denied, Conflict if the actor can't settle one, and as ``claim_slot``."""
    require_role(actor=actor, project=dialogue.project, roles=OVERSEERS)
    slot = find_dispute(actor=actor, dialogue=dialogue)
    if slot is None:
        raise Conflict(
            _("This dialogue has no dispute that you can settle: it is settled, or somebody else has claimed it.")
        )
    return claims.claim_slot(actor=actor, slot=slot)
