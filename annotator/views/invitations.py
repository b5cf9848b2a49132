"""Invite many people at once."""

import csv
import io
from typing import Any
from urllib.parse import quote

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotator.errors import Invalid
from annotator.presentation.components.labels import words_of
from annotator.services.access.permissions import require_administrator
from annotator.services.bulk_invitations import Invited
from annotator.services.bulk_invitations import invite_many as create_invitations
from annotator.services.members import INVITATION_DAYS
from annotator.services.notices.addresses import absolute_url
from annotator.views.forms import InvitationsForm
from annotator.views.pages import PageRequest, posted, project_page

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What begins a formula in a spreadsheet."""


@never_cache  # going back in the browser does not show the links again
@project_page
@require_http_methods(["GET", "POST"])
def invite_many(request: PageRequest) -> HttpResponse:
    """Paste names and addresses; each person gets a link, shown once. Lines with problems stay in the form.

    htmx receives the new links, which the page adds to those that it shows, and the form.
    """
    project = request.project
    require_administrator(actor=request.user, project=project)
    form = InvitationsForm(posted(request))
    context: dict[str, Any] = {"project": project, "days": INVITATION_DAYS, "rows": []}
    status = 200
    if form.is_bound:
        status = 422
        if form.is_valid():
            given = form.cleaned_data
            roles, switches = given["roles"], {name: given[name] for name in ("replace", "only_address")}
            try:
                made = create_invitations(
                    actor=request.user, project=project, roles=roles, text=given["people"], **switches
                )
            except Invalid as error:
                form.add_error("people", error.sentence)
            else:
                rows = [_row(one) for one in made.invited]
                status = 200 if rows else 422
                left = "\n".join([made.header] * bool(made.refused) + [one.line.text for one in made.refused]).strip()
                form = InvitationsForm(initial={"people": left, "roles": roles})
                context |= {"rows": rows, "refused": made.refused}
    template = "annotator/invite_many.html#answer" if request.htmx else "annotator/invite_many.html"
    return render(request, template, context | {"form": form, "file": _file(context["rows"])}, status=status)


def _row(made: Invited) -> dict[str, str]:
    row = {
        "name": made.line.name,
        "address": made.line.address,
        "roles": ", ".join(words_of("role", role) for role in made.invitation.roles),
        "link": absolute_url(reverse("invitation", args=[made.secret])),
    }
    # Names are typed by people; a spreadsheet must not calculate them.
    cells = [f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in row.values()]
    return row | {"csv": quote(_csv(cells)), "key": made.line.address.casefold()}


def _file(rows: list[dict[str, str]]) -> str:
    """Return the rows as the address of a CSV file that holds them: the secrets are stored nowhere."""
    head = quote(_csv(["name", "address", "roles", "link"]))
    return f"data:text/csv;charset=utf-8,{head}{''.join(row['csv'] for row in rows)}"


def _csv(cells: list[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(cells)
    return out.getvalue()
