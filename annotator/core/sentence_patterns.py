"""Find the pattern that a sentence was written with, and write the sentence in another language."""

import re
from collections.abc import Callable

from annotator.core.constraint_sentences import CONSTRAINT_WORDS, CONSTRAINTS
from annotator.core.sentences import EDITS, FINDINGS, WORDS

_VALUE = re.compile(r"%\((\w+)\)s")
_LIST = re.compile(r"(?<=”), (?=“)|(?<=”) (and|or) (?=“)|, (?=\d+ more$)| (?:and) (?=\d+ more$)")
#: A sentence may quote a sentence that quotes a list.
_DEEPEST = 3
#: A longer text is shown as it is.
_LONGEST = 4000


def rewritten(text: str, translate: Callable[[str], str]) -> str:
    """Return an English text of a pure module in another language; a text without a pattern stays as it is.

    ``translate`` returns the translation of a pattern. Takes linear time: each part of a pattern is searched once.
    """
    if len(text) > _LONGEST:
        return text
    sentence = _filled(text, _SENTENCES, translate, 0)
    return _words(text, translate, 0) if sentence is None else sentence


def _filled(text: str, patterns: tuple["_Pattern", ...], translate: Callable[[str], str], depth: int) -> str | None:
    for pattern in patterns:
        values = pattern.match(text)
        if values is not None:
            template = translate(pattern.text)
            if not values:
                return template.replace("%%", "%")
            return template % {
                name: _words(value, translate, depth + 1) if name.endswith("_words") else value
                for name, value in values.items()
            }
    return None


def _words(text: str, translate: Callable[[str], str], depth: int) -> str:
    """Return a part of a sentence: a sentence, a place such as “task 2, call s3 find”, a list, or words."""
    if depth > _DEEPEST:
        return text
    if depth:
        sentence = _filled(text, _SENTENCES, translate, depth)
        if sentence is not None:
            return sentence
    if text in _EXACT:
        return translate(text)
    if _LIST.search(text):
        separator, joint = translate(", "), {"and": translate(" and "), "or": translate(" or ")}
        return _LIST.sub(lambda found: joint.get(found[1], separator) if found[1] else separator, text)
    for mark in (", ", " or ", " and "):
        parts = text.split(mark, 20)
        if len(parts) > 1:
            done = [
                # The title of a custom field is shown as it is.
                part if part[:1] == "“" else _filled(part, _WORDS, translate, depth)
                for part in parts
            ]
            if all(part is not None for part in done):
                return translate(mark).join(part for part in done if part is not None)
    known = _filled(text, _WORDS, translate, depth)
    return text if known is None else known


class _Pattern:
    """A sentence with placeholders: the literal parts between them, and their names."""

    def __init__(self, text: str) -> None:
        self.text = text
        parts = _VALUE.split(text)
        self.literals, self.names = [part.replace("%%", "%") for part in parts[::2]], parts[1::2]
        self.length = sum(map(len, self.literals))

    def match(self, text: str) -> dict[str, str] | None:
        """Return the values in a text that was written with this pattern, else None."""
        first, *others = self.literals
        if not others:
            return {} if text == first else None
        if not text.startswith(first) or not text.endswith(others[-1]):
            return None
        values, place, end = {}, len(first), len(text) - len(others[-1])
        for name, literal in zip(self.names[:-1], others[:-1], strict=True):
            at = text.find(literal, place, end)
            if at < 0:
                return None
            values[name], place = text[place:at], at + len(literal)
        if place > end:
            return None
        return {**values, self.names[-1]: text[place:end]}


def _longest_first(texts: tuple[str, ...]) -> tuple[_Pattern, ...]:
    return tuple(sorted(map(_Pattern, texts), key=lambda pattern: -pattern.length))


_SENTENCES, _WORDS = _longest_first(FINDINGS + CONSTRAINTS + EDITS), _longest_first(WORDS + CONSTRAINT_WORDS)
#: Words without values, which may contain what joins the words of a list.
_EXACT = frozenset(text for text in WORDS + CONSTRAINT_WORDS if "%" not in text)
