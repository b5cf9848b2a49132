"""The page of a project's coverage: gaps, the pyramid of sequences, spread, switches, other dimensions, targets."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from annotator.core.coverage import CELLS, LEVELS, SIGN, Gap, every_sequence, level_of, spreads_of
from annotator.errors import Invalid
from annotator.models import Project, Role
from annotator.services.access.permissions import require_administrator
from annotator.services.database.filters import one_of
from annotator.views.pages import PageRequest, posted, project_page, takes
from benchmark.services.coverage.counting import Coverage, read_coverage, switches_in
from benchmark.services.coverage.coverage_first import raised_in, set_coverage_first
from benchmark.services.coverage.handing_out import plan_needed_first
from benchmark.services.coverage.targets import change_target, read_targets, values_of
from benchmark.views.coverage_form import TargetForm
from benchmark.views.pyramid import HEIGHT, Block, draw, names, shade, words
from reviews.views.assignment_plans import to_plan

#: What the pyramid and the table of levels count.
SHOWN = {
    "reached": gettext_lazy("Verified or released"),
    "all": gettext_lazy("All"),
    "candidate": gettext_lazy("Candidates"),
    "in_review": gettext_lazy("In review"),
    "verified": gettext_lazy("Verified"),
    "released": gettext_lazy("Released"),
}
#: Places in the order of a table’s columns.
PLACES = ("candidate", "in_review", "verified", "released", "rejected")
#: The dimensions of the table below, with what they count.
BY = {
    "information": (gettext_lazy("Information"), gettext_lazy("Tasks by how they hide what they need.")),
    "topology": (gettext_lazy("Topology"), gettext_lazy("Tasks with calls, by how these depend on one another.")),
    "calls": (gettext_lazy("Calls"), gettext_lazy("Dialogues by the number of their calls.")),
    "tasks": (gettext_lazy("Tasks"), gettext_lazy("Dialogues by the number of their tasks.")),
    "language": (gettext_lazy("Language"), gettext_lazy("Dialogues by their language.")),
    "category": (gettext_lazy("Category of the toolset"), gettext_lazy("Dialogues by the category of their tools.")),
    "difficulty": (
        gettext_lazy("Difficulty"),
        gettext_lazy("Tasks or dialogues by their answer to the custom field with the key “difficulty”."),
    ),
}
#: What switches the standing order on and off, and what the page says then.
ORDERS = {
    "first_on": gettext_lazy("What is needed first is now handed out first."),
    "first_off": gettext_lazy("Dialogues are handed out in the order of import again."),
}
#: Rows of the table of gaps, unless all are asked for.
MOST_GAPS = 20


@dataclass(frozen=True)
class Row:
    """A value with its counts by ``PLACES``. ``url``: the dialogues that have it; ``wanted``: 0 without a target."""

    words: str
    url: str
    counts: list[int]
    wanted: int
    missing: int


@project_page
@require_http_methods(["GET", "POST"])
@takes("show", "by", "gaps")
def coverage(request: PageRequest) -> HttpResponse:
    """Show what the project covers and what is missing; set a target, or hand out first what fills gaps."""
    project = request.project
    show = one_of(request.GET, "show", SHOWN, "reached")
    dimensions = _dimensions(project)
    by = one_of(request.GET, "by", dimensions, "information")
    every_gap = one_of(request.GET, "gaps", ["all"]) == "all"
    form, status, refused = TargetForm(project), 200, ""
    if request.method == "POST":
        require_administrator(actor=request.user, project=project)
    if request.POST.get("do") == "hand_out":
        try:
            return to_plan(plan_needed_first(actor=request.user, project=project), back="")
        except Invalid as refusal:
            refused, status = refusal.sentence, 422
    elif request.POST.get("do") in ORDERS:
        on = request.POST["do"] == "first_on"
        set_coverage_first(actor=request.user, project=project, on=on)
        messages.success(request, ORDERS[request.POST["do"]])
        return redirect("coverage", slug=project.slug)
    elif request.method == "POST":
        form = TargetForm(project, posted(request))
        if _save(request, form):
            return redirect("coverage", slug=project.slug)
        status = 422
    cells = read_coverage(project=project, actor=request.user)
    gaps = cells.gaps
    context = {
        "project": project,
        "may_change": Role.ADMINISTRATOR in request.roles and project.archived_at is None,
        "form": form,
        "refused": refused,
        "raised": raised_in(project),
        "gaps": [_gap_row(project, cells, gap) for gap in gaps[: None if every_gap else MOST_GAPS]],
        "gap_count": len(gaps),
        "targets": bool(cells.wanted),
        "missing": sum(gap.missing for gap in gaps),
        "version": cells.version,
        "uncounted": cells.uncounted,
        "shown": SHOWN[show],
        "choices": _choices(request, "show", {key: str(text) for key, text in SHOWN.items()}, show),
        "blocks": [(block, _link(project, "sequence", SIGN.join(block.name))) for block in _pyramid(cells, show)],
        "height": HEIGHT,
        "order": ", ".join(names(one) for one in every_sequence(1)),
        "spreads": spreads_of(cells.at(show)),
        "cells": _rows(project, cells, _cell_words, "sequence", empty=False),
        "switches": _rows(project, switches_in(cells, read_targets(project)), str),
        "by": by,
        "dimensions": _choices(request, "by", {key: str(title) for key, (title, _said) in dimensions.items()}, by),
        "by_title": BY[by][0],
        "by_said": BY[by][1],
        "dimension": _dimension(request, by),
        "trail": [(project.name, f"/p/{project.slug}/"), (_("Coverage"), "")],
    }
    return render(request, "benchmark/coverage.html", context, status=status)


def _save(request: PageRequest, form: TargetForm) -> bool:
    """Set the target of a form; return False with an error in the form if it is refused."""
    if not form.is_valid():
        return False
    dimension, value = form.cleaned_data["target"]
    try:
        changed = change_target(
            actor=request.user, project=request.project, dimension=dimension, value=value,
            wanted=form.cleaned_data["wanted"],
        )  # fmt: skip
    except Invalid as refusal:
        form.add_error("wanted" if refusal.details.get("field") == "wanted" else "target", refusal.sentence)
        return False
    messages.success(request, _("Target saved.") if changed else _("The target is as it was."))
    return True


def _dimensions(project: Project) -> dict[str, tuple[Any, Any]]:
    """Return the dimensions of the table below; the difficulty only if the project asks for it."""
    return {key: words for key, words in BY.items() if key != "difficulty" or values_of(project, key)}


def _dimension(request: PageRequest, by: str) -> list[Row]:
    found = read_coverage(project=request.project, actor=request.user, dimension=by)
    linked = by if by in ("information", "topology", "language") else ""
    if by == "difficulty":
        rows = _rows(request.project, found, str)
        return [replace(row, url=_link(request.project, "field", f"difficulty={row.words}")) for row in rows]
    return _rows(request.project, found, lambda value: words(by, value) if linked else value, linked)


def _rows(
    project: Project, found: Coverage, words_of: Callable[[str], str], linked: str = "", *, empty: bool = True
) -> list[Row]:
    """Return a row for each value. ``linked``: the filter of the list; ``empty``: also with nothing and no target."""
    rows = []
    for value in found.values:
        counts = [found.counts[place][value] for place in PLACES]
        wanted = found.wanted.get(value, 0)
        if empty or wanted or any(counts):
            missing = max(0, wanted - found.reached[value])
            rows.append(Row(words_of(value), _link(project, linked, value) if linked else "", counts, wanted, missing))
    return rows


def _gap_row(project: Project, cells: Coverage, gap: Gap) -> dict[str, Any]:
    return {
        "words": _cell_words(gap.value),
        "url": _link(project, "sequence", gap.value),
        "gap": gap,
        "candidates": cells.counts["candidate"][gap.value],
        "in_review": cells.counts["in_review"][gap.value],
    }


def _pyramid(cells: Coverage, show: str) -> list[Block]:
    """Return the blocks: the share of the target that is reached or, without one, of the most in the same row."""
    counts = cells.at(show)
    most = {level: max(counts[cell] for cell in CELLS if level_of(cell) == level) for level in LEVELS}

    def block(sequence: tuple[str, ...]) -> tuple[str, str]:
        cell = SIGN.join(sequence)
        count, wanted = counts[cell], cells.wanted.get(cell, 0)
        said = _("%(count)s of %(wanted)s") % {"count": count, "wanted": wanted} if wanted else str(count)
        return f"heat-{shade(count, wanted or most[len(sequence)])}" if count else "absent", said

    return draw(block)


def _cell_words(cell: str) -> str:
    return names(tuple(cell.split(SIGN)))


def _link(project: Project, name: str, value: str) -> str:
    return f"{reverse('dialogue-list', args=[project.slug])}?{urlencode({name: value})}"


def _choices(request: PageRequest, name: str, texts: dict[str, str], chosen: str) -> list[tuple[str, str, bool]]:
    """Return the links of a selector: address, text and whether it is the current one."""
    found = []
    for key, text in texts.items():
        query = request.GET.copy()
        query[name] = key
        found.append((f"?{query.urlencode()}#{name}", text, key == chosen))
    return found
