"""Saved views of the list of dialogues."""

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotator.errors import Conflict, DomainError, Invalid
from annotator.models import Role
from annotator.models.saved_views import MAX_NAME
from annotator.services import saved_views
from annotator.views.pages import PageRequest, project_page, takes
from reviews.services.protocols.versions import stage_titles


@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes()
def view_list(request: PageRequest) -> HttpResponse:
    """List the views to rename or delete them; a POST saves a new one."""
    if request.method != "POST":
        return _page(request)
    query = saved_views.clean_query(QueryDict(request.POST.get("query", "")), saved_views.SAVED)
    name = request.POST.get("name", "")
    try:
        view = saved_views.save_view(
            actor=request.user, project=request.project, name=name, query=query, shared="shared" in request.POST
        )
    except (Invalid, Conflict) as refusal:
        return _page(request, refusal=refusal, name=name, query=query, shared="shared" in request.POST)
    messages.success(request, _("Saved as “%(name)s”.") % {"name": view.name})
    return redirect("saved-view", slug=request.project.slug, public_id=view.public_id)


@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes()
def view_open(request: PageRequest, public_id: str) -> HttpResponse:
    """Open a view. A POST renames it, or deletes it (``delete``)."""
    project = request.project
    view = saved_views.load_view(actor=request.user, project=project, public_id=public_id)
    if request.method == "POST":
        if "delete" in request.POST:
            saved_views.delete_view(actor=request.user, view=view)
            messages.success(request, _("Deleted “%(name)s”.") % {"name": view.name})
            return redirect("saved-view-list", slug=project.slug)
        try:
            saved_views.rename_view(actor=request.user, view=view, name=request.POST.get("name", ""))
        except (Invalid, Conflict) as refusal:
            return _page(request, refusal=refusal, renamed=view.public_id, name=request.POST.get("name", ""))
        messages.success(request, _("Renamed."))
        return redirect("saved-view-list", slug=project.slug)

    read = saved_views.reader_of(actor=request.user, project=project, stages=lambda: stage_titles(project))
    query, sentences = saved_views.usable_query(view.query, saved_views.SAVED, read)
    for sentence in sentences:
        words = _("A part of the view “%(name)s” no longer exists and is left out. %(sentence)s")
        messages.warning(request, words % {"name": view.name, "sentence": sentence})
    target = reverse("dialogue-list", args=[project.slug])
    return redirect(f"{target}?{query}" if query else target)


def _page(
    request: PageRequest,
    *,
    refusal: DomainError | None = None,
    renamed: str = "",
    name: str = "",
    query: str = "",
    shared: bool = False,
) -> HttpResponse:
    """Render the page. ``refusal``: why a view was not saved, or not ``renamed`` (its public id)."""
    views = saved_views.list_views(actor=request.user, project=request.project)
    is_admin = Role.ADMINISTRATOR in request.roles
    context = {
        "project": request.project,
        "rows": [
            {
                "view": view,
                "may_change": is_admin or not view.shared,
                "name": name if view.public_id == renamed else view.name,
                "error": refusal.sentence if refusal and view.public_id == renamed else "",
            }
            for view in views
        ],
        "new": {"name": name, "query": query, "shared": shared, "error": refusal.sentence}
        if refusal and not renamed
        else None,
        "most": MAX_NAME,
        "is_admin": is_admin,
    }
    return render(request, "reviews/dialogues/views.html", context, status=refusal.status if refusal else 200)
