"""Preserved fields of a native record are no longer written after the part they describe was edited."""

import copy
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from annotator.core.schema import read_document
from annotator.models import Revision
from benchmark.core.archives.verifying import verify_archive
from benchmark.core.files.reading import RawLine
from benchmark.core.formats import FORMATS, ReadDialogue
from benchmark.core.formats.converting import Converter
from benchmark.core.formats.labels import WILD_INFORMATION
from benchmark.core.formats.native_remainder import NATIVE
from benchmark.core.formats.outdated_remainder import forget_outdated
from benchmark.services.releases.requests import archive_path
from tests.annotator.case_documents import LIMIT, ROUNDS
from tests.benchmark.conftest import make_verified, run_release
from tests.benchmark.formats.cctu_records import record as cctu_record
from tests.benchmark.formats.format_records import CHINESE, MESSAGES, bilingual_wild_record, c3_record, wild_record
from tests.factories import (
    Team,
    adopt_c3,
    begin,
    claim_and_submit,
    make_dialogue,
    make_document,
    make_team,
)

Document = dict[str, Any]
WRONG, ERROR = "2000 kroner", "the amount is no number of cents"


def openai_record() -> Document:
    arguments = json.dumps({"amount_cents": WRONG}, indent=3)
    call = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": arguments}}
    return {
        "id": "trace-1",
        "messages": [
            {"role": "user", "content": "Pay 20 kroner.", "name": "anna"},
            {"role": "assistant", "content": None, "tool_calls": [call], "refusal": None},
            {"role": "tool", "tool_call_id": "c1", "content": json.dumps({"error": ERROR}, indent=3)},
            {"role": "assistant", "content": "Paid."},
        ],
        "tools": [],
        "expected": [{"name": "pay", "arguments": arguments}],
        "source": "bank desk",
    }


def wild_like(record: Document) -> Document:
    # Its two languages share their lists.
    record = json.loads(json.dumps(record))
    node = record["english_answer_list"][0][0]
    node["action"]["arguments"] = json.dumps({"city": WRONG}, indent=3)
    node["action"]["thought"] = f"It must be {WRONG}."
    node["observation"], node["failed"] = {"error": ERROR}, ERROR
    node["dependency_list"] = None
    record["error_of_task_1"] = json.dumps({"error": ERROR})
    record["source"] = "bank desk"
    return record


def repaired(document: Document) -> Document:
    document = copy.deepcopy(document)
    step = document["tasks"][0]["steps"][0]
    key = next(iter(step["arguments"]))
    step["arguments"], step["observation"] = {key: 2000}, {"paid": True}
    return read_document(document)


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("openai", openai_record),
        ("wild", lambda: wild_like(wild_record())),
        ("c3", lambda: wild_like(c3_record())),
        ("mmtb", lambda: wild_like(c3_record())),
    ],
)
def test_a_corrected_value_is_written_nowhere(name: str, record: Callable[[], Document]) -> None:
    dialogue = FORMATS[name].read(record())[0]
    after = forget_outdated(repaired(dialogue.document), dialogue.document)
    read_document(after)
    item = ReadDialogue(dialogue.external_id, dialogue.language, "", after, dialogue.tools, [])
    for writer in (name, "neutral"):
        text = json.dumps(FORMATS[writer].write([item]))
        assert WRONG not in text
        assert ERROR not in text
        assert "bank desk" in text


