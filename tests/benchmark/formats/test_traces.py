"""otlp: spans of any lines become dialogues, and nothing of them is told twice or lost."""

import io
import json
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from hypothesis import given, settings
from hypothesis import strategies as st

from annotator.core.schema import Problem
from annotator.core.schema.exact_json import dumps
from benchmark.api.serializers import ImportInputSerializer, ReleaseInputSerializer
from benchmark.core.files import span_groups
from benchmark.core.files.limits import Limits
from benchmark.core.files.reading import RawLine, RecordError, read_lines
from benchmark.core.files.spans import attributes_of, spans_of
from benchmark.core.formats import FORMATS, WRITTEN
from benchmark.core.formats.converting import Converter
from benchmark.core.formats.examples import example_file, example_records
from benchmark.core.formats.native_remainder import native
from benchmark.core.formats.otlp_dialogue import _overlap
from benchmark.services.releases.requests import start_release
from benchmark.views.forms import ImportForm, ReleaseForm
from tests.benchmark.formats.format_records import problems_of
from tests.benchmark.formats.log_files import dialogues, is_refused_properly, nested, said, spoilt

EXAMPLE = example_file("otlp")
TRACE = "7c0b6a2f9d3e4f51a8b7c6d5e4f30211"
SUB_AGENT = f"{TRACE}#a1b2c3d4e5f60003"


def value(content: Any) -> dict[str, Any]:
    if isinstance(content, str):
        return {"stringValue": content}
    if isinstance(content, list):
        return {"arrayValue": {"values": [value(one) for one in content]}}
    if isinstance(content, dict):
        return {"kvlistValue": {"values": attributes(content)}}
    return {"doubleValue": content} if isinstance(content, float) else {"intValue": str(content)}


def attributes(fields: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value(content)} for key, content in fields.items()]


def span(number: int, at: int, operation: str = "chat", *, trace: str = "aa", parent: str = "", **more: Any) -> Any:
    """A span of generative AI. ``more``: further attributes, with ``__`` for a point, and other fields of the span."""
    fields = {key: more.pop(key) for key in ("status", "events") if key in more}
    named = {"gen_ai.operation.name": operation} | {key.replace("__", "."): one for key, one in more.items()}
    return {
        "traceId": trace,
        "spanId": f"{number:016x}",
        "parentSpanId": parent,
        "startTimeUnixNano": str(at),
        "attributes": attributes(named),
        **fields,
    }


def talk(*given: Any, out: Any = (), **more: Any) -> dict[str, Any]:
    return {"gen_ai__input__messages": list(given), "gen_ai__output__messages": list(out)} | more


def text(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def calls(*ids: str) -> dict[str, Any]:
    parts = [{"type": "tool_call", "id": one, "name": "find", "arguments": {"of": one}} for one in ids]
    return {"role": "assistant", "parts": parts}


def result(call_id: str, content: Any) -> dict[str, Any]:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": content}]}


def batch(*spans: Any, **more: Any) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]} | more]}


def lines(*batches: Any) -> bytes:
    return b"".join(dumps(one) + b"\n" for one in batches)


def items(content: bytes, **options: Any) -> list[RawLine | RecordError]:
    return list(read_lines(io.BytesIO(content), "spans.jsonl", format_name="otlp", **options))


def one(*spans: Any) -> Any:
    (dialogue,) = dialogues(lines(batch(*spans)), "otlp").values()
    return dialogue


def test_the_example_is_three_dialogues() -> None:
    found = dialogues(EXAMPLE, "otlp")
    assert list(found) == ["trains-1", SUB_AGENT, TRACE]
    trains = found["trains-1"]
    ghent = {"origin": "Ghent", "destination": "Bruges"}
    assert said(trains) == [
        "When does the next train from Ghent to Bruges leave, and the one to Antwerp?",
        ("find_train", ghent, {"train": "IC 1513", "departure": "10:24"}),
        ("find_train", ghent | {"destination": "Antwerp"}, "The timetable of Antwerp is not available."),
        "To Bruges at 10:24. I can’t see the timetable of Antwerp.",
    ]
    steps = trains.document["tasks"][0]["steps"]
    assert [native(step).get("error") for step in steps] == [None, True, None]
    assert [native(step).get("call_id") for step in steps] == ["call_a", "call_b", None]
    assert (native(steps[0])["said"], trains.document["env_info"]) == (
        "I look up both.",
        "You help travellers in Belgium.",
    )
    assert [tool["function"]["name"] for tool in trains.tools] == ["find_train", "book_seat"]
    assert trains.warnings == []
    assert said(found[SUB_AGENT]) == [
        "From Ghent to Bruges",
        ("find_train", ghent, {"train": "IC 1513", "departure": "10:24"}),
        "IC 1513 at 10:24",
    ]
    assert found[SUB_AGENT].document["extra"]["parent_dialogue"] == TRACE
    assert [step[:1] if type(step) is tuple else step for step in said(found[TRACE])] == [
        "Plan a trip from Ghent to Bruges for Mina Claes, and book it.",
        ("plan_trip",),
        ("book_seat",),
        "Seat 12A on IC 1513 at 10:24 is booked for Mina Claes.",
    ]


