"""A person's own pages: API tokens, and the demo's sign-in."""

from datetime import UTC, datetime, time

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotator.errors import Invalid
from annotator.presentation.components.labels import words_of
from annotator.services.access.permissions import member_state
from annotator.services.accounts import factors, tokens
from annotator.services.accounts.accounts import demo_people
from annotator.views.forms import TokenForm
from annotator.views.pages import PageRequest, posted


@never_cache  # going back in the browser does not show the secret again
@login_required
@require_http_methods(["GET", "POST"])
def token_list(request: PageRequest) -> HttpResponse:
    """Show your API tokens. The secret of a new one is shown once."""
    projects = member_state(request.user).projects
    form, secret = TokenForm(posted(request), projects=projects), ""
    if form.is_valid():
        day = form.cleaned_data["expires"]
        try:
            __, secret = tokens.create_token(
                actor=request.user,
                name=form.cleaned_data["name"],
                expires_at=datetime.combine(day, time(23, 59, 59), UTC) if day else None,
                scopes=form.cleaned_data["scopes"],
                projects=form.cleaned_data["projects"] or None,
            )
            form = TokenForm(projects=projects)
        except Invalid as error:
            form.add_error(None, error.sentence)
    now = timezone.now()
    rows = [
        (token, token.state(now), [words_of("scope", scope) for scope in token.scopes.split()])
        for token in tokens.list_tokens(request.user)
    ]
    return render(
        request,
        "annotator/token_list.html",
        {"form": form, "tokens": rows, "secret": secret},
        status=422 if form.is_bound and form.errors else 200,
    )


@login_required
@require_POST
def token_revoke(request: PageRequest, public_id: str) -> HttpResponse:
    """Revoke one of your tokens."""
    token = tokens.revoke_token(actor=request.user, public_id=public_id)
    messages.success(request, _("The token “%(name)s” is revoked.") % {"name": token.name})
    return redirect("token-list")


@never_cache
@login_required
@require_safe
def app_code(request: PageRequest) -> HttpResponse:
    """Return the code that an authenticator app scans, while the person sets one up."""
    return HttpResponse(factors.app_code(request), content_type="image/svg+xml")


@require_POST
def demo_sign_in(request: PageRequest) -> HttpResponse:
    """Sign in as one of the demo's people without a password. Outside the demo, this page does not exist."""
    wanted = request.POST.get("person", "")
    person = next((user for user in demo_people() if user.public_id == wanted), None)
    if person is None:
        raise Http404
    login(request, person)
    wanted_page = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(wanted_page, allowed_hosts={request.get_host()}):
        wanted_page = reverse(settings.LOGIN_REDIRECT_URL)
    return HttpResponseRedirect(wanted_page)
