"""Whose turn it is: settled by a keyed hash, so that nobody foresees it and everybody with the key can check it."""

import hashlib
import hmac

from reviews.core.protocols import Stage, StageKind

#: Numbers of a keyed hash lie from 0 up to here.
_RANGE = 2**64


def keyed_random(secret: str, *parts: int | str) -> float:
    """A number from 0 up to 1 that is always the same for the same parts: the first 8 bytes of an HMAC-SHA256."""
    text = ":".join(map(str, parts))
    digest = hmac.new(secret.encode(), text.encode(), hashlib.sha256).digest()
    return int.from_bytes(digest[:8], "big") / _RANGE


def is_due(secret: str, *, person: int, claims: int, rate: float) -> bool:
    """Whether a person who has claimed so often in a stage gets a gold item now.

    ``secret`` belongs to the project and the stage. Each claim falls by itself: over many, the share is ``rate``.
    """
    return keyed_random(secret, "turn", person, claims) < rate


def reason_against_gold(stage: Stage) -> str:
    """Why a stage can have no gold items, as a sentence; blank where it can.

    Several people get one item, and none may see that others did. That takes a stage in which nothing is seen before
    all reviews are in, and in which an item that one person has handed in waits for another: elsewhere it would move
    on at once, and one that does not would show what it is.
    """
    if stage.kind is StageKind.EXPERT:
        return "Experts see known answers, so theirs cannot be tested."
    if not stage.blind:
        return "The stage is not blind: each would see what those before them said of the item."
    if stage.in_rounds:
        return "Its items are drawn and shared out among pairs, so one that came to somebody otherwise would be odd."
    if stage.reviewers < 2:
        return "One review is enough here, so an item that did not move on after it would be known for what it is."
    return ""