def test_all_spans_are_kept_but_no_message_is_told_again() -> None:
    trains = dialogues(EXAMPLE, "otlp")["trains-1"]
    spans = trains.document["extra"]["spans"]
    assert [one["name"] for one in spans] == [
        "invoke_agent travel", "chat example-1", "execute_tool find_train", "execute_tool find_train", "chat example-1",
    ]  # fmt: skip
    assert spans[3]["status"] == {"code": 2, "message": "The timetable of Antwerp is not available."}
    assert spans[1]["attributes"] == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "example",
        "gen_ai.request.model": "example-1",
        "gen_ai.conversation.id": "trains-1",
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
    }
    assert dumps(trains.document["extra"]["spans"]).count(b"Bruges") == 0
    (owner,) = trains.document["extra"]["resources"]
    assert owner["scope"] == {"scope": {"name": "example.agents", "version": "1.0"}}


ALL_SPANS = [found.span for record in example_records("otlp") for found in spans_of(record) if hasattr(found, "span")]
OWNER = {key: one for key, one in example_records("otlp")[0]["resourceSpans"][0].items() if key != "scopeSpans"}


@given(order=st.permutations(ALL_SPANS), cuts=st.lists(st.integers(0, len(ALL_SPANS)), max_size=4), data=st.data())
@settings(deadline=None, max_examples=30)
def test_the_order_of_spans_and_their_lines_and_files_do_not_matter(
    order: list[Any], cuts: list[int], data: st.DataObject
) -> None:
    edges = [0, *sorted(cuts), len(order)]
    batches = [batch(*order[a:b], **OWNER) for a, b in pairwise(edges)]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for n, some in enumerate(batches):
            # Exporters send a batch again if its answer is lost.
            archive.writestr(f"{n}.jsonl", lines(some, *[some] * data.draw(st.integers(0, 1))))
    found = dialogues(packed.getvalue(), "otlp", "spans.zip")
    plain = dialogues(lines(batch(*ALL_SPANS, **OWNER)), "otlp")
    assert {name: one.text for name, one in found.items()} == {name: one.text for name, one in plain.items()}
    assert set(found) == {"trains-1", TRACE, SUB_AGENT}


def test_a_collected_record_is_read_again_as_it_is() -> None:
    collected = [item.content for item in items(EXAMPLE) if isinstance(item, RawLine)]
    again = [item.content for item in items(b"\n".join(collected)) if isinstance(item, RawLine)]
    assert again == collected
    assert list(dialogues(b"\n".join(collected), "otlp")) == ["trains-1", SUB_AGENT, TRACE]


def test_reading_goes_on_where_it_stopped() -> None:
    content = lines(example_records("otlp")[0]) + b"[1]\n" + b'{"id": 1}\n' + EXAMPLE + lines(batch({"traceId": ""}))
    whole = items(content)
    assert [(type(one).__name__, one.line) for one in whole] == [
        ("RawLine", 2), ("RawLine", 3), ("RecordError", 7), ("RawLine", 1), ("RawLine", 5), ("RawLine", 5),
    ]  # fmt: skip
    for skip in range(len(whole) + 2):
        assert items(content, skip=skip) == whole[skip:]


