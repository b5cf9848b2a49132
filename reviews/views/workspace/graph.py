"""The tool graph of a task in the workspace, and the sources of the values of its calls."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotator.core.comparison.anchors import covers, split
from annotator.core.provenance import TaskTrace, trace
from annotator.errors import DomainError, Gone, Hidden, Invalid
from annotator.presentation.components.sources import ValueRow, marked_sources, value_rows
from annotator.presentation.dialogue import StepView, TaskView
from annotator.presentation.graph import Pair, Proposal, view_graph
from annotator.views.pages import PageRequest, takes
from reviews.services.submission.workbench import Workbench, open_workbench

SHAPES = [("chain", gettext_lazy("Chain all calls")), ("independent", gettext_lazy("Make all independent"))]


def graph_context(
    bench: Workbench,
    task: TaskView,
    step: StepView | None,
    *,
    proposals: Sequence[Proposal] = (),
    refused: tuple[Pair | None, tuple[str, ...]] = (None, ()),
) -> dict[str, Any]:
    """Return the context of the graph panel. ``proposals``: dependencies that models and scripts suggest;
    ``refused``: a dependency that was refused, and the cycle it would have closed.
    """
    traced = trace_task(bench, task.id)
    graph = view_graph(
        bench.document,
        task.id,
        trace=traced,
        proposals=proposals,
        selected=step.id if step else "",
        refused=refused[0],
        circle=refused[1],
    )
    return {
        "graph": graph,
        "shapes": SHAPES if graph.calls is None or len(graph.calls.ids) > 1 else [],
        "look": step,
        "value_rows": rows_of(bench, traced, step),
        "graph_findings": [
            finding
            for finding in bench.view.findings
            if finding.anchor.endswith("/depends_on") and covers(task.anchor, finding.anchor)
        ]
        + [finding for finding in task.findings if finding.fix],
        "tree_url": _tree_url(bench, task),
    }


def trace_task(bench: Workbench, task_id: str) -> TaskTrace | None:
    """Return the provenance of one task of the draft."""
    return trace(bench.document, bench.toolset, only_task=task_id).task(task_id)


def rows_of(bench: Workbench, traced: TaskTrace | None, step: StepView | None) -> list[ValueRow]:
    """Return the sources of the values of a call; an empty list for other steps."""
    call = next((call for call in traced.calls if step and call.step == step.id), None) if traced else None
    return value_rows(call, bench.document) if call else []


def refused_edge(operation: dict[str, Any], error: DomainError) -> tuple[Pair | None, tuple[str, ...]]:
    """Return the dependency that an operation would have added, and the cycle it would have closed."""
    circle = tuple(error.details.get("circle", ())) if isinstance(error, Invalid) else ()
    parts = split(operation.get("anchor", "")) if circle else ()
    needs = operation.get("id")
    edge = (parts[3], needs) if len(parts) > 3 and isinstance(needs, str) else None
    return edge, circle


@login_required
@never_cache
@require_safe
@takes("at")
def look(request: PageRequest, slot: str) -> HttpResponse:
    """Return parts of the workspace to htmx: the preview of the step ``at``, or the texts with the sources of the
    argument ``at`` marked. Without htmx (after signing in, for example) redirect to the workspace at that place.
    """
    bench = open_bench(request, slot)
    at = request.GET.get("at", "")
    if not request.htmx:
        return redirect(f"{reverse('workspace', args=[slot])}?{urlencode({'at': at})}")
    for task in bench.view.tasks:
        for step in task.steps:
            if step.anchor == at:
                rows = rows_of(bench, trace_task(bench, task.id), step)
                context = {"look": step, "value_rows": rows, "work_url": reverse("workspace", args=[slot])}
                return render(request, "reviews/workspace/graph/preview.html", context)
            if covers(f"{step.anchor}/arguments", at):
                found = trace(bench.document, bench.toolset, only_task=task.id)
                marked = marked_sources(found, bench.document, at)
                return render(request, "reviews/workspace/graph/marks.html", {"marked": marked})
    if "/arguments/" in at:
        # The call is not stored yet, or belongs to a case, whose values are not traced.
        return render(request, "reviews/workspace/graph/marks.html", {"marked": []})
    raise Hidden(_("This place no longer exists. Reload the page."))


def open_bench(request: PageRequest, slot: str) -> Workbench:
    """Return the person's work on a slot. To htmx, a lost claim is gone (410), not a conflict (409)."""
    try:
        return open_workbench(actor=request.user, slot_id=slot)
    except DomainError as error:
        if request.htmx and error.status == 409:
            raise Gone(error.sentence) from None
        raise


def _tree_url(bench: Workbench, task: TaskView) -> str:
    try:
        return reverse("workspace-decision-tree", args=[bench.work.slot.public_id, task.id])
    except NoReverseMatch:
        return ""
