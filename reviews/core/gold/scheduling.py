"""Decides by a keyed hash who gets a gold item next: unpredictable, but anyone with the key can check it."""

import hashlib
import hmac

from annotator.core.text import gettext_noop
from reviews.core.protocols import Stage, StageKind

#: Values of the keyed hash range from 0 up to this number.
_RANGE = 2**64


def keyed_random(secret: str, *parts: int | str) -> float:
    """Return a number from 0 up to 1 that depends only on the parts: the first 8 bytes of an HMAC-SHA256."""
    text = ":".join(map(str, parts))
    digest = hmac.new(secret.encode(), text.encode(), hashlib.sha256).digest()
    return int.from_bytes(digest[:8], "big") / _RANGE


def is_due(secret: str, *, person: int, claims: int, rate: float) -> bool:
    """Return whether a person with this many claims in a stage gets a gold item now.

    ``secret`` belongs to the project and the stage. Each claim is decided independently: over many, the share is
    ``rate``.
    """
    return keyed_random(secret, "turn", person, claims) < rate


def reason_against_gold(stage: Stage) -> str:
    """Return why a stage can have no gold items, as a sentence; blank if it can.

    Several people get one item and must not notice each other. So reviews must stay hidden until all are submitted, and
    an item must wait for another reviewer after the first review: elsewhere it would move on at once, and an item that
    does not would stand out.
    """
    if stage.kind is StageKind.EXPERT:
        return gettext_noop("Senior reviewers can see known answers.")
    if not stage.blind:
        return gettext_noop("The stage isn’t blind, so people would see earlier reviews of the item.")
    if stage.in_rounds:
        return gettext_noop("Its items are drawn and assigned to pairs, so a gold item would stand out.")
    if stage.reviewers < 2:
        return gettext_noop("Items need only one review here, so a gold item would stand out.")
    return ""
