"""Formats of chats: what all of them promise, and how each of them spells messages, calls, results and tools."""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotator.core.schema import read_document
from benchmark.core.files.reading import RawLine
from benchmark.core.formats import FORMATS, ReadDialogue
from benchmark.core.formats.chat import ChatFormat
from benchmark.core.formats.converting import Converter
from benchmark.core.formats.examples import example_file, example_records
from benchmark.core.formats.outdated_remainder import forget_outdated
from tests.benchmark.conftest import report_of
from tests.benchmark.formats.format_records import JSON, problems_of, read, same

CHATS = [name for name, one in FORMATS.items() if isinstance(one, ChatFormat) and one.writes]
EXAMPLES = [(name, n) for name in [*CHATS, "openai", "bfcl"] for n in range(len(example_records(name)))]
OLD, NEW = "Zanzibar 17", "Something else"

Record = dict[str, Any]


def convert(source: str, target: str, text: str) -> Any:
    return Converter(source, target).convert(RawLine(1, "", text.encode(), len(text), True))


def written(name: str, dialogue: ReadDialogue, document: Record) -> Record:
    """The record of an edited document."""
    after = forget_outdated(read_document(document), dialogue.document)
    return FORMATS[name].write([ReadDialogue(dialogue.external_id, "", "", after, dialogue.tools, [])])


def everywhere(value: Any, change: Callable[[str], str]) -> Any:
    """The value with all of its texts changed, but not its notes."""
    if isinstance(value, dict):
        return {change(key): one if key == "extra" else everywhere(one, change) for key, one in value.items()}
    if isinstance(value, list):
        return [everywhere(one, change) for one in value]
    return change(value) if isinstance(value, str) else value


def calls_in(document: Record) -> Iterator[Record]:
    return (step for task in document["tasks"] for step in task["steps"] if step["type"] == "call")


def said(name: str, record: Record) -> list[Any]:
    """The messages that a record is read as: role and text, with calls as name and arguments."""
    (dialogue,) = read(name, record)
    out = []
    for message in FORMATS["openai"].write([dialogue])["messages"]:
        calls = [(one["function"]["name"], one["function"]["arguments"]) for one in message.get("tool_calls", ())]
        content = message["content"]
        text = content if isinstance(content, str | None) else "|".join(part.get("text", "-") for part in content)
        out.append((message["role"], text, *calls))
    return out


