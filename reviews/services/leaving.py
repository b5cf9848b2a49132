"""What somebody has in hand when they lose a role: named beforehand, and given back with it."""

from annotator.models import Project, Role, User
from reviews.models import Claim, ClaimState
from reviews.services.assignments import free_claim
from reviews.services.claims import stage_of


def name_claims(project: Project, person: User, left: frozenset[Role]) -> list[str]:
    """The items the person is at work on in stages in which these roles do not review, with the stage."""
    return [f"{claim.slot.dialogue}: {stage_of(claim.slot).title}" for claim in _held(project, person, left)]


def give_back_claims(actor: User, project: Project, person: User, left: frozenset[Role]) -> None:
    """Open those items to others; drafts are kept. In the caller's transaction."""
    for claim in _held(project, person, left):
        free_claim(actor=actor, slot=claim.slot, reason="The person who was at work on it has no role for it any more.")


def _held(project: Project, person: User, left: frozenset[Role]) -> list[Claim]:
    live = Claim.objects.filter(project=project, person=person, state=ClaimState.LIVE)
    live = live.select_related("slot__dialogue", "slot__protocol", "slot__project").order_by("pk")
    kept = {str(role) for role in left}
    return [claim for claim in live if not {str(role) for role in stage_of(claim.slot).eligible.roles} & kept]
