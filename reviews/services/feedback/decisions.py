"""A decision against somebody’s work, as others read it: who it is about, both versions, the ruling."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from django.utils.translation import gettext as _

from annotator.core.text import Message, Value, counted_message, message
from annotator.presentation.changes import ChangeLine, content_lines
from annotator.services.custom_fields import fields_of
from annotator.translation import translated
from reviews.models import Feedback, Verdict
from reviews.services.submission.rulings import Dispute, load_dispute

#: What feedback says to a person → the same about them, with their name as ``person``.
_ABOUT: dict[str, Message] = {
    "A random sample found an error in a dialogue that you worked on.": message(
        "A random sample found an error in a dialogue that %(person)s worked on."
    ),
    "A dispute about your dialogue was settled. The result differs from your revision.": message(
        "A dispute about a dialogue of %(person)s was settled. The result differs from their revision."
    ),
    "A dispute about your dialogue was settled. The dialogue was rejected.": message(
        "A dispute about a dialogue of %(person)s was settled. The dialogue was rejected."
    ),
    "A dispute about a dialogue that you reviewed was settled. %(outcome)s": message(
        "A dispute about a dialogue that %(person)s reviewed was settled. %(outcome)s"
    ),
    "The dialogue passed, although you had rejected it.": message(
        "The dialogue passed, although %(person)s had rejected it."
    ),
    "The dialogue was rejected, although you had approved it.": message(
        "The dialogue was rejected, although %(person)s had approved it."
    ),
    "The result differs from your review.": message("The result differs from the review of %(person)s."),
    "Your dialogue audited in draw %(draw)s had errors (%(share)s; the limit is %(limit)s).": counted_message(
        "The dialogue of %(person)s audited in draw %(draw)s had errors (%(share)s; the limit is %(limit)s).",
        "%(errors)s of %(count)s dialogues of %(person)s audited in draw %(draw)s had errors "
        "(%(share)s; the limit is %(limit)s).",
        1,
    ),
    "Your other dialogue, which wasn’t drawn, was sent back to you. Check it for the same errors.": counted_message(
        "Their other dialogue, which wasn’t drawn, was sent back to them.",
        "Their other %(count)s dialogues, which weren’t drawn, were sent back to them.",
        1,
    ),
}


@dataclass(frozen=True)
class Decision:
    """What was decided about the work of one person.

    ``before``: what the changes start from, in words; ``changes``: from there to the decided version, none if the
    dialogue was rejected; ``choices``: place of a ruling → the version that was chosen, in words.
    """

    before: str
    changes: list[ChangeLine] = field(default_factory=list)
    choices: Mapping[str, str] = field(default_factory=dict)


def opening_about(row: Feedback, *, nameless: bool) -> str:
    """Return the first line of a feedback for somebody else than its person. ``nameless``: without the name."""
    name: Value = message("a colleague") if nameless else str(row.person)
    return translated(_about(row.message, name)).split("\n", 1)[0]


def _about(said: Message, name: Value) -> Message:
    values = {key: _about(value, name) if isinstance(value, Message) else value for key, value in said.values.items()}
    words = _ABOUT.get(said.text)
    if words is None:
        return replace(said, values=values)
    return replace(words, values=values | {"person": name}, count=said.count)


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
