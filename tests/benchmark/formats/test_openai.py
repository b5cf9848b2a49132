"""Traces of the OpenAI chat API."""

import copy
import json
from typing import Any

import pytest

from annotator.core.schema import canonical, load_text
from benchmark.core.formats import FORMATS
from benchmark.core.formats.outdated_remainder import forget_outdated
from tests.benchmark.formats.format_records import openai_record, problems_of, read, rewrite, same, wild_record


def trace(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "t", "messages": list(messages), "tools": [], **more}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str | None, *calls: tuple[str, str]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": call_id, "type": "function", "function": {"name": "getWeather", "arguments": arguments}}
            for call_id, arguments in calls
        ]
    return message


def tool(call_id: str | None, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def test_a_trace_becomes_a_document() -> None:
    (dialogue,) = read("openai", openai_record())
    document = dialogue.document
    assert (dialogue.external_id, dialogue.language, document["env_info"]) == ("trace-1", "en", "Today is 2024-07-12.")
    first, second = document["tasks"]
    assert [step["type"] for step in first["steps"]] == ["call", "call", "call", "answer"]
    assert [step["arguments"] for step in first["steps"][:3]] == [
        {"city": "Oslo"},
        {"city": "Bergen"},
        {"city": "Narvik"},
    ]
    assert [step["observation"] for step in first["steps"][:3]] == [{"sky": "rain"}, "rain", ["snow"]]
    assert all(step["depends_on"] is None for step in first["steps"])
    assert (first["steps"][3]["text"], first["steps"][3]["answer_type"]) == ("Rain, rain and snow.", "tool")
    assert second["user_message"] == "Thanks!"
    assert (second["steps"][0]["text"], second["steps"][0]["answer_type"]) == ("You are welcome.", "chat")
    assert [(task["policy"], task["information"]) for task in document["tasks"]] == [(None, None)] * 2


@pytest.mark.parametrize(
    ("place", "text", "inside"),
    [
        ("/messages/1/tool_calls/0/function/arguments", '{"id":1,"id":2}', "(at /id in this text)"),
        ("/messages/1/tool_calls/0/function/arguments", '{"a":[{"b":1,"b":1}]}', "(at /a/0/b in this text)"),
        ("/messages/2/content", '{"rows":[],"rows":[1]}', "(at /rows in this text)"),
    ],
)
def test_json_in_a_text_loses_no_value_in_silence(place: str, text: str, inside: str) -> None:
    arguments, observation = (text, "{}") if "arguments" in place else ("{}", text)
    problems = problems_of("openai", trace(user("x"), assistant(None, ("a", arguments)), tool("a", observation)))
    assert list(problems) == [place]
    assert inside in problems[place]
    assert "appears twice" in problems[place]


def test_numbers_in_a_text_keep_every_digit_and_their_spelling() -> None:
    written = '{"id": 123456789012345678901, "price": 1.50, "hours": 40.0, "zero": -0.0, "many": 1E2}'
    record = trace(user("x"), assistant(None, ("a", written)), tool("a", written), assistant("done"))
    (dialogue,) = read("openai", record)
    call = dialogue.document["tasks"][0]["steps"][0]
    value = {"id": 123456789012345678901, "price": 1.5, "hours": 40.0, "zero": -0.0, "many": 100.0}
    assert repr(call["arguments"]) == repr(call["observation"]) == repr(value)
    call["arguments"]["price"] = 2
    dialogue.document["tasks"][0]["user_message"] = "y"
    (_, said, returned, _) = FORMATS["openai"].write([dialogue], full=True)["messages"]
    assert said["tool_calls"][0]["function"]["arguments"] == written.replace("1.50", "2")
    assert returned["content"] == written


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": None, "refusal": "I cannot help with that."}, "I cannot help with that."),
        ({"content": "Look.", "refusal": "I cannot do more."}, "Look.\n\nI cannot do more."),
        ({"content": [{"type": "refusal", "refusal": "No."}]}, "No."),
    ],
)
def test_a_refusal_is_the_answer_that_people_see_and_goes_out_as_one(message: dict[str, Any], text: str) -> None:
    record = trace(user("x"), {"role": "assistant", **message})
    (dialogue,) = read("openai", record)
    assert dialogue.document["tasks"][0]["steps"][0]["text"] == text
    assert same(rewrite("openai", record), record)
    dialogue.document["tasks"][0]["user_message"] = "y"
    (_, written) = FORMATS["openai"].write([dialogue], full=True)["messages"]
    if "refusal" in message:
        assert written == {"role": "assistant", **message}
    dialogue.document["tasks"][0]["steps"][0]["text"] = "Here you are."
    assert FORMATS["openai"].write([dialogue], full=True)["messages"][1]["content"] == "Here you are."


