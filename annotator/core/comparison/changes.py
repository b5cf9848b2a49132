"""What changed between two versions of a document, by content path.

Things with ids (tasks, steps, candidate messages; constraints, rounds, calls; tools) are matched by id, so inserting a
step does not make its neighbours look changed. Dependencies are compared as a set, objects by key, lists of equal
length by index; any other value, each label, each list inside a tool, and anything with keys too long for an anchor is
compared as a whole. Key order never counts.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson

from annotator.core.comparison.anchors import (
    ORDER,
    Document,
    below,
    can_have_labels,
    find,
    ordered_list,
    owner,
    resolve,
    split,
)
from annotator.core.comparison.placing import ABSENT, copied, put, reorder
from annotator.core.schema.canonical import MAX_ANCHOR, escape
from annotator.core.schema.exact_json import dumps

#: Task id → ids of steps whose edges are ignored, because having the step is a difference of its own.
OneSided = Mapping[str, frozenset[str]]


class ChangeKind(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    MOVED = "moved"


@dataclass(frozen=True, slots=True)
class Change:
    """One difference. ``before`` and ``after`` are parts of the compared documents, not copies; None if absent.

    ``group`` is the anchor of its step, or else of its task; empty for the dialogue's own fields. ``follows``, of an
    added task, step or candidate message: the id of the one before it, empty if it is first. For a moved list,
    ``before`` and ``after`` are the ids in order.
    """

    anchor: str
    kind: ChangeKind
    before: Any
    after: Any
    group: str
    follows: str | None = None


def diff(before: Document, after: Document) -> list[Change]:
    """Return every change that leads from ``before`` to ``after``, white space included."""
    return Comparison().run(before, after)


def apply_changes(document: Document, changes: Iterable[Change]) -> Document:
    """Return ``document`` with the changes made; ``apply_changes(a, diff(a, b))`` has the content of ``b``.

    Raises AnchorMissing if a change does not fit the document.
    """
    result: Document = copied(document)
    changes = list(changes)
    for change in changes:
        if change.kind in (ChangeKind.REMOVED, ChangeKind.CHANGED):
            if not change.anchor:
                result = copied(change.after)
            else:
                put(result, change.anchor, ABSENT if change.kind is ChangeKind.REMOVED else change.after)
    for change in changes:
        if change.kind is ChangeKind.MOVED:
            reorder(resolve(result, ordered_list(change.anchor) or ""), change.after)
    for change in changes:
        if change.kind is ChangeKind.ADDED:
            put(result, change.anchor, change.after)
            if change.follows is not None:
                items = resolve(result, change.anchor.rpartition("/")[0])
                items.insert(find(items, change.follows) + 1, items.pop(find(items, change.after["id"])))
    return result


def same_value(a: Any, b: Any) -> bool:
    """Return whether two JSON values are equal: true is not 1, 40.0 is not 40; key order does not count."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same_value(v, b[k]) for k, v in a.items())
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same_value, a, b))
    return _same_scalar(a, b)


def validator_kinds_differ(one: Any, other: Any) -> bool:
    """Return whether one validator is code and the other a built-in validator, so that their fields cannot be mixed."""
    return bool(one and other) and (one["code"] is None) != (other["code"] is None)


def edges(dependencies: Any, ignored: frozenset[str] = frozenset()) -> frozenset[tuple[str, str]] | None:
    """Return a list of dependencies as a set of (id, kind); None if it is not annotated."""
    if dependencies is None:
        return None
    return frozenset((d["id"], d["kind"]) for d in dependencies if d["id"] not in ignored)


def one_sided(left: Document, right: Document, *others: Document) -> dict[str, frozenset[str]]:
    """Return for each task the ids of steps that ``left`` or ``right`` lacks but another of the documents has."""
    ids = [step_ids(document) for document in (left, right, *others)]
    out = {}
    for task in ids[0].keys() & ids[1].keys():
        known = frozenset().union(*(by_task.get(task, frozenset()) for by_task in ids))
        lacking = known - (ids[0][task] & ids[1][task])
        if lacking:
            out[task] = lacking
    return out


