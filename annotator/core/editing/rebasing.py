"""Whether an edit still has its meaning after the document has changed."""

from collections.abc import Callable, Mapping
from typing import Any

from annotator.core.comparison.anchors import ORDER, AnchorMissing, Document, join, lookup, split
from annotator.core.comparison.changes import same_value
from annotator.core.comparison.placing import ABSENT

Op = Mapping[str, Any]


def can_rebase(op: Op, seen: Document, current: Document) -> bool:
    """Return whether everything that the operation is about is in ``current`` as its editor saw it in ``seen``.

    True for an invalid operation, because ``apply`` refuses it with a sentence.
    """
    name = op.get("op")
    about = ABOUT.get(name) if isinstance(name, str) else None
    anchor = op.get("anchor", "")
    if about is None or not isinstance(anchor, str):
        return True
    try:
        parts = split(anchor)
    except AnchorMissing:
        return True
    return all(
        same_value(lookup(seen, each, ABSENT), lookup(current, each, ABSENT)) for each in about(op, anchor, parts)
    ) and all(_graph_of(seen, task) == _graph_of(current, task) for task in _graphs(op, parts))


Parts = tuple[str, ...]
About = Callable[[Op, str, Parts], list[str]]


def _itself(op: Op, anchor: str, parts: Parts) -> list[str]:
    return [anchor]


def _value(op: Op, anchor: str, parts: Parts) -> list[str]:
    """Return a value; inside a call, also its tool, because the value was meant for it."""
    tool = [join((*parts[:4], "name"))] if len(parts) > 4 and parts[4] in ("arguments", "observation") else []
    return [anchor, *tool]


def _case_value(op: Op, anchor: str, parts: Parts) -> list[str]:
    """Return a value of a case; inside a call, also its tool; in a constraint's parameters, also its category."""
    if parts[:1] == ("constraints",) and parts[2:3] in (("parameters",), ("variants",)):
        return [anchor, join((*parts[:2], "category"))]
    if len(parts) > 4 and parts[2] == "calls":
        return [anchor, join((*parts[:4], "name"))]
    return [anchor]


def _observation(op: Op, anchor: str, parts: Parts) -> list[str]:
    """Return the result of a call of a dialogue or of a case, and its tool."""
    return [join((*parts[:4], name)) for name in ("observation", "name")]


def _case_part(op: Op, anchor: str, parts: Parts) -> list[str]:
    """Return, for a new part of a case, its round and its predecessor."""
    listed = {"add_constraint": ("constraints",), "add_round": ("reference_trajectory",)}.get(str(op.get("op")))
    inside = listed or (*parts[:2], "calls")
    after = op.get("after")
    anchors = [] if listed else [join((*parts[:2], "id")), join((*parts[:2], "final"))]
    if isinstance(after, str) and after:
        anchors.append(after if after[0] == "/" else join((*inside, after, "id")))
    return anchors


def _statement(op: Op, anchor: str, parts: Parts) -> list[str]:
    return ["/system_prompt", join((*parts[:2], "text")), join((*parts[:2], "anchor"))]


def _variants(op: Op, anchor: str, parts: Parts) -> list[str]:
    """Return all variants, which have no ids, and their category."""
    return [join((*parts[:2], "variants")), join((*parts[:2], "category"))]


def _call_and_round(op: Op, anchor: str, parts: Parts) -> list[str]:
    """Return the call and its neighbours, since the last one removes the round."""
    return [anchor, join((*parts[:2], "calls")) + ORDER]


def _expected(op: Op, anchor: str, parts: Parts) -> list[str]:
    return [join(("unsolved_set", str(op.get("name"))))]


def _field(*names: str) -> About:
    """Return fields of the step that the anchor names."""

    def about(op: Op, anchor: str, parts: Parts) -> list[str]:
        return [join((*parts[:4], name)) for name in names]

    return about


def _edges(op: Op, anchor: str, parts: Parts) -> list[str]:
    """Return the dependencies and the steps that they name."""
    value = op.get("value")
    named = [d.get("id") for d in value if isinstance(d, Mapping)] if isinstance(value, list) else [op.get("id")]
    steps = [join((*parts[:3], key, field)) for key in named if isinstance(key, str) for field in ("type", "name")]
    return [join((*parts[:4], "depends_on")), *steps]


