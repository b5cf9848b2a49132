"""Edits of a whole tool graph: many dependencies or a whole shape at once, undone in one step."""

from collections.abc import Collection
from typing import Any

from annotator.core.comparison.anchors import find
from annotator.core.editing.scope import Edit, child, task_anchor
from annotator.core.editing.steps import Step, as_edge, refuse_circle
from annotator.core.graph import MAX_STEPS, Graph, call_graph, read_graph
from annotator.core.graph.dag import find_cycle

SHAPES = ("annotated", "independent", "chain")
#: More dependencies than any task can have.
MAX_EDGES = MAX_STEPS * (MAX_STEPS - 1) // 2

Edges = Collection[tuple[str, str]]


def accept_dependencies(edit: Edit) -> str:
    """Add several edges of one task: all of them, or none if one is invalid."""
    task = edit.task()
    steps: list[Step] = task["steps"]
    edges = edit.op.get("edges")
    if not isinstance(edges, list) or not edges:
        edit.refuse("Choose which dependencies to accept: “edges” must be a list of steps and their dependencies.")
    if len(edges) > MAX_EDGES:
        edit.refuse(f"{len(edges):,} dependencies were sent. The limit of a task is {MAX_EDGES:,}.")
    for item in edges:
        if not isinstance(item, dict) or not isinstance(item.get("step"), str):
            edit.refuse("Each accepted dependency needs a “step” and the “id” of the step that it depends on.")
        index = find(steps, item["step"])
        if index < 0:
            edit.refuse(f"This task has no step {item['step'][:80]}. Reload the page.")
        step = steps[index]
        anchor = f"{child(task, step)}/depends_on"
        edge = as_edge(edit, {key: item[key] for key in ("id", "kind") if key in item}, step, steps, anchor)
        known = step["depends_on"] or []
        if any(one["id"] == edge["id"] for one in known):
            edit.refuse(f"{step['id']} already depends on {edge['id']}.", anchor)
        refuse_circle(edit, steps, step, [*known, edge], anchor)
        step["depends_on"] = _sorted(steps, [*known, edge])
    return task_anchor(task)


def set_shape(edit: Edit) -> str:
    """Set a whole graph.

    “annotated”: steps whose dependencies are not annotated depend on nothing. “independent”: no call depends on
    another. “chain”: each call waits for the one before it. In each, the answer waits for all steps unless annotated
    otherwise, and a clarification is between the steps before and after it. Remaining edges keep their kinds.
    """
    task = edit.task()
    steps: list[Step] = task["steps"]
    shape = edit.op.get("shape")
    calls = [step["id"] for step in steps if step["type"] == "call"]
    if shape not in SHAPES:
        edit.refuse(f"The shape must be one of: {', '.join(SHAPES)}.")
    if not calls:
        edit.refuse("This task has no calls, so its graph has no shape.")
    if shape == "annotated":
        if all(step["depends_on"] is not None for step in steps):
            edit.refuse("All dependencies of this task are already annotated.")
        _mark(steps)
    else:
        edges = list(zip(calls[1:], calls, strict=False)) if shape == "chain" else []
        _draw(edit, steps, edges)
    return task_anchor(task)


def copy_shape(edit: Edit) -> str:
    """Copy the dependencies of another task's calls, named by “from”: the first call from the first."""
    task = edit.task()
    tasks = edit.document["tasks"]
    index = find(tasks, edit.text("from"))
    if index < 0:
        edit.refuse(f"There is no task {edit.text('from')[:80]} to copy from. Reload the page.")
    source: list[Step] = tasks[index]["steps"]
    graph = call_graph(source, read_graph(source))
    if graph is None:
        edit.refuse(f"The dependencies of task {index + 1} are invalid or not annotated, so there is no shape to copy.")
    steps: list[Step] = task["steps"]
    calls = [step["id"] for step in steps if step["type"] == "call"]
    if len(calls) != len(graph.ids):
        edit.refuse(
            f"Task {index + 1} has {len(graph.ids)} calls, but this one has {len(calls)}, so the shape does not fit."
        )
    named = dict(zip(graph.ids, calls, strict=True))
    kinds = {
        (named[step["id"]], named[edge["id"]]): edge["kind"]
        for step in source
        for edge in step["depends_on"] or ()
        if step["id"] in named and edge["id"] in named
    }
    _draw(edit, steps, [(named[node], named[needs]) for node, needs in graph.edges()], kinds)
    return task_anchor(task)


def _draw(edit: Edit, steps: list[Step], edges: Edges, kinds: dict[tuple[str, str], str] | None = None) -> None:
    """Replace the graph with these edges among calls, connected to the clarifications and the answer."""
    kept = {(step["id"], edge["id"]): edge["kind"] for step in steps for edge in step["depends_on"] or ()}
    kinds = kept | (kinds or {})
    position = {step["id"]: i for i, step in enumerate(steps)}
    needs = [0] * len(steps)
    for node, needed in edges:
        needs[position[node]] |= 1 << position[needed]
    barrier = -1
    for i, step in enumerate(steps):
        if step["type"] == "clarification":
            needs[i] = _ends(needs, (1 << i) - 1)
            barrier = i
        elif step["type"] == "call" and barrier >= 0 and not needs[i] >> barrier:
            # All its dependencies come before the question, so it waits for the question itself.
            needs[i] |= 1 << barrier
        elif step["type"] == "answer":
            needs[i] = _ends(needs, ((1 << len(steps)) - 1) & ~(1 << i))
    cycle = find_cycle(needs)
    if cycle:
        ids = [steps[i]["id"] for i in (*cycle, cycle[0])]
        edit.refuse(
            "With the clarifications of this task, the dependencies would form a cycle: "
            f"{' → '.join(ids)}. Add them one by one.",
            circle=ids,
        )
    graph = Graph(tuple(position), tuple(needs))
    for step in steps:
        step["depends_on"] = []
    for node, needed in graph.edges():
        step = steps[position[node]]
        # A shape does not say whether a value flows; the answer reports results.
        usual = "parameter" if step["type"] == "answer" else "logical"
        step["depends_on"].append({"id": needed, "kind": kinds.get((node, needed), usual)})


def _mark(steps: list[Step]) -> None:
    position = {step["id"]: i for i, step in enumerate(steps)}
    for i, step in enumerate(steps):
        if step["depends_on"] is None and step["type"] != "answer":
            before = (1 << i) - 1 if step["type"] == "clarification" else 0
            step["depends_on"] = _edges_of(steps, _ends(_needs(steps, position), before), "logical")
    for i, step in enumerate(steps):
        if step["depends_on"] is None:
            others = ((1 << len(steps)) - 1) & ~(1 << i)
            step["depends_on"] = _edges_of(steps, _ends(_needs(steps, position), others), "parameter")


def _needs(steps: list[Step], position: dict[str, int]) -> list[int]:
    known = [[position[e["id"]] for e in step["depends_on"] or () if e["id"] in position] for step in steps]
    return [sum(1 << j for j in set(ends)) for ends in known]


def _ends(needs: list[int], among: int) -> int:
    """Return those of ``among`` (a bitset of positions) that none of them depends on: what a later step
    must wait for.
    """
    waited = 0
    for i, need in enumerate(needs):
        if among >> i & 1:
            waited |= need
    return among & ~waited


def _edges_of(steps: list[Step], mask: int, kind: str) -> list[dict[str, Any]]:
    return [{"id": step["id"], "kind": kind} for i, step in enumerate(steps) if mask >> i & 1]


def _sorted(steps: list[Step], edges: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(edges, key=lambda edge: find(steps, edge["id"]))
