"""Places on which an expert rules, for tests that settle disputes."""

from reviews.models import Slot
from reviews.services.submission.rulings import load_dispute


def disputed_anchors(slot: Slot) -> list[str]:
    """Return the anchors of the places that are disputed in this slot."""
    dispute = load_dispute(slot)
    return [place.anchor for place in dispute.discrepancies] if dispute else []
