"""Accounts and API tokens of the installation, for operators."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from allauth.account.decorators import reauthentication_required
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_POST, require_safe

from annotator.errors import Invalid
from annotator.models import User
from annotator.services.accounts import factors, people, tokens
from annotator.services.accounts.pseudonymising import pseudonymise
from annotator.services.database.filters import one_of
from annotator.services.database.keyset import read_page
from annotator.services.security_log import own_events
from annotator.views.pages import PageRequest, takes

#: Rows on a page.
_SIZE = 50
_STATES = {
    "active": gettext_noop("Active"),
    "deactivated": gettext_noop("Deactivated"),
    "operators": gettext_noop("Operators"),
}
#: Action → what does it, with which options, and the sentence afterwards.
_ACTIONS: dict[str, tuple[Callable[..., User], dict[str, Any], str]] = {
    "deactivate": (people.deactivate_account, {}, gettext_noop("%(person)s’s account is deactivated.")),
    "activate": (people.activate_account, {}, gettext_noop("%(person)s’s account is active again.")),
    "make-operator": (people.set_operator, {"operator": True}, gettext_noop("%(person)s is an operator now.")),
    "end-operator": (people.set_operator, {"operator": False}, gettext_noop("%(person)s is no longer an operator.")),
    "remove-factors": (people.remove_factors, {}, gettext_noop("%(person)s’s second factors are removed.")),
    "pseudonymise": (pseudonymise, {}, gettext_noop("The account is pseudonymised: it is %(person)s now.")),
    "end-sessions": (people.end_sessions_of, {}, gettext_noop("%(person)s is signed out everywhere.")),
}


@login_required
@require_safe
@takes("q", "state", "before", "after")
def person_list(request: PageRequest) -> HttpResponse:
    """Show the accounts, the oldest first."""
    text = request.GET.get("q", "").strip()[:80]
    state = one_of(request.GET, "state", people.STATES)
    page = read_page(
        people.list_people(actor=request.user, text=text, state=state),
        size=_SIZE,
        before=request.GET.get("before"),
        after=request.GET.get("after"),
    )
    query = urlencode({name: value for name, value in (("q", text), ("state", state)) if value})
    context = {
        "people": page.rows,
        "newer": _link(query, "before", page.before),
        "older": _link(query, "after", page.after),
        "text": text,
        "state": state,
        "states": [(key, _(words)) for key, words in _STATES.items()],
    }
    template = "annotator/operator_people.html#results" if request.htmx else "annotator/operator_people.html"
    return render(request, template, context)


@login_required
@require_safe
def person(request: PageRequest, public_id: str) -> HttpResponse:
    """Show an account and what an operator can do with it."""
    found = people.load_account(actor=request.user, public_id=public_id)
    context = {
        "account": found,
        "held": people.projects_of(found),
        "work": people.work_in_progress(found) if found.is_active else [],
        "has_factor": factors.has_second_factor(found),
        "is_self": found.pk == request.user.pk,
        "events": own_events(found),
    }
    return render(request, "annotator/operator_person.html", context)


@login_required
@require_POST
def person_change(request: PageRequest, public_id: str) -> HttpResponse:
    """Change an account: see ``_ACTIONS``."""
    people.load_account(actor=request.user, public_id=public_id)
    action = _ACTIONS.get(request.POST.get("action", ""))
    if action is None:
        raise Invalid(_("Choose what to do with the account."))
    return _act(request, public_id, *action)


@reauthentication_required
def _act(
    request: PageRequest, public_id: str, act: Callable[..., User], options: dict[str, Any], words: str
) -> HttpResponse:
    """Do it. An operator who has not confirmed a sign-in for a few minutes confirms it first, and then goes on."""
    changed = act(actor=request.user, public_id=public_id, **options)
    messages.success(request, _(words) % {"person": changed})
    return redirect("operator-person", public_id=public_id)


@login_required
@require_safe
@takes("before", "after")
def token_list(request: PageRequest) -> HttpResponse:
    """Show all API tokens that work, the oldest first."""
    page = read_page(
        tokens.list_all_tokens(actor=request.user),
        size=_SIZE,
        before=request.GET.get("before"),
        after=request.GET.get("after"),
    )
    context = {
        "tokens": page.rows,
        "newer": _link("", "before", page.before),
        "older": _link("", "after", page.after),
    }
    return render(request, "annotator/operator_tokens.html", context)


@login_required
@require_POST
def token_revoke(request: PageRequest, public_id: str) -> HttpResponse:
    """Revoke anybody's token."""
    token = tokens.revoke_any_token(actor=request.user, public_id=public_id)
    messages.success(request, _("The token “%(name)s” is revoked.") % {"name": token.name})
    return redirect("operator-token-list")


def _link(query: str, name: str, cursor: str | None) -> str | None:
    return None if cursor is None else f"?{query}{'&' if query else ''}{name}={cursor}"
