"""The turns of a trace: annotating changes none of them, and an edit of one leaves the others as they came."""

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotator.core.schema import canonical, load_text, read_document
from annotator.core.schema.exact_json import same
from benchmark.core.formats import FORMATS, ReadDialogue
from benchmark.core.formats.outdated_remainder import forget_outdated
from tests.benchmark.formats.format_records import openai_record, read, wild_record

Document = dict[str, Any]
LENIENT = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)


def released(document: Document, *, full: bool = True) -> list[Document]:
    item = ReadDialogue("t", "en", "", load_text(canonical(document)), [], [])
    messages: list[Document] = FORMATS["openai"].write([item], full=full)["messages"]
    return messages


def saved(before: Document, after: Document) -> Document:
    """Return the document after an edit as it is stored: without what the edit outdates."""
    return load_text(canonical(forget_outdated(read_document(after), before)))


def needing(document: Document, needs: dict[str, list[str]]) -> Document:
    """The document with dependencies of the steps of its first task; a step that is not named has none."""
    after = copy.deepcopy(document)
    for step in after["tasks"][0]["steps"]:
        step["depends_on"] = [{"id": key, "kind": "parameter"} for key in needs.get(step["id"], ())]
    return saved(document, after)


def calling(text: str | None, *ids: str, **more: Any) -> Document:
    calls = [{"id": one, "type": "function", "function": {"name": "f", "arguments": "{}"}} for one in ids]
    return {"role": "assistant", "content": text, "tool_calls": calls, **more}


def told(call_id: str, text: str) -> Document:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def two_turns(*ids: str) -> list[Document]:
    """Two turns of calls, one after the other, each with a text and its reasoning."""
    first, second = ids
    return [
        {"role": "user", "content": "Price and stock?", "name": "anna"},
        calling("First the price.", first, reasoning_content="One by one."),
        told(first, "12"),
        calling("Now the stock.", second, reasoning_content="Then this."),
        told(second, "7"),
        {"role": "assistant", "content": "12, and 7 of them.", "annotations": []},
    ]


def document_of(messages: list[Document]) -> Document:
    [dialogue] = FORMATS["openai"].read({"id": "t", "messages": copy.deepcopy(messages), "tools": []})
    return dialogue.document


@pytest.mark.parametrize("ids", [("c1", "c2"), ("call_0", "call_0")])
@pytest.mark.parametrize("needs", [{}, {"s1": ["s0"]}, {"s2": ["s0", "s1"]}])
def test_turns_stay_apart_whatever_their_calls_depend_on(ids: tuple[str, str], needs: dict[str, list[str]]) -> None:
    messages = two_turns(*ids)
    document = document_of(messages)
    assert released(needing(document, needs)) == released(needing(document, needs), full=False) == messages


def test_calls_of_one_message_stay_together_where_one_depends_on_the_other() -> None:
    messages = openai_record()["messages"]
    document = document_of(messages)
    assert released(needing(document, {"s1": ["s0"], "s2": ["s1"], "s3": ["s2"]})) == messages


