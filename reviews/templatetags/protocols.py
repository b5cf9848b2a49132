"""``{% load protocols %}``: what a protocol says, in words."""

from django import template

from reviews.core.protocols import differences

register = template.Library()

register.filter("entry_words", differences.entry_words)


@register.filter
def outcome_words(outcome: str) -> str:
    """What becomes of an item: ``{{ rule.outcome|outcome_words }}``."""
    return differences.OUTCOMES.get(outcome, outcome)


@register.filter
def content_words(content: str) -> str:
    """Which content a row of an outcome table is about."""
    return differences.CONTENT_RULES.get(content, content)
