"""Compares a review of a gold item with the known answer.

Places are those of ``core.comparison.discrepancies``, relative to the answer: a difference of the shown revision is an
error; a difference of the submitted revision is an error that is left.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from annotator.core.comparison import Discrepancy, discrepancies
from annotator.core.comparison.anchors import covers, split
from annotator.core.text import gettext_noop
from reviews.core.protocols import Verdict

Document = dict[str, Any]


class AnchorResult(StrEnum):
    """The result at a place."""

    #: An error that now matches the answer.
    REPAIRED = "repaired"
    #: An error that was changed, but does not match the answer.
    OTHERWISE = "otherwise"
    #: An error that was left, but reported by a reviewer who rejected or escalated the item.
    NAMED = "named"
    MISSED = "missed"
    #: A new error where there was none.
    FALSE = "false"


RESULT_LABELS: dict[AnchorResult, str] = {
    AnchorResult.REPAIRED: gettext_noop("fixed"),
    AnchorResult.OTHERWISE: gettext_noop("fixed differently"),
    AnchorResult.NAMED: gettext_noop("reported, not fixed"),
    AnchorResult.MISSED: gettext_noop("missed"),
    AnchorResult.FALSE: gettext_noop("unnecessary change"),
}
#: Fields that only people read, with the length of their anchors: an argument can have the same name.
_WORDS = {
    *((1, "system_prompt"), (1, "user_query"), (3, "user_message"), (3, "text")),
    *((5, "question"), (5, "user_reply"), (5, "text")),
}
_FOUND = (AnchorResult.REPAIRED, AnchorResult.OTHERWISE, AnchorResult.NAMED)


@dataclass(frozen=True, slots=True)
class ScoredAnchor:
    """A place with an error, or with a new one. The anchor is the answer's."""

    anchor: str
    #: Of ``annotator.core.comparison.Label``.
    label: str
    result: AnchorResult


@dataclass(frozen=True, slots=True)
class Score:
    """One review against the known answer."""

    verdict_right: bool
    places: tuple[ScoredAnchor, ...]

    @property
    def errors(self) -> int:
        """How many errors the item had."""
        return sum(place.result is not AnchorResult.FALSE for place in self.places)

    @property
    def found(self) -> int:
        """How many of them were found, whatever was done about them."""
        return sum(place.result in _FOUND for place in self.places)

    @property
    def false_changes(self) -> int:
        return sum(place.result is AnchorResult.FALSE for place in self.places)


def errors_in(shown: Document, answer: Document) -> list[Discrepancy]:
    """Return the places where the shown revision differs in meaning from the answer."""
    return discrepancies(answer, shown)


def score(*, shown: Document, answer: Document, submitted: Document, verdict: str, named: Iterable[str] = ()) -> Score:
    """Compare a review with the answer. ``named``: anchors of the errors the reviewer reported.

    The verdict is correct if an item without errors is approved unchanged, and if one with errors is escalated, or
    approved with changes that fix all of them: it can be fixed, so rejecting it is as wrong as approving it. Wording
    may differ from the answer, because no program can tell whether two texts say the same.
    """
    errors, left = errors_in(shown, answer), discrepancies(answer, submitted)
    named = list(named)
    # A call that differs as a whole is one place; if it is fixed in part, the rest is below it, and vice versa.
    here = [[one for one in left if _touch(one.anchor, error.anchor)] for error in errors]
    places = [
        ScoredAnchor(error.anchor, error.label, _result(error, rest, named))
        for error, rest in zip(errors, here, strict=True)
    ]
    all_fixed = all(
        not rest or (place.result is AnchorResult.OTHERWISE and all(_is_words(one.anchor) for one in rest))
        for place, rest in zip(places, here, strict=True)
    )
    places += [
        ScoredAnchor(one.anchor, one.label, AnchorResult.FALSE)
        for one in left
        if not any(_touch(one.anchor, error.anchor) for error in errors)
    ]
    if not errors:
        right = verdict == Verdict.APPROVE
    else:
        right = verdict == Verdict.ESCALATE or (verdict == Verdict.FIX and all_fixed)
    return Score(right, tuple(places))


def _is_words(anchor: str) -> bool:
    parts = split(anchor)
    return (len(parts), *parts[-1:]) in _WORDS


def _result(error: Discrepancy, here: list[Discrepancy], named: list[str]) -> AnchorResult:
    """``here``: what still differs from the answer at the error."""
    if not here:
        return AnchorResult.REPAIRED
    if any(one.anchor != error.anchor or one.right != error.right for one in here):
        return AnchorResult.OTHERWISE
    return (
        AnchorResult.NAMED if any(_touch(anchor, error.anchor) for anchor in named if anchor) else AnchorResult.MISSED
    )


def _touch(one: str, other: str) -> bool:
    return covers(one, other) or covers(other, one)
