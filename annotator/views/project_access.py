"""Who else gets into a project: its next administrator, and the API tokens that reach it."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotator.services.accounts.project_tokens import list_project_tokens, revoke_project_token
from annotator.services.database.keyset import read_page
from annotator.services.hand_over import hand_over
from annotator.views.pages import PageRequest, project_page, takes

#: Rows on a page.
_SIZE = 50


@project_page
@require_POST
def member_hand_over(request: PageRequest) -> HttpResponse:
    """Make a member the administrator in one's own place."""
    person = hand_over(actor=request.user, project=request.project, public_id=request.POST.get("person", ""))
    messages.success(request, _("%(person)s is an administrator now, and you no longer are.") % {"person": person})
    # Without another role, the project is closed to them.
    return redirect("project-list")


@project_page
@require_safe
@takes("before", "after")
def token_list(request: PageRequest) -> HttpResponse:
    """Show the tokens of members that reach this project, the oldest first."""
    rows = list_project_tokens(actor=request.user, project=request.project)
    page = read_page(rows, size=_SIZE, before=request.GET.get("before"), after=request.GET.get("after"))
    context = {
        "tokens": page.rows,
        "newer": f"?before={page.before}" if page.before else "",
        "older": f"?after={page.after}" if page.after else "",
    }
    return render(request, "annotator/member_tokens.html", context)


@project_page
@require_POST
def token_revoke(request: PageRequest, public_id: str) -> HttpResponse:
    """Revoke a token that reaches only this project."""
    token = revoke_project_token(actor=request.user, project=request.project, public_id=public_id)
    messages.success(request, _("The token “%(name)s” is revoked.") % {"name": token.name})
    return redirect("member-tokens", slug=request.project.slug)