def test_traces_of_one_conversation_are_turns_in_the_order_of_time() -> None:
    first, second, third = (text("user", one) for one in ("One?", "Two?", "Three?"))
    answers = [text("assistant", one) for one in ("1", "2", "3")]
    conversation = {"gen_ai__conversation__id": "c"}
    spans = [
        # The second has no history, the third all of it.
        span(3, 30, trace="cc", **talk(first, answers[0], second, answers[1], third, out=answers[2:]), **conversation),
        span(2, 20, trace="bb", **talk(second, out=answers[1:2]), **conversation),
        span(1, 10, trace="aa", **talk(first, out=answers[:1]), **conversation),
    ]
    assert said(one(*spans)) == ["One?", "1", "Two?", "2", "Three?", "3"]


def test_calls_of_a_model_continue_the_dialogue_with_all_the_end_or_nothing_of_it() -> None:
    request, answer = text("user", "Find a and b."), text("assistant", "Found.")
    both = [result("a", 1), result("b", {"x": 1.5})]
    whole = [request, calls("a"), both[0], calls("b"), both[1]]
    expected = ["Find a and b.", ("find", {"of": "a"}, "1"), ("find", {"of": "b"}, {"x": 1.5}), "Found."]
    for second, third in (
        (whole[:3], whole),
        # A window over the end of it, and only what is new.
        (whole[1:3], whole[3:]),
        (whole[2:3], whole[4:]),
    ):
        spans = [
            span(1, 1, **talk(request, out=[calls("a")])),
            span(2, 2, **talk(*second, out=[calls("b")])),
            span(3, 3, **talk(*third, out=[answer])),
        ]
        assert said(one(*spans)) == expected
    later = span(4, 4, **talk(text("user", "Thanks!"), out=[text("assistant", "You’re welcome.")]))
    assert said(one(*spans, later)) == [*expected, "Thanks!", "You’re welcome."]


def test_a_call_that_continues_nothing_is_named_and_kept() -> None:
    request = text("user", "Where is Ghent?")
    title = {"gen_ai__system_instructions": [{"type": "text", "content": "Name the chat."}]}
    dialogue = one(
        span(1, 1, **talk(text("user", "Title of: Where is Ghent?"), out=[text("assistant", "Ghent")]), **title),
        span(2, 2, **talk(request, out=[calls("a")])),
        span(3, 3, **talk(request, calls("a"), result("a", "Belgium"), out=[text("assistant", "In Belgium.")])),
    )
    assert said(dialogue) == ["Where is Ghent?", ("find", {"of": "a"}, "Belgium"), "In Belgium."]
    assert (
        Problem(
            "/resourceSpans/0/scopeSpans/0/spans/0",
            "The messages of this span do not continue the dialogue. They are kept with the span.",
        )
        in dialogue.warnings
    )
    kept = dialogue.document["extra"]["spans"][0]["attributes"]
    assert kept["gen_ai.output.messages"] == [text("assistant", "Ghent")]


def test_results_that_only_spans_have_are_put_after_their_calls() -> None:
    request, answer = text("user", "Find."), text("assistant", "Done.")
    tool = {"gen_ai__tool__name": "find"}
    dialogue = one(
        span(1, 1, **talk(request, out=[calls("a", "b", "c", "d")])),
        span(2, 5, "execute_tool", gen_ai__tool__call__id="b", gen_ai__tool__call__result={"n": 2}, **tool),
        span(3, 4, "execute_tool", gen_ai__tool__call__id="a", error__type="timeout", **tool),
        span(4, 3, "execute_tool", gen_ai__tool__call__result="by name", **tool),
        span(5, 6, "execute_tool", gen_ai__tool__call__id="z", gen_ai__tool__call__result="kept", **tool),
        span(6, 9, **talk(request, calls("a", "b", "c", "d"), result("d", "4"), out=[answer])),
    )
    assert [step[2] for step in said(dialogue)[1:-1]] == ["timeout", {"n": 2}, "by name", "4"]
    assert [bool(native(step).get("error")) for step in dialogue.document["tasks"][0]["steps"]] == [
        True, False, False, False, False,
    ]  # fmt: skip
    kept = [one["attributes"] for one in dialogue.document["extra"]["spans"] if one["spanId"] == f"{5:016x}"]
    assert kept[0]["gen_ai.tool.call.result"] == "kept"