def spoken_beside() -> tuple[Document, list[Document]]:
    """A trace with something beside every message, and its messages."""

    def call(name: str, **arguments: Any) -> Document:
        function = {"name": name, "arguments": json.dumps(arguments), "strict": True}
        return {"id": f"id-{name}", "type": "function", "function": function, "index": 0}

    def result(name: str, text: str) -> Document:
        return {"role": "tool", "tool_call_id": f"id-{name}", "content": text, "name": name}

    messages: list[Document] = [
        {"role": "developer", "content": "Today is Monday.", "name": "desk"},
        {"role": "user", "content": [{"type": "text", "text": "Pay and "}, {"type": "text", "text": "tell."}]},
        {"role": "assistant", "content": None, "tool_calls": [call("look"), call("ask")], "reasoning": "Both at once."},
        result("ask", "yes"),
        result("look", "clear"),
        {"role": "system", "content": "Be polite."},
        {"role": "assistant", "content": "Now the amount."},
        {"role": "assistant", "content": None, "tool_calls": [call("pay", cents=WRONG)], "reasoning": "Twenty."},
        result("pay", "failed"),
        {"role": "assistant", "content": "Hm, done."},
        {"role": "assistant", "content": "Paid.", "reasoning": f"I paid {WRONG.upper()}.", "annotations": []},
        {"role": "user", "content": "Thanks!", "name": "anna"},
        {"role": "assistant", "content": "Not at all.", "reasoning": "A chat."},
    ]
    return {"id": "trace-2", "messages": messages, "tools": []}, messages


def said_after(edit: Callable[[Document], None], start: Document | None = None) -> tuple[Document, list[Document]]:
    """The document that an edit makes of the trace, and the messages of its record."""
    [dialogue] = FORMATS["openai"].read(spoken_beside()[0])
    before = start or dialogue.document
    document = copy.deepcopy(before)
    edit(document)
    document = forget_outdated(read_document(document), before)
    return document, FORMATS["openai"].write([ReadDialogue("trace-2", "en", "", document, [], [])])["messages"]


class TestWhatStandsBesideMessages:
    def test_an_edit_gives_up_what_stands_beside_the_message_it_changes(self) -> None:
        _, messages = spoken_beside()

        def answer(document: Document) -> None:
            document["tasks"][1]["steps"][0]["text"] = "You are welcome."

        document, said = said_after(answer)
        assert said == [*messages[:-1], {"role": "assistant", "content": "You are welcome."}]
        # The next edit finds the rest of it there.
        again, said = said_after(lambda document: document["tasks"][1].update(user_message="Thank you!"), document)
        assert said[:-2] == messages[:-2]
        assert said[-2] == {"role": "user", "content": "Thank you!"}
        # Labels are no message.
        assert said_after(lambda document: document["tasks"][0].update(policy="chat"), again)[1] == said
        # The role is that of the instructions, not of what they say.
        _, said = said_after(lambda document: document.update(env_info="Today is Friday."))
        assert said == [{"role": "developer", "content": "Today is Friday."}, *messages[1:]]

    def test_a_corrected_call_takes_its_result_its_neighbours_and_the_talk_of_its_value_along(self) -> None:
        _, messages = spoken_beside()

        def correct(document: Document) -> None:
            document["tasks"][0]["steps"][2]["arguments"] = {"cents": 2000}

        _, said = said_after(correct)
        assert said[:6] == messages[:6]
        assert [sorted(message) for message in said[6:8]] == [
            ["content", "role", "tool_calls"],
            ["content", "role", "tool_call_id"],
        ]
        assert said[6]["tool_calls"][0].keys() == {"id", "type", "function"}
        assert said[8:] == [{"role": "assistant", "content": "Paid.", "annotations": []}, *messages[11:]]
        assert WRONG not in json.dumps(said).casefold()

    def test_steps_may_come_and_go(self) -> None:
        _, messages = spoken_beside()

        def remove(document: Document) -> None:
            del document["tasks"][0]["steps"][2]

        _, said = said_after(remove)
        assert said == [*messages[:6], {"role": "assistant", "content": "Paid.", "annotations": []}, *messages[11:]]

        def add(document: Document) -> None:
            task = copy.deepcopy(document["tasks"][0]) | {"id": "t9", "user_message": "Once more.", "extra": {}}
            document["tasks"].append(task)

        _, said = said_after(add)
        assert said[: len(messages)] == messages
        assert said[len(messages)] == {"role": "user", "content": "Once more."}

    def test_a_remainder_of_another_dialogue_is_given_up(self) -> None:
        [dialogue] = FORMATS["openai"].read(spoken_beside()[0])
        odd = copy.deepcopy(dialogue.document)
        kept = odd["extra"]["@native"]["kept"]["messages"]
        for entry in ([kept[0][:3], kept[1]], [["x"], kept[1]], [kept[0], "0"], "x"):
            odd["extra"]["@native"]["kept"]["messages"] = entry
            _, said = said_after(lambda document: document["tasks"][1].update(user_message="Thank you!"), odd)
            assert {"role": "user", "content": "Thank you!"} in said
            assert all("reasoning" not in message for message in said)

    def test_looking_for_what_was_corrected_has_a_bound(self) -> None:
        record, messages = spoken_beside()
        messages[8]["content"] = json.dumps([f"row {n}" for n in range(20_000)])
        messages[12]["reasoning"] = "The rows say all. " * 5_000
        [dialogue] = FORMATS["openai"].read(record)
        document = copy.deepcopy(dialogue.document)
        document["tasks"][0]["steps"][2]["observation"] = []
        after = forget_outdated(document, dialogue.document)
        messages = FORMATS["openai"].write([ReadDialogue("trace-2", "en", "", after, [], [])])["messages"]
        assert "reasoning" not in messages[-1]


