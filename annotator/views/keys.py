"""The search of all pages, and a person's own keys."""

from itertools import groupby

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotator.core.keys import ACTIONS, effective
from annotator.core.schema.exact_json import dumps, loads
from annotator.errors import Conflict, Invalid
from annotator.presentation.components.jinja import translated
from annotator.services.access.permissions import load_membership
from annotator.services.accounts.key_settings import change_keys
from annotator.services.dialogues.listing import searched
from annotator.services.palette import search_all
from annotator.views.pages import PageRequest, takes


@login_required
@require_safe
@takes("q", "project")
def palette(request: PageRequest) -> HttpResponse:
    """Return what the search finds, as JSON; in a project, or without one in the person's first projects."""
    slug = request.GET.get("project", "")
    project, roles = load_membership(actor=request.user, slug=slug) if slug else (None, frozenset())
    groups = search_all(actor=request.user, text=searched(request.GET), project=project, roles=roles)
    return JsonResponse({"groups": groups})


@login_required
@require_http_methods(["GET", "POST"])
def key_settings(request: PageRequest) -> HttpResponse:
    """Choose keys, switch some of them off, or go back to those of the table."""
    own, seen = request.user.own_keys, request.user.own_keys
    problem: tuple[str, str] = ("", "")
    status = 200
    if request.method == "POST":
        typed = {name: request.POST[name].strip() for name in ACTIONS if name in request.POST}
        try:
            shown = loads(request.POST.get("seen", "{}"))
            change_keys(actor=request.user, keys={} if "reset" in request.POST else typed, seen=shown)
        except Invalid as error:
            problem, status = (str(error.details["field"]), error.sentence), error.status
        except Conflict as error:
            problem, status = ("", error.sentence), error.status
        except ValueError:
            problem, status = ("", _("The form is incomplete. Load the page again.")), 422
        else:
            messages.success(request, _("Saved. Pages that are open use the new keys after they are loaded again."))
            return redirect("key-settings")
        own = {**own, **typed}
    keys = effective(own)
    rows = [
        {
            "name": one.name,
            "group": translated(one.group),
            "label": translated(one.label),
            "key": keys[one.name],
            "usual": one.key,
            "error": problem[1] if problem[0] == one.name else "",
        }
        for one in ACTIONS.values()
        if not one.fixed
    ]
    context = {
        "groups": [(title, list(of)) for title, of in groupby(rows, key=lambda row: row["group"])],
        "sentence": problem[1],
        "failed": problem[0],
        "seen": dumps(seen).decode(),
        "changed": bool(seen),
    }
    return render(request, "annotator/key_settings.html", context, status=status)
