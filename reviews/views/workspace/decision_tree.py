"""The decision tree of one task: the orders in which its calls may run, and the check of a trajectory."""

from collections.abc import Mapping
from itertools import islice
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotator.core.decision_tree import (
    Blocked,
    TaskGraph,
    TrajectoryProblem,
    TreeView,
    explore,
    look_at_published,
    optimal_list,
    read_path,
    read_task,
    read_trajectory,
    replay,
    write_trajectory,
)
from annotator.core.graph import optimal_paths
from annotator.errors import Hidden
from annotator.presentation.components.anchors import dom_id
from annotator.services.database.filters import one_of
from annotator.views.pages import PageRequest, project_page, takes
from reviews.services.submission.workbench import open_workbench
from reviews.views.workspace.revision_pages import revision_page

#: Longest path parameter that is read, in characters; 64 calls with the longest ids fit.
_MAX_PATH = 6_000
#: Parts of the page that htmx requests by their id, and their templates.
_PARTS = {
    "tree": "components/decision/tree.html",
    "optimal": "components/decision/optimal.html",
    "try": "components/decision/try.html",
    "try-result": "components/decision/try_result.html",
}
#: Query parameters that navigate the tree.
_TREE = ("path", "from", "only", "optimal", "example")
_reading = require_http_methods(["GET", "HEAD", "POST"])


@project_page
@_reading
@takes("revision", *_TREE)
def decision_tree(request: PageRequest, public_id: str, task: str) -> HttpResponse:
    """Show a task of a dialogue's newest revision, or of the one named. Trying a trajectory (POST) changes nothing."""
    revision, context = revision_page(request, public_id, _("Decision tree"))
    context["keep"] = {"revision": request.GET["revision"]} if request.GET.get("revision") else {}
    home = context["home"]
    return _page(request, revision.document(), task, context, lambda anchor: f"{home}#{dom_id(anchor)}")


@login_required
@never_cache
@_reading
@takes(*_TREE)
def workspace_decision_tree(request: PageRequest, slot: str, task: str) -> HttpResponse:
    """Show a task of the draft of a claimed slot."""
    bench = open_workbench(actor=request.user, slot_id=slot)
    request.project = bench.work.slot.project
    home = reverse("workspace", args=[slot])
    context = {
        "title": bench.dialogue.external_id,
        "home": home,
        "fixed": "",
        "newest": "",
        "trail": [(_("My work"), reverse("home")), (bench.dialogue.external_id, home), (_("Decision tree"), "")],
        "keep": {},
    }
    return _page(request, bench.document, task, context, lambda anchor: f"{home}?{urlencode({'at': anchor})}")


def _page(
    request: PageRequest, document: dict[str, Any], task_id: str, context: dict[str, Any], address_of: Any
) -> HttpResponse:
    number, task = next(
        ((n, task) for n, task in enumerate(document.get("tasks", ()), 1) if task["id"] == task_id), (0, None)
    )
    if task is None:
        raise Hidden(_("This dialogue has no such task."))
    graph = read_task(task)
    context |= {
        "number": number,
        "task": task,
        "language": document.get("language") or "",
        "message_url": address_of(f"/tasks/{task_id}"),
        "blocked": None,
    }
    if isinstance(graph, Blocked):
        context["blocked"] = graph
        context["places"] = [(address_of(anchor), words) for anchor, words in graph.places]
        return render(request, "reviews/workspace/decision_tree.html", context)
    part = (request.htmx.target or "").rpartition("#")[2] if request.htmx else ""
    query = request.GET
    view = explore(
        graph,
        read_path(query.get("path", "")[:_MAX_PATH]),
        start=_whole(query.get("from")),
        only_optimal=one_of(query, "only", ["optimal"]) == "optimal",
    )
    keep = context.pop("keep")
    context |= {
        "graph": graph,
        "view": view,
        "base": _base(request, keep),
        "here": _base(request, keep | ({"path": view.path} if view.path else {})),
        "moved": part == "tree",
    }
    if part in ("", "optimal"):
        context["optimal"] = optimal_list(graph, _whole(query.get("optimal")))
    if not part:
        context["published"] = look_at_published(graph)
        context["columns"] = [
            [(card, address_of(card.anchor), _needs(graph, card.id)) for card in column] for column in graph.columns
        ]
    context |= _tried(request, graph, view)
    status = 422 if view.problem or context["problem"] else 200
    return render(request, _PARTS.get(part, "reviews/workspace/decision_tree.html"), context, status=status)


def _tried(request: PageRequest, graph: TaskGraph, view: TreeView) -> dict[str, Any]:
    """Return the text of the trajectory field, and the result of the trial."""
    out: dict[str, Any] = {"calls": "", "problem": "", "outcome": None, "loaded": False}
    if request.method == "POST":
        out["calls"] = request.POST.get("calls", "")
        try:
            out["outcome"] = replay(graph, read_trajectory(out["calls"]))
        except TrajectoryProblem as problem:
            out["problem"] = str(problem)
    elif example := one_of(request.GET, "example", ["optimal", "path"]):
        chosen = [level.chosen.calls for level in view.levels]
        if example == "optimal" or not chosen:
            path = next(islice(optimal_paths(graph.graph), 1))
            chosen = [tuple(graph.cards[call] for call in batch) for batch in path]
        out |= {"calls": write_trajectory(chosen), "loaded": True}
    return out


def _needs(graph: TaskGraph, call: str) -> list[str]:
    """Return the calls that a call waits for directly, with other steps contracted."""
    reduced = graph.graph.reduced
    return [needed for node, needed in reduced.edges() if node == call]


def _base(request: PageRequest, keep: Mapping[str, str]) -> str:
    """Return this page's URL, ready for one more ``key=value``."""
    return f"{request.path}?{urlencode(keep, safe=',;:')}&" if keep else f"{request.path}?"


def _whole(raw: str | None) -> int:
    return int(raw) if raw and raw.isascii() and raw.isdigit() and len(raw) <= 20 else 0
