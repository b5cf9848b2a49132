"""What an edit is about: it keeps its meaning if these places are in the changed document as its editor saw them."""

from collections.abc import Callable, Mapping
from typing import Any

from annotator.core.comparison.anchors import ORDER, AnchorMissing, Document, Parts, below, join, lookup, split
from annotator.core.comparison.changes import same_value
from annotator.core.comparison.placing import ABSENT
from annotator.core.schema.canonical import escape

Op = Mapping[str, Any]
#: Returns the anchors that an operation is about, from the operation, the parts of its anchor and the document as its
#: editor saw it.
About = Callable[[Op, Parts, Document], list[str]]


def is_unchanged(places: About, op: Op, seen: Document, current: Document) -> bool:
    """Return whether everything that the operation is about is in ``current`` as in ``seen``.

    True for an invalid anchor.
    """
    anchor = op.get("anchor", "")
    if not isinstance(anchor, str):
        return True
    try:
        parts = split(anchor)
    except AnchorMissing:
        return True
    return all(
        same_value(lookup(seen, each, ABSENT), lookup(current, each, ABSENT)) for each in places(op, parts, seen)
    )


def about(*templates: str) -> About:
    """Say that an operation is about these anchors.

    They can contain ``{id}`` and ``{name}`` of the operation, and parts of its anchor. If that is
    ``/tasks/t1/steps/s3``, then ``{anchor}`` and ``{step}`` are the same, ``{list}`` is ``/tasks/t1/steps`` and
    ``{item}`` is ``/tasks/t1``. In a case, ``{item}`` is a constraint or round, and ``{step}`` a call.
    """
    return lambda op, parts, seen: _filled(templates, op, parts)


def about_new(listed: str, *templates: str) -> About:
    """Say that an operation adds an item to the list ``listed``, and is about the item before it and these anchors."""

    def places(op: Op, parts: Parts, seen: Document) -> list[str]:
        inside, *anchors = _filled((listed, *templates), op, parts)
        after = op.get("after")
        if isinstance(after, str) and after:
            anchors.append(after if after[0] == "/" else f"{below(inside, after)}/id")
        return anchors

    return places


def _filled(templates: tuple[str, ...], op: Op, parts: Parts) -> list[str]:
    fields = {
        "anchor": join(parts),
        "item": join(parts[:2]),
        "step": join(parts[:4]),
        "list": join(parts[:-1]),
        "id": escape(str(op.get("id"))),
        "name": escape(str(op.get("name"))),
    }
    return [template.format_map(fields) for template in templates]


def about_value(op: Op, parts: Parts, seen: Document) -> list[str]:
    """Return a value, and what it was meant for: in a call its tool, in a constraint's parameters its category."""
    anchors = [join(parts)]
    if parts[:1] == ("constraints",) and parts[2:3] in (("parameters",), ("variants",)):
        anchors.append(join((*parts[:2], "category")))
    elif parts[4:5] in (("arguments",), ("observation",)):
        anchors.append(join((*parts[:4], "name")))
    return anchors


def about_inferable(op: Op, parts: Parts, seen: Document) -> list[str]:
    """Return the reasons of a call, its tool, and the argument or all arguments."""
    argument = "{anchor}" if len(parts) > 5 else "{step}/arguments"
    return _filled(("{step}/inferable", "{step}/name", argument), op, parts)


def about_edges(op: Op, parts: Parts, seen: Document) -> list[str]:
    """Return the dependencies and the steps that they name."""
    value = op.get("value")
    named = [d.get("id") for d in value if isinstance(d, Mapping)] if isinstance(value, list) else [op.get("id")]
    steps = [join((*parts[:3], key, field)) for key in named if isinstance(key, str) for field in ("type", "name")]
    return [join((*parts[:4], "depends_on")), *steps]


def about_accepted(op: Op, parts: Parts, seen: Document) -> list[str]:
    """Return the dependencies of each named step, the step, and the steps that it should wait for."""
    edges = op.get("edges")
    anchors = []
    for item in edges if isinstance(edges, list) else ():
        if isinstance(item, Mapping):
            step = (*parts[:2], "steps", str(item.get("step")))
            anchors += [*about_edges(item, step, seen), join((*step, "name"))]
    return anchors


def about_graphs(op: Op, parts: Parts, seen: Document) -> list[str]:
    """Return the steps and dependencies of the whole task, and of the task that is copied."""
    anchors = []
    for task in (*parts[1:2], op.get("from")):
        if isinstance(task, str):
            steps = join(("tasks", task, "steps"))
            anchors.append(steps + ORDER)
            for step in lookup(seen, steps, []):
                anchors += [f"{below(steps, step['id'])}/{field}" for field in ("type", "depends_on")]
    return anchors
