"""Texts that a model translates: which ones, in which batches, every bad answer, and the aligned result."""

import json
import re
from typing import Any

import pytest

from annotator.core.comparison.variant_values import compare_variants
from annotator.core.schema import read_document
from annotator.core.schema.exact_json import dumps
from benchmark.core.generation.kinds import core_of
from benchmark.core.generation.purposes import Purpose
from benchmark.core.generation.state import Source, Unusable
from benchmark.core.generation.texts import steps
from benchmark.core.generation.texts.outcomes import text_outcomes
from benchmark.core.generation.texts.reading import fixed_words
from benchmark.core.generation.texts.state import MAX_LENGTH, Text, TextSetup, TextState
from benchmark.core.generation.texts.translating import texts_to_translate, translated_document
from tests.benchmark.generation.text_replays import replay

TOOLS = [
    {
        "name": "book_visit",
        "parameters": {
            "type": "object",
            "properties": {
                "museum": {"type": "string"},
                "kind": {"type": "string", "enum": ["adult ticket", "child ticket"]},
                "day": {"type": "string"},
            },
        },
    }
]
MODEL = Source("model", "m", "hash", 1)
PERSON = Source("person", who="p1")
#: Our own translations; each text that is not here is made up by ``chinese``.
WORDS = {"Harbour Museum": "海港博物馆", "Old Sea Charts": "古海图展"}


def document(**fields: Any) -> dict[str, Any]:
    steps_ = [
        {
            "id": "s1", "type": "call", "name": "book_visit", "depends_on": [],
            "arguments": {"museum": "Harbour Museum", "kind": "adult ticket", "day": "2026-05-16"},
            "observation": {"id": "BK-5531", "hall": "Old Sea Charts", "price": 31.50, "notes": ["Harbour Museum"]},
        },
        {"id": "s2", "type": "answer", "text": "Booked at the Harbour Museum: BK-5531, 31.50 EUR.",
         "answer_type": "tool", "depends_on": [{"id": "s1", "kind": "parameter"}]},
    ]  # fmt: skip
    first = {
        "id": "t1", "user_message": "Book the Harbour Museum for 2026-05-16, please.", "policy": "single_tool",
        "information": "explicit", "chosen": "c1", "steps": steps_,
        "candidate_messages": [{"id": "c1", "text": "Book the Harbour Museum for 2026-05-16, please."},
                               {"id": "c2", "text": "A visit at 10am tomorrow?"}],
    }  # fmt: skip
    second = {
        "id": "t2", "user_message": "And what do I see there?", "policy": "clarify", "information": "explicit",
        "steps": [{"id": "s1", "type": "clarification", "question": "Which hall do you mean?",
                   "user_reply": "The one with charts.", "depends_on": []},
                  {"id": "s2", "type": "answer", "text": "You see charts.", "answer_type": "chat", "depends_on": []}],
    }  # fmt: skip
    made = {"kind": "multi_turn", "language": "en", "env_info": "2026-05-01", "tasks": [first, second]}
    return read_document(made | fields)


def setup(**more: Any) -> TextSetup:
    texts = more.pop("texts", None) or texts_to_translate(document(), TOOLS)
    return TextSetup("visit-zh", Purpose.TRANSLATION, "en", "zh", texts, TOOLS, **more)


def chinese(text: Text, terms: dict[str, str]) -> str:
    """Translate anything: the terms, then as many signs as it has words, then what must stay."""
    used = [words for term, words in terms.items() if term in text.text]
    return WORDS.get(text.text) or "".join(used) + "译" * len(re.findall(r"\w+", text.text)) + " ".join(text.keep)


def answer(state: TextState, **changed: str | None) -> str:
    """A good answer to the batch, with some texts changed, or left out (None)."""
    terms = steps.terms_of(state)
    written: dict[str, str | None] = {one.key: chinese(one, terms) for one in steps.batch_of(state)}
    return json.dumps({"texts": {key: one for key, one in (written | changed).items() if one is not None}})


def play(state: TextState) -> TextState:
    while (turn := steps.waits_for(state)) is not None and turn.purpose is not None:
        state = steps.advance(state, answer(state), MODEL)
    return state


def keys(state: TextState) -> list[str]:
    return [one.key for one in steps.batch_of(state)]