class TestEveryFormat:
    @pytest.mark.parametrize(("name", "n"), EXAMPLES)
    def test_an_example_comes_back_byte_for_byte(self, name: str, n: int) -> None:
        text = example_file(name).decode().splitlines()[n]
        backwards = json.dumps(dict(reversed(json.loads(text).items())), separators=(" ,", ":"))
        for line in (text, backwards):
            done = convert(name, name, line)
            assert (done.lines, done.problems, done.losses) == ([line], [], [])
        for dialogue in FORMATS[name].read(json.loads(text)):
            assert read_document(dialogue.document) == dialogue.document

    @pytest.mark.parametrize(("name", "n"), EXAMPLES)
    @pytest.mark.parametrize("target", CHATS)
    def test_an_example_keeps_its_calls_and_texts_in_every_format(self, name: str, n: int, target: str) -> None:
        record = example_records(name)[n]
        done = convert(name, target, json.dumps(record))
        assert done.problems == []
        (dialogue,), (again,) = read(name, record), FORMATS[target].read(json.loads(done.lines[0]))
        for one in (dialogue, again):
            for task in one.document["tasks"]:
                for step in task["steps"]:
                    step["extra"], step["depends_on"], step["id"] = {}, None, ""
        assert [task["steps"] for task in again.document["tasks"]] == [t["steps"] for t in dialogue.document["tasks"]]
        texts = [task["user_message"] for task in dialogue.document["tasks"]]
        assert [task["user_message"] for task in again.document["tasks"]] == texts
        assert again.document["env_info"] == dialogue.document["env_info"]

    @pytest.mark.parametrize(("name", "n"), [(name, n) for name, n in EXAMPLES if name != "bfcl"])
    def test_a_value_corrected_everywhere_is_written_nowhere(self, name: str, n: int) -> None:
        (dialogue,) = read(name, example_records(name)[n])
        # A word of the first request, wherever the record has it.
        words = dialogue.document["tasks"][0]["user_message"].split()
        tools = json.dumps(dialogue.tools)
        word = max((one for one in words if one.isalpha() and one not in tools), key=len)
        record = everywhere(example_records(name)[n], lambda text: text.replace(word, OLD)) | {"id": "x"}
        (dialogue,) = FORMATS[name].read(record)
        assert OLD in json.dumps(dialogue.document)
        document = copy.deepcopy(dialogue.document)
        document |= everywhere(document, lambda text: text.replace(OLD, NEW))
        for target in (name, "openai", "neutral"):
            assert OLD not in json.dumps(written(target, dialogue, document))

    @pytest.mark.parametrize("name", [*CHATS, "openai", "bfcl"])
    def test_a_corrected_argument_is_written_nowhere(self, name: str) -> None:
        start = next(one for one in example_records(name) if any(calls_in(read(name, one)[0].document)))
        (dialogue,) = FORMATS[name].read(start)
        document = copy.deepcopy(dialogue.document)
        next(calls_in(document))["arguments"] = {"a": OLD, "b": [OLD]}
        record = written(name, dialogue, document) | {"checked": {"call": [OLD]}, "seed": 7}
        (dialogue,) = FORMATS[name].read(record)
        document = copy.deepcopy(dialogue.document)
        next(calls_in(document))["arguments"] = {"a": NEW, "b": [OLD]}
        assert same(written(name, dialogue, dialogue.document), record)
        assert written(name, dialogue, document)["checked"] == {"call": [OLD]}, "the value is still an argument"
        next(calls_in(document))["arguments"] = {"a": NEW}
        for target in (name, "openai", "neutral"):
            text = json.dumps(written(target, dialogue, document))
            assert OLD not in text
            assert "seed" in text

    @pytest.mark.parametrize("name", CHATS)
    def test_a_label_changes_nothing_in_the_record(self, name: str) -> None:
        for record in example_records(name):
            (dialogue,) = FORMATS[name].read(record)
            document = copy.deepcopy(dialogue.document)
            document["tasks"][0]["policy"] = "chat"
            assert same(written(name, dialogue, document), record)

    @pytest.mark.parametrize("name", CHATS)
    @given(data=st.data())
    @settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=150)
    def test_a_damaged_record_is_read_or_refused_with_sentences(self, name: str, data: st.DataObject) -> None:
        record = copy.deepcopy(data.draw(st.sampled_from(example_records(name))))
        for _ in range(data.draw(st.integers(1, 3))):
            damage(record, data)
        text = json.dumps(record)
        problems = problems_of(name, json.loads(text))
        assert all(sentence.endswith(".") for sentence in problems.values())
        if problems:
            return
        (dialogue,) = FORMATS[name].read(json.loads(text))
        assert convert(name, name, text).lines == [text]
        for target in FORMATS:
            done = convert(name, target, text)
            assert done.lines or done.problems
        document = copy.deepcopy(dialogue.document)
        document["tasks"][0]["user_message"] = NEW
        assert NEW in json.dumps(written("neutral", dialogue, document))

    @pytest.mark.parametrize("name", CHATS)
    def test_notes_of_another_shape_stop_no_writer(self, name: str) -> None:
        (dialogue,) = FORMATS[name].read(example_records(name)[0])
        notes = dialogue.document["extra"].setdefault("@native", {})
        source = notes.setdefault("source", {"format": name})
        strange: tuple[Any, ...] = (
            None,
            True,
            7,
            "x",
            [[]],
            {"a": {}},
            ["x", "y"],
            {"field": [], "keys": 1, "tools": [1, 2]},
        )
        for key in ("kept", "absent", "shape", "plain"):
            as_it_was = source.get(key)
            for value in strange:
                source[key] = value
                FORMATS[name].write([dialogue])
                changed = copy.deepcopy(dialogue.document)
                changed["tasks"][0]["user_message"] = NEW
                assert NEW in json.dumps(written(name, dialogue, changed))
            source[key] = as_it_was


def damage(record: Record, data: st.DataObject) -> None:
    """Replace a random place of a record by a random value."""
    places = list(places_of(record))
    holder, key = places[data.draw(st.integers(0, len(places) - 1))]
    before = copy.deepcopy(holder[key])
    holder[key] = copy.deepcopy(data.draw(JSON | st.sampled_from([[], "user", "text", "call_1"])))
    if isinstance(holder, list) and data.draw(st.booleans()):
        holder.insert(key, before)


def places_of(value: Any) -> Iterator[tuple[Any, Any]]:
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from places_of(value[key])


USER = {"role": "user", "content": "Go."}
TOOL = {"name": "go", "description": "Go there.", "input_schema": {"type": "object", "properties": {}}}


