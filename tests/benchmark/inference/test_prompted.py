"""Tools that are described in the prompt: what the model reads, and what its texts become."""

import json

import pytest

from benchmark.core.inference.prompted import prompted
from benchmark.core.scoring.predictions import read_rounds
from benchmark.core.scoring.wild import score_task
from tests.benchmark.inference.test_conversations import called, contents, of_task, said, talk


def written(name, **arguments):
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def test_a_conversation_in_texts_is_scored_like_one_with_calls():
    conversation, reference = of_task(1)
    both = "I look for both.\n" + written("find", q="a") + "\n" + written("find", q="b")
    asked, record = talk(prompted(lambda: conversation), said(both), said(written("send", q="send")), said("Done."))
    assert asked[0].tools == ()
    system = asked[0].messages[0]
    assert system["role"] == "system"
    assert system["content"].startswith("Current date: 2026-02-03")
    assert [name for name in ("find", "read", "send") if f'"name": "{name}"' in system["content"]] == [
        "find", "read", "send",
    ]  # fmt: skip
    # The calls of the earlier task are text, and so are the results.
    assert contents(asked[0])[1:3] == [
        ("user", "Task 0 of d_0"),
        ("assistant", '<tool_call>\n{"name": "find", "arguments": {"q":"find"}}\n</tool_call>'),
    ]
    assert contents(asked[0])[3] == ("user", '<tool_response>\n{"ok":true}\n</tool_response>')
    # The model gets its own words back, and both results in one message.
    assert contents(asked[1])[-2:] == [
        ("assistant", both),
        ("user", "\n".join(['<tool_response>\n{"ok": true}\n</tool_response>'] * 2)),
    ]
    assert score_task("m", reference, 1, read_rounds(record["rounds"])).legal.right
    assert record["rounds"][0]["content"] == "I look for both."


@pytest.mark.parametrize(
    "text",
    ["<tool_call>find it</tool_call>", '<tool_call>{"arguments": {}}</tool_call>', "<tool_call>" + "[" * 100_000],
    ids=["words", "no name", "deep"],
)
def test_a_call_that_can_t_be_read_is_malformed(text):
    _, record = talk(prompted(lambda: of_task(1)[0]), said(text))
    assert [one["error"] for one in record["rounds"]] == ["malformed_calls"]


def test_calls_in_thoughts_are_not_made():
    _, record = talk(prompted(lambda: of_task(1)[0]), said(f"<think>{written('find', q='a')}</think>I can't."))
    assert record["rounds"][0]["calls"] == []


def test_calls_that_the_service_has_read_count():
    asked, record = talk(prompted(lambda: of_task(1)[0]), called("find", "find"), said("Done."))
    assert [len(one["calls"]) for one in record["rounds"]] == [2, 0]
    assert "<tool_call>" in asked[1].messages[-2]["content"]


def test_a_model_gets_its_own_words_back_whatever_ids_the_service_gives():
    """Some services read some replies, and leave the tags in others."""
    native = {"role": "assistant", "content": None, "tool_calls": [
        {"id": None, "type": "function", "function": {"name": "find", "arguments": '{"q": "native"}'}},
    ]}  # fmt: skip
    first, second = written("find", q="one"), written("find", q="two")
    asked, _ = talk(prompted(lambda: of_task(1)[0]), native, said(first), said(second))
    texts = [one["content"] for one in asked[2].messages if one["role"] == "assistant"]
    assert "native" in texts[-2]
    assert texts[-1] == first


def test_a_refused_request_ends_the_conversation():
    _, record = talk(prompted(lambda: of_task(1)[0]), None)
    assert record["rounds"][0]["error"] == "request_failed"
