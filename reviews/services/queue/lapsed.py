"""Items whose claim has expired, which a person could take over."""

from collections import defaultdict
from collections.abc import Sequence

from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from annotator.core.abilities import Abilities
from annotator.models import Project, Role, User
from reviews.models import Claim, ClaimState, Slot, SlotState
from reviews.services.protocols.versions import parse
from reviews.services.queue.abilities import unfit
from reviews.services.queue.co_authors import co_written
from reviews.services.queue.eligibility import HeldSlot, refusal

#: Expired claims that are read. A task ends them every minute, so there are few.
LOOKED_AT = 100


def lapsed_for(
    *, actor: User, project: Project, roles: frozenset[Role], stages: Sequence[str], abilities: Abilities
) -> list[Slot]:
    """Return a slot of each item of these stages that only an expired claim of somebody else keeps from the actor.

    Items with a slot that waits in a queue for the actor are left out, because the queues have them.
    """
    beside = Slot.objects.filter(stage_run=OuterRef("slot__stage_run"), state=SlotState.OPEN)
    lapsed = (
        Claim.objects.filter(project=project, state=ClaimState.LIVE, expires_at__lte=Now(), stage__in=stages)
        .exclude(person=actor)
        .filter(~Exists(beside.filter(Q(reserved_for=None) | Q(reserved_for=actor))), slot__is_gold=False)
        .select_related("slot__protocol")
        .defer("slot__protocol__definition")
        .order_by("expires_at")
    )
    slots = {claim.slot.stage_run_id: claim.slot for claim in lapsed[:LOOKED_AT]}
    if not slots:
        return []
    not_theirs = unfit(abilities, [slot.dialogue_id for slot in slots.values()])
    parts = co_written(actor, [slot.dialogue_id for slot in slots.values()])
    held: dict[int, list[HeldSlot]] = defaultdict(list)
    mine = Slot.objects.filter(cycle__in={slot.cycle_id for slot in slots.values()}, holder=actor)
    for cycle, pk, run, stage, number in mine.values_list("cycle", "pk", "stage_run_id", "stage", "round"):
        held[cycle].append(HeldSlot(pk, run, stage, number))
    return [
        slot
        for slot in slots.values()
        if slot.dialogue_id not in not_theirs
        and not refusal(
            person=actor,
            roles=roles,
            slot=slot,
            stage=parse(slot.protocol).stage(slot.stage),
            held=held[slot.cycle_id],
            parts=parts,
        )
    ]
