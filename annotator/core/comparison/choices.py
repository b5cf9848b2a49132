"""Resolve two people's versions: left, right or a third value at every place where they differ."""

from collections.abc import Mapping, Sequence

from annotator.core.comparison.alignment import align
from annotator.core.comparison.anchor_wording import describe
from annotator.core.comparison.anchors import AnchorIndex, Document, lookup, named, ordered_list, split
from annotator.core.comparison.changes import Change, ChangeKind, same_value
from annotator.core.comparison.composing import compose, new_circles
from annotator.core.comparison.consequences import dropped
from annotator.core.comparison.discrepancies import Discrepancy, Label, differences, matters
from annotator.core.comparison.merging import Choice, chosen_value
from annotator.core.comparison.placing import ABSENT
from annotator.core.schema import SchemaProblem
from annotator.core.schema.canonical import escape


class ChoiceProblem(ValueError):
    """Choices that do not make a valid document. ``anchors`` are the places, ``message`` a sentence."""

    def __init__(self, message: str, anchors: Sequence[str]) -> None:
        super().__init__(message)
        self.message = message
        self.anchors = list(anchors)


def resolve_choices(base: Document, left: Document, right: Document, choices: Mapping[str, Choice]) -> Document:
    """Return the document with everything that both agree on and, at each discrepancy, the chosen value.

    ``choices``: {anchor: "left" | "right" | {"value": …} | {"absent": True}}, one for each of ``discrepancies(left,
    right)``. For a difference without a difference in meaning, the version that changed ``base`` counts, or else left.
    Edges to a step that was not chosen are removed. Raises ChoiceProblem.
    """
    right = align(left, right)
    found = differences(left, right)
    needed = dict.fromkeys(change.anchor for change in found if matters(change))
    missing = [anchor for anchor in needed if anchor not in choices]
    if missing:
        raise ChoiceProblem(f"Choose a version for every difference: {_words(left, missing)}.", missing)
    unknown = [anchor for anchor in choices if anchor not in needed]
    if unknown:
        raise ChoiceProblem(
            f"The versions do not differ here: {_words(left, unknown)}. Reload the page and choose again.", unknown
        )
    values = {anchor: _value(choices[anchor], anchor, left, right) for anchor in needed}
    take = []
    for change in found:
        if matters(change) or change.kind is ChangeKind.MOVED:
            continue
        message = f"{change.group}/user_message"
        if change.anchor == f"{change.group}/chosen" and message in choices:
            # The choice among candidates belongs to the message that was chosen.
            if choices[message] == "right":
                take.append(change.anchor)
        elif change.kind is ChangeKind.ADDED or same_value(change.before, lookup(base, change.anchor, ABSENT)):
            take.append(change.anchor)
    orders = {anchor: "theirs" if choices[anchor] == "right" else "mine" for anchor in needed if ordered_list(anchor)}
    odd = [anchor for anchor in orders if choices[anchor] not in ("left", "right")]
    if odd:
        raise ChoiceProblem(f"Choose left or right for {_words(left, odd)}; there is no third option.", odd)
    for anchor in orders:
        values.pop(anchor)
    _check_lost(left, right, choices, found)
    if "" in values:
        raise ChoiceProblem("The versions are documents of different kinds and cannot be merged.", [""])
    try:
        document = compose(
            base, left, right, take=take, values=values, decided=frozenset(values),
            orders=orders, check=True,
        )  # fmt: skip
    except SchemaProblem as problem:
        disputed = AnchorIndex(needed)
        anchors = [disputed.touching(p.pointer) or p.pointer for p in problem.problems]
        sentences = " ".join(f"{_capital(_located(left, right, p.pointer))}: {p.message}" for p in problem.problems[:3])
        raise ChoiceProblem(f"Your choices do not make a valid dialogue. {sentences}", anchors) from None
    _check_edges(document, [anchor for anchor in needed if not isinstance(choices[anchor], str)])
    _check_circle(document, left, right)
    return document


def _value(choice: Choice, anchor: str, left: Document, right: Document) -> object:
    try:
        value = chosen_value(choice, anchor, {"left": left, "right": right})
    except ValueError as error:
        raise ChoiceProblem(str(error), [anchor]) from None
    parts = split(anchor)
    if not isinstance(choice, str) and value is not ABSENT and named(parts[:-1]):
        if not isinstance(value, dict):
            raise ChoiceProblem(f"The value for {_located(left, right, anchor)} must be an object.", [anchor])
        value = {**value, "id": parts[-1]}
    return value


def _check_lost(left: Document, right: Document, choices: Mapping[str, Choice], found: Sequence[Change]) -> None:
    """Raise if a third value names a step that another choice leaves out."""
    disputed = [Discrepancy(one.anchor, Label.OTHER, one.before, one.after) for one in found if matters(one)]
    gone = set(dropped(disputed, choices))
    for anchor, choice in choices.items():
        parts = split(anchor)
        if isinstance(choice, str) or len(parts) != 5 or parts[4] != "depends_on":
            continue
        value = choice.get("value") or ()
        for one in [item for item in value if isinstance(item, dict)] if isinstance(value, list) else ():
            named_step = f"{anchor.rpartition('/')[0].rpartition('/')[0]}/{escape(str(one.get('id')))}"
            if named_step in gone:
                where, what = _words(left, [anchor.rpartition("/")[0]]), one["id"]
                raise ChoiceProblem(
                    f"You leave out {what}, so {where} cannot depend on it. Change one of the two.",
                    [anchor, named_step],
                )


def _check_edges(document: Document, anchors: Sequence[str]) -> None:
    """Raise if a third value names a step that does not exist; any step of the task is allowed."""
    for anchor in anchors:
        step = anchor.removesuffix("/depends_on")
        ids = {item["id"] for item in lookup(document, step.rpartition("/")[0], ()) if isinstance(item, dict)}
        value = lookup(document, f"{step}/depends_on") if split(step)[2:3] == ("steps",) else None
        for dependency in value or ():
            if dependency["id"] not in ids or dependency["id"] == split(step)[3]:
                sentence = (
                    f"{describe(document, step)} cannot depend on {dependency['id']}. Choose another step of its task."
                )
                raise ChoiceProblem(_capital(sentence), [anchor])


def _check_circle(document: Document, left: Document, right: Document) -> None:
    for task, ids in new_circles(document, left, right):
        circle = " → ".join([*ids, ids[0]])
        raise ChoiceProblem(
            f"The chosen dependencies form a cycle: {circle}. Change your choice for one of its steps.",
            [f"{task}/steps/{step}/depends_on" for step in ids],
        )


def _located(left: Document, right: Document, anchor: str) -> str:
    """Return a place in words, found in either version or in what was chosen instead."""
    part = "/".join(anchor.split("/")[:5])  # A step, a candidate, a call: one version may lack it.
    return describe(right if lookup(left, part, ABSENT) is ABSENT else left, anchor)


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


def _words(document: Document, anchors: Sequence[str]) -> str:
    words = [describe(document, anchor) for anchor in anchors[:5]]
    return "; ".join([*words, f"and {len(anchors) - 5} more"] if len(anchors) > 5 else words)
