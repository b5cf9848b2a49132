"""``{% load protocols %}``: what a protocol says, in the reader's language."""

from collections.abc import Iterable

from django import template
from django.utils.translation import gettext as _

from reviews.core.protocols import Entry, differences
from reviews.services.protocols.readers import in_reader_language

register = template.Library()


@register.filter
def protocol_words(text: str) -> str:
    """Return a title, question or error type of a protocol: ``{{ stage.title|protocol_words }}``."""
    return in_reader_language(str(text))


@register.filter
def entry_words(entry: Entry) -> str:
    """Return which items enter a stage: ``{{ stage.entry|entry_words }}``."""
    return differences.entry_words(entry, _)


@register.filter
def author_words(rule: str) -> str:
    """Return whether an item's author may review it."""
    return _(differences.AUTHOR_RULES.get(rule, rule))


@register.filter
def verdict_words(verdicts: Iterable[str]) -> str:
    """Return the verdicts of a row in an outcome table."""
    return " + ".join(_(differences.VERDICTS.get(one, one)) for one in verdicts)


@register.filter
def outcome_words(outcome: str) -> str:
    """Return what becomes of an item: ``{{ rule.outcome|outcome_words }}``."""
    return _(differences.OUTCOMES.get(outcome, outcome))


@register.filter
def applies_words(condition: str) -> str:
    """Return when a question of a checklist is asked."""
    return _(differences.APPLIES.get(condition, condition))


@register.filter
def content_words(content: str) -> str:
    """Return which content a row of an outcome table is about."""
    return _(differences.CONTENT_RULES.get(content, content))
