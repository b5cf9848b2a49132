"""Taking back what ended the work on an item: the notice that offers it, and its address."""

from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotator.errors import Conflict, Denied
from annotator.views.errors import came_from
from annotator.views.pages import PageRequest, takes
from reviews.models import ClaimState
from reviews.services.queue.slot_work import load_claim
from reviews.services.submission import take_back as taking_back

#: No anchor is this long, and no URL may be.
_MAX_ANCHOR = 2_000


def undo_url(slot: str, at: str = "") -> str:
    """Return the address that a message carries as its extra tag, so that its notice offers *Undo*.

    ``at``: the place in the dialogue to which it leads back.
    """
    return reverse("workspace-take-back", args=[slot]) + _place(at)


def _place(at: str) -> str:
    return f"?{urlencode({'at': at})}" if at and len(at) < _MAX_ANCHOR else ""


@login_required
@require_POST
@takes("at")
def take_back(request: PageRequest, slot: str) -> HttpResponse:
    """Take back a submission or a skip and open the item again; if it is too late, say why on the same page."""
    claim = load_claim(actor=request.user, slot=slot)
    submitted = claim.state == ClaimState.SUBMITTED
    try:
        taking_back.take_back(actor=request.user, claim=claim)
    except (Conflict, Denied) as error:
        messages.warning(request, error.sentence)
        return redirect(came_from(request) or "home")
    if submitted:
        messages.info(request, _("Your review is taken back. Your changes and answers are as they were."))
    return redirect(reverse("workspace", args=[slot]) + _place(request.GET.get("at", "")))
