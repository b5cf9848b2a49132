"""Pages of near-duplicates: groups of similar dialogues, what differs in a group, and the threshold."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_safe

from annotator.errors import Conflict
from annotator.models import Dialogue, Project, Role, User
from annotator.services.access.permissions import require_administrator
from annotator.views.number_fields import WholeNumberField
from annotator.views.pages import PageRequest, posted, project_page, takes
from benchmark.services.similarity import groups, settings
from benchmark.services.similarity.pairs import LOWEST
from benchmark.views.paging import page_of

PAGE, MEMBERS = 30, 20
#: The largest group first; of two as large, the later one.
_BY_SIZE = ("size", "created_at", "public_id")


class ThresholdForm(forms.Form):
    threshold = WholeNumberField(
        min_value=LOWEST,
        max_value=100,
        label=gettext_lazy("Threshold in percent"),
        help_text=gettext_lazy(
            "From this overlap of the user’s messages on, two dialogues count as near-duplicates. Values such as "
            "names, numbers and dates are left out of the comparison."
        ),
    )
    seen = WholeNumberField(widget=forms.HiddenInput)


@project_page
@require_safe
@takes("before", "after")
def similar_list(request: PageRequest) -> HttpResponse:
    """List the groups of similar dialogues, the largest first; for overseers."""
    project = request.project
    rows = groups.list_groups(actor=request.user, project=project)
    context = {
        "project": project,
        "page": page_of(rows, request, size=PAGE, by=_BY_SIZE),
        "threshold": settings.threshold_of(project),
        "running": settings.running_search(project),
        "is_admin": Role.ADMINISTRATOR in request.roles,
        "trail": [*_trail(project), (_("Similar dialogues"), "")],
    }
    return render(request, "benchmark/similar_list.html", context)


@project_page
@require_safe
@takes("before", "after")
def similar_group(request: PageRequest, public_id: str) -> HttpResponse:
    """Show the dialogues of a group, and what differs from its first one; for overseers."""
    project = request.project
    first, size, rows = groups.load_group(actor=request.user, project=project, public_id=public_id)
    page = page_of(rows.exclude(pk=first.pk), request, size=MEMBERS, newest_first=False)
    shown, *members = groups.compared(first, [first, *page.rows])
    context = {
        "project": project,
        "first": shown,
        "size": size,
        "members": members,
        "page": page,
        "trail": [
            *_trail(project),
            (_("Similar dialogues"), reverse("similar-list", args=[project.slug])),
            (first.external_id, ""),
        ],
    }
    return render(request, "benchmark/similar_group.html", context)


@project_page
@require_http_methods(["GET", "POST"])
def similar_settings(request: PageRequest) -> HttpResponse:
    """Show what thresholds would report, set the threshold, or search again; for administrators."""
    project = request.project
    require_administrator(actor=request.user, project=project)
    now = settings.threshold_of(project)
    form = ThresholdForm(posted(request), initial={"threshold": now, "seen": now})
    status = 422 if form.is_bound else 200
    asked: int | None = None
    if request.POST.get("do") == "search":
        settings.search_again(actor=request.user, project=project)
        messages.success(request, _("The search has started. It compares all dialogues again."))
        return redirect("similar-list", slug=project.slug)
    if form.is_valid():
        asked, status = form.cleaned_data["threshold"], 200
        if request.POST.get("do") != "preview":
            try:
                job = settings.change_threshold(actor=request.user, project=project, **form.cleaned_data)
            except Conflict as refusal:
                # The next save starts from the current threshold.
                form = ThresholdForm({"threshold": asked, "seen": refusal.details.get("threshold", now)})
                form.add_error(None, refusal.sentence)
                status = 409
            else:
                started = _("Saved. The search has started; groups and findings follow when it ends.")
                messages.success(request, started if job else _("The threshold is as it was."))
                return redirect("similar-list", slug=project.slug)
    context: dict[str, Any] = {
        "project": project,
        "form": form,
        "now": settings.threshold_of(project),
        "asked": asked,
        "extents": settings.preview(actor=request.user, project=project, threshold=asked),
        "running": settings.running_search(project),
        "trail": [
            *_trail(project),
            (_("Similar dialogues"), reverse("similar-list", args=[project.slug])),
            (_("Threshold"), ""),
        ],
    }
    return render(request, "benchmark/similar_settings.html", context, status=status)


def _trail(project: Project) -> list[tuple[str, str]]:
    dialogues = reverse("dialogue-list", args=[project.slug])
    return [(project.name, f"/p/{project.slug}/"), (_("Dialogues"), dialogues)]


def links_to_group(actor: User, dialogue: Dialogue) -> list[tuple[str, str]]:
    """Return the link from a dialogue's page to its group, for overseers."""
    size = groups.group_size(actor=actor, dialogue=dialogue)
    if not size:
        return []
    label = ngettext("Group of %(size)d similar dialogue", "Group of %(size)d similar dialogues", size)
    return [(label % {"size": size}, reverse("similar-group", args=[dialogue.project.slug, dialogue.public_id]))]