def test_a_refusal_that_is_no_text_is_a_fault() -> None:
    problems = problems_of("openai", trace(user("x"), {"role": "assistant", "content": None, "refusal": 1}))
    assert list(problems) == ["/messages/1/refusal"]


def test_a_release_holds_what_stands_beside_and_between_the_messages() -> None:
    call = assistant(None, ("c1", '{"city": "Oslo"}'), ("c2", "{}")) | {"reasoning_content": "Both at once."}
    record = trace(
        {"role": "developer", "content": "Be brief.", "name": "desk"},
        user("Weather?") | {"name": "anna"},
        assistant("One moment."),
        call,
        tool("c2", "two") | {"name": "getWeather"},
        tool("c1", "one"),
        {"role": "system", "content": "Be polite."},
        {"role": "assistant", "content": [{"type": "text", "text": "Rain."}], "annotations": []},
    )
    (dialogue,) = read("openai", record)
    written = FORMATS["openai"].write([dialogue], full=True)["messages"]
    assert written == record["messages"]
    # What the API needs is there, though the record omitted it.
    bare = copy.deepcopy(record)
    del bare["messages"][3]["content"], bare["messages"][4]["tool_call_id"], bare["messages"][5]["tool_call_id"]
    bare["messages"][3]["tool_calls"][0]["function"]["arguments"] = {"city": "Oslo"}
    (dialogue,) = read("openai", bare)
    written = FORMATS["openai"].write([dialogue], full=True)["messages"]
    assert written[3] == call | {"tool_calls": written[3]["tool_calls"]}
    assert written[3]["tool_calls"][0]["function"]["arguments"] == '{"city":"Oslo"}'
    assert [one.get("tool_call_id") for one in written[4:6]] == ["c1", "c2"]
    # Notes that no reader made are passed over.
    odd = copy.deepcopy(dialogue)
    for messages in ("x", [1], [{"role": "user", "content": {}, "tool_calls": "abc"}]):
        odd.document["extra"]["@native"]["kept"]["messages"][0] = messages
        assert [one["role"] for one in FORMATS["openai"].write([odd], full=True)["messages"]][:2] == ["system", "user"]
    # All of it is given up where nobody can tell what was edited.
    dialogue.document["tasks"][0]["steps"][-1]["text"] = "Sun."
    written = FORMATS["openai"].write([dialogue], full=True)["messages"]
    assert written[-1] == assistant("Sun.")
    assert "reasoning_content" not in written[2]


def test_what_stands_within_calls_and_parts_of_a_text_is_released() -> None:
    part = {"type": "text", "text": "Hello", "cache_control": {"type": "ephemeral"}}
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}", "strict": True}}
    record = {
        "id": "t",
        "messages": [
            {"role": "user", "content": [part], "refusal": "odd", "name": "ann"},
            {"role": "assistant", "content": "One moment.", "tool_calls": [call], "refusal": "No secrets."},
            {"role": "tool", "tool_call_id": "c", "content": [part]},
            {"role": "assistant", "content": None, "tool_calls": [call | {"id": "d"}], "refusal": "No more."},
            {"role": "tool", "tool_call_id": "d", "content": "1"},
            {"role": "assistant", "content": [part], "refusal": "Not that."},
        ],
        "tools": [],
    }
    (dialogue,) = FORMATS["openai"].read(record)
    assert same(FORMATS["openai"].write([dialogue], full=True), record)
    after = copy.deepcopy(dialogue.document)
    after["tasks"][0]["steps"][0]["name"] = "g"
    dialogue.document = forget_outdated(after, dialogue.document)
    written = FORMATS["openai"].write([dialogue], full=True)["messages"]
    assert written[1]["tool_calls"][0]["function"] == {"name": "g", "arguments": "{}"}
    assert written[2] == tool("c", "Hello")
    assert same([written[0], *written[3:]], [record["messages"][0], *record["messages"][3:]])


def compact_trace() -> dict[str, Any]:
    """As clients write it: JSON without white space, its keys in no order, and more beside the messages."""
    record = trace(
        user("Oslo?"),
        assistant(None, ("b", '{"unit":"C","city":"Oslo"}')) | {"reasoning": "Look."},
        tool("b", '{"sky":"rain","at":{"lon":10.0,"lat":59.9}}') | {"name": "getWeather"},
        assistant("Rain.") | {"name": "desk"},
    )
    record["messages"][1]["tool_calls"][0]["function"]["strict"] = True
    return record


