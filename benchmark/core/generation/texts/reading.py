"""Read a model's answer for a batch of texts, and judge each text. Takes linear time."""

import re
from collections.abc import Mapping, Sequence

from annotator.core.comparison.variant_values import is_fixed, is_unfit
from annotator.core.schema.toolsets import CompiledToolset
from annotator.core.schema.value_words import cut
from annotator.core.text import message
from benchmark.core.generation.answers import text_problem
from benchmark.core.generation.finding_json import find_json
from benchmark.core.generation.problems import Problem
from benchmark.core.generation.texts.rewriting import sentence_problem
from benchmark.core.generation.texts.state import SENTENCE, VALUE, Text, TextSetup

#: Characters of an answer: some more than a translation needs.
_LEAST, _TIMES = 400, 6
#: What may be a code or a number; commas belong to it only between digits.
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_@.,:/+#-]*")
_COMMA = re.compile(r"(?<!\d),|,(?!\d)")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
#: A number with a unit, such as 10am, or several, such as 3pm-5pm.
_QUANTITIES = re.compile(r"\d[\d.,:]*[a-z]+(?:-\d[\d.,:]*[a-z]*)*|(?:\d[\d.,:]*-)+\d[\d.,:]*[a-z]+")
#: After a number that another language may spell in another way: 5月 is May, 3万 is 30,000.
_SPELLED = re.compile(r"\s?(?:[月万千百亿]|(?:hundred|thousand|million|billion)\b)")


def fixed_words(text: str) -> list[str]:
    """Return what a translation must keep, each once: numbers as they are spelled, ids, codes, names with “_”, e-mail
    addresses and URLs. Of numbers with a unit, such as 10am, only the numbers.
    """
    found: dict[str, None] = {}
    for match in _WORD.finditer(text):
        if _NUMBER.fullmatch(match[0]) and _SPELLED.match(text, match.end()):
            continue
        for word in _COMMA.split(match[0]):
            word = word.rstrip(".:/+#-")
            if _QUANTITIES.fullmatch(word):
                found.update(dict.fromkeys(_NUMBER.findall(word)))
            elif is_fixed(word):
                found[word] = None
    return list(found)


def read_answer(text: str, batch: Sequence[Text]) -> Mapping[str, str] | Problem:
    """Return what an answer gives for the texts of a batch, by their keys, without the keys that it lacks."""
    found = find_json(text)
    if isinstance(found, Problem):
        return found
    given = found.get("texts", found) if isinstance(found, dict) else None
    if not isinstance(given, dict):
        return Problem("wrong_form", message("Expected an object under “texts”."))
    unknown = next((key for key in given if key not in {one.key for one in batch}), None)
    if unknown is not None:
        return Problem("unknown_text", message("No text “%(name)s” was asked for.", name=cut(unknown)))
    wrong = next((key for key, one in given.items() if not isinstance(one, str)), None)
    if wrong is not None:
        return Problem("wrong_form", message("“%(name)s” must be a text.", name=wrong))
    return {key: one.strip() for key, one in given.items()}


def judge(
    setup: TextSetup, text: Text, written: str | None, terms: Mapping[str, str], *, person: bool = False
) -> Problem | None:
    """Return what is wrong with what was written for a text. None as ``written``: nothing was.

    ``terms``: values of arguments and their translations. A person decides what stays in a translation; a sentence
    must always state its constraint.
    """
    if written is None:
        return Problem("missing", message("The answer lacks this text."))
    most = _LEAST + _TIMES * len(text.text)
    problem = text_problem(written, language=setup.target, names=_names(setup, text), most=most)
    if problem is not None:
        return problem
    if text.kind == SENTENCE:
        return sentence_problem(text.rule or {}, written)
    return None if person else _translation_problem(setup, text, written, terms)


def _names(setup: TextSetup, text: Text) -> CompiledToolset | None:
    """Return the functions that a user may not name; None if the text already names one."""
    if not text.by_user:
        return None
    before = text_problem(text.text, language=setup.source, names=setup.toolset, most=len(text.text))
    return None if before is not None and before.code == "tool_named" else setup.toolset


def _translation_problem(setup: TextSetup, text: Text, written: str, terms: Mapping[str, str]) -> Problem | None:
    same = written == text.text.strip()
    if is_unfit(written, setup.target) and (same or text.kind == VALUE):
        return Problem("untranslated", message("“%(text)s” is not translated.", text=cut(written)))
    if text.kind == VALUE and not same and is_fixed(written):
        return Problem("fixed", message("“%(text)s” is no word. Translate the value.", text=cut(written)))
    there = set(fixed_words(written))
    # A code may be a part of a longer word; a number may not.
    lacking = next((one for one in text.keep if one not in there and (one.isdigit() or one not in written)), None)
    if lacking is not None:
        return Problem("lacks", message("“%(text)s” must stay as it is.", text=cut(lacking)))
    for term, translation in terms_in(text.text, terms):
        if translation.casefold() not in written.casefold():
            sentence = message(
                "Translate “%(term)s” as “%(translation)s”.", term=cut(term), translation=cut(translation)
            )
            return Problem("term", sentence)
    return None


def terms_in(text: str, terms: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the terms that a text has as whole words, with their translations."""
    lower = text.casefold()
    return [(term, translation) for term, translation in terms.items() if _has_word(lower, term.casefold())]


def _has_word(text: str, word: str) -> bool:
    at = text.find(word)
    while at >= 0:
        around = text[max(at - 1, 0) : at], text[at + len(word) : at + len(word) + 1]
        if not any(one.isascii() and one.isalnum() for one in around if word.isascii()):
            return True
        at = text.find(word, at + len(word))
    return False