def use(number: int, **given: Any) -> Record:
    return {"type": "tool_use", "id": f"u{number}", "name": "go", "input": given}


def function_call(number: int, **given: Any) -> Record:
    return {"type": "function_call", "call_id": f"c{number}", "name": "go", "arguments": json.dumps(given)}


def output(number: int, text: Any) -> Record:
    return {"type": "function_call_output", "call_id": f"c{number}", "output": text}


def message(role: str, *texts: str) -> Record:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text} for text in texts]}


#: What a record is read as: see ``said``.
READ: dict[str, tuple[str, Record, list[Any]]] = {
    "sharegpt: a system field, and a bare call": (
        "sharegpt",
        {
            "system": "Be kind.",
            "conversations": [
                {"from": "human", "value": "Go."},
                {"from": "function_call", "value": '{"name": "go", "arguments": {"to": 1}}'},
                {"from": "observation", "value": "gone"},
            ],
        },
        [("system", "Be kind."), ("user", "Go."), ("assistant", None, ("go", '{"to": 1}')), ("tool", "gone")],
    ),
    "anthropic: results before text": (
        "anthropic",
        {
            "messages": [
                USER,
                {"role": "assistant", "content": [use(1, to=1), use(2, to=2.0)]},
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "And now?"},
                        {"type": "tool_result", "tool_use_id": "u2"},
                        {"type": "tool_result", "tool_use_id": "u1", "content": [{"type": "text", "text": "gone"}]},
                    ],
                },
            ],
            "tools": [TOOL],
        },
        [
            ("user", "Go."), ("assistant", None, ("go", '{"to": 1}'), ("go", '{"to": 2.0}')), ("tool", None),
            ("tool", "gone"), ("user", "And now?"),
        ],
    ),
    "anthropic: thinking is not said": (
        "anthropic",
        {"messages": [USER, {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}]}]},
        [("user", "Go."), ("assistant", "")],
    ),
    "anthropic: a server tool is shown by its type": (
        "anthropic",
        {
            "messages": [
                USER,
                {
                    "role": "assistant",
                    "content": [
                        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
                        {"type": "text", "text": "Found."},
                    ],
                },
            ],
            "system": "Search.",
        },
        [("system", "Search."), ("user", "Go."), ("assistant", "-|Found.")],
    ),
    "responses: a text and the calls after it": (
        "responses",
        {
            "instructions": "Be kind.",
            "input": [
                USER, message("assistant", "Two."), function_call(1, to=1), function_call(2), output(2, "b"),
                output(1, [{"type": "input_text", "text": "a"}]), function_call(3), output(3, "c"),
            ],
            "output": [message("assistant", "Do", "ne.")],
        },
        [
            ("system", "Be kind."), ("user", "Go."), ("assistant", "Two.", ("go", '{"to": 1}'), ("go", "{}")),
            ("tool", "b"), ("tool", "a"), ("assistant", None, ("go", "{}")), ("tool", "c"), ("assistant", "Do|ne."),
        ],
    ),
    "responses: reasoning separates calls": (
        "responses",
        {"input": "Go.", "output": [function_call(1), {"type": "reasoning", "summary": []}, function_call(2)]},
        [("user", "Go."), ("assistant", None, ("go", "{}")), ("assistant", None, ("go", "{}"))],
    ),
    "responses: a response without its input": (
        "responses",
        {"object": "response", "output": [message("assistant", "Hello.")]},
        [("user", ""), ("assistant", "Hello.")],
    ),
    "argilla: the preferred texts": (
        "argilla",
        {"fields": {"answer": "No.", "question": "Why?", "completion": "Yes.", "prompt": "How?"}},
        [("user", "How?"), ("assistant", "Yes.")],
    ),
    "argilla: a chat comes first": (
        "argilla",
        {"fields": {"prompt": "How?", "talk": [{"role": "human", "content": "Go."}]}},
        [("user", "Go.")],
    ),
    "labelstudio: speakers": (
        "labelstudio",
        {"data": {"d": [{"speaker": "Human", "text": "Go."}, {"speaker": "BOT", "text": "Gone."}]}},
        [("user", "Go."), ("assistant", "Gone.")],
    ),
    "labelstudio: from and value": (
        "labelstudio",
        {"data": {"x": "y", "d": [{"from": "user", "value": "Go."}, {"from": "agent", "value": "Gone."}]}},
        [("user", "Go."), ("assistant", "Gone.")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "record", "expected"), READ.values(), ids=READ)
def test_a_record_is_read_as_these_messages(name: str, record: Record, expected: list[Any]) -> None:
    assert said(name, record) == expected
    text = json.dumps({"id": "x"} | record)
    assert convert(name, name, text).lines == [text]