@pytest.mark.parametrize("record", [openai_record, lambda: wild_like(wild_record())])
def test_what_speaks_of_another_place_stays(record: Callable[[], Document]) -> None:
    raw = record()
    name = "openai" if "messages" in raw else "wild"
    [dialogue] = FORMATS[name].read(raw)
    edited = copy.deepcopy(dialogue.document)
    edited["tasks"][0]["steps"][-1]["text"] = "Something else entirely."
    after = forget_outdated(edited, dialogue.document)
    assert after["tasks"][0]["steps"][0] == dialogue.document["tasks"][0]["steps"][0]
    assert forget_outdated(dialogue.document, dialogue.document) == dialogue.document


def test_a_corrected_label_takes_its_copies_along() -> None:
    raw = wild_record() | {"label_of_task_2": "mixed multi-tool", "hidden_in_task_3": "Coreferential Reference"}
    [dialogue] = FORMATS["wild"].read(raw)
    edited = copy.deepcopy(dialogue.document)
    edited["tasks"][1] |= {"policy": "single_tool", "information": "explicit"}
    edited["tasks"][2]["information"] = "explicit"
    after = forget_outdated(edited, dialogue.document)
    assert "label" not in after["tasks"][1]["extra"].get("@native", {})
    assert [task["native_information"] for task in after["tasks"]][1:3] == [None, None]
    assert "hidden_in_task_3" not in after["extra"]


def test_a_corrected_answer_of_a_case_gives_up_its_own_original_alone() -> None:
    raw = cctu_record(answer=174052, data_source="an odd scenario") | {"told": ["174052"], "source": "harbour desk"}
    [dialogue] = FORMATS["cctu"].read(raw)
    kept = dialogue.document["extra"]["@native"]["kept"]
    edited = copy.deepcopy(dialogue.document)
    edited["answer"] = "At 17:40."
    after = forget_outdated(edited, dialogue.document)
    assert after["extra"]["@native"]["kept"] == {key: kept[key] for key in kept.keys() - {"answer"}}
    assert "data_source" in kept
    item = ReadDialogue("7", "en", "", after, dialogue.tools, [])
    for writer in ("cctu", "neutral"):
        text = json.dumps(FORMATS[writer].write([item]))
        assert "174052" not in text
        assert "harbour desk" in text