def step_ids(document: Document) -> dict[str, frozenset[str]]:
    """Return task id → ids of its steps."""
    return {task["id"]: frozenset(step["id"] for step in task["steps"]) for task in document.get("tasks", ())}


class Comparison:
    """A walk over two documents.

    ``whole_calls``: two calls of different tools with one id are one change of the whole step, because their arguments
    cannot be mixed. The same applies to parameters of constraints of different categories, and to code and a built-in
    validator. ``ignored``: edges to these steps are left out of the comparison.
    """

    def __init__(self, *, whole_calls: bool = False, ignored: OneSided | None = None) -> None:
        self.whole_calls = whole_calls
        self.ignored = ignored or {}
        self.found: list[Change] = []

    def run(self, before: Document, after: Document) -> list[Change]:
        """Return the changes, in the order of the document."""
        if before.get("kind") != after.get("kind"):
            self._add("", ChangeKind.CHANGED, before, after)
            return self.found
        parts = {
            "tasks": self._task,
            "constraints": self._constraint,
            "reference_trajectory": self._round,
            "tools": self._tool,
        }
        for key, anchor, old, new in self._fields("", before, after):
            # A trajectory that is not annotated is null, not a list.
            if key in parts and isinstance(old, list) and isinstance(new, list):
                self._named(anchor, old, new, parts[key])
            else:
                self._plain(anchor, old, new)
        return self.found

    def _tool(self, anchor: str, before: Any, after: Any) -> None:
        """Compare tools or what is in them; the order of choices or of required names is one value."""
        if isinstance(before, dict) and isinstance(after, dict) and not self._too_deep(anchor, before, after):
            for _, child, old, new in self._fields(anchor, before, after):
                self._tool(child, old, new)
        elif not same_value(before, after):
            self._add(anchor, ChangeKind.CHANGED, before, after)

    def _constraint(self, anchor: str, before: dict[str, Any], after: dict[str, Any]) -> None:
        if self.whole_calls and before["category"] != after["category"]:
            self._add(anchor, ChangeKind.CHANGED, before, after)
            return
        for key, child, old, new in self._fields(anchor, before, after):
            if self.whole_calls and key == "validator" and validator_kinds_differ(old, new):
                self._add(child, ChangeKind.CHANGED, old, new)
            else:
                self._plain(child, old, new)

    def _round(self, anchor: str, before: dict[str, Any], after: dict[str, Any]) -> None:
        for key, child, old, new in self._fields(anchor, before, after):
            if key == "calls":
                self._named(child, old, new, self._call)
            else:
                self._plain(child, old, new)

    def _call(self, anchor: str, before: dict[str, Any], after: dict[str, Any]) -> None:
        if self.whole_calls and before["name"] != after["name"]:
            self._add(anchor, ChangeKind.CHANGED, before, after)
        else:
            self._plain(anchor, before, after)

    def _task(self, anchor: str, before: dict[str, Any], after: dict[str, Any]) -> None:
        for key, child, old, new in self._fields(anchor, before, after):
            if key == "steps":
                self._named(child, old, new, self._step)
            elif key == "candidate_messages":
                self._named(child, old, new, self._plain)
            else:
                self._plain(child, old, new)

    def _step(self, anchor: str, before: dict[str, Any], after: dict[str, Any]) -> None:
        if before["type"] != after["type"] or (self.whole_calls and before.get("name") != after.get("name")):
            self._add(anchor, ChangeKind.CHANGED, before, after)
            return
        for key, child, old, new in self._fields(anchor, before, after):
            if key == "depends_on":
                ignored = self.ignored.get(split(anchor)[1], frozenset()) if self.ignored else frozenset()
                if edges(old, ignored) != edges(new, ignored):
                    self._add(child, ChangeKind.CHANGED, old, new)
            else:
                self._plain(child, old, new)

    def _named(
        self, anchor: str, before: list[Any], after: list[Any], compare: Callable[[str, Any, Any], None]
    ) -> None:
        old = {item["id"]: item for item in before}
        new = {item["id"]: item for item in after}
        for item in before:
            if item["id"] not in new:
                self._add(below(anchor, item["id"]), ChangeKind.REMOVED, item, None)
        previous = ""
        for item in after:
            child = below(anchor, item["id"])
            if item["id"] in old:
                if not _same_text(old[item["id"]], item):
                    compare(child, old[item["id"]], item)
            else:
                self._add(child, ChangeKind.ADDED, None, item, follows=previous)
            previous = item["id"]
        if [key for key in old if key in new] != [key for key in new if key in old]:
            self._add(anchor + ORDER, ChangeKind.MOVED, list(old), list(new))

    def _plain(self, anchor: str, before: Any, after: Any) -> None:
        if before is after:
            return
        if isinstance(before, dict) and isinstance(after, dict) and not self._too_deep(anchor, before, after):
            for _, child, old, new in self._fields(anchor, before, after):
                self._plain(child, old, new)
        elif (
            isinstance(before, list)
            and isinstance(after, list)
            and len(before) == len(after)
            and not self._too_deep(anchor, [str(len(before))])
        ):
            for index, (old, new) in enumerate(zip(before, after, strict=True)):
                self._plain(f"{anchor}/{index}", old, new)
        elif not same_value(before, after):
            self._add(anchor, ChangeKind.CHANGED, before, after)

    def _too_deep(self, anchor: str, *keys: Iterable[str]) -> bool:
        """Return whether one of these keys makes an anchor too long to store; then the object is one value."""
        room = MAX_ANCHOR - len(anchor) - 1
        return any(len(key) > room or len(escape(key)) > room for each in keys for key in each)

    def _fields(
        self, anchor: str, before: dict[str, Any], after: dict[str, Any]
    ) -> Iterator[tuple[str, str, Any, Any]]:
        """Yield the fields that both have; record those that only one has as removed or added, and changed labels."""
        labels = ("labels" in before or "labels" in after) and can_have_labels(split(anchor))
        for key, old in before.items():
            if labels and key == "labels":
                continue
            if key in after:
                new = after[key]
                if isinstance(old, dict | list) or not _same_scalar(old, new):
                    yield key, below(anchor, key), old, new
            else:
                self._add(below(anchor, key), ChangeKind.REMOVED, old, None)
        for key, new in after.items():
            if key not in before and not (labels and key == "labels"):
                self._add(below(anchor, key), ChangeKind.ADDED, None, new)
        if labels:
            self._labels(anchor, before.get("labels", {}), after.get("labels", {}))

    def _labels(self, anchor: str, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Record each label that differs, whether or not both parts have any."""
        for key in sorted(before.keys() | after.keys()):
            place = f"{anchor}/labels/{key}"
            if key not in after:
                self._add(place, ChangeKind.REMOVED, before[key], None)
            elif key not in before:
                self._add(place, ChangeKind.ADDED, None, after[key])
            elif not same_value(before[key], after[key]):
                self._add(place, ChangeKind.CHANGED, before[key], after[key])

    def _add(self, anchor: str, kind: ChangeKind, before: Any, after: Any, follows: str | None = None) -> None:
        self.found.append(Change(anchor, kind, before, after, owner(anchor), follows))


def _same_text(a: Any, b: Any) -> bool:
    """Return whether both have the same text, so that nothing below needs comparing. (Other equal values exist.)"""
    return dumps(a, option=orjson.OPT_SORT_KEYS) == dumps(b, option=orjson.OPT_SORT_KEYS)


def _same_scalar(a: Any, b: Any) -> bool:
    # 0.0 equals -0.0, and only their texts differ.
    return type(a) is type(b) and bool(a == b) and (type(a) is not float or repr(a) == repr(b))
