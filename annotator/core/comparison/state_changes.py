"""What a call changed in a state, place by place."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from annotator.core.comparison.changes import same_value
from annotator.core.schema.canonical import escape

#: Levels below which a value is one value.
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class StateChange:
    """One difference between two states at a JSON pointer. ``kind`` is added, removed or changed.

    Items of a list that were added have their new positions, removed ones their old positions.
    """

    pointer: str
    kind: str
    before: Any
    after: Any


def state_changes(before: Any, after: Any) -> Iterator[StateChange]:
    """Yield the differences in the order of the states."""
    yield from _differences("", before, after, 0)


def _differences(pointer: str, before: Any, after: Any, depth: int) -> Iterator[StateChange]:
    if same_value(before, after):
        return
    if depth < _DEEPEST and isinstance(before, dict) and isinstance(after, dict):
        for key, old in before.items():
            place = f"{pointer}/{escape(key)}"
            if key in after:
                yield from _differences(place, old, after[key], depth + 1)
            else:
                yield StateChange(place, "removed", old, None)
        for key, new in after.items():
            if key not in before:
                yield StateChange(f"{pointer}/{escape(key)}", "added", None, new)
    elif depth < _DEEPEST and isinstance(before, list) and isinstance(after, list):
        yield from _items(pointer, before, after, depth)
    else:
        yield StateChange(pointer, "changed", before, after)


def _items(pointer: str, before: list[Any], after: list[Any], depth: int) -> Iterator[StateChange]:
    """Yield the differences of two lists: what is the same at both ends is left out."""
    start = 0
    while start < min(len(before), len(after)) and same_value(before[start], after[start]):
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and same_value(before[-1 - end], after[-1 - end]):
        end += 1
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True), start):
            yield from _differences(f"{pointer}/{index}", one, other, depth + 1)
        return
    for index, one in enumerate(old, start):
        yield StateChange(f"{pointer}/{index}", "removed", one, None)
    for index, other in enumerate(new, start):
        yield StateChange(f"{pointer}/{index}", "added", None, other)