def test_edited_words_of_a_constraint_take_the_copies_in_its_parameters_along() -> None:
    raw = cctu_record()
    raw["messages"][0] = {"role": "system", "content": f"{LIMIT} And be kind. {ROUNDS}"}
    copies = {"constraint": ["Interact", "Call Times", LIMIT], "refine_constraint": f" {LIMIT} And be kind."}
    other = {"constraint": ["Interact", "Round", ROUNDS], "refine_constraint": ROUNDS, "min_round": 0, "max_round": 6}
    limits, beside = {"min_callTimes": 0, "max_callTimes": 4}, {"seed": "a note of ours"}
    raw["check_code"] = {
        "check_constraint_0.json": json.dumps(limits | copies | beside, indent=2),
        "check_constraint_2.json": json.dumps(other),
    }
    [dialogue] = FORMATS["cctu"].read(raw)
    before = dialogue.document

    def files_after(edit: Callable[[Document], Any]) -> list[Document]:
        edited = copy.deepcopy(before)
        edit(edited)
        edited["constraints"][0]["variants"] = [
            {"first": ["find_ferry"], "parameters": edited["constraints"][0]["parameters"] | {"max_callTimes": 2}}
        ]
        after = forget_outdated(edited, before)
        read_document(after)
        files = FORMATS["cctu"].write([ReadDialogue("7", "en", "", after, dialogue.tools, [])])["check_code"]
        held = [json.loads(files[f"check_constraint_{n}.json"]) for n in (0, 2)]
        in_variant = after["constraints"][0]["variants"][0]["parameters"]
        assert in_variant == held[0] | {"max_callTimes": 2}
        return held

    assert files_after(lambda document: None) == [limits | copies | beside, other]
    passage = {"refine_constraint": copies["refine_constraint"]}
    held = files_after(lambda document: document["constraints"][0].update(text="Call tools twice."))
    assert held == [limits | passage | beside, other]
    held = files_after(lambda document: document.update(system_prompt=f"Be quick. {ROUNDS}"))
    assert held == [limits | {"constraint": copies["constraint"]} | beside, other]
    held = files_after(lambda document: document["constraints"][0].update(category="interaction rounds"))
    assert held == [limits | passage | beside, other]


def test_an_edited_query_leaves_the_other_messages_of_a_case() -> None:
    prompt, query = cctu_record()["messages"]
    others = [{"role": "user", "content": "Is there a boat?"}, {"role": "assistant", "content": "Two."}]
    outdated = {"role": "assistant", "content": f"You asked: {query['content']}"}
    raw = cctu_record(messages=[prompt | {"role": "developer"}, *others, outdated, query | {"name": "anna"}])
    [dialogue] = FORMATS["cctu"].read(raw)

    def said_after(before: Document, **edited: Any) -> tuple[Document, list[Document]]:
        after = forget_outdated(before | edited, before)
        item = ReadDialogue("7", "en", "", after, dialogue.tools, [])
        written: list[Document] = FORMATS["cctu"].write([item], full=True)["messages"]
        return after, written

    asked, written = said_after(dialogue.document, user_query="When today?")
    first = {"role": "developer", "content": prompt["content"]}
    last = {"role": "user", "content": "When today?", "name": "anna"}
    assert written == [first, *others, last]
    told, written = said_after(asked, system_prompt="Be short.")
    assert written == [first | {"content": "Be short."}, *others, last]
    assert said_after(told, system_prompt=None)[1] == [*others, last]
    assert outdated["content"] not in json.dumps(asked)


def test_an_edited_message_of_the_dialogue_so_far_leaves_what_the_others_hold() -> None:
    """A release holds their calls, too."""
    call = {"id": "c", "type": "function", "function": {"name": "getWeather", "arguments": '{"city": "Bonn"}'}}
    before = [
        {"role": "user", "content": "And in Bonn?", "name": "anna"},
        {"role": "assistant", "content": None, "tool_calls": [call], "reasoning": "Bonn."},
        {"role": "tool", "content": "rain", "tool_call_id": "c"},
        {"role": "assistant", "content": "It rains.", "reasoning": "They asked: and in Bonn?"},
    ]
    [dialogue] = FORMATS["wild"].read(wild_record() | {"context": before, "first_task_turn_subtype": "Explicit"})

    def said_after(edit: Callable[[list[Document]], None]) -> list[Document]:
        after = copy.deepcopy(dialogue.document)
        edit(after["context"])
        after = forget_outdated(after, dialogue.document)
        item = ReadDialogue("7", "en", "", after, dialogue.tools, [])
        written: list[Document] = FORMATS["wild"].write([item], full=True)["context"]
        return written

    assert said_after(lambda context: None) == before
    edited = {"role": "user", "content": "And in Cologne?"}
    outdated = {"role": "assistant", "content": "It rains."}
    assert said_after(lambda context: context[0].update(edited)) == [edited, *before[1:3], outdated]
    assert said_after(lambda context: context.insert(1, edited)) == [before[0], edited, *before[1:]]
    assert said_after(lambda context: context.pop()) == before[:3]


