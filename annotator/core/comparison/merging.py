"""Merge two versions that were made from the same base."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from annotator.core.comparison.anchors import Document, lineage, lookup, owner
from annotator.core.comparison.case_merging import case_clashes
from annotator.core.comparison.changes import Change, ChangeKind, Comparison, edges, one_sided, same_value
from annotator.core.comparison.composing import compose, moved_differently, new_circles
from annotator.core.comparison.placing import ABSENT
from annotator.core.comparison.tool_merging import tool_clashes, tool_count_fits
from annotator.core.schema.canonical import escape

#: A decision about one place: a side, {"value": …} for a third value, or {"absent": True} for nothing there.
Choice = str | Mapping[str, Any]

_MAX_TASKS = 64


@dataclass(frozen=True, slots=True)
class Conflict:
    """A place that both sides changed differently; None if a version has nothing there."""

    anchor: str
    base: Any
    mine: Any
    theirs: Any
    reason: str = ""


@dataclass(frozen=True, slots=True)
class MergeResult:
    """``document`` has my value at every open conflict."""

    document: Document
    conflicts: list[Conflict]


def merge(
    base: Document, mine: Document, theirs: Document, *, choices: Mapping[str, Choice] | None = None
) -> MergeResult:
    """Merge three versions by content path. Without conflicts, the document is valid if its sources are.

    ``choices`` decides conflicts: {anchor: "mine" | "theirs" | {"value": …} | {"absent": True}}; choices for other
    places are ignored. Choices that cannot be combined (dependencies in a cycle, no task left) leave their
    conflicts open. Raises ValueError for an unknown choice, SchemaProblem for a value that no document may have.
    """
    return _Merge(base, mine, theirs, choices or {}).run()


def chosen_value(choice: Choice, anchor: str, sides: Mapping[str, Document]) -> Any:
    """Return the chosen value, or ABSENT. Raises ValueError if the choice is invalid."""
    if isinstance(choice, str) and choice in sides:
        return lookup(sides[choice], anchor, ABSENT)
    if isinstance(choice, Mapping) and "value" in choice:
        return choice["value"]
    if isinstance(choice, Mapping) and choice.get("absent") is True:
        return ABSENT
    raise ValueError(f"The choice for {anchor} must be {', '.join(sides)}, a value, or absent.")


class _Merge:
    def __init__(self, base: Document, mine: Document, theirs: Document, choices: Mapping[str, Choice]) -> None:
        self.base, self.mine, self.theirs, self.choices = base, mine, theirs, choices
        ignored = one_sided(mine, theirs, base)
        self.ours = _by_anchor(Comparison(ignored=ignored).run(base, mine))
        self.others = _by_anchor(Comparison(ignored=ignored).run(base, theirs))
        #: Anchor of every conflict → the reason, if it is not obvious.
        self.clashes: dict[str, str] = {}
        #: Conflicts whose choice is not compatible with the others.
        self.reopened: set[str] = set()

    def run(self) -> MergeResult:
        for anchor in [*self._overlaps(), *self._tools(), *self._answers(), *self._task_count(), *self._of_kind()]:
            self.clashes.setdefault(anchor, "")
        self._drop_inner()
        orders = self._orders()
        document = self._compose(orders)
        # Choices that are valid one by one may be invalid together; every round opens or reopens at least one more
        # place.
        while self._open_circles(document) or self._open_tasks(document):
            document = self._compose(orders)
        conflicts = [
            self._conflict(anchor, reason)
            for anchor, reason in {**self.clashes, **dict.fromkeys(orders, "")}.items()
            if anchor not in self.choices or anchor in self.reopened
        ]
        return MergeResult(document, conflicts)

    def _overlaps(self) -> Iterator[str]:
        """Yield the places that both sides changed, and places that contain a change of the other side."""
        for anchor, change in self.ours.items():
            other = self.others.get(anchor)
            if other is None or change.kind is ChangeKind.MOVED:
                continue
            if change.kind is not other.kind or not same_value(change.after, other.after):
                yield anchor
        for one, two in ((self.ours, self.others), (self.others, self.ours)):
            for anchor in one:
                above = anchor
                while above:
                    above = above.rpartition("/")[0]
                    if above in two:
                        yield above

    def _tools(self) -> Iterator[str]:
        """Yield the calls whose tool one side changed while the other edited their arguments or observation."""
        calls = {id(side): _calls(side) for side in (self.ours, self.others)}
        for one, two in ((self.ours, self.others), (self.others, self.ours)):
            for anchor, change in one.items():
                if anchor.endswith("/name") and anchor == f"{change.group}/name":
                    ours, others = (calls[id(side)].get(change.group, {}) for side in (one, two))
                    if others and not same_value(ours, others):
                        yield change.group

    def _answers(self) -> Iterator[str]:
        """Yield two answers, each added by one side, because a task has only one."""
        for task in self.mine.get("tasks", ()):
            sides = []
            for side in (self.ours, self.others):
                prefix = f"/tasks/{task['id']}/steps/"
                sides.append(
                    [a for a, c in side.items() if a.startswith(prefix) and c.kind is ChangeKind.ADDED
                     and a.count("/") == 4 and c.after["type"] == "answer"]
                )  # fmt: skip
            if all(sides) and sides[0] != sides[1]:
                yield from dict.fromkeys([*sides[0], *sides[1]])

    def _task_count(self) -> Iterator[str]:
        """Yield added or removed tasks if together they leave no task, or too many."""
        sides = [
            {a: c.kind for a, c in side.items() if a.count("/") == 2 and a.startswith("/tasks/")}
            for side in (self.ours, self.others)
        ]
        both = {**sides[0], **sides[1]}
        removed = sum(kind is ChangeKind.REMOVED for kind in both.values())
        added = sum(kind is ChangeKind.ADDED for kind in both.values())
        if not _task_count_fits(len(self.base.get("tasks", ())) - removed + added):
            yield from (anchor for anchor in both if (anchor in sides[0]) != (anchor in sides[1]))

    def _of_kind(self) -> Iterator[str]:
        yield from case_clashes(self.base, self.mine, self.theirs, self.ours, self.others)
        yield from tool_clashes(self.base, self.ours, self.others)

    def _drop_inner(self) -> None:
        """Drop conflicts that lie within another one."""
        for anchor in [a for a in self.clashes if any(b in self.clashes for b in lineage(a) if b != a)]:
            del self.clashes[anchor]

    def _orders(self) -> list[str]:
        """Yield lists that both sides reordered differently."""
        out = []
        for anchor, change in self.ours.items():
            other = self.others.get(anchor)
            if change.kind is not ChangeKind.MOVED or other is None or self._clashing(anchor):
                continue
            if moved_differently(change.before, change.after, other.after):
                out.append(anchor)
        return out

    def _compose(self, orders: list[str]) -> Document:
        take = [
            anchor
            for anchor, change in self.others.items()
            if change.kind is not ChangeKind.MOVED and anchor not in self.ours and not self._clashing(anchor)
        ]
        sides = {"mine": self.mine, "theirs": self.theirs}
        values = {
            anchor: chosen_value(self.choices[anchor], anchor, sides)
            for anchor in self.clashes
            if anchor in self.choices and anchor not in self.reopened
        }
        sided = {anchor: "theirs" if self.choices.get(anchor) == "theirs" else "mine" for anchor in orders}
        if "" in values:
            whole: Document = values[""]
            return whole
        return compose(
            self.base, self.mine, self.theirs,
            take=take, values=values, decided=frozenset(self.clashes), orders=sided,
            check=any(not isinstance(self.choices[anchor], str) for anchor in values),
        )  # fmt: skip

    def _open_circles(self, document: Document) -> bool:
        """Open the places whose edges form a cycle together; return whether any could be opened."""
        before = len(self.clashes) + len(self.reopened)
        for task, ids in new_circles(document, self.mine, self.theirs):
            circle = " → ".join([*ids, ids[0]])
            for step in ids:
                anchor = f"{task}/steps/{escape(step)}/depends_on"
                clash = self._clash_over(anchor)
                if clash is not None:
                    self._reopen(clash)
                elif (clash := self._edge_clash(anchor)) is not None:
                    self.clashes[clash] = ""
                if clash in self.clashes:
                    self.clashes[clash] = f"Together, the versions create a cycle of dependencies: {circle}."
        return len(self.clashes) + len(self.reopened) > before

    def _edge_clash(self, anchor: str) -> str | None:
        left, right = lookup(self.mine, anchor, ABSENT), lookup(self.theirs, anchor, ABSENT)
        return None if ABSENT in (left, right) or edges(left) == edges(right) else anchor

    def _open_tasks(self, document: Document) -> bool:
        """Reopen the choices that together leave no task or tool, or too many; return whether any was closed."""
        before = len(self.reopened)
        tasks, tools = (len(document.get(name, [None])) for name in ("tasks", "tools"))
        if not (_task_count_fits(tasks) and tool_count_fits(tools)):
            for anchor in self.clashes:
                if anchor.count("/") == 2:
                    self._reopen(anchor)
        return len(self.reopened) > before

    def _reopen(self, anchor: str) -> None:
        if anchor in self.choices:
            self.reopened.add(anchor)

    def _clash_over(self, anchor: str) -> str | None:
        """Return the conflict that ``anchor`` is or lies within."""
        while anchor not in self.clashes:
            if not anchor:
                return None
            anchor = anchor.rpartition("/")[0]
        return anchor

    def _clashing(self, anchor: str) -> bool:
        return self._clash_over(anchor) is not None

    def _conflict(self, anchor: str, reason: str) -> Conflict:
        base, mine, theirs = (lookup(document, anchor) for document in (self.base, self.mine, self.theirs))
        return Conflict(anchor, base, mine, theirs, reason)


def _by_anchor(changes: list[Change]) -> dict[str, Change]:
    return {change.anchor: change for change in changes}


def _calls(changes: Mapping[str, Change]) -> dict[str, dict[str, Any]]:
    """Return one side's changes to each call: anchor of the call → {anchor: new value}; without edges."""
    out: dict[str, dict[str, Any]] = {}
    for anchor, change in changes.items():
        step = owner(anchor)
        if anchor[len(step) + 1 :].partition("/")[0] in ("name", "arguments", "observation", "inferable"):
            out.setdefault(step, {})[anchor] = [change.kind, change.after]
    return out


def _task_count_fits(count: int) -> bool:
    return 1 <= count <= _MAX_TASKS
