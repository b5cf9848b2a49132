"""Constructed cases whose sentences are put into other words, always anchored."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from annotator.core.case_construction.filtering import problems_of
from annotator.core.constraints.stating import quoted_texts
from annotator.core.schema import read_document
from annotator.core.schema.toolsets import CompiledToolset
from benchmark.core.constructing import FIELD, Made
from benchmark.core.generation.purposes import Purpose
from benchmark.core.generation.texts.reading import fixed_words
from benchmark.core.generation.texts.rewriting import rule_of
from benchmark.core.generation.texts.state import SENTENCE, Text, TextSetup, TextState

#: Why a sentence is the generator's.
NO_ANSWER = "No usable answer. {why}"
AGAINST_FILTER = "With the other sentence, the filter found: {why}"
CHANGED = "The source has changed since the sentences were made."


def sentences_setup(name: str, made: Sequence[Made], *, retries: int = 2, **more: Any) -> TextSetup:
    """Return what to ask for: the sentences of cases. ``more``: fields of the setup. Raises Unusable."""
    held = [(one, constraint) for one in made for constraint in one.case.document["constraints"]]
    texts = tuple(
        Text(
            f"s{number}", SENTENCE, str(constraint["category"]), constraint["text"],
            (place_of(one, constraint),), (*quoted_texts(constraint["text"]), *fixed_words(constraint["text"])),
            rule=rule_of(constraint),
        )
        for number, (one, constraint) in enumerate(held, 1)
    )  # fmt: skip
    return TextSetup(name, Purpose.REWRITING, "en", "en", texts, retries=retries, **more)


def source_of(made: Made) -> str:
    """Return the id of the source from which a case is made."""
    return str(made.record[FIELD]["source"])


def place_of(made: Made, constraint: Mapping[str, Any]) -> str:
    """Return what names a sentence among those of several cases."""
    return f"{made.name}/constraints/{constraint['id']}"


def case_at(place: str) -> str:
    """Return the id of the case in which a sentence is."""
    return place.rpartition("/constraints/")[0]


def rewrite_sentences(made: Made, state: TextState) -> Made:
    """Return the case with the sentences of a complete state.

    A constraint keeps its text, and its anchor is the sentence of the system prompt. Each sentence without a usable
    answer, and each with which the filter of the construction finds something, stays the generator's; the record says
    which and why.
    """
    written = {text.places[0]: (text, words) for text, words in state.results()}
    sentences: dict[int, str] = {}
    kept: dict[int, str] = {}
    for position, constraint in enumerate(made.case.document["constraints"]):
        text, words = written.get(place_of(made, constraint), (None, ""))
        if text is None or text.rule != rule_of(constraint):
            kept[position] = CHANGED
        elif state.done[text.key].get("kept"):
            kept[position] = NO_ANSWER.format(why=state.problems(text.key)[0].english)
        elif words != text.text:
            sentences[position] = words
    toolset = CompiledToolset.of_tools(made.record["tools"])
    while sentences:
        document = _with_sentences(made.case.document, sentences)
        problems = problems_of(document, toolset)
        against = {position: why for position, why in problems.items() if position in sentences} or problems
        if not problems:
            break
        for position, why in against.items():
            # What is wrong with a constraint may be due to any other sentence.
            for one in [position] if position in sentences else [*sentences]:
                sentences.pop(one, None)
                kept[one] = AGAINST_FILTER.format(why=why)
    else:
        document = made.case.document
    return _told(made, document, sentences, kept)


def _with_sentences(document: Mapping[str, Any], sentences: Mapping[int, str]) -> dict[str, Any]:
    """Return the document whose system prompt, which ends with the list of the constraints, has these sentences."""
    constraints = [dict(one) for one in document["constraints"]]
    lines = document["system_prompt"].rstrip("\n").split("\n")
    first = len(lines) - len(constraints)
    for position, sentence in sentences.items():
        lines[first + position] = f"- {sentence}"
        constraints[position]["anchor"] = sentence
    return read_document({**document, "constraints": constraints, "system_prompt": "\n".join(lines) + "\n"})


def _told(made: Made, document: dict[str, Any], sentences: Mapping[int, str], kept: Mapping[int, str]) -> Made:
    names = [one["category"] for one in document["constraints"]]
    told = {
        "rewritten": [names[position] for position in sorted(sentences)],
        "not_rewritten": [f"{names[position]}: {kept[position]}" for position in sorted(kept)],
    }
    how = made.record[FIELD] | {key: value for key, value in told.items() if value}
    return replace(
        made, case=replace(made.case, document=document), record=made.record | {"document": document, FIELD: how}
    )
