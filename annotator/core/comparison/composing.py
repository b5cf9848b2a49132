"""Build one document from two versions, for merging and adjudication."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from annotator.core.comparison.anchors import ORDER, Document, below, find, from_pointer, lookup
from annotator.core.comparison.changes import one_sided, step_ids
from annotator.core.comparison.placing import ABSENT, copied, put, reorder
from annotator.core.graph import GraphProblemKind, read_graph
from annotator.core.schema import Problem, SchemaProblem, read_document


def compose(
    base: Document,
    mine: Document,
    theirs: Document,
    *,
    take: Iterable[str] = (),
    values: Mapping[str, Any] | None = None,
    decided: frozenset[str] = frozenset(),
    orders: Mapping[str, str] | None = None,
    check: bool = False,
) -> Document:
    """Return ``mine`` with the values of ``theirs`` at the anchors ``take``, and the given ``values`` (ABSENT:
    nothing).

    Lists keep an order that fits both sides, and dependencies follow the steps: an edge to a step that only one version
    has comes from that version, and is removed with the step. No edge is added below the anchors ``decided``.
    ``orders``: {anchor of an order: "mine" | "theirs"} for orders that are decided; elsewhere the side that moved
    something counts. ``check`` the document if ``values`` may be anything: raises SchemaProblem with anchors instead of
    pointers.
    """
    result: Document = copied(mine)
    for anchor in take:
        put(result, anchor, lookup(theirs, anchor, ABSENT))
    for anchor, value in (values or {}).items():
        put(result, anchor, value)
    if check:
        result = checked(result)
    _order(result, base, mine, theirs, orders or {})
    _settle_dependencies(result, base, mine, theirs, decided)
    return result


def moved_differently(base: Sequence[str], mine: Sequence[str], theirs: Sequence[str]) -> bool:
    """Return whether both sides moved the common items, in different ways."""
    common = set(base) & set(mine) & set(theirs)
    old, left, right = ([key for key in ids if key in common] for ids in (base, mine, theirs))
    return left not in (old, right) and right != old


def merged_order(base: Sequence[str], mine: Sequence[str], theirs: Sequence[str], *, side: str | None) -> list[str]:
    """Return the order of all ids of ``mine`` and ``theirs``: as on ``side``, or else as on the side that moved
    something.

    An item that only one side has follows its predecessor there; if both added after the same item, mine comes first.
    """
    if side is None:
        common = set(base) & set(mine) & set(theirs)
        old, left, right = ([key for key in ids if key in common] for ids in (base, mine, theirs))
        order = [key for key in (theirs if left == old != right else mine) if key in mine and key in theirs]
    else:
        order = list(theirs if side == "theirs" else mine)
    for ids in (mine, theirs):
        known = set(order)
        for position, key in enumerate(ids):
            if key in known:
                continue
            spot = next((order.index(other) + 1 for other in reversed(ids[:position]) if other in order), 0)
            if key in base:
                # An item that this side lacks comes first if it was first in the base, unless this side has moved
                # something since.
                lacking = [other for other in base[: base.index(key)] if other not in ids and other in order]
                behind = next((order.index(other) for other in ids[position + 1 :] if other in order), len(order))
                spot = max([spot, *(order.index(o) + 1 for o in lacking if order.index(o) < behind)])
            # Step over what the other side added at the same position.
            while spot < len(order) and order[spot] not in base and order[spot] not in ids:
                spot += 1
            order.insert(spot, key)
    return order


def checked(document: Document) -> Document:
    """Return the document as its schema reads it. Raises SchemaProblem with anchors instead of pointers."""
    try:
        return read_document(document)
    except SchemaProblem as problem:
        raise SchemaProblem([Problem(from_pointer(document, p.pointer), p.message) for p in problem.problems]) from None


def new_circles(document: Document, *sides: Document) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield cycles of dependencies, as the task's anchor and the ids of the steps; no two of them share a step.

    Cycles that one of the ``sides`` already has are left out: the checks report those.
    """
    by_id = [_tasks(side) for side in sides]
    for task in document.get("tasks", ()):
        steps = task["steps"]
        if not _circle(steps):
            continue
        own = {edge for side in by_id if task["id"] in side for edge in _circling(steps, side[task["id"]]["steps"])}
        steps = [
            {**step, "depends_on": [d for d in step["depends_on"] or () if (step["id"], d["id"]) not in own]}
            for step in steps
        ]
        while ids := _circle(steps):
            yield below("/tasks", task["id"]), ids
            steps = [{**step, "depends_on": []} if step["id"] in ids else step for step in steps]


