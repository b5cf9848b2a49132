"""Error types that a reviewer's own edits suggest: a deleted call was unnecessary, a changed argument was wrong.

A suggestion is only a proposal; what the reviewer accepts is their own. Filling in what was not annotated corrects no
error, so it suggests nothing.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from annotator.core.comparison.anchors import join, split
from annotator.core.comparison.changes import Change, ChangeKind, step_ids
from annotator.core.schema.canonical import value_hash

#: More than a person wants to read; a rewritten dialogue has hundreds of changes.
MAX_SUGGESTIONS = 30

#: What was wrong about a step that the reviewer removed, rewrote or added: by its type.
_OF_STEPS = {"answer": "answer_wrong", "clarification": "clarification_wrong"}
#: What was wrong about a task whose field the reviewer changed.
_OF_TASKS = {
    "user_message": "message_unnatural",
    "policy": "wrong_policy_label",
    "information": "wrong_information_label",
}


@dataclass(frozen=True, slots=True)
class SuggestedError:
    """An error type for a task, step or call. ``key`` names the edits: other edits there make another suggestion."""

    key: str
    kind: str
    anchor: str


def suggest_errors(
    changes: Collection[Change], before: Mapping[str, Any], after: Mapping[str, Any], kinds: Collection[str]
) -> list[SuggestedError]:
    """Return what the changes from ``before`` to ``after`` suggest, in their order and at most ``MAX_SUGGESTIONS``.

    ``kinds``: the keys of the error types that reviewers can choose; others are not suggested.
    """
    types = _step_types(before) | _step_types(after)
    lasting = _lasting_steps(before, after)
    renamed = {change.anchor.rpartition("/")[0] for change in changes if _is_rename(change)}
    grounds: dict[tuple[str, str], list[Change]] = defaultdict(list)
    for change in changes:
        for kind, anchor in _suggested_by(change, types, lasting, renamed):
            if kind in kinds:
                grounds[kind, anchor].append(change)
    return [
        SuggestedError(value_hash([kind, anchor, [_plain(change) for change in made]]), kind, anchor)
        for (kind, anchor), made in list(grounds.items())[:MAX_SUGGESTIONS]
    ]


def _plain(change: Change) -> list[Any]:
    return [change.anchor, change.kind.value, change.before, change.after]


def _suggested_by(
    change: Change, types: Mapping[str, str], lasting: Mapping[str, frozenset[str]], renamed: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield (kind, anchor) of the errors that one change suggests."""
    parts = split(change.anchor.partition("#")[0])
    holder = parts[2] if len(parts) > 2 else ""
    if change.kind is ChangeKind.MOVED:
        return
    if parts[:1] == ("tasks",) and len(parts) == 3 and change.before is not None and parts[2] in _OF_TASKS:
        yield _OF_TASKS[parts[2]], join(parts[:2])
    elif (parts[:1], holder) in ((("tasks",), "steps"), (("reference_trajectory",), "calls")) and len(parts) >= 4:
        step = join(parts[:4])
        if len(parts) == 4:
            yield from _of_whole_step(change, step)
        else:
            yield from _of_step_field(change, step, parts, types, lasting, step in renamed)


def _of_whole_step(change: Change, step: str) -> Iterator[tuple[str, str]]:
    """Yield the errors of a step that was added, removed, or replaced by one of another type."""
    old, new = (_type(value) for value in (change.before, change.after))
    if old == "call":
        yield "superfluous_call", step
    if new == "call":
        yield "missing_call", step
    for kind in {old, new} & _OF_STEPS.keys():
        yield _OF_STEPS[kind], step


def _of_step_field(
    change: Change,
    step: str,
    parts: tuple[str, ...],
    types: Mapping[str, str],
    lasting: Mapping[str, frozenset[str]],
    renamed: bool,
) -> Iterator[tuple[str, str]]:
    field = parts[4]
    if field == "name" and _is_rename(change):
        yield "wrong_tool", step
    elif field == "arguments" and not renamed:
        # The arguments of another tool are no error of their own.
        yield "wrong_argument_value", step
    elif change.before is None and len(parts) == 5:
        return
    elif field == "observation":
        yield "observation_implausible", step
    elif field == "text" and change.before and types.get(step) in _OF_STEPS:
        yield _OF_STEPS[types[step]], step
    elif field == "depends_on" and isinstance(change.after, list):
        # Edges to steps that came or went follow from that.
        known = lasting.get(parts[1], frozenset())
        old, new = ({edge["id"] for edge in edges} & known for edges in (change.before, change.after))
        if new - old:
            yield "missing_dependency", step
        if old - new:
            yield "superfluous_dependency", step


def _is_rename(change: Change) -> bool:
    parts = split(change.anchor.partition("#")[0])
    return len(parts) == 5 and parts[2] in ("steps", "calls") and parts[4] == "name" and bool(change.before)


def _type(step: Any) -> str:
    """Return the type of a step; the calls of a constrained case have none."""
    return str(step.get("type", "call")) if isinstance(step, Mapping) else ""


def _step_types(document: Mapping[str, Any]) -> dict[str, str]:
    return {
        join(("tasks", task["id"], "steps", step["id"])): step["type"]
        for task in document.get("tasks", ())
        for step in task.get("steps", ())
    }


def _lasting_steps(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """Return task id → ids of the steps that it has in both versions."""
    old, new = (step_ids(dict(document)) for document in (before, after))
    return {task: old[task] & new[task] for task in old.keys() & new.keys()}
