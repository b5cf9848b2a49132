"""Compares an item at each point of its history with its verified content: the basis of accuracy."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from annotator.core.comparison import Discrepancy, Label, discrepancies

Document = dict[str, Any]

BASELINE = "baseline"
VERIFIED = "verified"
_LABELS = (Label.POLICY, Label.INFORMATION, Label.CUSTOM)


class Closeness(StrEnum):
    """How a revision of an item compares with the verified one."""

    #: Same content.
    RIGHT = "right"
    #: Same labels, calls and answers; only a message was rewritten later.
    MESSAGE = "message"
    #: Labels are missing; everything that is there is the same, except perhaps messages.
    UNLABELLED = "unlabelled"
    WRONG = "wrong"


def closeness(document: Document, verified: Document) -> Closeness:
    """Compare the meaning of two revisions, regardless of white space, order of steps and ids."""
    found = discrepancies(document, verified)
    if not found:
        return Closeness.RIGHT
    rest = [one for one in found if one.label is not Label.MESSAGE]
    if not rest:
        return Closeness.MESSAGE
    return Closeness.UNLABELLED if all(map(_is_missing_label, rest)) else Closeness.WRONG


def _is_missing_label(one: Discrepancy) -> bool:
    """Return whether the earlier revision left a label open that the verified one has."""
    field = one.anchor.rpartition("/")[2]
    return one.left is None and (one.label in _LABELS or field in ("answer_type", "depends_on"))


@dataclass(frozen=True, slots=True)
class Visit:
    """One settled round of a stage, with the content (any hash) before and after."""

    stage: str
    round: int
    came: str
    went: str
    #: Whether somebody reviewed it: not if a draw left the item out.
    looked: bool = True
    #: The stage whose dispute was settled here before the item returned to it: it is part of that stage's round.
    settles: str = ""


def stage_points(stages: Sequence[str], baseline: str, visits: Sequence[Visit]) -> dict[str, str]:
    """Return {point: content at its end}: the baseline, then every stage in the protocol's order.

    ``visits`` are in the order in which they settled. The end of a stage is the last time the item left it; a skipped
    stage keeps the content of the one before.
    """
    left = {visit.stage: visit.went for visit in visits}
    out = {BASELINE: baseline}
    content = baseline
    for stage in stages:
        content = out[stage] = left.get(stage, content)
    return out


def round_points(stage: str, visits: Sequence[Visit]) -> list[str]:
    """Return the content before the stage and after each round; empty if the item never entered it.

    A round ends when its disputes are settled. Rounds of a later cycle continue the numbering of earlier ones.
    """
    here = [visit for visit in visits if stage in (visit.stage, visit.settles)]
    out = [here[0].came] if here else []
    for visit in here:
        if visit.settles == stage:
            out[-1] = visit.went
        elif visit.looked:
            out.extend([out[-1]] * (visit.round - len(out)))
            out.append(visit.went)
    return out


def revised_rounds(stage: str, visits: Sequence[Visit]) -> int | None:
    """Return in how many rounds of the stage the content was changed; None if nobody reviewed the item there."""
    here = [visit for visit in visits if visit.stage == stage and visit.looked]
    return sum(visit.came != visit.went for visit in here) if here else None
