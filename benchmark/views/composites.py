"""The page of composites: how often single tasks are used, and the form that draws new composites."""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotator.errors import DomainError
from annotator.services.access.permissions import require_administrator
from annotator.views.pages import PageRequest, project_page, takes
from benchmark.core.composing.drawing import Coverage, Kind, Single
from benchmark.services.composing import Request, count_composites, preview, read_coverage, start_composing
from benchmark.views.forms import ComposeForm

#: Rows of the lists of a page.
LISTED = 100
#: Shades of the heat map.
SHADES = 5


@project_page
@require_http_methods(["GET", "POST"])
@takes()
def composite_list(request: PageRequest) -> HttpResponse:
    """Show the coverage of the project's composites; draw new ones, or show what a draw would make."""
    project = request.project
    require_administrator(actor=request.user, project=project)
    form = ComposeForm(request.POST or None)
    draw = None
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        asked = Request(Kind(data["kind"]), data["size"], data["per_stratum"], data["seed"])
        try:
            if "draw" in request.POST:
                batch, _draw = start_composing(actor=request.user, project=project, request=asked)
                return redirect("import-detail", slug=project.slug, public_id=batch.public_id)
            draw = preview(actor=request.user, project=project, request=asked)
        except DomainError as refusal:
            form.add_error(None, refusal.sentence)
    singles, shown = (draw.singles, draw.coverage) if draw else read_coverage(project)
    context = {
        "project": project,
        "form": form,
        "draw": draw,
        "composites": count_composites(project),
        "singles": len(singles),
        "unused": sum(not count for count in shown.singles.values()),
        "categories": list(shown.categories),
        "heat": _heat_map(shown),
        "rare": _uses(singles, shown),
        "listed": LISTED,
        "strata": draw.strata[:LISTED] if draw else [],
        "trail": [(project.name, f"/p/{project.slug}/"), (_("Composites"), "")],
    }
    return render(request, "benchmark/composite_list.html", context, status=422 if form.errors else 200)


def _heat_map(used: Coverage) -> list[tuple[str, int, list[tuple[int, int]]]]:
    """Return a row for each category: its uses, and its pairs with every category up to it, as count and shade."""
    most = max(used.pairs.values(), default=0)
    names = list(used.categories)
    rows = []
    for index, one in enumerate(names):
        cells = []
        for other in names[: index + 1]:
            count = used.pairs[other, one]
            cells.append((count, -(-count * SHADES // most) if most else 0))
        rows.append((one, used.categories[one], cells))
    return rows


def _uses(singles: list[Single], used: Coverage) -> list[tuple[str, str, int]]:
    """Return the single tasks that are used most rarely: id, category and count."""
    rows = [(single.id, single.category, used.singles[single.id]) for single in singles]
    return sorted(rows, key=lambda row: (row[2], row[0]))[:LISTED]