def _circle(steps: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    return next((problem.ids for problem in read_graph(steps).problems if problem.kind is GraphProblemKind.CYCLE), ())


def _circling(steps: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]]) -> set[tuple[str, str]]:
    """Return the dependencies (of a step, on a step) that both sides have and that form cycles without any others."""
    both = set.intersection(
        *({(s["id"], d["id"]) for s in side for d in s["depends_on"] or ()} for side in (steps, others))
    )
    bit = {step["id"]: 1 << position for position, step in enumerate(steps)}
    reached = dict.fromkeys(bit, 0)
    for step, needed in both:
        reached[step] |= bit.get(needed, 0)
    for middle, mask in bit.items():
        for step, found in reached.items():
            if found & mask:
                reached[step] = found | reached[middle]
    return {(step, needed) for step, needed in both if reached.get(needed, 0) & bit[step]}


def _order(result: Document, base: Document, mine: Document, theirs: Document, orders: Mapping[str, str]) -> None:
    _order_parts(result, (base, mine, theirs), orders)
    sides = [_tasks(document) for document in (base, mine, theirs)]
    _sort(result.get("tasks", []), [list(side) for side in sides], orders.get("/tasks" + ORDER))
    for task in result.get("tasks", ()):
        for name in ("steps", "candidate_messages"):
            lists = [side[task["id"]][name] if task["id"] in side else [] for side in sides]
            if _sort(task[name], [_ids(items) for items in lists], orders.get(f"/tasks/{task['id']}/{name}{ORDER}")):
                _answer_last(task[name], *lists[1:])


def _order_parts(result: Document, sides: Sequence[Document], orders: Mapping[str, str]) -> None:
    """Sort the lists of a constrained case or a toolset, if it has any."""
    for name in ("constraints", "reference_trajectory", "tools"):
        if result.get(name):
            _sort(result[name], [_ids(side.get(name) or []) for side in sides], orders.get(f"/{name}{ORDER}"))
    for round_ in result.get("reference_trajectory") or ():
        anchor = f"{below('/reference_trajectory', round_['id'])}/calls"
        calls = [lookup(side, anchor) or [] for side in sides]
        _sort(round_["calls"], [_ids(items) for items in calls], orders.get(anchor + ORDER))


def _sort(items: list[Any], ids: list[list[str]], side: str | None) -> bool:
    """Put ``items`` in the order merged from three versions; return whether anything had to be merged."""
    if ids[0] == ids[1] == ids[2]:
        return False
    reorder(items, merged_order(*ids, side=side))
    return True


def _answer_last(items: list[Any], *sides: list[Any]) -> None:
    """Keep a single answer at the end if every side that has it had it there."""
    answers = [step for step in items if step.get("type") == "answer"]
    if len(answers) == 1 and all(find(side, answers[0]["id"]) in (-1, len(side) - 1) for side in sides):
        items.remove(answers[0])
        items.append(answers[0])


def _settle_dependencies(
    result: Document, base: Document, mine: Document, theirs: Document, decided: frozenset[str]
) -> None:
    lacking = one_sided(mine, theirs, base)
    present, sides = step_ids(result), [_tasks(document) for document in (mine, theirs)]
    # A step that both have is removed only if neither was taken.
    others = step_ids(theirs)
    both = {task: ids & others.get(task, frozenset()) for task, ids in step_ids(mine).items()}
    for task in result.get("tasks", ()):
        known = lacking.get(task["id"], frozenset())
        gone = (known | both.get(task["id"], frozenset())) - present[task["id"]]
        kept = known & present[task["id"]]
        for step in task["steps"] if gone or kept else ():
            if step["depends_on"] is None:
                continue
            step["depends_on"] = [d for d in step["depends_on"] if d["id"] not in gone]
            anchor = f"/tasks/{task['id']}/steps/{step['id']}"
            if decided & {anchor, f"{anchor}/depends_on"}:
                continue
            for side in sides:
                steps = {item["id"]: item for item in side[task["id"]]["steps"]}
                for dependency in steps.get(step["id"], {}).get("depends_on") or ():
                    there = {d["id"] for d in step["depends_on"]}
                    if dependency["id"] in (kept & steps.keys()) - there:
                        step["depends_on"].append(dict(dependency))


def _tasks(document: Document) -> dict[str, Any]:
    return {task["id"]: task for task in document.get("tasks", ())}


def _ids(items: Iterable[Any]) -> list[str]:
    return [item["id"] for item in items]
