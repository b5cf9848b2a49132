"""Sentences of constraints in other words, always anchored: the checks of system prompts judge each of them."""

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise
from typing import Any

from annotator.core.constraints.behavior import SequentialDependencies
from annotator.core.constraints.case import Case, parameters_of
from annotator.core.constraints.feasibility import feasibility_findings
from annotator.core.constraints.model import Constraint
from annotator.core.constraints.response import Content, Format
from annotator.core.constraints.sentence_claims import named_tools, named_units, numbers_in, read_claim
from annotator.core.constraints.stating import find_statement, quoted_texts
from annotator.core.constraints.taxonomy import find_category
from annotator.core.schema.value_words import cut
from annotator.core.text import Message, message
from benchmark.core.generation.problems import Problem

#: What a sentence must say in some form if the generator's says it.
_MEANT = tuple(
    re.compile(rf"\b(?:{words})\b", re.I)
    for words in ("rounds?", "different|distinct", "total|all|altogether|overall", "final|last")
)
_NOT = re.compile(
    r"\b(?:no|not|none|nothing|never|neither|nor|without|avoid\w*|omit\w*|exclud\w*|refrain|skip|free of|leave out)\b"
    r"|n[’']t\b",
    re.I,
)
#: Words of limits, which negate nothing.
_BOUND = re.compile(r"\b(?:no|not)\s+(?:more|fewer|less)\s+than\b", re.I)
#: What must be between two functions of which the first one comes first, and what may not be.
_THEN = re.compile(r"\b(?:then|before|next|followed by|precedes?)\b", re.I)
_AFTER = re.compile(r"\b(?:after|once|until|unless|following)\b", re.I)
_ORDERED, _NEGATABLE = SequentialDependencies.id, (Format.id, Content.id)
_TAKEN = ("dimension", "category", "text", "parameters")
_WORD = re.compile(r"[\w-]+")


def rule_of(constraint: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a document's constraint a sentence must state."""
    return {name: constraint[name] for name in _TAKEN}


def sentence_problem(rule: Mapping[str, Any], sentence: str) -> Problem | None:
    """Return why a sentence does not state a constraint, which the generator has stated in ``rule["text"]``.

    It is one line with the same numbers, bounds, names and quotations, and as a system prompt of its own, it has no
    finding of the checks of cases.
    """
    before = Constraint.model_validate(dict(rule))
    text = before.text or ""
    if "\n" in sentence:
        return Problem("lines", message("Write one line for each sentence."))
    names = _tools_of(before)
    lacking = next(_lacking(text, sentence, names), None)
    if lacking is not None:
        return Problem("lacks", message("“%(text)s” must stay as it is.", text=cut(lacking)))
    one, other = read_claim(text), read_claim(sentence)
    if (one.lows, one.highs) != (other.lows, other.highs) or named_units(text) != named_units(sentence):
        told = message("State the same limits in the same unit, with “at most”, “at least” or “between”.")
        return Problem("bounds", told)
    if len(names) > 1 and _order(text, names) != _order(sentence, names):
        return Problem("order", message("Name the functions and their numbers in the same order."))
    if before.category in _NEGATABLE and _is_negated(text) != _is_negated(sentence):
        return Problem("negated", message("Do not turn the rule into its opposite: %(text)s", text=text))
    if before.category == _ORDERED and not _is_in_order(sentence, names):
        return Problem("order", message("Say with “then” or “before” which function comes first."))
    stated = find_statement(sentence, before)
    if stated is None or not stated.agrees:
        return Problem("unstated", message("The sentence does not state the constraint: %(text)s", text=text))
    own = before.model_copy(update={"text": sentence})
    for finding in feasibility_findings(Case((own,), system_prompt=sentence)):
        return Problem(finding.check, Message(finding.message))
    return None


def _lacking(text: str, sentence: str, names: Collection[str]) -> Iterator[str]:
    """Yield the quotations, names and numbers of a text that a sentence lacks."""
    yield from (one for one in quoted_texts(text) if one not in sentence)
    there = set(_WORD.findall(sentence))
    yield from (one for one in names if one not in there)
    yield from map(str, sorted(numbers_in(text) - numbers_in(sentence)))
    for meant in _MEANT:
        said = meant.search(text)
        if said and not meant.search(sentence):
            yield said[0]


def _order(text: str, names: Collection[str]) -> tuple[list[str], list[int]]:
    """Return the names in a text, and its numbers, each in the order in which they come."""
    words = _WORD.findall(text)
    return [one for one in words if one in names], [number for one in words for number in numbers_in(one)]


def _is_negated(text: str) -> bool:
    return bool(_NOT.search(_BOUND.sub(" ", text)))


def _is_in_order(sentence: str, names: Collection[str]) -> bool:
    """Return whether a sentence says between neighbouring names that the first one comes first."""
    found = [match for match in _WORD.finditer(sentence) if match[0] in names]
    between = [sentence[one.end() : other.start()] for one, other in pairwise(found) if one[0] != other[0]]
    return all(_THEN.search(one) and not _AFTER.search(one) for one in between)


def _tools_of(constraint: Constraint) -> list[str]:
    """Return the functions that a constraint names."""
    category, parameters = find_category(constraint.category), parameters_of(constraint)
    named = () if category is None or parameters is None else category.tools(parameters)
    return sorted({*named, *named_tools(constraint.text or "")})
