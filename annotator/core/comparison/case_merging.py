"""Conflicting changes by two sides to a constrained case at different places."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from annotator.core.comparison.anchors import Document, below, covers, find
from annotator.core.comparison.changes import Change, ChangeKind, same_value, validator_kinds_differ
from annotator.core.schema.constrained import MAX_CONSTRAINTS, MAX_ROUNDS

Changes = Mapping[str, Change]

_RULE = ("category", "dimension", "parameters", "variants", "validator")


def case_clashes(base: Document, mine: Document, theirs: Document, ours: Changes, others: Changes) -> Iterator[str]:
    """Return the anchors of conflicts; empty for other documents. ``ours`` and ``others``: changes by anchor."""
    if not all("constraints" in document for document in (base, mine, theirs)):
        return
    yield from _rules(mine, theirs, ours, others)
    sides = [document["reference_trajectory"] or [] for document in (base, mine, theirs)]
    yield from _rounds(sides[1], sides[2], ours, others)
    yield from _twice(ours, others)
    yield from _too_many("/constraints", len(base["constraints"]), MAX_CONSTRAINTS, ours, others)
    yield from _too_many("/reference_trajectory", len(sides[0]), MAX_ROUNDS, ours, others)


def _rules(mine: Document, theirs: Document, ours: Changes, others: Changes) -> Iterator[str]:
    """Yield constraints whose category one side changed while the other edited their parameters, and validators that
    are code on one side and built in on the other.
    """
    for constraint in mine["constraints"]:
        anchor = below("/constraints", constraint["id"])
        index = find(theirs["constraints"], constraint["id"])
        if index < 0:
            continue
        done = [_done(side, [f"{anchor}/{field}" for field in _RULE]) for side in (ours, others)]
        if not all(done) or same_value(*done):
            continue
        if any(f"{anchor}/category" in side for side in done):
            yield anchor
        validator = f"{anchor}/validator"
        if validator_kinds_differ(constraint["validator"], theirs["constraints"][index]["validator"]) and all(
            _done(side, [validator]) for side in (ours, others)
        ):
            yield validator


def _rounds(mine: list[Any], theirs: list[Any], ours: Changes, others: Changes) -> Iterator[str]:
    """Yield rounds that have calls on one side and a final response on the other."""
    for round_ in mine:
        anchor = below("/reference_trajectory", round_["id"])
        index = find(theirs, round_["id"])
        if index >= 0 and all(_done(side, [anchor]) for side in (ours, others)):
            both = (round_, theirs[index])
            if any(one["calls"] for one in both) and any(one["final"] is not None for one in both):
                yield anchor


def _twice(ours: Changes, others: Changes) -> Iterator[str]:
    """Yield calls that both sides added with the same id, in different rounds."""
    added = [{anchor: anchor.rpartition("/")[2] for anchor, change in side.items() if _is_new_call(anchor, change)}
             for side in (ours, others)]  # fmt: skip
    where = [{key: anchor for anchor, key in side.items()} for side in added]
    for key in where[0].keys() & where[1].keys():
        if where[0][key] != where[1][key]:
            yield from (where[0][key], where[1][key])


def _is_new_call(anchor: str, change: Change) -> bool:
    return (
        change.kind is ChangeKind.ADDED
        and anchor.startswith("/reference_trajectory/")
        and anchor.count("/") == 4
        and "/calls/" in anchor
    )


def _too_many(parent: str, count: int, most: int, ours: Changes, others: Changes) -> Iterator[str]:
    """Yield what each side added if together they exceed a limit of a case."""
    kinds = added_or_removed(parent, ours, others)
    counts = Counter(kinds.values())
    if count - counts[ChangeKind.REMOVED] + counts[ChangeKind.ADDED] > most:
        yield from (a for a, kind in kinds.items() if kind is ChangeKind.ADDED and (a in ours) != (a in others))


def added_or_removed(parent: str, ours: Changes, others: Changes) -> dict[str, ChangeKind]:
    """Return anchor → kind of the changes to whole items of a list of the document."""
    return {
        anchor: change.kind
        for side in (ours, others)
        for anchor, change in side.items()
        if anchor.startswith(f"{parent}/") and anchor.count("/") == 2
    }


def _done(changes: Changes, anchors: list[str]) -> dict[str, Any]:
    """Return one side's changes at or below anchors: anchor → kind and new value."""
    return {a: [c.kind, c.after] for a, c in changes.items() if any(covers(anchor, a) for anchor in anchors)}
