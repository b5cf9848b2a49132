"""Claiming generations: the next one, from My work; a given one, on its page; and the heartbeat of a claim."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotator.errors import Conflict, DomainError
from annotator.models import Project, Role, User
from annotator.services.maintenance import works_in_maintenance
from annotator.views.pages import PageRequest, project_page
from benchmark.models import Generation
from benchmark.services.generation import claims
from benchmark.services.generation.permissions import CONTRIBUTORS
from benchmark.services.generation.reading import load_generation
from reviews.services.queue.progress import MANY
from reviews.views.project import MoreWork
from reviews.views.refused_claims import redirect_refused


@project_page
@require_POST
def generation_next(request: PageRequest) -> HttpResponse:
    """Claim the generation that has waited longest, and open it."""
    project = request.project
    try:
        claim = claims.claim_next(actor=request.user, project=project)
    except Conflict as error:
        return redirect_refused(request, project, error)
    if claim is None:
        messages.info(request, _("No generation waits for you right now."))
        return redirect("home")
    return redirect("generation", slug=project.slug, public_id=claim.generation.public_id)


@works_in_maintenance
@project_page
@require_POST
def generation_heartbeat(request: PageRequest, public_id: str) -> HttpResponse:
    """Extend the claim; say so if it was lost, unless the page is being closed."""
    generation = load_generation(actor=request.user, project=request.project, public_id=public_id)
    try:
        claims.heartbeat(actor=request.user, generation=generation)
    except DomainError:
        if "leaving" not in request.POST:
            raise
    return HttpResponse(status=204)


def claim_context(request: PageRequest, generation: Generation) -> dict[str, Any]:
    """Return what a page shows about the claim. A colleague's claim whose time is over counts no longer."""
    claim = claims.live_claim(generation)
    mine = claim is not None and claim.person_id == request.user.pk
    if claim is not None and not mine and claim.expires_at <= timezone.now():
        claim = None
    return {
        "claim": claim, "mine": mine,
        "may_release": claim is not None and (mine or Role.ADMINISTRATOR in request.roles),
        "heartbeat_url": reverse("generation-heartbeat", args=[request.project.slug, generation.public_id]),
    }  # fmt: skip


#: What the buttons of a page do.
CLAIM_ACTS: dict[str, Callable[..., Any]] = {
    "claim": claims.claim_generation,
    "take_over": partial(claims.claim_generation, take_over=True),
    "release": claims.release_claim,
}


def work_in_generations(actor: User, project: Project, roles: frozenset[Role]) -> MoreWork | None:
    """Return what *My work* shows of generations; None for people who don't act in them, and without any."""
    if not roles & CONTRIBUTORS:
        return None
    own = claims.claims_of(actor=actor, project=project)
    held = [(one.generation.name, reverse("generation", args=[project.slug, one.generation.public_id])) for one in own]
    count = claims.waiting_for(actor=actor, project=project)[:MANY].count()
    if not (held or count):
        return None
    action = reverse("generation-next", args=[project.slug])
    return MoreWork(_("Generations"), count, count >= MANY, action, held)
