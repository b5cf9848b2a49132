"""Which places of a language variant are stale: the other variant changed there since the two last matched."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.core.comparison.anchors import AnchorIndex, Document, lookup, owner
from annotator.core.comparison.changes import Change, diff, same_value
from annotator.core.comparison.variant_alignment import OWN_FIELDS, Pair, align_variants, counterpart, counterparts
from annotator.core.comparison.variant_values import is_fixed

#: Both variants: (first, second).
Documents = tuple[Document, Document]
#: Later revisions of one variant, in order: a number by which those of both can be ordered, and the content.
Later = Sequence[tuple[int, Document]]


@dataclass(frozen=True, slots=True)
class Stale:
    """A place that must follow a change in the other variant.

    ``side``: 0 if the first variant is stale, 1 if the second is. ``place``: its anchor there; of a step or task that
    the variant does not have yet, the anchor of what should contain it. ``change``: what changed in the other one.
    """

    side: int
    place: str
    change: Change


def stale_places(
    matched: Documents, now: Documents, *, copy: int | None = None, later: tuple[Later, Later] = ((), ())
) -> list[Stale]:
    """Return what is stale in each of two variants, the first one's places first.

    ``matched``: the revisions that were last found to say the same. A place is stale if the other variant has changed
    at the corresponding place since then and this one has not; values that are equal now and need no translation are
    not stale. Where both have changed, the order decides: the first change there makes the other variant stale, and a
    change of that one follows it. ``later``: the revisions since ``matched``; without them, each follows the other.

    ``copy``: the side that was a copy of the other one at ``matched``; its changed texts are translations,
    which make nothing stale. Places that each variant has for itself, such as ids and answers to custom fields, do not
    count. Takes time in proportion to the content of all revisions, and to the changes times the later revisions.
    """
    changes = [
        [change for change in diff(before, after) if _counts(change)]
        for before, after in zip(matched, now, strict=True)
    ]
    then, today = align_variants(*matched), align_variants(*now)
    turns = _Turns(matched, later)
    out: list[Stale] = []
    for side in (0, 1):
        source = 1 - side
        # Ids stay, so what corresponded then still does; positions decide only about what is new.
        parts = {**_parts(today, source), **_parts(then, source)}
        followed = AnchorIndex(change.anchor for change in changes[side])
        for change in changes[source]:
            is_text = isinstance(change.before, str) and isinstance(change.after, str)
            if source == copy and is_text:
                continue
            place = _place(change.anchor, parts)
            leading = {0, 1} - {copy} if is_text else {0, 1}
            places = (place, change.anchor) if source else (change.anchor, place)
            if followed.touching(place) is not None and turns.behind(places, leading) != side:
                continue
            if not _agrees(now[source], now[side], change.anchor, place):
                out.append(Stale(side, _existing(now[side], place), change))
    return out


class _Turns:
    """What changed in which order, in both variants."""

    def __init__(self, matched: Documents, later: tuple[Later, Later]) -> None:
        steps: list[tuple[int, int, AnchorIndex]] = []
        for side, revisions in enumerate(later):
            before = matched[side]
            for order, document in revisions:
                steps.append((order, side, AnchorIndex(change.anchor for change in diff(before, document))))
                before = document
        self._steps = sorted(steps, key=lambda step: step[:2])

    def behind(self, places: tuple[str, str], leading: Collection[int | None]) -> int | None:
        """Return which side must follow a change at a place, given in both; None if neither must.

        ``leading``: the sides whose changes the other one has to follow.
        """
        behind: int | None = None
        for _order, side, changed in self._steps:
            if changed.touching(places[side]) is None:
                continue
            if side == behind:
                behind = None
            elif side in leading:
                behind = 1 - side
        return behind


def is_copy(one: Document, other: Document) -> bool:
    """Return whether two documents differ in nothing but their language."""
    return {**one, "language": ""} == {**other, "language": ""}


def _counts(change: Change) -> bool:
    inside = change.anchor[len(change.group) :] if change.anchor != change.group else ""
    return inside[1:].partition("/")[0] not in OWN_FIELDS and change.anchor != "/language"


def _parts(pairs: list[Pair], source: int) -> Mapping[str, str]:
    return counterparts([Pair(pair.other, pair.one, pair.task, pair.step) for pair in pairs] if source else pairs)


def _place(anchor: str, parts: Mapping[str, str]) -> str:
    """Return the corresponding place; of a part without counterpart, the list that should contain it."""
    found = counterpart(anchor, parts)
    if found is not None:
        return found
    part = owner(anchor)
    above = part.rpartition("/")[0]
    task = above.rpartition("/")[0]
    # A step may be missing in a task that both have; else the task is missing.
    return f"{parts[task]}/steps/" if "/steps" in above and task in parts else "/tasks/"


def _existing(document: Document, place: str) -> str:
    """Return the place, or what contains it if it is not there."""
    while place and lookup(document, place, _MISSING) is _MISSING:
        place = place.rpartition("/")[0]
    return place


def _agrees(source: Document, target: Document, anchor: str, place: str) -> bool:
    mine, theirs = lookup(source, anchor, _MISSING), lookup(target, place, _MISSING)
    if mine is _MISSING or theirs is _MISSING:
        return mine is theirs
    if isinstance(mine, dict | list) or (isinstance(mine, str) and not is_fixed(mine)):
        return False
    return same_value(mine, theirs)


_MISSING: Any = object()
