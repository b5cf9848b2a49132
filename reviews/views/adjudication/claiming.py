"""Claiming the dispute of one dialogue, from the dialogue's page."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from annotator.errors import Conflict
from annotator.services.access.permissions import load_dialogue
from annotator.views.pages import PageRequest, project_page
from reviews.services.adjudication.own_disputes import claim_dispute
from reviews.services.queue.training_claims import NotReady
from reviews.views.refused_claims import redirect_refused


@project_page
@require_POST
def dialogue_settle(request: PageRequest, public_id: str) -> HttpResponse:
    """Claim the dispute and open it; if that is not possible, say why on the dialogue's page."""
    dialogue = load_dialogue(actor=request.user, project=request.project, public_id=public_id)
    try:
        claim = claim_dispute(actor=request.user, dialogue=dialogue)
    except NotReady as error:
        return redirect_refused(request, request.project, error)
    except Conflict as error:
        messages.warning(request, error.sentence)
        return redirect("dialogue", slug=request.project.slug, public_id=public_id)
    return redirect("workspace-settle", slot=claim.slot.public_id)
