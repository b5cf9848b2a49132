"""Where a person goes whose claim was refused: to what they have to do first, or else to My work."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect

from annotator.errors import Conflict
from annotator.models import Project
from annotator.views.pages import PageRequest
from reviews.services.queue.training_claims import NotReady


def redirect_refused(
    request: PageRequest, project: Project, error: Conflict, *, before: str = "", undo: str = ""
) -> HttpResponse:
    """Show the reason, after the sentence ``before``, on the page where the person can go on. ``undo``: the URL that
    undoes what they have just done.
    """
    sentence = f"{before} {error.sentence}".strip()
    if isinstance(error, NotReady):
        messages.info(request, sentence, extra_tags=undo)
        return redirect(error.page, slug=project.slug)
    # Work is paused, or the person has reached the limit of claimed items.
    messages.warning(request, sentence, extra_tags=undo)
    return redirect("home")
