"""A decision against somebody’s work, as others than this person read it: both versions and the rulings."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.utils.translation import gettext as _

from annotator.presentation.changes import ChangeLine, content_lines
from annotator.services.custom_fields import fields_of
from reviews.models import Feedback, Verdict
from reviews.services.submission.rulings import Dispute, load_dispute


@dataclass(frozen=True)
class Decision:
    """What was decided about the work of one person.

    ``before``: what the changes start from, in words; ``changes``: from there to the decided version, none if the
    dialogue was rejected; ``choices``: place of a ruling → the version that was chosen, in words.
    """

    before: str
    changes: list[ChangeLine] = field(default_factory=list)
    choices: Mapping[str, str] = field(default_factory=dict)


def read_decision(row: Feedback) -> Decision:
    """Return the decision that a feedback reports. The caller has checked that the reader may know it and its names."""
    review, dispute = row.review, load_dispute(row.review.slot)
    before, document = _("The version before"), review.seen_revision.document()
    if dispute is not None:
        own = next((one for one in dispute.sides if one.review and one.review.person_id == row.person_id), None)
        wrote = own is not None and own.review is not None and own.review.made_revision_id is not None
        document = own.document if own is not None and wrote else dispute.base
        if wrote or review.seen_author_id == row.person_id:
            before = _("The version of %(person)s") % {"person": row.person}
    choices = {} if dispute is None else {one.anchor: _choice(dispute, one.choice) for one in row.rulings.all()}
    if review.verdict == Verdict.REJECT:
        return Decision(before, [], choices)
    decided = (review.made_revision or review.seen_revision).document()
    return Decision(before, content_lines(document, decided, fields_of(row.dialogue.project)), choices)


def _choice(dispute: Dispute, choice: str) -> str:
    """Return which version a ruling chose, in words."""
    if choice == "third":
        return _("a third version")
    if choice == "none":
        return _("neither version")
    side = dispute.left if choice == "left" else dispute.right
    if side.review is None:
        return _("the version before the review")
    return _("the version of %(person)s") % {"person": side.review.person}
