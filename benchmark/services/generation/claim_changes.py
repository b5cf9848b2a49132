"""What happens to claims on generations when a member leaves, or the project is archived."""

from datetime import timedelta

from django.db.models import F, QuerySet
from django.db.models.functions import Now

from annotator.models import Project, Role, User
from benchmark.models import GenerationClaim
from benchmark.services.generation.permissions import CONTRIBUTORS
from reviews.models import ClaimState


def describe_claims(project: Project, person: User, left: frozenset[Role]) -> list[str]:
    """Return the generations that the person has claimed, unless the remaining roles can act in them."""
    if left & CONTRIBUTORS:
        return []
    return list(_held(project, person).order_by("pk").values_list("generation__name", flat=True))


def release_claims(actor: User, project: Project, person: User, left: frozenset[Role]) -> None:
    """Let others claim those generations. In the caller's transaction, which has locked the membership."""
    if not left & CONTRIBUTORS:
        _held(project, person).update(state=ClaimState.WITHDRAWN, ended_at=Now())


def count_claims(project: Project) -> int:
    """Return how many generations of a project are claimed."""
    return GenerationClaim.objects.filter(project=project, state=ClaimState.LIVE).count()


def extend_claims(project: Project, pause: timedelta) -> None:
    """Give live claims the time back in which the project was archived. In the caller's transaction."""
    live = GenerationClaim.objects.filter(project=project, state=ClaimState.LIVE)
    live.update(expires_at=F("expires_at") + pause)


def _held(project: Project, person: User) -> QuerySet[GenerationClaim]:
    return GenerationClaim.objects.filter(project=project, person=person, state=ClaimState.LIVE)
