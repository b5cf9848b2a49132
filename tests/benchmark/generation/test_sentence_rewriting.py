"""Sentences in other words: each states its constraint as the checks of system prompts read it, or stays as it was."""

import json

import pytest

from annotator.core.case_construction import DRAWN
from annotator.core.constraints.anchoring import anchor_findings
from annotator.core.constraints.reading_case import case_of
from annotator.core.validators import subjects_of
from benchmark.core.constructing import Made, Options, make
from benchmark.core.generation.state import Source
from benchmark.core.generation.texts import steps
from benchmark.core.generation.texts.rewriting import rule_of, sentence_problem
from benchmark.core.generation.texts.state import TextState
from benchmark.core.rewritten_cases import rewrite_sentences, sentences_setup
from tests.annotator.case_documents import TOOLS, case
from tests.annotator.core.case_construction.test_case_construction import SOURCES, made
from tests.benchmark.generation.text_replays import replay

MODEL = Source("model", "m", "hash", 1)
#: The generator's sentence → others that say the same, and others that do not, each with the code of its problem.
SENTENCES: dict[str, tuple[list[str], list[tuple[str, str]]]] = {
    "Take between 3 and 5 interaction rounds, including the final response.": (
        ["Finish in between 3 and 5 rounds, the final response included.",
         "Use no fewer than 3 and no more than 5 rounds, counting the final answer."],
        [("Finish in between 3 and 6 rounds, the final response included.", "lacks"),
         ("Finish in between 3 and 5 rounds.", "lacks"), ("At least 3 or 5 final rounds.", "bounds")],
    ),
    "Make at most 3 tool calls in total.": (
        ["In total, no more than 3 tool calls are allowed.", "Do not exceed three tool calls overall."],
        [("Make at least 3 tool calls in total.", "bounds"), ("Make some tool calls in total.", "lacks"),
         ("In total\\nat most 3 tool calls.", "lines")],
    ),
    "Make at most 2 calls to find_ferry; at most 1 call to read_timetable.": (
        ["You may call find_ferry at most 2 times, and read_timetable at most once."],
        [("You may call find_ferry at most 1 time, and read_timetable at most 2 times.", "order"),
         ("Call read_timetable at most 1 time and find_ferry at most 2 times.", "order"),
         ("Call find_ferry at most 2 times, the other at most 1 time.", "lacks")],
    ),
    "Call in this order, each in a later round: find_ferry, then read_timetable.": (
        ["Call find_ferry before read_timetable, in separate rounds.",
         "First call find_ferry and, in a later round, then read_timetable."],
        [("Call find_ferry only after read_timetable, in separate rounds.", "order")],
    ),
    "Answer in at most 20 words.": (
        ["Your answer has no more than twenty words."],
        [("Your answer has at most 20 characters.", "bounds"), ("Keep the answer short.", "lacks")],
    ),
    "Answer in plain text, without “**”, “#”, “`” and “|”.": (
        ["Use plain text only: no “**”, “#”, “`” or “|”."],
        [("Answer in plain text with “**”, “#”, “`” and “|”.", "negated"), ("Use plain text, no “**”.", "lacks")],
    ),
    "Answer with at least 2 bullet points.": (
        ["List the answer in no fewer than two bullet points."], [("Answer with bullet points.", "lacks")],
    ),
    "Include “Norhavn” in the answer.": (
        ["The answer mentions “Norhavn”."], [("The answer must not mention “Norhavn”.", "negated")],
    ),
    "Answer with a table.": (["Put the answer into a table."], [("Answer with a list.", "unstated")]),
    "Answer in English.": (["Write the answer in English."], [("Write in French.", "unstated")]),
    "Write dates like 2026-03-31.": (["Dates have the form 2026-03-31."], [("Dates like 31.3.2026.", "lacks")]),
    "Call in one round: find_ferry and read_wind.": (
        ["Call find_ferry and read_wind together, in a single round."], [("Call find_ferry in one round.", "lacks")],
    ),
    "Call at most 3 different tools in any round.": (
        ["Use at most 3 different tools per round."], [("Use at most 3 tools per round.", "lacks")],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def rules() -> dict[str, dict[str, object]]:
    """The constraints that the generator draws, by their sentences."""
    drawn = [
        made(document, seed, tools=tools, probability=1.0)
        for document, tools in SOURCES.values()
        for seed in range(12)
    ]  # fmt: skip
    return {one["text"]: rule_of(one) for each in drawn for one in each.document["constraints"]}


def test_each_sentence_of_the_generator_states_its_constraint(rules: dict[str, dict[str, object]]) -> None:
    assert {one["category"] for one in rules.values()} == set(DRAWN)
    for text, rule in rules.items():
        assert sentence_problem(rule, text) is None, text


def test_other_words_are_accepted_and_another_meaning_is_not(rules: dict[str, dict[str, object]]) -> None:
    known = {text: rules[text] for text in SENTENCES if text in rules}
    assert len(known) > 8
    for text, rule in known.items():
        same, others = SENTENCES[text]
        assert [sentence_problem(rule, one) for one in same] == [None] * len(same)
        found = [(one, sentence_problem(rule, one.replace("\\n", "\n"))) for one, _code in others]
        assert [(one, problem.code if problem else "") for one, problem in found] == others


@pytest.fixture
def ferry() -> Made:
    return make("ferry", case(), TOOLS, Options(7, 1.0))


def rewritten(state: TextState, **sentences: str) -> TextState:
    """Answer with these sentences; the others as they are."""
    while (turn := steps.waits_for(state)) is not None and turn.purpose is not None:
        given = {one.key: sentences.get(one.key, one.text) for one in steps.batch_of(state)}
        state = steps.advance(state, json.dumps({"texts": given}), MODEL)
    return steps.accept(state, Source("program"))


def test_a_case_gets_its_sentences_anchored_or_keeps_the_generators(ferry: Made) -> None:
    setup = sentences_setup("cases", [ferry])
    keys = {one.rule["category"]: one.key for one in setup.texts if one.rule}
    calls = next(one for one in setup.texts if one.key == keys["tool call count"])
    number = next(word for word in calls.keep if word.isdigit())
    sentence = f"Overall, {calls.text[0].lower()}{calls.text[1:]}"
    bad = f"Never mind the {number} rounds."
    state = rewritten(steps.begin(setup), **{calls.key: sentence, keys["interaction rounds"]: bad})
    assert state.done[keys["interaction rounds"]]["kept"] is True
    again = rewrite_sentences(ferry, state)
    document = again.case.document
    rule = next(one for one in document["constraints"] if one["category"] == "tool call count")
    assert (rule["text"], rule["anchor"]) == (calls.text, sentence)
    assert f"- {sentence}\n" in document["system_prompt"]
    assert f"- {calls.text}\n" not in document["system_prompt"]
    assert list(anchor_findings(case_of(document))) == []
    assert len(list(subjects_of(document))) == len(list(subjects_of(ferry.case.document)))
    how = again.record["constructed"]
    assert how["rewritten"] == ["tool call count"]
    assert how["not_rewritten"][0].startswith("interaction rounds: No usable answer. ")
    assert again.record["document"] == document
    # Replayed, the same bytes.
    assert rewrite_sentences(ferry, replay(setup, json.loads(json.dumps(state.events)))).line == again.line


def test_a_sentence_that_the_filter_refuses_in_its_case_stays(ferry: Made) -> None:
    setup = sentences_setup("cases", [ferry])
    texts = {one.rule["category"]: one for one in setup.texts if one.rule}
    calls = texts["tool call count"]
    # Then the prompt states the limit of words twice, and that of calls nowhere.
    state = rewritten(steps.begin(setup))
    state.done[calls.key] = {"text": texts["length"].text, "source": {"by": "person"}}
    again = rewrite_sentences(ferry, state)
    assert again.case.document == ferry.case.document
    assert "the filter found" in again.record["constructed"]["not_rewritten"][0]


def test_sentences_of_a_changed_source_are_not_used(ferry: Made) -> None:
    state = rewritten(steps.begin(sentences_setup("cases", [ferry])))
    other = make("ferry", case(), TOOLS, Options(7, 1.0, without=("length",)))
    document = {**other.case.document, "constraints": [
        {**one, "text": f"{one['text']} "} for one in other.case.document["constraints"]
    ]}  # fmt: skip
    changed = Made(other.name, type(other.case)(document, other.case.left_out, other.case.changes), other.record)
    told = rewrite_sentences(changed, state).record["constructed"]["not_rewritten"]
    assert {one.partition(": ")[2] for one in told} == {"The source has changed since the sentences were made."}
