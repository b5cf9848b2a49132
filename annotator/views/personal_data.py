"""What is stored about a person, as a file for themselves."""

from allauth.account.decorators import reauthentication_required
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotator.models import User
from annotator.services.accounts.people import load_account
from annotator.services.accounts.personal_data import export_person
from annotator.views.pages import PageRequest


@login_required
@require_safe
def account_data(request: PageRequest) -> HttpResponse:
    """Say what the file has."""
    return render(request, "annotator/account_data.html")


@login_required
@require_safe
def account_data_file(request: PageRequest) -> HttpResponseBase:
    """Stream the file of one's own account."""
    return _file(request, request.user)


@login_required
@require_safe
def person_data_file(request: PageRequest, public_id: str) -> HttpResponseBase:
    """Stream that of another account, for operators."""
    return _file(request, load_account(actor=request.user, public_id=public_id))


@reauthentication_required
def _file(request: PageRequest, person: User) -> HttpResponseBase:
    """Return the file. A person who has not confirmed the sign-in for a few minutes confirms it first."""
    lines = export_person(actor=request.user, person=person, request=request)
    response = StreamingHttpResponse(lines, content_type="application/jsonl")
    response["Content-Disposition"] = f'attachment; filename="assay-data-{person.public_id}.jsonl"'
    return response
