"""The tool graph of a task in the workspace, and where the values of its calls come from."""

from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotator.core.comparison.anchors import covers, split
from annotator.core.provenance import TaskTrace, trace
from annotator.errors import DomainError, Gone, Hidden, Invalid
from annotator.presentation.components.sources import ValueRow, marked_sources, value_rows
from annotator.presentation.dialogue import StepView, TaskView
from annotator.presentation.graph import Pair, view_graph
from annotator.views.pages import PageRequest, takes
from reviews.services.submission.workbench import Workbench, open_workbench

SHAPES = [("chain", "Chain the calls"), ("independent", "All independent")]


def graph_context(
    bench: Workbench,
    task: TaskView,
    step: StepView | None,
    *,
    refused: tuple[Pair | None, tuple[str, ...]] = (None, ()),
) -> dict[str, Any]:
    """What the panel of a task's graph is given. ``refused``: an edge that was refused, and its circle."""
    traced = trace_task(bench, task.id)
    graph = view_graph(
        bench.document,
        task.id,
        trace=traced,
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
    """The provenance of one task of the draft."""
    return trace(bench.document, bench.toolset, only_task=task_id).task(task_id)


def rows_of(bench: Workbench, traced: TaskTrace | None, step: StepView | None) -> list[ValueRow]:
    """Where the values of a call come from; empty for other steps."""
    call = next((call for call in traced.calls if step and call.step == step.id), None) if traced else None
    return value_rows(call, bench.document) if call else []


def refused_edge(operation: dict[str, Any], error: DomainError) -> tuple[Pair | None, tuple[str, ...]]:
    """The edge that an operation would have drawn, and the circle it would have closed."""
    circle = tuple(error.details.get("circle", ())) if isinstance(error, Invalid) else ()
    parts = split(operation["anchor"]) if circle else ()
    needs = operation.get("id")
    edge = (parts[3], needs) if len(parts) > 3 and isinstance(needs, str) else None
    return edge, circle


@login_required
@never_cache
@require_safe
@takes("at")
def look(request: PageRequest, slot: str) -> HttpResponse:
    """Parts of the workspace that htmx asks for: what a step holds (``at`` a step), or the texts of the dialogue in
    which the values at ``at``, an argument or a group of them, stand, with these marked. No page of its own: whoever
    opens the address, after signing in say, gets the workspace at that place.
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
        # Of a call that is not stored yet, or of a case's, whose values are traced to no text.
        return render(request, "reviews/workspace/graph/marks.html", {"marked": []})
    raise Hidden("This place is not in the dialogue any more.")


def open_bench(request: PageRequest, slot: str) -> Workbench:
    """The person's work on a slot. To a page that is open, one that was lost is gone for good (410), not a conflict."""
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
