"""The difference of two releases: page, JSON and HTML."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotator.errors import Conflict
from annotator.models import Dialogue
from annotator.services.database.filters import one_of
from annotator.views.pages import PageRequest, project_page, takes
from benchmark.core.archives.change_categories import Category
from benchmark.core.archives.dialogue_changes import DialogueChange, Limits
from benchmark.core.archives.difference import write_json
from benchmark.core.archives.readable_difference import write_html
from benchmark.models import Release, ReleaseItem
from benchmark.services.releases import differences
from benchmark.services.releases.requests import load_release
from benchmark.views.paging import Page, page_of

PAGE = 20
#: How much of each dialogue's changes a page shows.
_LIMITS = Limits(changes=50, characters=2_000)
_TYPES = {"json": "application/json", "html": "text/html; charset=utf-8"}


@project_page
@require_safe
@takes("to", "show", "category", "before", "after")
def release_diff(request: PageRequest, public_id: str) -> HttpResponse:
    """Show what changed from one release to another: counts, the suggested version, and the dialogues."""
    project = request.project
    release = load_release(actor=request.user, project=project, public_id=public_id)
    others, after = _to(request, release)
    shown = one_of(request.GET, "show", differences.SHOWN, otherwise=differences.CHANGED)
    category = one_of(request.GET, "category", list(Category))
    shown = differences.CHANGED if category else shown
    pair = differences.compare(release, after) if after else None
    if pair and not category and "show" not in request.GET and not pair.counts.changed and pair.counts.added:
        shown = differences.ADDED
    page = page_of(differences.list_items(pair, shown=shown, category=category), request, size=PAGE, newest_first=False)
    context = {
        "project": project,
        "release": release,
        "pair": pair,
        "others": [(one.public_id, one.version) for one in others],
        "trail": [
            (project.name, f"/p/{project.slug}/"),
            (_("Releases"), reverse("release-list", args=[project.slug])),
            (release.version, reverse("release-detail", args=[project.slug, public_id])),
            (_("Changes"), ""),
        ],
    }
    if pair:
        context |= _links(pair, page, shown, category) | {"rows": _rows(pair, page.rows, shown)}
    return render(request, "benchmark/release_diff.html", context)


@project_page
@require_safe
@takes("to")
def release_diff_file(request: PageRequest, public_id: str, form: str) -> StreamingHttpResponse:
    """Download the difference as JSON or as a page to read."""
    release = load_release(actor=request.user, project=request.project, public_id=public_id)
    _others, after = _to(request, release)
    if after is None:
        raise Conflict(_("The project has no other frozen release. Freeze the next one first."))
    difference = differences.difference_of(differences.compare(release, after))
    content: Iterable[Any] = write_json(difference) if form == "json" else write_html(difference)
    response = StreamingHttpResponse(content, content_type=_TYPES[form])
    name = f"{request.project.slug}-{release.version}-to-{after.version}.{form}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _to(request: PageRequest, release: Release) -> tuple[list[Release], Release | None]:
    """Return the releases to compare with, and the chosen one: by default the next, else the newest, None if none."""
    others = [
        one
        for one in differences.list_frozen(actor=request.user, project=request.project)
        if one.pk != release.pk
    ]  # fmt: skip
    later = [one for one in others if release.frozen_at and one.frozen_at and one.frozen_at > release.frozen_at]
    otherwise = later[-1] if later else others[0] if others else None
    chosen = one_of(request.GET, "to", [one.public_id for one in others])
    return others, next((one for one in others if one.public_id == chosen), otherwise)


def _rows(pair: differences.Pair, items: list[ReleaseItem], shown: str) -> list[tuple[Dialogue, DialogueChange | None]]:
    """Return the dialogues with their changes; None for added and removed ones."""
    if shown != differences.CHANGED:
        return [(item.dialogue, None) for item in items]
    changes = differences.read_changes(pair, items, _LIMITS)
    return [(item.dialogue, found) for item, found in zip(items, changes, strict=True)]


def _links(pair: differences.Pair, page: Page[ReleaseItem], shown: str, category: str) -> dict[str, Any]:
    """Return the tabs, downloads and other pages, each with what is chosen in its query string."""
    to = {"to": pair.after.public_id}
    kept = urlencode(to | ({"category": category} if category else {"show": shown}))
    labels = {
        differences.CHANGED: (_("Changed"), pair.counts.changed),
        differences.ADDED: (_("Added"), pair.counts.added),
        differences.REMOVED: (_("Removed"), pair.counts.removed),
    }
    return {
        "tabs": [
            (label, count, f"?{urlencode(to | {'show': name})}", name == shown and not category)
            for name, (label, count) in labels.items()
        ],
        "categories": [
            (str(name), count, f"?{urlencode(to | {'category': name})}", name == category)
            for name, count in pair.categories.items()
        ],
        "downloads": [
            (name, f"{reverse(f'release-diff-{name}', args=[pair.before.project.slug, pair.before.public_id])}"
             f"?{urlencode(to)}")
            for name in _TYPES
        ],
        "previous": f"{page.previous}&{kept}" if page.previous else "",
        "following": f"{page.following}&{kept}" if page.following else "",
    }  # fmt: skip