def test_an_agent_of_an_agent_has_its_own_dialogue_but_not_the_two_spans_of_one_agent() -> None:
    def agent(number: int, parent: int, name: str, **more: Any) -> Any:
        above = f"{parent:016x}" if parent else ""
        return span(number, number, "invoke_agent", parent=above, gen_ai__agent__name=name, **more)

    def chat(number: int, parent: int, words: str) -> Any:
        return span(number, number, parent=f"{parent:016x}", **talk(text("user", words)))

    tool = span(5, 5, "execute_tool", parent=f"{2:016x}", gen_ai__tool__name="ask")
    spans = [
        agent(1, 0, "a"), agent(2, 1, "a", gen_ai__conversation__id="c"), chat(3, 2, "Hi"),
        agent(6, 5, "a"), chat(7, 6, "again a"), agent(8, 6, "b"), chat(9, 8, "b"),
    ]  # fmt: skip
    found = dialogues(lines(batch(*spans, tool)), "otlp")
    assert {name: (said(one), one.document["extra"].get("parent_dialogue")) for name, one in found.items()} == {
        "c": (["Hi"], None),
        f"c#{6:016x}": (["again a"], "c"),
        f"c#{8:016x}": (["b"], f"c#{6:016x}"),
    }


def test_parents_in_a_circle_or_missing_are_as_none() -> None:
    spans = [
        span(1, 1, "invoke_agent", parent=f"{2:016x}"),
        span(2, 2, "execute_tool", parent=f"{1:016x}"),
        span(3, 3, parent=f"{3:016x}", **talk(text("user", "Hi"))),
        span(4, 4, parent="ffff", **talk(text("user", "Hi"), text("assistant", "Hello"), text("user", "Bye"))),
    ]
    assert said(one(*spans)) == ["Hi", "Hello", "Bye"]
    chain = [span(n, n, parent=f"{n - 1:016x}" if n else "", **talk(text("user", "Hi"))) for n in range(5_000)]
    assert said(one(*chain)) == ["Hi"]


def test_what_is_no_span_is_named_with_its_place_and_the_others_are_read() -> None:
    good = span(1, 1, **talk(text("user", "Hi")))
    other = good | {"name": "other"}
    wrong = {"resourceSpans": [{"scopeSpans": [{"spans": [good, other, 7]}, {"spans": {}}]}]}
    found = items(lines(wrong, batch(good | {"traceId": "a b"}), batch(good | {"attributes": [{"key": 1}]})))
    assert [(one.line, one.pointer, one.message) for one in found if isinstance(one, RecordError)] == [
        (
            1,
            "/resourceSpans/0/scopeSpans/0/spans/1/spanId",
            "A span was left out: The trace aa has another span 0000000000000001. Keep one of them. "
            "The line has 2 more errors.",
        ),
        (
            2,
            "/resourceSpans/0/scopeSpans/0/spans/0/traceId",
            "A span was left out: The traceId must be text in hexadecimal digits.",
        ),
        (
            3,
            "/resourceSpans/0/scopeSpans/0/spans/0/attributes/0/key",
            "A span was left out: The key of an attribute must be text. Remove the attribute.",
        ),
    ]
    assert [one.line for one in found if isinstance(one, RawLine)] == [1]


def test_spans_without_generative_ai_or_messages_give_no_dialogue() -> None:
    plain = {"traceId": "ab", "spanId": "01", "attributes": attributes({"http.route": "/"})}
    (ignored,) = items(lines(batch(plain, plain | {"spanId": "02"})))
    assert isinstance(ignored, RecordError)
    assert (ignored.line, ignored.fatal) == (0, False)
    assert ignored.message.startswith("Ignored. 2 spans of 1 trace without an attribute of generative AI")
    record = batch(span(1, 1, gen_ai__request__model="m"))
    assert "Switch on the capture of message content" in problems_of("otlp", record)["/resourceSpans"]
    # Next to others of their trace, they are kept.
    http = plain | {"traceId": "aa", "parentSpanId": f"{1:016x}"}
    dialogue = one(span(1, 1, **talk(text("user", "Hi"))), http)
    assert {"http.route": "/"} in [one["attributes"] for one in dialogue.document["extra"]["spans"]]
    several = batch(span(1, 1, **talk(text("user", "Hi"))), span(2, 2, trace="bb", **talk(text("user", "Hi"))))
    assert "spans of 2 dialogues" in problems_of("otlp", several)["/resourceSpans"]


