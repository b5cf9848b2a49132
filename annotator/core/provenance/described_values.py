"""Choices and defaults that a parameter's description states in words, not in its schema."""

import re
from functools import lru_cache
from typing import NamedTuple

from annotator.core.provenance.numbers_in_text import number_of
from annotator.core.provenance.value_forms import fold

#: Characters of a description that are read, of a list of choices, and of a default after or before its word.
_MOST, _LIST, _REACH, _BACK = 4_000, 1_500, 40, 24
_DEFAULT = re.compile(
    r"default|默认|\b(?:if|when) (?:it is |they are )?(?:omitted|absent|empty|missing|unset|not \w{3,10})\b"
)
#: Words before a list of all choices.
_CHOICES = re.compile(
    r"\[enum\]|\benum(?:eration)?s?\b|\b(?:one|any|some|either|both) of\b|\beither\b|\b(?:options|choices)\b"
    r"|\b(?:possible|allowed|valid|accepted|available|supported|permitted|acceptable|legal) (?:\w{3,12} )?"
    r"(?:values?|options?|choices?|types?|modes?|units?|are|is)\b|\b(?:can|may|must|should) (?:only )?be\b|\bvalues?:"
    r"|\bsupport(?:s|ing)?\b|可选|取值|枚举|可以是|可以为|可为|支持|包括"
)
#: Words before examples of choices. Only words of a fixed vocabulary count: an example of a name is no source.
_EXAMPLES = re.compile(r"\bsuch as\b|\be\.g\.|\bfor (?:example|instance)\b|\blike\b|例如|比如|如(?=['‘“\"])")
#: (Buy/Sell)
_IN_BRACKETS = re.compile(r"[(\[](\w[\w-]{0,20}(?:/\w[\w-]{0,20}){1,9})[)\]]")
_LEADING = re.compile(r"^(?:\W|of\b|are\b|is\b|be\b|the\b|following\b|值|项|为|是|有)+")
_BETWEEN = re.compile(r"[,，、;；|/\n]|\bor\b|\band\b|或|和|及")
_MEANING = re.compile(r"[(（:：=]|\s[–—-]\s|\s(?:for|means?|to|if|when)\s|代表|表示")
_QUOTED = re.compile(r"'([^'\n]{1,40})'|\"([^\"\n]{1,40})\"|`([^`\n]{1,40})`|‘([^’\n]{1,40})’|“([^”\n]{1,40})”")
#: A sentence ends at these; not inside brackets or a number.
_END = re.compile(r"[.。!?](?:\s|$)")
_MARKS = " \t.,;:!?()[]{}<>=“”‘’'\"`。，：、（）"


class Described(NamedTuple):
    """Folded values: ``defaults``, of which some may be other words near the word “default”, and ``choices``."""

    defaults: frozenset[str]
    choices: frozenset[str]


@lru_cache(maxsize=8192)
def described(description: str) -> Described:
    """Return the defaults and choices in a description. Cached, because there are few descriptions."""
    raw = description[:_MOST]
    folded = fold(raw)
    choices: set[str] = set()
    for match in _CHOICES.finditer(folded):
        choices.update(_items(_list_after(folded, match.end())))
    for match in _IN_BRACKETS.finditer(folded):
        choices.update(match[1].split("/"))
    for match in _EXAMPLES.finditer(folded):
        examples = _items(_list_after(raw, match.end()))
        if len(examples) > 1:
            choices.update(fold(one) for one in examples if _is_vocabulary(one))
    return Described(_with_numbers(_defaults(folded)), _with_numbers(choices))


def _with_numbers(words: set[str]) -> frozenset[str]:
    """Return the words, and those that are numbers also as Python writes them (25.0 as 25)."""
    return frozenset(words | {str(number) for word in words if (number := number_of(word)) is not None})


def _defaults(folded: str) -> set[str]:
    found: set[str] = set()
    for match in _DEFAULT.finditer(folded):
        start, end = match.span()
        behind = _QUOTED.sub(lambda quoted: f" {quoted[0][1:-1].replace(' ', '_')} ", folded[end : end + _REACH])
        found.update(each.strip(_MARKS) for each in re.split(r"[\s，。；（）：]+|值?[为是]", behind))
        found.update(quoted[0][1:-1] for quoted in _QUOTED.finditer(folded[end : end + _REACH]))
        # “10 by default”, “metric (default)”, “metric is the default”
        before = re.sub(r"(?: by| is the|\()\s?$| \($", "", folded[max(0, start - _BACK) : start])
        if before != folded[max(0, start - _BACK) : start]:
            found.update(each.strip(_MARKS) for each in before.split()[-3:])
    return found - {""}


def _list_after(text: str, start: int) -> str:
    """Return what may be a list: up to its closing bracket, else up to the end of the sentence."""
    part = text[start : start + _LIST]
    opening = re.match(r"[\s:：]{0,3}\[", part)
    if opening:
        return part[opening.end() :].partition("]")[0]
    end = _END.search(part)
    return part[: end.start()] if end else part


def _items(text: str) -> list[str]:
    """Return the members of a list: the quoted ones if there are any, else those of at most three words."""
    quoted = [next(filter(None, match.groups())) for match in _QUOTED.finditer(text)]
    if quoted:
        return quoted
    found = []
    for part in _BETWEEN.split(_LEADING.sub("", text))[:300]:
        word = _MEANING.split(part.strip(_MARKS), maxsplit=1)[0].strip(_MARKS)
        if word and word.count(" ") < 3:
            found.append(word)
    return found


def _is_vocabulary(word: str) -> bool:
    """Return whether a word looks like a member of a fixed set (asc, ORGANIZATION), not a name, a number or a code."""
    return any(c.isalpha() for c in word) and (word == word.lower() or (word.isupper() and len(word) > 3))
