"""The public side of errata: a page on which everyone who knows the link can report an error in a released item."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotator.services.accounts.accounts import require_attempt
from annotator.services.client_address import client_address
from annotator.views.pages import PageRequest, posted, project_page
from benchmark.services.releases import errata as reports
from benchmark.services.releases.requests import load_release
from benchmark.views.errata import receive
from benchmark.views.errata_forms import ErrorReportForm


class _PublicForm(ErrorReportForm):
    """The form of strangers: from one address, reports have to wait for each other."""

    def __init__(self, *args: Any, attempt: dict[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._attempt = attempt

    def clean(self) -> None:
        require_attempt(what="error report", **self._attempt)


@require_http_methods(["GET", "HEAD", "POST"])
def shared_errata(request: HttpRequest, token: str) -> HttpResponse:
    """Show the form to anyone, and nothing of the release's items; POST stores a report and shows what was received."""
    release = reports.load_linked(token)
    attempt = {"name": release.public_id, "address": client_address(request)}
    form = _PublicForm(posted(request), attempt=attempt)
    received = receive(form, release)
    context = {"release": release, "name": release.project.name, "form": form, "received": received, "public": True}
    status = 422 if form.is_bound and received is None else 200
    response = render(request, "benchmark/error_report.html", context, status=status)
    response["X-Robots-Tag"] = "noindex"
    return response


@project_page
@require_POST
def errata_share(request: PageRequest, public_id: str) -> HttpResponse:
    """Switch the public link on or off."""
    release = load_release(actor=request.user, project=request.project, public_id=public_id)
    if "end" in request.POST:
        reports.close_link(actor=request.user, release=release)
        messages.info(request, _("The public link was switched off."))
    else:
        reports.open_link(actor=request.user, release=release)
        messages.info(request, _("Everyone who knows the link can report errors."))
    return redirect("errata-list", slug=request.project.slug, public_id=public_id)
