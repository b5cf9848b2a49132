"""Who can still review the dialogue of a generation, because those who write a part of it may not."""

from dataclasses import dataclass

from annotator.models import User
from benchmark.core.generation.kinds import AnyState
from benchmark.models import Generation
from benchmark.services.generation.authors import authors_of
from reviews.core.protocols import Stage, StageKind
from reviews.services.protocols.versions import current_version, parse, roles_of_members


@dataclass(frozen=True, slots=True)
class Separation:
    """``already``: the person has written or chosen a part. ``stage``: the one with the fewest ``people`` to spare who
    can review the dialogue after they have.
    """

    already: bool
    stage: Stage
    people: int

    @property
    def lacks(self) -> bool:
        """Return whether these people are too few."""
        return self.people < self.stage.reviewers


def read_separation(*, actor: User, generation: Generation, state: AnyState) -> Separation | None:
    """Return what it means for the reviews if the actor acts in a generation; None if that changes nothing."""
    project = generation.project
    version = current_version(project)
    if version is None or generation.query_id is not None:
        return None
    stages = [one for one in parse(version).stages if one.kind is not StageKind.SELF_CHECK]
    roles, authors = roles_of_members(project), authors_of(generation, state)
    if not any(roles.get(actor.pk, frozenset()) & set(one.eligible.roles) for one in stages):
        return None
    able = {
        one: sum(bool(held & set(one.eligible.roles)) for key, held in roles.items() if key not in authors | {actor.pk})
        for one in stages
    }
    stage = min(stages, key=lambda one: able[one] - one.reviewers)
    return Separation(actor.pk in authors, stage, able[stage])