def test_a_dialogue_over_the_limit_of_a_record_is_one_error() -> None:
    long = [span(n, n, trace="aa", **talk(text("user", "x" * 300))) for n in range(10)]
    content = lines(*map(batch, long), batch(span(1, 1, trace="bb", **talk(text("user", "Hi")))))
    error, record = items(content, limits=Limits(line=2_000))
    assert isinstance(error, RecordError)
    assert (error.line, error.fatal) == (1, False)
    assert error.message == "The spans of the dialogue aa have more than 1.95 KiB, the limit of a record."
    assert isinstance(record, RawLine)
    (last,) = items(content, limits=Limits(records=3))[-1:]
    assert isinstance(last, RecordError)
    assert last.fatal


def test_one_large_object_is_read_part_by_part() -> None:
    resources = [part for n in range(20) for part in batch(span(1, 1, trace=f"{n:02x}", **talk(text("user", "Hi"))))
                 ["resourceSpans"]]  # fmt: skip
    content = json.dumps({"resourceSpans": resources}, indent=1).encode()
    found = dialogues(content, "otlp", "spans.json", limits=Limits(line=len(content) // 10))
    assert list(found) == [f"{n:02x}" for n in range(20)]
    assert list(dialogues(content, "otlp", "spans.json")) == list(found)


OLDER = [
    ("gen_ai.system.message", {"content": "Be brief."}),
    ("gen_ai.user.message", {"content": "Find."}),
    (
        "gen_ai.assistant.message",
        {"tool_calls": '[{"id": "a", "type": "function", "function": {"name": "find", "arguments": "{}"}}]'},
    ),
    ("gen_ai.tool.message", {"id": "a", "content": '{"n": 1}'}),
    ("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "One."}}),
]


@pytest.mark.parametrize("in_body", [False, True])
def test_messages_in_events_are_read_too(*, in_body: bool) -> None:
    events = [
        {"name": name, "attributes": attributes({"gen_ai.event.content": json.dumps(body)} if in_body else body)}
        for name, body in OLDER
    ]
    dialogue = one(span(1, 1, events=[*events, {"name": "exception", "attributes": []}]))
    assert said(dialogue) == ["Find.", ("find", {}, {"n": 1}), "One."]
    assert dialogue.document["env_info"] == "Be brief."
    assert dialogue.document["extra"]["spans"][0]["events"] == [{"name": "exception", "attributes": {}}]


def test_parts_that_are_no_text_are_kept() -> None:
    picture = {"type": "uri", "modality": "image", "uri": "https://example.org/a.png"}
    message = {"role": "user", "parts": [{"type": "text", "content": "What is it?"}, picture]}
    thought = {"type": "reasoning", "content": "A cat."}
    answer = {"role": "assistant", "parts": [thought, {"type": "text", "content": "A cat."}], "finish_reason": "stop"}
    dialogue = one(
        span(1, 1, **talk(message, out=[answer, text("assistant", "A dog.")], gen_ai__request__choice__count=2))
    )
    assert said(dialogue) == ["What is it?\n[uri]", "A cat."]
    written = FORMATS["openai"].write([dialogue])["messages"]
    assert written[0]["content"][1] == picture
    assert written[1]["reasoning_content"] == "A cat."


def test_another_version_of_the_conventions_is_named() -> None:
    record = batch(span(1, 1, **talk(text("user", "Hi"))), schemaUrl="https://opentelemetry.io/schemas/1.37.0")
    (dialogue,) = FORMATS["otlp"].read(record)
    message = "The spans follow version 1.37.0 of the conventions. Assay reads 1.41: check the messages."
    assert Problem("/resourceSpans", message) in dialogue.warnings


@pytest.mark.parametrize(
    ("typed", "plain"),
    [
        ({"stringValue": "a"}, "a"),
        ({"boolValue": False}, False),
        ({"intValue": "-9223372036854775808"}, -(2**63)),
        ({"intValue": 7}, 7),
        ({"doubleValue": 40.0}, 40.0),
        ({"doubleValue": "NaN"}, "NaN"),
        ({"bytesValue": "aGk="}, "aGk="),
        ({"arrayValue": {}}, []),
        ({"arrayValue": {"values": [{"intValue": "1"}, {}]}}, [1, None]),
        ({"kvlistValue": {"values": [{"key": "k", "value": {"boolValue": True}}]}}, {"k": True}),
        ({}, None),
    ],
)
def test_typed_values(typed: Any, plain: Any) -> None:
    ((found, place),) = attributes_of({"attributes": [{"key": "x", "value": typed}]}, "").values()
    assert (found, type(found), place) == (plain, type(plain), "/attributes/0/value")


WORDS = st.lists(st.sampled_from("ab"), max_size=8)


@given(end=WORDS, begin=WORDS)
def test_the_overlap_is_the_longest_end_that_is_also_the_beginning(end: list[str], begin: list[str]) -> None:
    most = min(len(end), len(begin))
    assert _overlap(end, begin) == max(n for n in range(most + 1) if end[len(end) - n :] == begin[:n])


@given(record=st.sampled_from(example_records("otlp")).flatmap(spoilt))
@settings(deadline=None, max_examples=300)
def test_any_record_is_read_or_refused(record: Any) -> None:
    assert is_refused_properly("otlp", record)
    for item in items(lines(record)):
        assert isinstance(item, RawLine) or item.message.endswith(".")


def test_values_that_are_nested_too_deeply_are_refused() -> None:
    deep: Any = {"stringValue": "x"}
    for _ in range(400):
        deep = {"arrayValue": {"values": [deep]}}
    record = batch(span(1, 1) | {"attributes": [{"key": "gen_ai.input.messages", "value": deep}]})
    assert any("levels deep" in message for message in problems_of("otlp", record).values())
    record = batch(span(1, 1, **talk(text("user", "Hi")), x=json.dumps(nested(300))) | {"status": nested(100)})
    assert problems_of("otlp", record) != {}


def test_a_trace_becomes_a_record_of_another_format_but_not_the_other_way(tmp_path: Path) -> None:
    for item in items(EXAMPLE):
        assert isinstance(item, RawLine)
        done = Converter("otlp", "openai").convert(item)
        assert (done.problems, len(done.lines)) == ([], 1)
        assert FORMATS["openai"].read(json.loads(done.lines[0]))[0].external_id == done.external_id
    file = tmp_path / "a.jsonl"
    file.write_bytes(EXAMPLE)
    with pytest.raises(CommandError, match=r"Assay reads otlp, but does not write it\. Choose one of: anthropic, "):
        call_command("convert_dialogues", file, "--from", "openai", "--to", "otlp")
    with pytest.raises(ValueError, match="does not write it"):
        FORMATS["otlp"].write([one(span(1, 1, **talk(text("user", "Hi"))))])


def test_only_formats_that_are_written_are_offered_for_releases() -> None:
    only_read = set(FORMATS) - set(WRITTEN)
    assert only_read == {"otlp", "inspect"}
    assert {name for name, _ in ReleaseForm().fields["native_format"].choices} == set(WRITTEN)
    assert {name for name, _ in ImportForm(stages=()).fields["native_format"].choices} == {"", *FORMATS}
    assert set(ReleaseInputSerializer().fields["format"].choices) == set(WRITTEN)
    assert set(ImportInputSerializer().fields["format"].choices) == set(FORMATS)
    with pytest.raises(Exception, match="can’t be written as “otlp”"):
        start_release(actor=None, project=None, version="1", native_format="otlp")  # type: ignore[arg-type]


def test_collecting_spans_can_be_stopped_after_the_file_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that sorts millions of spans must tell that it lives, and stop when somebody cancels."""

    class Stopped(BaseException):
        pass

    class Stream(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if size == 0:
                raise Stopped
            return super().read(size)

    monkeypatch.setattr(span_groups, "_STEPS", 20)
    with pytest.raises(Stopped):
        list(read_lines(Stream(EXAMPLE), "a.jsonl", format_name="otlp"))


def test_headers_of_requests_are_kept_nowhere() -> None:
    batch = json.loads(EXAMPLE.splitlines()[0])
    first = batch["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    first["attributes"].append({"key": "http.request.header.authorization", "value": {"stringValue": "Bearer s3cret"}})
    lines = [json.dumps(batch).encode(), *EXAMPLE.splitlines()[1:]]
    items = list(read_lines(io.BytesIO(b"\n".join(lines)), "a.jsonl", format_name="otlp"))
    assert len(items) == 3
    assert not any(b"s3cret" in item.content for item in items if isinstance(item, RawLine))