def test_what_stands_beside_compact_json_is_released_in_the_order_it_came_in() -> None:
    """Documents are stored with their keys sorted."""
    record = compact_trace()
    (dialogue,) = FORMATS["openai"].read(record)
    dialogue.document = load_text(canonical(dialogue.document))
    assert same(FORMATS["openai"].write([dialogue], full=True)["messages"], record["messages"])
    after = copy.deepcopy(dialogue.document)
    after["tasks"][0]["steps"][1]["text"] = "Sun."
    dialogue.document = forget_outdated(after, dialogue.document)
    written = FORMATS["openai"].write([dialogue], full=True)["messages"]
    assert written == [*record["messages"][:3], assistant("Sun.")]


def test_a_result_in_the_dialogue_so_far_can_be_edited_and_released() -> None:
    so_far = [{"role": "assistant", "content": "Hm."}, tool("x", "[1]") | {"name": "f"}]
    rest = [user("Oslo?"), assistant(None, ("x", "{}")), tool("x", "1"), assistant("Rain.")]
    (dialogue,) = FORMATS["openai"].read(trace(*so_far, *rest))
    assert FORMATS["openai"].write([dialogue], full=True)["messages"][:2] == so_far
    after = copy.deepcopy(dialogue.document)
    after["context"][0]["content"] = "Well."
    dialogue.document = forget_outdated(after, dialogue.document)
    released = FORMATS["openai"].write([dialogue], full=True)["messages"]
    assert released[:2] == [{"role": "assistant", "content": "Well."}, so_far[1]]


def test_observations_go_to_the_calls_they_name() -> None:
    record = trace(
        user("x"), assistant(None, ("a", "{}"), ("b", "{}")), tool("b", "second"), tool("a", "first"), assistant("done")
    )
    (dialogue,) = read("openai", record)
    assert [step["observation"] for step in dialogue.document["tasks"][0]["steps"][:2]] == ["first", "second"]
    assert same(rewrite("openai", record), record)


def test_observations_without_an_id_go_in_order() -> None:
    record = trace(user("x"), assistant(None, ("a", "{}"), ("b", "{}")), tool(None, "1"), tool(None, "2"))
    (dialogue,) = read("openai", record)
    assert [step["observation"] for step in dialogue.document["tasks"][0]["steps"]] == ["1", "2"]
    assert same(rewrite("openai", record), record)


def test_arguments_that_are_no_object_stay_a_text() -> None:
    record = trace(user("x"), assistant(None, ("a", "city=Oslo"), ("b", "[1]"), ("c", '{"city": ')))
    (dialogue,) = read("openai", record)
    assert [step["arguments"] for step in dialogue.document["tasks"][0]["steps"]] == ["city=Oslo", "[1]", '{"city": ']
    assert same(rewrite("openai", record), record)


def test_texts_around_calls_are_kept_with_a_warning() -> None:
    record = trace(
        user("x"),
        assistant("Let me see.", ("a", '{"city": "Oslo"}')),
        tool("a", '{"sky":  "rain"}'),
        assistant("Hm."),
        assistant(None, ("b", "{}")),
        tool("b", "clear"),
        assistant("Clear."),
    )
    (dialogue,) = read("openai", record)
    steps = dialogue.document["tasks"][0]["steps"]
    assert [step["type"] for step in steps] == ["call", "call", "answer"]
    assert "'Hm.'" in dialogue.warnings[0].message
    assert same(rewrite("openai", record), record)


def test_what_stands_before_the_first_request_is_the_dialogue_so_far() -> None:
    record = trace(
        {"role": "developer", "content": "Be brief."}, assistant("Hello, how can I help?"), user("x"), assistant("y")
    )
    (dialogue,) = read("openai", record)
    assert dialogue.document["env_info"] == "Be brief."
    assert dialogue.document["context"] == [{"role": "assistant", "content": "Hello, how can I help?"}]
    assert same(rewrite("openai", record), record)


def test_content_may_be_parts_of_text() -> None:
    record = trace({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]})
    (dialogue,) = read("openai", record)
    assert dialogue.document["tasks"][0]["user_message"] == "ab"
    assert same(rewrite("openai", record), record)


def test_a_trace_without_an_id_has_one_by_its_content() -> None:
    record = openai_record()
    del record["id"]
    (dialogue,) = read("openai", record)
    assert dialogue.external_id.startswith("openai-")
    assert same(rewrite("openai", record), record)
    assert read("openai", {**record, "canary": "x"})[0].external_id == dialogue.external_id
    record["messages"][1]["content"] += "!"
    assert read("openai", record)[0].external_id != dialogue.external_id


