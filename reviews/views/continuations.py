"""What a dialogue continues, what continues it, and whether it is stale, for its page; taking over changes."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotator.models import Dialogue, Role
from annotator.presentation.changes import ChangeLine, change_lines
from annotator.services.access.permissions import load_dialogue
from annotator.services.custom_fields import fields_of
from annotator.services.dialogues.continuations import Reason, continued_by, reasons_of, visible_continuation
from annotator.views.pages import PageRequest, project_page
from reviews.services.cycles.taking_over import take_over, why_not_taken_over

#: Changes that a page shows; it counts all.
SHOWN = 20


@dataclass(frozen=True)
class StaleReason:
    """Why a dialogue is stale, for its page. ``more``: changes that are not among ``lines``."""

    reason: Reason
    lines: list[ChangeLine]
    more: int


def continuation_context(request: PageRequest, dialogue: Dialogue) -> dict[str, Any]:
    """Return what the page of a dialogue says about earlier and later ones."""
    row = visible_continuation(actor=request.user, dialogue=dialogue)
    reasons = [] if row is None else reasons_of(actor=request.user, row=row)
    may_act = Role.ADMINISTRATOR in request.roles and request.project.archived_at is None and bool(reasons)
    return {
        "continues": row,
        "continued_by": continued_by(actor=request.user, dialogue=dialogue),
        "stale_reasons": [_shown(request, one) for one in reasons],
        "may_take_over": may_act,
        "why_not_taken_over": why_not_taken_over(row) if may_act and row is not None else "",
    }


def _shown(request: PageRequest, reason: Reason) -> StaleReason:
    lines = change_lines(*reason.documents, fields_of(request.project))
    return StaleReason(reason, lines[:SHOWN], len(lines[SHOWN:]))


@project_page
@require_POST
def past_take_over(request: PageRequest, public_id: str) -> HttpResponse:
    """Take over the first tasks as they are verified now; the dialogue is reviewed again."""
    dialogue = load_dialogue(actor=request.user, project=request.project, public_id=public_id)
    take_over(actor=request.user, dialogue=dialogue, seen=request.POST.get("revision", ""))
    messages.success(request, _("The changed tasks were taken over. The dialogue is reviewed again."))
    return redirect("dialogue", slug=request.project.slug, public_id=public_id)