def test_what_is_translated_and_what_stays() -> None:
    texts = texts_to_translate(document(), TOOLS)
    assert [(one.kind, one.text) for one in texts] == [
        ("value", "Harbour Museum"),
        ("value", "Old Sea Charts"),
        ("spoken", "Book the Harbour Museum for 2026-05-16, please."),
        ("spoken", "A visit at 10am tomorrow?"),
        ("spoken", "Booked at the Harbour Museum: BK-5531, 31.50 EUR."),
        ("spoken", "And what do I see there?"),
        ("spoken", "Which hall do you mean?"),
        ("spoken", "The one with charts."),
        ("spoken", "You see charts."),
    ]
    museum, _charts, message, tomorrow, booked, *_ = texts
    assert museum.places == ("/tasks/t1/steps/s1/arguments/museum", "/tasks/t1/steps/s1/observation/notes/0")
    assert message.places == ("/tasks/t1/user_message", "/tasks/t1/candidate_messages/c1/text")
    assert (message.keep, tomorrow.keep, booked.keep) == (("2026-05-16",), ("10",), ("BK-5531", "31.50"))
    only = texts_to_translate(document(), TOOLS, places={"/tasks/t2/user_message"})
    assert [one.text for one in only] == ["And what do I see there?"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("at 10am, 3pm-5pm, 2,000 on 2025-05-02", ["10", "3", "5", "2,000", "2025-05-02"]),
        ("EX-12, ask a@b.de or http://x.y/z. Use get_weather", ["EX-12", "a@b.de", "http://x.y/z", "get_weather"]),
        # May, 30,000 and 2,000,000 are spelled with other numbers.
        ("2025年5月16日，3万，A4纸", ["2025", "16", "A4"]),
        ("2 million visitors, the 1st of 12", ["1", "12"]),
        ("No codes here", []),
    ],
)
def test_words_that_stay(text: str, kept: list[str]) -> None:
    assert fixed_words(text) == kept


def test_the_variant_is_aligned_and_the_same_events_give_the_same_bytes() -> None:
    state = play(steps.begin(setup()))
    assert steps.waits_for(state) is not None
    state = steps.accept(state, Source("program"))
    assert steps.waits_for(state) is None
    made = read_document(translated_document(document(), list(state.results()), "zh"))
    comparison = compare_variants(document(), made, TOOLS, TOOLS)
    assert comparison.found == []
    assert {term.text: list(term.translations) for term in comparison.terms} == {"Harbour Museum": ["海港博物馆"]}
    call = made["tasks"][0]["steps"][0]
    assert call["arguments"] == {"museum": "海港博物馆", "kind": "adult ticket", "day": "2026-05-16"}
    assert dumps(call["observation"]["price"]) == dumps(document()["tasks"][0]["steps"][0]["observation"]["price"])
    assert "海港博物馆" in made["tasks"][0]["user_message"]
    assert made["tasks"][0]["candidate_messages"][0]["text"] == made["tasks"][0]["user_message"]
    again = replay(state.setup, json.loads(dumps(state.events)))
    assert dumps(again.to_json()) == dumps(state.to_json())
    stored = json.loads(dumps(state.to_json()))
    read = core_of("translation").read(json.loads(dumps(state.setup.to_json())), stored, TOOLS)
    assert (read.setup, dumps(read.to_json())) == (state.setup, dumps(state.to_json()))


