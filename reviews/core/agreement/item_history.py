"""How near an item was to its verified content at each point of its way: what accuracy is counted from."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from annotator.core.comparison import Label, discrepancies

Document = dict[str, Any]

BASELINE = "baseline"
VERIFIED = "verified"


class Closeness(StrEnum):
    """How a version of an item compares with the one that was verified."""

    #: It says the same.
    RIGHT = "right"
    #: Labels, calls and answers are the same; a message was rewritten later.
    MESSAGE = "message"
    WRONG = "wrong"


def closeness(document: Document, verified: Document) -> Closeness:
    """Compare two versions in what they mean: white space, the order of steps and ids that were given do not count."""
    found = discrepancies(document, verified)
    if not found:
        return Closeness.RIGHT
    return Closeness.MESSAGE if all(one.label is Label.MESSAGE for one in found) else Closeness.WRONG


@dataclass(frozen=True, slots=True)
class Visit:
    """One settled round of a stage, with the content (any hash) that came in and went out."""

    stage: str
    round: int
    came: str
    went: str
    #: Whether somebody looked: not where a draw passed the item over.
    looked: bool = True
    #: The stage whose dispute was settled here, before the item came to that stage again: it is part of its round.
    settles: str = ""


def stage_points(stages: Sequence[str], baseline: str, visits: Sequence[Visit]) -> dict[str, str]:
    """{point: content at its end}: the baseline, then every stage in the protocol's order.

    ``visits`` in the order in which they settled. The end of a stage is the last time the item left it; a stage that
    the item passed over keeps the content of the one before.
    """
    left = {visit.stage: visit.went for visit in visits}
    out = {BASELINE: baseline}
    content = baseline
    for stage in stages:
        content = out[stage] = left.get(stage, content)
    return out


def round_points(stage: str, visits: Sequence[Visit]) -> list[str]:
    """The content with which the item came into the stage, and that after each round; empty if it never did.

    A round ends when what it disputed is settled, and passes over an item that it leaves as it was. Where rounds are
    numbered anew, in a further cycle, they are taken as following on those before.
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
    """In how many rounds of the stage the content was changed; None where nobody looked at the item there."""
    here = [visit for visit in visits if visit.stage == stage and visit.looked]
    return sum(visit.came != visit.went for visit in here) if here else None
