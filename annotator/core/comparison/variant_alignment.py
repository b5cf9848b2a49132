"""Which parts of two language variants correspond, although each variant has its own ids.

Tasks correspond by position. So do their steps, except around an insertion: the longest equal beginning and the longest
equal end of both lists (type and tool of each step) are paired first, and what is left between them by position if both
sides have the same number of steps; otherwise these steps have no counterpart. Takes linear time.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.core.comparison.anchors import Document, below, leaves, owner

#: Fields that only one variant has, or that have no meaning beside the other: ids, and what a format keeps.
OWN_FIELDS = frozenset({"id", "extra", "labels", "native_information", "candidate_messages", "chosen", "inferable"})


@dataclass(frozen=True, slots=True)
class Pair:
    """Corresponding tasks or steps by their anchors; blank on the side that has none. ``task``: its number, from 1; 0
    for the dialogue itself. ``step``: the number of the step in the task, 0 for the task itself.
    """

    one: str
    other: str
    task: int = 0
    step: int = 0

    @property
    def is_whole(self) -> bool:
        """Return whether both variants have the part."""
        return self.task == 0 or bool(self.one and self.other)


@dataclass(frozen=True, slots=True)
class Row:
    """One field of a pair: where it is in each variant, and its value there; a blank place means that it is absent."""

    pair: Pair
    one: str
    other: str
    value: Any = None
    other_value: Any = None


def align_variants(one: Document, other: Document) -> list[Pair]:
    """Return the corresponding parts, in the order of the dialogue: the dialogue itself, then each task and its steps.

    Documents without tasks, such as constrained cases, are one part.
    """
    pairs = [Pair("", "")]
    mine, theirs = one.get("tasks", []), other.get("tasks", [])
    for index in range(max(len(mine), len(theirs))):
        left = mine[index] if index < len(mine) else None
        right = theirs[index] if index < len(theirs) else None
        place, their_place = (below("/tasks", task["id"]) if task else "" for task in (left, right))
        pairs.append(Pair(place, their_place, index + 1))
        steps = _steps(left.get("steps", []) if left else [], right.get("steps", []) if right else [])
        for number, (a, b) in enumerate(steps, 1):
            mine_at = below(f"{place}/steps", a) if a else ""
            pairs.append(Pair(mine_at, below(f"{their_place}/steps", b) if b else "", index + 1, number))
    return pairs


def counterparts(pairs: Sequence[Pair]) -> dict[str, str]:
    """Return {anchor of a part of the first variant: that of its counterpart in the second one}."""
    return {pair.one: pair.other for pair in pairs if pair.is_whole}


def counterpart(anchor: str, parts: Mapping[str, str]) -> str | None:
    """Return the place in the second variant that corresponds to ``anchor``; None if its part has no counterpart."""
    part = owner(anchor)
    found = parts.get(part, part if part.count("/") < 2 or not part.startswith("/tasks/") else None)
    return None if found is None else found + anchor[len(part) :]


def rows(one: Document, other: Document, pairs: Sequence[Pair]) -> Iterator[Row]:
    """Yield every field of every pair, in the order of the first variant; then what only the second one has."""
    mine, theirs = _fields(one), _fields(other)
    for pair in pairs:
        left = mine.get(pair.one, {}) if pair.one or not pair.task else {}
        right = theirs.get(pair.other, {}) if pair.other or not pair.task else {}
        for key in [*left, *(key for key in right if key not in left)]:
            yield Row(
                pair,
                pair.one + key if key in left else "",
                pair.other + key if key in right else "",
                left.get(key),
                right.get(key),
            )


def _fields(document: Document) -> dict[str, dict[str, Any]]:
    """Return {anchor of a part: {place in the part: value}}."""
    out: dict[str, dict[str, Any]] = {}
    for anchor, value in leaves(document):
        part = owner(anchor) if "tasks" in document else ""
        inside = anchor[len(part) :]
        if inside[1:].partition("/")[0] not in OWN_FIELDS and anchor not in ("/language", "/kind"):
            out.setdefault(part, {})[inside] = value
    return out


def _steps(left: Sequence[dict[str, Any]], right: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return the ids of corresponding steps; blank where there is none."""
    one, other = [_kind(step) for step in left], [_kind(step) for step in right]
    shorter = min(len(one), len(other))
    start = 0
    while start < shorter and one[start] == other[start]:
        start += 1
    end = 0
    while end < shorter - start and one[-1 - end] == other[-1 - end]:
        end += 1
    ids = [[step["id"] for step in steps] for steps in (left, right)]
    middle = [found[start : len(found) - end] for found in ids]
    if len(middle[0]) == len(middle[1]):
        between = list(zip(*middle, strict=True))
    else:
        between = [*((a, "") for a in middle[0]), *(("", b) for b in middle[1])]
    tail = [found[len(found) - end :] for found in ids]
    return [*zip(ids[0][:start], ids[1][:start], strict=True), *between, *zip(*tail, strict=True)]


def _kind(step: dict[str, Any]) -> Hashable:
    return step["type"], step.get("name")