def notes_of(value: Any, within: bool = False) -> Iterator[tuple[Any, Any]]:
    """Every place in the notes that Assay keeps in a document: what holds it, and its key there."""
    keys: Iterable[Any] = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        if within:
            yield value, key
        yield from notes_of(value[key], within or key == NATIVE)


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("openai", openai_record()),
        ("wild", wild_like(wild_record())),
        ("wild", wild_record() | {"context": [{"role": "user", "content": "Hi", "name": "anna"}]}),
        ("cctu", cctu_record(messages=[{"role": "user", "content": text} for text in ("Hi", "When?")])),
        ("cctu", cctu_record(codes='{"b": "def b(): pass", "a": "def a(): pass"}')),
    ],
)
def test_notes_of_another_shape_stop_neither_an_edit_nor_a_release(name: str, record: Document) -> None:
    document = FORMATS[name].read(record)[0].document
    places = list(notes_of(document))
    for holder, key in places:
        as_it_was = holder[key]
        for strange in (None, True, 7, "x", [[]], {}, {"a": {}}):
            holder[key] = strange
            edited = copy.deepcopy(document)
            if name == "cctu":
                edited["answer"] = edited["user_query"] = "At 17:40."
            else:
                for message in edited["context"]:
                    message["content"] = "Something else."
                edited["tasks"][0]["user_message"] = "Something else."
            forget_outdated(edited, document)
            line = json.dumps({"id": "x", "document": document, "tools": []}).encode()
            for target in FORMATS:
                Converter("neutral", target).convert(RawLine(1, "", line, len(line), True))
        holder[key] = as_it_was


def test_a_variant_keeps_nothing_of_the_other_language() -> None:
    english, chinese = FORMATS["c3"].read(wild_like(c3_record()))
    assert WRONG in json.dumps(english.document)
    assert WRONG not in json.dumps(chinese.document)


EXACT, ROUNDED = "3.14159265358979323846", "3.141592653589793"


def imported_before(name: str, record: Document) -> ReadDialogue:
    """A dialogue whose stored texts of JSON hold a decimal that no float is, as imports once took it; the rest of the
    document holds the float.
    """

    def with_digits(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: with_digits(item) for key, item in value.items()}
        if isinstance(value, list):
            return [with_digits(item) for item in value]
        return value.replace(ROUNDED, EXACT) if isinstance(value, str) else value

    [dialogue] = FORMATS[name].read(record)
    dialogue.document = with_digits(dialogue.document)
    assert EXACT in json.dumps(dialogue.document)
    return dialogue


def test_digits_that_earlier_imports_rounded_are_said_as_they_were_rounded() -> None:
    record = openai_record()
    call = record["messages"][1]["tool_calls"][0]["function"]
    call["arguments"] = record["expected"][0]["arguments"] = f'{{"cents":  {ROUNDED}, "n": 1}}'
    trace = imported_before("openai", record)
    case = imported_before("cctu", cctu_record() | {"tools": f'[{{"name":"f","at":{ROUNDED}}}]', "codes": "{ }"})
    edited = copy.deepcopy(trace.document)
    edited["tasks"][0]["steps"][0]["arguments"]["n"] = 2
    after = forget_outdated(edited, trace.document)
    for document in (trace.document, after):
        trace.document = document
        written = FORMATS["openai"].write([trace], full=True)
        assert written["messages"][1]["tool_calls"][0]["function"]["arguments"].startswith(
            f'{{"cents":  {ROUNDED}, "n"'
        )
    assert FORMATS["cctu"].write([case], full=True)["tools"] == f'[{{"name":"f","at":{ROUNDED}}}]'
    FORMATS["cctu"].read(FORMATS["cctu"].write([case], full=True))
    # A field about the rounded number also refers to it in the text of a record.
    edited["tasks"][0]["steps"][0]["arguments"] = {"cents": 3}
    assert "expected" not in forget_outdated(edited, trace.document)["extra"]