PARAGRAPHS = [
    {"author": "Client", "text": "Go.", "start": 1.5},
    {"author": "Agent Smith", "text": "Gone."},
]
REFUSED: dict[str, tuple[str, Record, str, str]] = {
    "sharegpt: no speaker": ("sharegpt", {"conversations": [{"from": "x", "value": ""}]}, "/conversations/0/from", "x"),
    "anthropic: a role": ("anthropic", {"messages": [{"role": "narrator", "content": ""}]}, "/messages/0", "narrator"),
    "anthropic: no input": (
        "anthropic",
        {"messages": [USER, {"role": "assistant", "content": [use(1) | {"input": "x"}]}]},
        "/messages/1/content/0/input",
        "must be an object",
    ),
    "anthropic: no call": (
        "anthropic",
        {"messages": [USER, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "u"}]}]},
        "/messages/1/content/0",
        "No call of this task waits",
    ),
    "responses: an output": ("responses", {"input": "Go.", "output": [output(1, 7)]}, "/output/0/output", "text or"),
    "responses: no item": ("responses", {"input": ["Go."]}, "/input/0", "must be an object with a type"),
    "argilla: no chat": ("argilla", {"fields": {"text": "Go."}}, "/fields", "prompt or instruction or question"),
    "labelstudio: a name": ("labelstudio", {"data": {"d/e": PARAGRAPHS}}, "/data/d~1e/1/author", "'Agent Smith'"),
    "labelstudio: no object": ("labelstudio", {"data": "Go."}, "/data", "must be an object, not text"),
}


