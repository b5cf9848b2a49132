"""The next item of a person who has to accept the guideline or pass the training first."""

from annotator.errors import Conflict
from annotator.models import Project, User
from reviews.models import Claim, ClaimState
from reviews.services.queue.claim_rows import extend, held_stages, new_claim, resume_own, stage_of
from reviews.services.queue.pauses import ClaimLimits
from reviews.services.queue.training_claims import next_training_slot, require_accepted


def resume_or_train(*, actor: User, project: Project, stages: list[str], limits: ClaimLimits) -> Claim | None:
    """Return what the actor holds already, or else their next item of the training; None if they need none.

    Raises NotReady, or Conflict if work is paused.
    """
    held = set(stages) & set(held_stages(project.pk, actor.pk))
    own = resume_own(actor=actor, project=project, stages=stages) if held else None
    if own is not None:
        return own
    require_accepted(actor=actor, project=project)
    slot = next_training_slot(actor=actor, project=project)
    if slot is None:
        return None
    if limits.bar:
        raise Conflict(limits.bar)
    live = Claim.objects.filter(slot=slot, state=ClaimState.LIVE).first()
    return extend(live, slot) if live else new_claim(actor=actor, slot=slot, stage=stage_of(slot))
