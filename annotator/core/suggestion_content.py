"""A suggestion and the document: what is at its place, the edit that accepts it, and edges taken out as suggestions."""

from typing import Any

from annotator.core.comparison.anchors import Document, join, label_key, lookup, split
from annotator.core.comparison.changes import same_value
from annotator.core.comparison.placing import ABSENT
from annotator.core.suggestion_shape import PlaceKind, Suggested

#: The source of the dependencies that an import turns into suggestions.
OF_IMPORT = "import"


def current_value(document: Document, place: str) -> Any:
    """Return what the document has at a suggestion's place: for a dependency its kind. ABSENT if the place is gone."""
    edge = _edge(place)
    if edge is None:
        value = lookup(document, place, ABSENT)
        # An argument that the call does not have yet has a place if its call has, and a label if its part has.
        return None if value is ABSENT and _is_new(document, place) else value
    step, needed = edge
    edges = lookup(document, f"{step}/depends_on", ABSENT)
    if edges is ABSENT or lookup(document, join([*split(step)[:-1], needed]), ABSENT) is ABSENT:
        return ABSENT
    return next((one["kind"] for one in edges or () if one["id"] == needed), None)


def is_taken(document: Document, place: str, value: Any) -> bool:
    """Return whether the document has the suggested value at the place."""
    now = current_value(document, place)
    return now is not ABSENT and same_value(now, value)


def operation_of(place: str, value: Any) -> dict[str, Any]:
    """Return the edit operation that makes the suggested value the document's."""
    edge = _edge(place)
    if edge is None:
        return {"op": "set", "anchor": place, "value": value}
    step, needed = edge
    return {"op": "add_dependency", "anchor": step, "id": needed, "kind": value}


def edge_of(place: str) -> tuple[str, str, str] | None:
    """Return (task id, step id, id of the step it needs) of a dependency's place; None for other places."""
    edge = _edge(place)
    if edge is None:
        return None
    parts = split(edge[0])
    return parts[1], parts[3], edge[1]


def _edge(place: str) -> tuple[str, str] | None:
    parts = split(place)
    if len(parts) == 6 and parts[0] == "tasks" and parts[2] == "steps" and parts[4] == "depends_on":
        return join(parts[:4]), parts[5]
    return None


def _is_new(document: Document, place: str) -> bool:
    parts = split(place)
    if label_key(parts):
        return isinstance(lookup(document, join(parts[:-2]), ABSENT), dict)
    if len(parts) < 6 or parts[4] != "arguments":
        return False
    return isinstance(lookup(document, join(parts[:-1]), ABSENT), dict)


def take_dependencies(document: Document, source: str = OF_IMPORT) -> tuple[Document, list[Suggested]]:
    """Return the document with no dependencies annotated, and those that it had as suggestions.

    Only a dialogue of several tasks has dependencies that people annotate; others are returned unchanged.
    """
    if document["kind"] != "multi_turn":
        return document, []
    found: list[Suggested] = []
    tasks = []
    for task in document["tasks"]:
        steps = []
        for step in task["steps"]:
            place = join(["tasks", task["id"], "steps", step["id"], "depends_on"])
            edges = step["depends_on"]
            if edges is not None:
                found += [_kept(join([*split(place), one["id"]]), one["kind"], source) for one in edges]
                found += [] if edges else [_kept(place, [], source)]
            steps.append({**step, "depends_on": None})
        tasks.append({**task, "steps": steps})
    return {**document, "tasks": tasks}, found


def _kept(place: str, value: Any, source: str) -> Suggested:
    return Suggested(place, value, source, None, PlaceKind.DEPENDENCY)