def test_only_calls_that_people_added_or_moved_are_placed_by_dependencies() -> None:
    [user, *rest] = two_turns("c1", "c2")
    document = document_of([user, calling("Both.", "a", "b", reasoning="Two."), told("a", "1"), told("b", "2"), *rest])

    def turns(steps: list[str], needs: dict[str, list[str]]) -> list[tuple[str | None, list[str], bool]]:
        """The turns of calls: the text beside them, their ids, and whether they have kept their reasoning."""
        after = copy.deepcopy(document)
        known = {step["id"]: step for step in after["tasks"][0]["steps"]}
        new = {"type": "call", "name": "f", "arguments": {}, "observation": "new", "inferable": {}, "extra": {}}
        after["tasks"][0]["steps"] = [known.get(key) or {"id": key, **copy.deepcopy(new)} for key in steps]
        for step in after["tasks"][0]["steps"]:
            step["depends_on"] = [{"id": key, "kind": "parameter"} for key in needs.get(step["id"], ())]
        return [
            (one["content"], [call["id"] for call in one["tool_calls"]], len(one) > 3)
            for one in released(saved(document, after))
            if "tool_calls" in one
        ]

    both, first, second = (
        ("Both.", ["a", "b"], True),
        ("First the price.", ["c1"], True),
        ("Now the stock.", ["c2"], True),
    )
    assert turns(["s0", "s1", "s2", "s3", "s4"], {}) == [both, first, second]
    # A new call joins the message above if it needs nothing from it; else it gets its own.
    joined = [("Both.", ["a", "call_t1_n1", "b"], False), first, second]
    assert turns(["s0", "n1", "s1", "s2", "s3", "s4"], {}) == joined
    alone = [both, (None, ["call_t1_n1", "call_t1_n2"], False), first, second]
    assert turns(["s0", "n1", "n2", "s1", "s2", "s3", "s4"], {"n1": ["s0"], "n2": ["s0"]}) == alone
    assert turns(["s0", "s1", "n1", "n2", "s2", "s3", "s4"], {"n1": ["s0"], "n2": ["s1"]}) == alone
    # A call that needs the one now before it leaves its message.
    apart = [("Both.", ["a"], False), first, (None, ["b"], False), second]
    assert turns(["s0", "s2", "s1", "s3", "s4"], {"s1": ["s2"]}) == apart
    assert turns(["s3", "s0", "s1", "s2", "s4"], {}) == [second, both, first]
    # The others are as they were where one is gone.
    assert turns(["s0", "s1", "s3", "s4"], {}) == [both, second]
    assert turns(["s0", "s2", "s3", "s4"], {}) == [("Both.", ["a"], False), first, second]
    assert turns(["s1", "s0", "s2", "s3", "s4"], {})[0] == ("Both.", ["b", "a"], False)


def test_a_new_call_gets_an_id_that_no_other_call_has() -> None:
    """A release that was read again may hold the id that a call was given when it was new there."""
    document = document_of(two_turns("call_t1_s1", "call_t1_s1_"))
    for step in document["tasks"][0]["steps"][:2]:
        step["id"] += "0"
    new = {"type": "call", "id": "s1", "name": "f", "arguments": {}, "observation": "new", "inferable": {}, "extra": {}}
    document["tasks"][0]["steps"].insert(2, {**new, "depends_on": None})
    ids = [one["tool_call_id"] for one in released(document) if one["role"] == "tool"]
    assert ids == ["call_t1_s1", "call_t1_s1_", "call_t1_s1__"]


def test_an_answer_comes_after_all_calls_though_it_needs_none() -> None:
    record = wild_record()
    nodes = record["english_answer_list"][1]
    nodes[1]["dependency_list"], nodes[2]["dependency_list"], nodes[3]["dependency_list"] = [0], [1], []
    dialogues = read("wild", record)
    for name, field in (("openai", "messages"), ("c3", "english_messages_with_calls")):
        texts = [one["content"] for one in FORMATS[name].write(dialogues, full=True)[field] if type(one) is dict]
        at = texts.index("Rain, rain and snow.")
        assert texts[at + 1] == record["english_tasks"][2], name


def test_content_comes_back_as_it_came_where_its_text_is_not_edited() -> None:
    parts = [{"type": "text", "text": "part one"}, {"type": "text", "text": "part two"}]
    messages = [
        {"role": "developer", "content": parts},
        {"role": "assistant", "content": "", "refusal": "Not before noon."},
        {"role": "user", "content": parts},
        calling("", "a"),
        {"role": "tool", "tool_call_id": "a", "content": parts},
        {**calling(None, "b"), "content": parts},
        told("b", ""),
        {"role": "assistant", "content": "", "refusal": "No."},
        {"role": "user", "content": None},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
    ]
    document = document_of(messages)
    assert released(document) == released(needing(document, {})) == messages
    after = copy.deepcopy(document)
    after["tasks"][0]["user_message"] = "Something else."
    edited = [*messages[:2], {"role": "user", "content": "Something else."}, *messages[3:]]
    assert released(saved(document, after)) == edited
    # Fields that no reader keeps are not content.
    odd = copy.deepcopy(document)
    odd["extra"]["@native"]["kept"]["messages"][0][8]["content"] = {"text": "x"}
    assert released(odd)[8] == {"role": "user", "content": ""}