def test_unknown_fields_are_kept() -> None:
    record = {**openai_record(), "model": "m", "usage": {"total": 3}}
    (dialogue,) = read("openai", record)
    assert dialogue.document["extra"] == {"model": "m", "usage": {"total": 3}}
    assert same(rewrite("openai", record), record)


def test_the_language_is_read_off_the_characters() -> None:
    assert read("openai", trace(user("奥斯陆 (Oslo) 天气怎么样？")))[0].language == "zh"
    assert read("openai", trace(user("Weather in Oslo?")))[0].language == "en"
    (dialogue,) = read("openai", trace(user("Ποιος είναι ο καιρός;")))
    assert (dialogue.language, dialogue.document["language"]) == ("", None)


def test_edits_are_written() -> None:
    (dialogue,) = read("openai", openai_record())
    steps = dialogue.document["tasks"][0]["steps"]
    steps[0]["arguments"] = {"city": "Tromsø"}
    messages = FORMATS["openai"].write([dialogue])["messages"]
    assert json.loads(messages[2]["tool_calls"][0]["function"]["arguments"]) == {"city": "Tromsø"}


def test_dialogues_of_other_formats_become_traces() -> None:
    dialogues = read("wild", wild_record())
    written = FORMATS["openai"].write(dialogues)
    parallel = [message for message in written["messages"] if len(message.get("tool_calls", ())) == 2]
    assert len(parallel) == 1
    (again,) = FORMATS["openai"].read(written)
    # The question and its reply look like two requests: the format cannot say otherwise.
    assert len(again.document["tasks"]) == 5
    assert [p.pointer for p in FORMATS["openai"].problems(dialogues)] == ["/tasks/t3/steps/s0"]


def test_a_record_holds_one_dialogue() -> None:
    dialogues = read("openai", openai_record())
    with pytest.raises(ValueError, match="one by one"):
        FORMATS["openai"].write(dialogues * 2)


CALLING = assistant(None, ("a", "{}"))
PROBLEMS = [
    ({"id": "t", "messages": "x"}, "/messages", "not text"),
    ({"id": "t"}, "/messages", "not null"),
    (trace(), "/messages", "no user message"),
    ({"id": "t", "messages": [3]}, "/messages/0", "not a number"),
    (trace({"role": "bot", "content": "x"}), "/messages/0/role", "'bot' is unknown"),
    (trace({"role": "user", "content": 3}), "/messages/0/content", "must be text"),
    (trace({"role": "user", "content": [{"text": "x"}]}), "/messages/0/content", "parts with a type"),
    (trace(CALLING, user("x")), "/messages/0/tool_calls", "before the first user message"),
    (trace(user("x"), CALLING, tool("z", "1")), "/messages/2/tool_call_id", "'z'"),
    (trace(user("x"), CALLING, tool("a", "1"), tool("a", "2")), "/messages/3/tool_call_id", "waits"),
    (trace(user("x"), CALLING, user("y"), tool("a", "1")), "/messages/3/tool_call_id", "waits"),
    (trace(user("x"), {"role": "assistant", "tool_calls": {}}), "/messages/1/tool_calls", "not an object"),
    (trace(user("x"), {"role": "assistant", "tool_calls": [{}]}), "/messages/1/tool_calls/0/function", "name"),
    (
        trace(user("x"), {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": 3}}]}),
        "/messages/1/tool_calls/0/function/arguments",
        "not a number",
    ),
    (
        trace(user("x"), {"role": "assistant", "tool_calls": [{"id": 3, "function": {"name": "f"}}]}),
        "/messages/1/tool_calls/0/id",
        "not a number",
    ),
    (trace(*[user("x")] * 65), "/messages/64", "more than 64"),
    (trace(user("x"), assistant(None, *[("a", "{}")] * 501)), "/messages/1/tool_calls", "more than 500 calls"),
    (trace(user("x"), tools="functions"), "/tools", "list of functions"),
    (trace(user("a\0")), "/messages/0/content", "NUL"),
]


@pytest.mark.parametrize(("record", "pointer", "words"), PROBLEMS, ids=[f"{p}-{w}" for _, p, w in PROBLEMS])
def test_faults_have_a_place_and_a_sentence(record: dict[str, Any], pointer: str, words: str) -> None:
    assert words in problems_of("openai", copy.deepcopy(record))[pointer]
