"""Updates: the maintenance mode and versions for operators, and what has changed for everybody."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotator import VERSION
from annotator.errors import Invalid
from annotator.services.maintenance import (
    MAX_MESSAGE,
    begin_maintenance,
    end_maintenance,
    maintenance,
    works_in_maintenance,
)
from annotator.services.operations.updates import changes, updates
from annotator.views.pages import PageRequest


@login_required
@require_safe
def update_page(request: PageRequest) -> HttpResponse:
    """Show whether there is maintenance, and the versions so far."""
    return _page(request)


@works_in_maintenance
@login_required
@require_POST
def maintenance_change(request: PageRequest) -> HttpResponse:
    """Begin or end maintenance, or change its message."""
    if request.POST.get("action") == "end":
        end_maintenance(actor=request.user, request=request)
        messages.success(request, _("Maintenance has ended."))
        return redirect("operator-updates")
    try:
        begin_maintenance(actor=request.user, message=request.POST.get("message", ""), request=request)
    except Invalid as refusal:
        return _page(request, refused=refusal.sentence)
    return redirect("operator-updates")


@login_required
@require_safe
def change_list(request: PageRequest) -> HttpResponse:
    """Show this version and the changelog."""
    return render(request, "annotator/changes.html", {"version": VERSION, "changes": changes()})


def _page(request: PageRequest, refused: str = "") -> HttpResponse:
    going_on = maintenance()
    context = {
        "now": updates(actor=request.user),
        "going_on": going_on,
        "message": request.POST.get("message", going_on.message if going_on else ""),
        "most": MAX_MESSAGE,
        "refused": refused,
    }
    return render(request, "annotator/operator_updates.html", context, status=422 if refused else 200)
