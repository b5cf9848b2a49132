"""Parts that both versions added in the same way: nobody has to choose, but the version before does not have them."""

from collections.abc import Iterator, Mapping
from typing import Any

from annotator.core.comparison.anchors import AnchorIndex, Document, below, lookup, named, split
from annotator.core.comparison.changes import ChangeKind, diff, same_value
from annotator.core.comparison.composing import checked
from annotator.core.comparison.consequences import is_whole
from annotator.core.comparison.discrepancies import Discrepancy, Label, differences, matters
from annotator.core.comparison.placing import ABSENT, copied, put

#: Fields that nobody writes by hand.
_LEFT_OUT = frozenset({"id", "type", "extra", "candidate_messages", "chosen"})


def added_alike(base: Document, left: Document, right: Document) -> list[Discrepancy]:
    """Return the fields that both versions added to ``base`` and agree on; ``right`` is aligned with ``left``."""
    differing = AnchorIndex(change.anchor for change in differences(left, right) if matters(change))
    return [
        Discrepancy(anchor, Label.OTHER, value, value)
        for change in diff(base, left)
        if change.kind is ChangeKind.ADDED and is_whole(split(change.anchor))
        for anchor, value in _fields(change.anchor, change.after)
        if differing.touching(anchor) is None and same_value(value, lookup(right, anchor, ABSENT))
    ]


def _fields(anchor: str, thing: Document) -> Iterator[tuple[str, Any]]:
    for name, value in thing.items():
        field = below(anchor, name)
        if named(split(field)) and name not in _LEFT_OUT:
            for part in value or ():
                yield from _fields(below(field, part["id"]), part)
        elif name not in _LEFT_OUT:
            yield field, value


def with_values(document: Document, values: Mapping[str, Any]) -> Document:
    """Return a copy with these values at existing places."""
    copy: Document = copied(document)
    for anchor, value in values.items():
        put(copy, anchor, value)
    return checked(copy)
