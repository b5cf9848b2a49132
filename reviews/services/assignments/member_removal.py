"""Handles a person's claims when their roles change: listed and released when a role ends, withdrawn for a new one."""

from annotator.models import Membership, Project, Role, User
from annotator.services.access.permissions import OVERSEERS
from annotator.services.dialogues.revisions import lock_dialogue
from reviews.models import Claim, ClaimState
from reviews.services.assignments.changes import open_to_everyone
from reviews.services.queue.claim_rows import lock_slot, stage_of
from reviews.services.queue.claims import withdraw
from reviews.services.queue.notifications import notify_losses_last


def describe_claims(project: Project, person: User, left: frozenset[Role]) -> list[str]:
    """Return the person's claimed items, with the stage, in stages that the remaining roles can't review."""
    return [f"{claim.slot.dialogue}: {stage_of(claim.slot).title}" for claim in _held(project, person, left)]


@notify_losses_last()
def release_claims(actor: User, project: Project, person: User, left: frozenset[Role]) -> None:
    """Open those items to everyone; drafts are kept. In the caller's transaction."""
    for claim in _held(project, person, left):
        open_to_everyone(actor=actor, slot=claim.slot, reason="The reviewer no longer has a role for it.")


def retire_tests(project: Project, person: User, role: Role) -> None:
    """Withdraw a person's claims on gold items if the new role can see the answers; drafts are kept.

    In the caller's transaction. The item's history does not show it, as for an ordinary released item.
    """
    if role not in OVERSEERS:
        return
    # Claiming and submitting lock these rows: they finish before this, or see the new role.
    members = Membership.objects.live().filter(project=project, user=person)
    list(members.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))
    live = Claim.objects.filter(project=project, person=person, state=ClaimState.LIVE, slot__is_gold=True)
    for dialogue_id, slot_id in live.order_by("slot__dialogue").values_list("slot__dialogue", "slot"):
        lock_dialogue(dialogue_id)
        withdraw(lock_slot(slot_id))


def _held(project: Project, person: User, left: frozenset[Role]) -> list[Claim]:
    live = Claim.objects.filter(project=project, person=person, state=ClaimState.LIVE)
    live = live.select_related("slot__dialogue", "slot__protocol", "slot__project").order_by("pk")
    kept = {str(role) for role in left}
    return [claim for claim in live if not {str(role) for role in stage_of(claim.slot).eligible.roles} & kept]
