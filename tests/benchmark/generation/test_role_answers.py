"""What models answer: prose, wrong JSON, other languages, unknown tools, too much, or nothing. Never an exception."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.schema.toolsets import CompiledToolset
from benchmark.core.generation.answers import (
    Actions,
    Verdict,
    read_actions,
    read_candidates,
    read_observations,
    read_text,
    read_verdict,
)
from benchmark.core.generation.problems import Problem
from benchmark.demo.generation_script import TOOLS

TOOLSET = CompiledToolset.of_tools(TOOLS)


def actions(text):
    return read_actions(text, toolset=TOOLSET)


@pytest.mark.parametrize(
    "text",
    [
        '{"action": "finish"}',
        'Let me think [1]. Here it is:\n```json\n{"action": "finish"}\n```\nI hope this helps {really}.',
        '<think>{"action": "call"}</think> {"action": "finish"}',
        'Plan {as asked}: {"action": "finish"} and then {"action": "ask"}',
    ],
)
def test_json_is_found_in_prose(text):
    assert actions(text) == Actions(raw={"action": "finish"})


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("", "empty", "is empty"),
        ("I would call the weather service.", "no_json", "no JSON, only text: “I would call"),
        ('{"action": "fin', "invalid_json", "line 1, column 12"),
        ('{"action": "ask", "action": "finish"}', "invalid_json", "appears twice"),
        ('{"a":' * 20_000, "too_long", "more than 60,000 characters"),
        ('{"a":' * 10_000, "invalid_json", "can’t be read"),
        ("x" * 100_000, "too_long", "more than 60,000 characters"),
        ("\ud800", "characters", "can’t be stored"),
        ("[]", "wrong_form", "object with “action”"),
        ('{"action": "dance"}', "wrong_form", "call, ask or finish"),
        ('{"action": "call", "calls": []}', "wrong_form", "1 to 16 calls"),
        ('{"action": "call", "calls": [{"name": "getForecast"}]}', "unknown_tool", "Is it get_forecast?"),
        ('{"action": "call", "calls": [{"name": "teleport"}]}', "unknown_tool", "no function “teleport”"),
        ('{"action": "call", "calls": [{"name": "get_forecast", "arguments": 3}]}', "wrong_form", "must be an object"),
        ('{"action": "call", "calls": [{"name": "get_forecast", "uses": 3}]}', "wrong_form", "lists of ids"),
    ],
)
def test_a_plan_that_cannot_be_used_is_a_sentence(text, code, says):
    found = actions(text)
    assert isinstance(found, Problem)
    assert found.code == code
    assert says in found.english
    assert Problem.from_json(found.to_json()) == found


@given(st.text() | st.text(alphabet='{}[]",:1a\\ ', max_size=60))
def test_no_text_is_an_exception(text):
    for read in (actions, read_verdict, lambda one: read_text(one, language="en")):
        read(text)
    read_observations(text, calls=["get_forecast"], tools=TOOLS)
    read_candidates(text, relations=(), language="en", toolset=TOOLSET)


def test_requests_keep_their_problems():
    text = '{"requests": ["Will it rain?", "Will it rain?", "Call get_forecast", "明天根特的天气怎么样？", 3, ""]}'
    found = read_candidates(text, relations=(), language="en", toolset=TOOLSET)
    assert [(one.text, one.problem and one.problem.code) for one in found] == [
        ("Will it rain?", None),
        ("Call get_forecast", "tool_named"),
        ("明天根特的天气怎么样？", "language"),
        ("", "wrong_form"),
    ]
    none = read_candidates('["Call get_forecast"]', relations=(), language="en", toolset=TOOLSET)
    assert isinstance(none, Problem)
    assert "names the function get_forecast" in none.english


def test_a_request_belongs_to_a_relation_that_was_asked_for():
    relations = ("partial_information", "coreferential_reference")
    text = '[{"relation": "partial_information", "text": "And there?"}, {"relation": "other", "text": "And now?"}]'
    found = read_candidates(text, relations=relations, language="en", toolset=TOOLSET)
    assert [(one.relation, one.problem is None) for one in found] == [("partial_information", True), ("", False)]


def test_results_fit_the_calls_and_what_functions_return():
    def read(text):
        found = read_observations(text, calls=["get_forecast"], tools=TOOLS)
        return found.english if isinstance(found, Problem) else found

    assert read('{"results": [{"sky": "clear", "degrees": 3}]}') == [{"sky": "clear", "degrees": 3}]
    assert "1 calls but 2 results" in read('{"results": [1, 2]}')
    assert "must not be null" in read('{"results": [null]}')
    assert "degrees” must be a whole number" in read('{"results": [{"sky": "clear", "degrees": "three"}]}')
    assert "“degrees” is missing" in read('{"results": [{"sky": "clear"}]}') or "degrees" in read(
        '{"results": [{"sky": "clear"}]}'
    )


def test_verdicts_and_texts():
    assert read_verdict('{"correct": true, "reason": "all well"}') == Verdict()
    assert read_verdict('{"correct": false, "reason": "The day is invented."}') == Verdict("The day is invented.")
    assert isinstance(read_verdict('{"correct": "yes"}'), Problem)
    assert read_text(" It rains. ", language="en") == "It rains."
    assert read_text("今天根特有雨，请带上雨伞。", language="zh") == "今天根特有雨，请带上雨伞。"
    foreign = read_text("It will rain in Ghent tomorrow morning.", language="zh")
    assert isinstance(foreign, Problem)
    assert "Write in Chinese" in foreign.english
    named = read_text("Ask get_forecast for me.", language="en", names=TOOLSET)
    assert isinstance(named, Problem)