def _graphs(op: Op, parts: Parts) -> list[str]:
    """Return the ids of the tasks whose whole graphs an operation is about."""
    if op.get("op") not in ("set_shape", "copy_shape"):
        return []
    return [task for task in (*parts[1:2], op.get("from")) if isinstance(task, str)]


def _graph_of(document: Document, task: str) -> list[tuple[Any, ...]]:
    steps = lookup(document, join(("tasks", task, "steps")), [])
    return [(step["id"], step["type"], step["depends_on"]) for step in steps]


def _accepted(op: Op, anchor: str, parts: Parts) -> list[str]:
    """Return the dependencies of each named step, the step, and the steps that it should wait for."""
    edges = op.get("edges")
    anchors = []
    for item in edges if isinstance(edges, list) else ():
        if isinstance(item, Mapping):
            anchors += _edges(item, anchor, (*parts[:2], "steps", str(item.get("step"))))
            anchors.append(join((*parts[:2], "steps", str(item.get("step")), "name")))
    return anchors


def _insertion(op: Op, anchor: str, parts: Parts) -> list[str]:
    """Return, for a new item, its task or list and its predecessor."""
    after = op.get("after")
    anchors = [join((*parts[:2], "id"))] if parts else []
    if isinstance(after, str) and after:
        inside = (*parts[:2], "steps") if parts else ("tasks",)
        anchors.append(after if after[0] == "/" else join((*inside, after, "id")))
    return anchors


def _order(op: Op, anchor: str, parts: Parts) -> list[str]:
    return [join(parts[:-1]) + ORDER, join((*parts, "id"))]


def _candidate(op: Op, anchor: str, parts: Parts) -> list[str]:
    task = join(parts[:2])
    chosen = join((*parts[:2], "candidate_messages", str(op.get("id")), "text"))
    return [f"{task}/user_message", f"{task}/chosen", chosen]


def _inferable(op: Op, anchor: str, parts: Parts) -> list[str]:
    return [
        join((*parts[:4], "inferable")),
        join((*parts[:4], "name")),
        anchor if len(parts) > 5 else join(parts[:4]) + "/arguments",
    ]


def _context(op: Op, anchor: str, parts: Parts) -> list[str]:
    return ["/context"]


def _env_info(op: Op, anchor: str, parts: Parts) -> list[str]:
    return [join((*parts[:2], "env_info"))]


#: What each operation depends on.
ABOUT: dict[str, About] = {
    "set": _value,
    "set_language": lambda op, anchor, parts: ["/language"],
    "set_env_info": _env_info,
    "add_task": _insertion,
    "delete_task": _itself,
    "move_task": _order,
    "choose_candidate": _candidate,
    "add_candidate": lambda op, anchor, parts: [join((*parts[:2], "id"))],
    "add_step": _insertion,
    "delete_step": _itself,
    "move_step": _order,
    "duplicate_step": _itself,
    "set_dependencies": _edges,
    "add_dependency": _edges,
    "remove_dependency": _edges,
    "accept_dependencies": _accepted,
    "set_shape": lambda op, anchor, parts: [],
    "copy_shape": lambda op, anchor, parts: [],
    "set_argument": _value,
    "delete_argument": _value,
    "rename_argument": _value,
    "set_arguments": _field("arguments", "name"),
    "set_observation": _observation,
    "set_inferable": _inferable,
    "add_context": _context,
    "set_context": _itself,
    "set_json": _case_value,
    "set_code": _itself,
    "set_category": _itself,
    "delete_context": _context,
    "add_constraint": _case_part,
    "delete_constraint": _itself,
    "move_constraint": _order,
    "state_constraint": _statement,
    "add_variant": _variants,
    "set_variant": _variants,
    "delete_variant": _variants,
    "add_round": _case_part,
    "delete_round": _itself,
    "move_round": _order,
    "add_call": _case_part,
    "delete_call": _call_and_round,
    "move_call": _order,
    "add_expected": _expected,
    "delete_expected": _itself,
}