def test_a_result_that_came_late_stays_late_when_something_else_is_edited() -> None:
    [user, first, result, second, *rest] = two_turns("c1", "c2")
    messages = [user, first, second, result, *rest]
    document = document_of(messages)
    after = copy.deepcopy(document)
    after["tasks"][0]["user_message"] = "Well?"
    assert released(saved(document, after)) == [{"role": "user", "content": "Well?"}, *messages[1:]]


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
PARTS = st.lists(TEXTS.map(lambda text: {"type": "text", "text": text}), max_size=3)
CONTENTS = TEXTS | st.none() | PARTS


@st.composite
def traces(draw: st.DrawFn) -> list[Document]:
    """The messages of any trace, each with a name of its own. Ids come again in each turn, or results late or never."""
    messages: list[Document] = []
    again = draw(st.booleans())

    def say(kind: str, role: str, content: Any, **more: Any) -> None:
        beside = draw(st.dictionaries(st.sampled_from(["refusal", "reasoning"]), TEXTS | st.none()))
        beside = beside if role == "assistant" else {}
        messages.append({"role": role, "content": content, "name": f"{kind}-{len(messages)}", **beside, **more})

    for role in draw(st.lists(st.sampled_from(["system", "assistant"]), max_size=2)):
        say("step", role, draw(CONTENTS))
    for _ in range(draw(st.integers(1, 2))):
        say("step", "user", draw(CONTENTS))
        waiting: list[str] = []
        for _ in range(draw(st.integers(0, 3))):
            if draw(st.booleans()):
                say("between", "assistant", draw(CONTENTS))
            ids = [f"call_{n if again else f'{len(messages)}_{n}'}" for n in range(draw(st.integers(1, 3)))]
            say("step", "assistant", draw(CONTENTS), tool_calls=calling(None, *ids)["tool_calls"])
            waiting = draw(st.permutations([*waiting, *ids]))
            now = len(waiting) if again else draw(st.integers(0, len(waiting)))
            for one in waiting[:now]:
                say("step", "tool", draw(TEXTS | PARTS), tool_call_id=one)
            waiting = waiting[now:]
        if draw(st.booleans()):
            say("step", "assistant", draw(CONTENTS))
    return messages


@st.composite
def annotations(draw: st.DrawFn, document: Document) -> Document:
    """The document with labels, and with dependencies of each step on any steps before it."""
    after = copy.deepcopy(document)
    for task in after["tasks"]:
        task["policy"] = draw(st.sampled_from(["single_tool", "chat", None]))
        task["information"] = draw(st.sampled_from(["explicit", "partial_information", None]))
        for position, step in enumerate(task["steps"]):
            before = [other["id"] for other in task["steps"][:position]]
            needs = draw(st.none() | (st.lists(st.sampled_from(before), unique=True) if before else st.just([])))
            step["depends_on"] = needs and [{"id": key, "kind": "parameter"} for key in needs]
    return saved(document, after)


@given(traces(), st.data())
@LENIENT
def test_annotating_changes_no_message(messages: list[Document], data: st.DataObject) -> None:
    document = document_of(messages)
    for _ in range(2):
        document = data.draw(annotations(document))
        assert same(released(document), messages)
        assert same(released(document, full=False), messages)


@given(traces(), st.data())
@LENIENT
def test_an_edit_changes_one_message_and_what_goes_with_it(messages: list[Document], data: st.DataObject) -> None:
    before = data.draw(annotations(document_of(messages)))
    after = copy.deepcopy(before)
    task = data.draw(st.sampled_from(after["tasks"]))
    step = data.draw(st.sampled_from([None, *task["steps"]]))
    field = "user_message" if step is None else {"call": "observation", "answer": "text"}[step["type"]]
    (task if step is None else step)[field] = "Edited altogether."
    after = data.draw(annotations(saved(before, after)))
    written = released(after)
    [edited] = [one for one in written if one["content"] == "Edited altogether."]
    assert "name" not in edited
    # Texts between the steps go with the messages beside them.
    left = [one for one in written if one is not edited]
    steps = [one for one in messages if one["name"].startswith("step")]
    gone = [one for one in steps if not any(same(one, other) for other in left)]
    assert len(gone) <= 1
    assert same([one for one in left if one["name"].startswith("step")], [one for one in steps if one not in gone])