def bilingual_with_fields() -> Document:
    return bilingual_wild_record() | {"query": CHINESE[0], "english_query": MESSAGES[0], "source": "bank desk"}


@pytest.mark.parametrize("full", [False, True])
def test_a_field_that_both_languages_share_is_not_written_for_the_one_that_kept_it(full: bool) -> None:
    english, chinese = FORMATS["wild"].read(bilingual_with_fields())
    edited = copy.deepcopy(chinese.document)
    edited["tasks"][0]["user_message"] = "奈良天气怎么样？"
    chinese.document = forget_outdated(edited, chinese.document)
    record = FORMATS["wild"].write([english, chinese], full=full)
    assert CHINESE[0] not in json.dumps(record, ensure_ascii=False)
    assert (record["english_query"], record["source"]) == (MESSAGES[0], "bank desk")


@pytest.mark.parametrize("full", [False, True])
def test_calls_of_a_shared_dialogue_so_far_stay_where_one_language_edits_it(full: bool) -> None:
    called = {"role": "assistant", "content": "One moment.", "tool_calls": [{"function": {"name": "look"}}]}
    record = bilingual_wild_record() | {"context": [{"role": "user", "content": "Hello"}, called]}
    english, chinese = FORMATS["wild"].read(record)
    edited = copy.deepcopy(english.document)
    edited["context"][0]["content"] = "Good morning"
    english.document = forget_outdated(edited, english.document)
    written = FORMATS["wild"].write([english, chinese], full=full)
    assert written["context"] == record["context"]
    assert written["english_context"] == [{"role": "user", "content": "Good morning"}, called]


@pytest.mark.django_db
def test_a_release_names_the_fields_that_its_native_records_do_not_hold(team: Team) -> None:
    english, chinese = make_document("Ghent"), make_document("根特") | {"language": "zh"}
    english["extra"], chinese["extra"] = {"seed": 1, "a/b": 1, "model": "m"}, {"seed": 1.0, "model": "m"}
    make_verified(team, "v", english, variant_group="v")
    make_verified(team, "v:zh", chinese, variant_group="v")
    make_verified(team, "w", make_document("Oslo"))
    release = run_release(team, native_format="wild")
    with zipfile.ZipFile(archive_path(release)) as archive:
        members = {name.partition("/")[2]: archive.read(name).decode(errors="replace") for name in archive.namelist()}
    both, _ = map(json.loads, members["wild.jsonl"].splitlines())
    assert (both["model"], "seed" in both, "a/b" in both) == ("m", False, False)
    named = [json.loads(line).get("not_in_native_record") for line in members["items.jsonl"].splitlines()]
    assert named == [["/extra/a~1b", "/extra/seed"], ["/extra/seed"], None]
    assert "Some fields of 2 dialogues are not in the native records" in members["README.md"]
    assert verify_archive(archive_path(release)).problems == []


@pytest.mark.django_db
def test_a_version_that_corrects_a_value_holds_no_copy_of_it() -> None:
    team = make_team()
    adopt_c3(team)
    [read] = FORMATS["openai"].read(openai_record())
    [dialogue] = begin(team.project, [make_dialogue(team.project, read.document)])
    document = repaired(read.document)
    claim_and_submit(team.annotator, dialogue, "reject", document=document, reason="Not worth it.")
    made = Revision.objects.get(parent__isnull=False)
    assert WRONG in made.parent.content
    assert WRONG not in made.content
    assert ERROR not in made.content


def test_a_settled_label_keeps_no_word_of_the_other_side() -> None:
    [before] = FORMATS["wild"].read(wild_record())
    settled = copy.deepcopy(before.document)
    task = settled["tasks"][2]
    told = task["native_information"]
    other = next(word for word in ("Partial Information", "Long-Range Dependency") if word != told)
    task["native_information"] = other
    assert forget_outdated(settled, before.document)["tasks"][2]["native_information"] == told
    task["information"] = WILD_INFORMATION[other]
    assert forget_outdated(settled, before.document)["tasks"][2]["native_information"] == other