@pytest.mark.parametrize(("name", "record", "pointer", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_told_with_its_place(name: str, record: Record, pointer: str, words: str) -> None:
    problems = problems_of(name, record)
    assert pointer in problems, problems
    assert words in problems[pointer]


def edited(name: str, record: Record, edit: Callable[[Record], Any]) -> Record:
    """The record after an edit of its document."""
    (dialogue,) = FORMATS[name].read(copy.deepcopy(record))
    document = copy.deepcopy(dialogue.document)
    edit(document)
    return written(name, dialogue, document)


def ask(number: int) -> Callable[[Record], Any]:
    return lambda document: document["tasks"][number].update(user_message="What?")


def without(record: Any, *keys: str) -> Any:
    return {key: value for key, value in record.items() if key not in keys}


class TestAnEdit:
    """What an edit of one message leaves of the others."""

    def test_anthropic_keeps_blocks_of_other_messages(self) -> None:
        record = example_records("anthropic")[0]
        expected = copy.deepcopy(record)
        expected["messages"][0]["content"] = "What?"
        assert same(edited("anthropic", record, ask(0)), expected)

    def test_responses_keeps_items_of_other_messages(self) -> None:
        record = example_records("responses")[0]
        expected = copy.deepcopy(record)
        expected["input"][0]["content"] = "What?"
        assert same(edited("responses", record, ask(0)), expected)

    def test_a_response_gets_the_input_that_somebody_adds(self) -> None:
        record = without(example_records("responses")[1], "input")
        expected = without(record, "instructions") | {"input": "What?"}
        assert same(edited("responses", record, ask(0)), expected)

    def test_the_fields_of_argilla_beside_the_chat_stay(self) -> None:
        record = example_records("argilla")[0]
        expected = copy.deepcopy(record)
        expected["fields"]["chat"][0]["content"] = "What?"
        assert same(edited("argilla", record, ask(0)), expected)

    def test_an_exchange_of_argilla_becomes_a_chat_if_it_has_to(self) -> None:
        record = example_records("argilla")[1]
        expected = record | {"fields": record["fields"] | {"instruction": "What?"}}
        assert same(edited("argilla", record, ask(0)), expected)
        call: Record = {
            "type": "call", "id": "c", "name": "look", "arguments": {}, "observation": None, "depends_on": None,
            "inferable": {}, "extra": {},
        }  # fmt: skip
        after = edited("argilla", record, lambda document: document["tasks"][0]["steps"].insert(0, call))
        assert after["fields"].keys() == {"chat", "topic"}
        assert [one["role"] for one in after["fields"]["chat"]] == ["user", "assistant", "assistant"]

    def test_authors_of_labelstudio_stay(self) -> None:
        record = example_records("labelstudio")[1]
        expected = copy.deepcopy(record)
        expected["data"]["text"][2] = {"author": "Customer", "text": "What?"}
        assert same(edited("labelstudio", record, ask(1)), expected)
        assert expected["id"] == 102

    def test_a_system_prompt_in_a_field_of_its_own_moves_into_the_conversation(self) -> None:
        record = READ["sharegpt: a system field, and a bare call"][1]
        after = edited("sharegpt", record, ask(0))
        assert after["conversations"][:2] == [
            {"from": "system", "value": "Be kind."},
            {"from": "human", "value": "What?"},
        ]
        assert "system" not in after
        # A label is no such edit.
        assert same(edited("sharegpt", record, lambda document: document["tasks"][0].update(policy="chat")), record)


def test_thinking_and_images_have_a_form_in_other_formats() -> None:
    [record, *_] = [json.loads(line) for line in convert("anthropic", "openai", text_of("anthropic", 0)).lines]
    reasoning = [one["reasoning_content"] for one in record["messages"] if "reasoning_content" in one]
    assert reasoning == ["Two searches that do not need each other."]
    assert record["messages"][6]["content"][1]["image_url"] == {"url": "data:image/png;base64,iVBORw0KGgo="}
    assert [tool["type"] for tool in record["tools"]] == ["function", "function"]
    # From there, they become what the other format calls them.
    [record] = [json.loads(line) for line in convert("openai", "responses", json.dumps(record)).lines]
    kinds = [item.get("type", item.get("role")) for item in record["input"]]
    assert kinds[:5] == ["user", "reasoning", "message", "function_call", "function_call"]
    [record] = [json.loads(line) for line in convert("responses", "anthropic", json.dumps(record)).lines]
    assert record["messages"][1]["content"][0]["type"] == "thinking"
    assert record["messages"][4]["content"][1] == example_records("anthropic")[0]["messages"][4]["content"][1]


def text_of(name: str, number: int) -> str:
    return example_file(name).decode().splitlines()[number]


def test_very_many_calls_are_counted_and_refused() -> None:
    """Neither tags nor results are searched again and again."""
    many = 200_000
    calls = '<tool_call>\n{"name": "go", "arguments": {}}\n</tool_call>' * many
    talk = [{"from": "human", "value": "Go."}, {"from": "gpt", "value": calls}]
    assert "more than" in problems_of("sharegpt", {"conversations": talk})["/conversations/1"]
    items = [*map(function_call, range(many)), *(output(n, "") for n in reversed(range(many)))]
    assert "more than" in problems_of("responses", {"input": "Go.", "output": items})["/output/0"]


def test_tools_without_a_name_are_kept_and_told() -> None:
    record = example_records("responses")[1]
    (dialogue,) = read("responses", record)
    assert [tool["function"]["name"] for tool in dialogue.tools] == ["set_timer"]
    assert {one.pointer for one in dialogue.warnings} == {"/tools/1", "/output/0"}
    (dialogue,) = read("anthropic", example_records("anthropic")[2])
    assert [tool.get("name") for tool in dialogue.tools] == ["web_search", None]


def test_a_call_whose_arguments_are_no_object_is_not_written_for_anthropic() -> None:
    function = {"name": "go", "arguments": "to town"}
    calls = [{"id": "c", "type": "function", "function": function}]
    record = {"id": "x", "messages": [USER, {"role": "assistant", "content": None, "tool_calls": calls}], "tools": []}
    (problem,) = convert("openai", "anthropic", json.dumps(record)).problems
    assert problem.message == "It cannot be written as anthropic: the arguments of go are not an object."


@pytest.mark.parametrize("name", CHATS)
def test_a_release_names_every_record(name: str) -> None:
    record = without(example_records(name)[-1], "id")
    (dialogue,) = FORMATS[name].read(record)
    assert dialogue.external_id.startswith(f"{name}-")
    assert same(FORMATS[name].write([dialogue]), record)
    full = FORMATS[name].write([dialogue], full=True)
    assert same(full, record | {"id": dialogue.external_id})


@pytest.mark.parametrize("name", [*CHATS, "bfcl"])
def test_an_example_is_imported_and_a_release_of_it_changes_nothing(name: str, run_import: Callable[..., Any]) -> None:
    records = example_records(name)
    batch = run_import(content=example_file(name), filename=f"{name}.jsonl", native_format=name)
    assert (batch.created, batch.rejected) == (len(records), 0), report_of(batch)
    released = [FORMATS[name].write(read(name, record), full=True, canary="x") for record in records]
    batch = run_import(released, native_format=name, revise=True)
    assert (batch.unchanged, batch.rejected) == (len(records), 0), report_of(batch)
