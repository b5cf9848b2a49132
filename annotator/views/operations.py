"""The page of operators about the installation's health."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotator.errors import Conflict
from annotator.services.jobs.retrying import retry_job
from annotator.services.operations.overview import load_failure, overview
from annotator.views.pages import PageRequest
from annotator.views.site import missing_parts


@login_required
@require_safe
def operations(request: PageRequest) -> HttpResponse:
    """Show queues, workers, failures, growth and versions. It reloads its content every 15 seconds."""
    context = {"now": overview(actor=request.user), "missing": missing_parts()}
    part = "#operations" if request.htmx else ""
    return render(request, f"annotator/operations.html{part}", context)


@login_required
@require_POST
def retry(request: PageRequest, public_id: str) -> HttpResponse:
    """Start a failed job again."""
    job = load_failure(actor=request.user, public_id=public_id)
    try:
        retry_job(actor=request.user, job=job)
    except Conflict as refusal:
        messages.warning(request, refusal.sentence)
    else:
        messages.success(request, _("The job waits for a worker."))
    return redirect("operator-operations")
