"""Conflicting changes by two sides to a toolset at different places."""

from collections.abc import Iterator, Mapping

from annotator.core.comparison.anchors import Document, covers
from annotator.core.comparison.case_merging import added_or_removed
from annotator.core.comparison.changes import Change, ChangeKind
from annotator.core.schema.toolsets import MAX_TOOLS

Changes = Mapping[str, Change]

_TEXTS = ("/description", "/title")


def tool_clashes(base: Document, ours: Changes, others: Changes) -> Iterator[str]:
    """Return the anchors of conflicts; empty for other documents. ``ours`` and ``others``: changes by anchor."""
    if "tools" not in base:
        return
    for one, two in ((ours, others), (others, ours)):
        yield from _retyped(one, two)
    kinds = added_or_removed("/tools", ours, others)
    removed = sum(kind is ChangeKind.REMOVED for kind in kinds.values())
    added = sum(kind is ChangeKind.ADDED for kind in kinds.values())
    if not tool_count_fits(len(base["tools"]) - removed + added):
        yield from (anchor for anchor in kinds if (anchor in ours) != (anchor in others))


def tool_count_fits(count: int) -> bool:
    """Return whether a toolset may have this many tools."""
    return 1 <= count <= MAX_TOOLS


def _retyped(one: Changes, two: Changes) -> Iterator[str]:
    """Yield schemas whose type one side changed while the other changed their rules, such as choices or the default."""
    retyped = [
        anchor.removesuffix("/type")
        for anchor in one
        if anchor.startswith("/tools/") and _is_type(anchor) and anchor not in two
    ]
    for schema in retyped:
        for anchor in two:
            if covers(schema, anchor) and not anchor.endswith(_TEXTS):
                yield schema
                break


def _is_type(anchor: str) -> bool:
    # A parameter may be named “type”.
    return anchor.endswith("/type") and not anchor.endswith("/properties/type") and anchor.count("/") > 4