def test_values_come_first_and_messages_use_their_words() -> None:
    state = steps.begin(setup())
    assert keys(state) == ["v1", "v2"]
    state = steps.advance(state, answer(state), MODEL)
    turn = steps.waits_for(state)
    assert turn is not None
    # Old Sea Charts is in no argument, so messages are free to say it in another way.
    assert turn.values["terms"] == [{"text": "Harbour Museum", "translation": "海港博物馆"}]
    state = steps.advance(state, answer(state, s1="2026-05-16，请订票。"), MODEL)
    assert [one.english for one in state.problems("s1")] == ["Translate “Harbour Museum” as “海港博物馆”."]
    assert keys(state) == ["s1"]
    turn = steps.waits_for(state)
    assert turn is not None
    assert (turn.values["texts"][0]["refused"], len(turn.values["texts"][0]["problems"])) == ("2026-05-16，请订票。", 1)


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("I can't translate that.", ["no_json"] * 7),
        ('{"texts": {"s1": "x"', ["invalid_json"] * 7),
        ("", ["empty"] * 7),
        ("x" * 100_000, ["too_long"] * 7),
        ('{"texts": ["x"]}', ["wrong_form"] * 7),
        ('[{"s1": "x"}]', ["wrong_form"] * 7),
        ('{"texts": {"s1": 5}}', ["wrong_form"] * 7),
        ('{"texts": {"s9": "什么"}}', ["unknown_text"] * 7),
        ('{"texts": {"s1": "\\u0000"}}', ["invalid_json"] * 7),
        ({"s2": None}, ["missing"]),
        ({"s2": "  "}, ["empty"]),
        ({"s2": "A visit at 10am tomorrow?"}, ["untranslated"]),
        ({"s4": "And what is there for me to see today?"}, ["language"]),
        ({"s4": "请用book_visit看看有什么"}, ["tool_named"]),
        ({"s3": "已在海港博物馆预订：31.50 EUR。"}, ["lacks"]),
        ({"s2": "明天15点去参观？"}, ["lacks"]),
        ({"s4": "长" * 2_000}, ["too_long"]),
        ({"s4": "看\ud800"}, ["invalid_json"] * 7),
    ],
)
def test_bad_answers_are_refused_with_reasons(text: str | dict[str, str | None], codes: list[str]) -> None:
    state = steps.begin(setup())
    state = steps.advance(state, answer(state), MODEL)
    written = text if isinstance(text, str) else answer(state, **text)
    after = steps.advance(state, written, MODEL)
    assert [problem.code for one in after.waiting() for problem in after.problems(one.key)] == codes
    assert len(after.done) == 2 + 7 - len(codes)
    judged = list(text_outcomes(state, after))
    assert [one.code for one in judged if one.code] == codes
    assert {one.tries for one in judged} == {1}
    # Nothing is asked for that is there, and what was refused can be stored.
    assert set(keys(after)) <= {one.key for one in after.waiting()}
    json.dumps(after.to_json()).encode()
    assert play(after).waiting() == []


def test_values_are_words_of_the_other_language() -> None:
    state = steps.begin(setup())
    for bad, code in (("Harbour Museum", "untranslated"), ("HM-1", "fixed"), ("Hafen Museum", "untranslated")):
        after = steps.advance(state, json.dumps({"texts": {"v1": bad, "v2": "古海图展"}}), MODEL)
        assert [one.code for one in after.problems("v1")] == [code]


def test_after_the_retries_a_person_writes_and_the_rest_goes_on() -> None:
    state = steps.begin(setup(retries=1))
    state = steps.advance(state, json.dumps({"texts": {"v2": "古海图展"}}), MODEL)
    assert keys(state) == ["v1"]
    state = steps.advance(state, "no", MODEL)
    turn = steps.waits_for(state)
    assert turn is not None
    assert (turn.purpose, state.stuck) == (None, True)
    assert turn.why is not None
    assert "“Harbour Museum”" in turn.why.english
    with pytest.raises(ValueError, match="waits for no answer"):
        steps.advance(state, "no", MODEL)
    for key, text in (("v9", "什么"), ("v1", " ")):
        with pytest.raises(Unusable):
            steps.write(state, key, text, PERSON)
    # A person decides that the name stays.
    written = steps.write(state, "v1", "Harbour Museum", PERSON)
    assert keys(written)[0] == "s1"
    assert written.done["v1"]["source"] == {"by": "person", "who": "p1"}
    again = steps.retry(state, PERSON)
    assert keys(again) == ["v1"]
    assert dumps(replay(again.setup, again.events).to_json()) == dumps(again.to_json())
    with pytest.raises(Unusable):
        steps.accept(state, PERSON)
    # What is done can be changed until it is accepted.
    done = steps.write(play(written), "s5", "请问哪个展厅？", PERSON)
    accepted = steps.accept(done, PERSON)
    assert {one.key: text for one, text in accepted.results()}["s5"] == "请问哪个展厅？"
    with pytest.raises(Unusable):
        steps.write(accepted, "s5", "哪个？", PERSON)


def test_batches_shrink_with_each_refusal() -> None:
    texts = tuple(Text(f"s{number}", "spoken", "user message", f"Sentence number {number}") for number in range(50))
    state = steps.begin(setup(texts=texts))
    sizes = []
    for _try in range(4):
        sizes.append(len(keys(state)))
        state = steps.advance(state, "no", MODEL)
    assert sizes == [20, 10, 5, 5]
    long = tuple(Text(f"s{number}", "spoken", "user message", "word " * 1_500) for number in range(3))
    assert len(keys(steps.begin(setup(texts=long)))) == 1


def test_what_cannot_be_asked_for() -> None:
    for texts in ((), (Text("s1", "spoken", "answer", "x" * (MAX_LENGTH + 1)),)):
        with pytest.raises(Unusable):
            TextSetup("x", Purpose.TRANSLATION, "en", "zh", texts)
    with pytest.raises(Unusable):
        setup(retries=11)
