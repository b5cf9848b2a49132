"""The first sentence of a feedback for others than its person: it names the person."""

from dataclasses import replace

from annotator.core.text import Message, Value, counted_message, message
from annotator.translation import translated
from reviews.models import Feedback

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
