"""c3 and mmtb records: both spellings, both languages, and a full record that the published evaluators can load."""

import copy
from pathlib import Path
from typing import Any

import pytest

from benchmark.core.formats import FORMATS
from benchmark.core.formats.messages import task_blocks
from tests.benchmark.formats.format_records import (
    CHINESE,
    MESSAGES,
    c3_record,
    flat_messages,
    json_lines,
    problems_of,
    read,
    rewrite,
    same,
    wild_record,
)

FIELDS = {"id", "task_ids", "env_info", "type", "turn_type", "turn_subtypes"}
FIELDS |= {f"english_{field}" for field in ("task", "answer_list", "messages", "tools")}


def test_a_record_becomes_a_document_in_each_language() -> None:
    english, chinese = read("c3", c3_record())
    assert (english.external_id, chinese.external_id) == ("c3_7", "c3_7:zh")
    assert english.variant_group == chinese.variant_group == "c3_7"
    assert [t["user_message"] for t in english.document["tasks"]] == MESSAGES
    assert [t["user_message"] for t in chinese.document["tasks"]] == CHINESE
    for dialogue in (english, chinese):
        tasks = dialogue.document["tasks"]
        assert [t["policy"] for t in tasks] == ["single_tool", "multi_tool", "clarify", "chat"]
        assert [t["information"] for t in tasks] == [
            "explicit",
            "partial_information",
            "coreferential_reference",
            "explicit",
        ]
        assert dialogue.document["env_info"] == "当前时间：2024-07-12 10:30:00"
        assert dialogue.document["extra"] == {}


@pytest.mark.parametrize(
    ("word", "information"),
    [
        ("implicit", "partial_information"),
        ("Omit", "partial_information"),
        ("省略成分", "partial_information"),
        ("ellipsis", "coreferential_reference"),
        ("Reference", "coreferential_reference"),
        ("指代理解", "coreferential_reference"),
        ("long-term", "long_range_dependency"),
        ("长期记忆", "long_range_dependency"),
        ("Long-Range Dependency", "long_range_dependency"),
    ],
)
def test_every_word_for_hidden_information(word: str, information: str) -> None:
    record = {**c3_record(), "turn_subtypes": [word, word]}
    english, _ = read("c3", record)
    task = english.document["tasks"][1]
    assert (task["information"], task["native_information"]) == (information, word)
    assert same(rewrite("c3", record), record)


def test_turn_types_may_be_chinese_words() -> None:
    record = {**c3_record(), "turn_type": ["假", "真", "真", "假"]}
    english, _ = read("c3", record)
    assert [t["information"] == "explicit" for t in english.document["tasks"]] == [True, False, False, True]
    assert same(rewrite("c3", record), record)


def test_subtypes_may_stand_one_a_task() -> None:
    record = {**c3_record(), "turn_subtypes": [None, "省略成分", "长期记忆", None]}
    english, _ = read("c3", record)
    assert english.document["tasks"][2]["information"] == "long_range_dependency"
    assert same(rewrite("c3", record), record)


def test_a_follow_up_without_its_kind_is_not_labelled() -> None:
    record = {**c3_record(), "turn_subtypes": []}
    dialogues = read("c3", record)
    assert [t["information"] for t in dialogues[0].document["tasks"]] == ["explicit", None, None, "explicit"]
    assert same(FORMATS["c3"].write(dialogues), record)
    for dialogue in dialogues:
        dialogue.document["tasks"][1]["information"] = "long_range_dependency"
        dialogue.document["tasks"][2]["information"] = "explicit"
    written = FORMATS["c3"].write(dialogues)
    assert written["turn_type"] == [False, True, False, False]
    assert written["turn_subtypes"] == ["长期记忆"]


def test_env_info_may_be_one_a_task() -> None:
    record = c3_record()
    record["env_info"] = ["2024-07-12 星期五"] * 2 + ["2024-07-13 星期六"] * 2
    dialogues = read("c3", record)
    document = dialogues[0].document
    assert document["env_info"] == "2024-07-12"
    assert [task["env_info"] for task in document["tasks"]] == [None, None, "2024-07-13", "2024-07-13"]
    assert same(FORMATS["c3"].write(dialogues), record)
    for dialogue in dialogues:
        for task in dialogue.document["tasks"]:
            task["env_info"] = None
    assert FORMATS["c3"].write(dialogues)["env_info"] == "2024-07-12 星期五"


def test_a_wrong_weekday_is_kept_until_the_date_changes() -> None:
    record = {**c3_record(), "env_info": "2024-07-12 星期一"}
    dialogues = read("c3", record)
    assert same(FORMATS["c3"].write(dialogues), record)
    for dialogue in dialogues:
        dialogue.document["env_info"] = "2024-07-13"
    assert FORMATS["c3"].write(dialogues)["env_info"] == "2024-07-13 星期六"


@pytest.mark.parametrize(
    ("separator", "user", "assistant"),
    [
        ("=====", "", ""),
        ("================", "User: ", "AI Agent Assistant: "),
        ("===== task =====", "User:", "AI Agent:"),
    ],
)
def test_messages_come_back_in_their_own_style_and_never_stale(separator: str, user: str, assistant: str) -> None:
    record = c3_record()
    record["english_messages"] = flat_messages(MESSAGES, separator, user, assistant)
    dialogues = read("c3", record)
    assert same(FORMATS["c3"].write(dialogues), record)
    for dialogue in dialogues:
        dialogue.document["tasks"][0]["user_message"] = "Weather in Nara?"
        dialogue.document["tasks"][2]["steps"][0]["question"] = "Which one?"
    messages = FORMATS["c3"].write(dialogues)["english_messages"]
    changed = [(old, new) for old, new in zip(record["english_messages"], messages, strict=True) if old != new]
    assert changed == [
        ({"role": "user", "content": f"{user}{MESSAGES[0]}"}, {"role": "user", "content": f"{user}Weather in Nara?"}),
        (
            {"role": "assistant", "content": f"{assistant}For which city?"},
            {"role": "assistant", "content": f"{assistant}Which one?"},
        ),
    ]


def test_messages_that_say_something_else_are_kept_only_while_untouched() -> None:
    record = c3_record()
    record["english_messages"][1]["content"] = "Other words than the answer has."
    dialogues = read("c3", record)
    assert same(FORMATS["c3"].write(dialogues), record)
    assert FORMATS["c3"].write(dialogues, full=True)["english_messages"] == flat_messages(MESSAGES)
    dialogues[0].document["tasks"][3]["user_message"] = "Thank you!"
    written = FORMATS["c3"].write(dialogues)["english_messages"]
    assert written == flat_messages([*MESSAGES[:3], "Thank you!"])


def test_what_a_release_leaves_out_of_a_record_is_told_when_it_is_read() -> None:
    record = c3_record()
    assert [one.warnings for one in read("c3", record)] == [[], []]
    record["env_info"] += ", in Rome"
    record["turn_subtypes"] = ["长期记忆", "省略成分", "指代理解", ""]
    record["english_messages"][1]["content"] = "Other words than the answer has."
    record["messages"][0]["name"] = "anna"
    for dialogue, messages in zip(read("c3", record), ("/english_messages", "/messages"), strict=True):
        told = {one.pointer: one.message for one in dialogue.warnings}
        assert list(told) == ["/env_info", "/turn_subtypes/0", messages]
        assert all("a release" in sentence.lower() for sentence in told.values())


def test_messages_that_do_not_hold_the_task_give_a_warning() -> None:
    record = c3_record()
    record["english_messages"][0]["content"] = "Something else"
    english, chinese = read("c3", record)
    assert [warning.pointer for warning in english.warnings] == ["/english_messages"]
    assert "task 1" in english.warnings[0].message
    assert chinese.warnings == []


def test_what_stands_before_the_first_task_is_the_dialogue_so_far() -> None:
    record = c3_record()
    before = [{"role": "user", "content": "User: Hello"}, {"role": "assistant", "content": "AI: Hello!"}]
    record["english_messages"] = [*before, *record["english_messages"]]
    record["messages"] = [*before, *record["messages"]]
    record["task_ids"] = [2, 0, 0, 0]
    dialogues = read("c3", record)
    assert dialogues[0].document["context"] == [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hello!"},
    ]
    assert same(FORMATS["c3"].write(dialogues), record)
    assert sent_for(dialogues[0].document, 0)[-1] == {"role": "user", "content": MESSAGES[0]}


def test_a_record_without_messages_stays_without_unless_all_is_asked_for() -> None:
    record = c3_record()
    for key in ("english_messages", "messages", "task_ids"):
        del record[key]
    dialogues = read("c3", record)
    assert same(FORMATS["c3"].write(dialogues), record)
    full = FORMATS["c3"].write(dialogues, full=True)
    assert (full["english_messages"], full["messages"]) == (flat_messages(MESSAGES), flat_messages(CHINESE))
    assert full["task_ids"] == [0, 0, 0, 0]


def test_messages_with_the_calls_of_each_task() -> None:
    dialogues = read("c3", c3_record())
    full = FORMATS["c3"].write(dialogues, full=True)
    with_calls = full["english_messages_with_calls"]
    assert with_calls[:4] == [
        {"role": "user", "content": "Weather in Kyoto?"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"type": "function", "function": {"name": "getWeather", "arguments": {"city": "Kyoto"}}},
            ],
        },
        {"role": "tool", "content": '[{"sky": "clear"}]'},
        {"role": "assistant", "content": "It is clear."},
    ]
    second = with_calls[5:11]
    assert [len(message.get("tool_calls", ())) for message in second] == [0, 2, 0, 1, 0, 0]
    again = FORMATS["c3"].read(full)
    assert same(FORMATS["c3"].write(again), full)


def test_the_two_spellings_are_the_same_record(shared_data: Path) -> None:
    for record in json_lines(shared_data / "c3" / "paper_cases.jsonl"):
        dialogues = read("c3", record)
        assert same(FORMATS["c3"].write(dialogues), record)
        full = FORMATS["c3"].write(dialogues, full=True)
        assert set(full) >= FIELDS
        (again,) = FORMATS["mmtb"].read(full)
        assert again.tools == dialogues[0].tools
        assert again.document["env_info"] == dialogues[0].document["env_info"]
        for old, new in zip(dialogues[0].document["tasks"], again.document["tasks"], strict=True):
            assert (new["policy"], new["information"]) == (old["policy"], old["information"])
            assert (new["user_message"], new["steps"]) == (old["user_message"], old["steps"])


@pytest.mark.parametrize("name", ["c3", "mmtb"])
def test_a_full_record_reads_back_to_the_same_document(name: str) -> None:
    dialogues = read(name, c3_record())
    full = FORMATS[name].write(dialogues, full=True)
    again = FORMATS[name].read(full)
    for old, new in zip(dialogues, again, strict=True):
        old_notes, new_notes = old.document.pop("extra"), new.document.pop("extra")
        assert new.document == old.document
        assert old_notes == {}
        assert new_notes == {"@native": {"with_calls": True}}


def published_entries(record: dict[str, Any], prefix: str) -> list[tuple[list[dict[str, Any]], str]]:
    """Load a record as the published evaluators do, in our words: per task the messages sent, and the date line.

    They split the messages at separators, look a task's message up in its block, want user and assistant in turns,
    cut role words off, and cut the weekday off the env_info, dropping tasks that have none.
    """
    blocks: list[list[dict[str, Any]]] = [[]]
    for item in copy.deepcopy(record[f"{prefix}messages"]):
        if isinstance(item, str):
            assert "=====" in item
            blocks.append([])
        else:
            blocks[-1].append(item)
    tasks = record[f"{prefix}task"]
    assert isinstance(record[f"{prefix}answer_list"][0], list)
    assert len(tasks) == len(record[f"{prefix}answer_list"]) == len(blocks) == len(record["task_ids"])
    assert isinstance(record["task"], list)
    env_info = record["env_info"]
    dates = [env_info] * len(tasks) if isinstance(env_info, str) else env_info
    dates = [date[: date.find("星期")].strip() for date in dates if "星期" in date]
    assert len(dates) == len(tasks)
    entries = []
    for position, (task, own) in enumerate(zip(tasks, record["task_ids"], strict=True)):
        assert task in blocks[position][own]["content"]
        sent = [message for block in blocks[:position] for message in block] + blocks[position][: own + 1]
        assert [message["role"] for message in sent] == (["user", "assistant"] * len(sent))[: len(sent)]
        for answer in record[f"{prefix}answer_list"][position]:
            assert {"action", "observation", "dependency_list", "idx"} <= set(answer)
            assert all(0 <= number < answer["idx"] for number in answer["dependency_list"])
        entries.append((sent, dates[position]))
    hidden = [value for value in record["turn_type"] if value]
    assert len(record["turn_subtypes"]) in (len(hidden), len(tasks))
    assert set(record["turn_subtypes"]) <= {"指代理解", "省略成分", "长期记忆"}
    assert set(record["type"]) <= set("单多拒反")
    return entries


def sent_for(document: dict[str, Any], index: int) -> list[dict[str, Any]]:
    """Return the input of a model for a task: all earlier ones, and its user message."""
    blocks = task_blocks(document)
    before = [message for block in blocks[:index] for message in block]
    return before + blocks[index][: len(document["context"]) + 1 if index == 0 else 1]


def test_the_published_evaluators_can_load_a_full_export(shared_data: Path) -> None:
    records = json_lines(shared_data / "c3" / "paper_cases.jsonl")
    for record in [*records, wild_record()]:
        dialogues = read("wild", record)
        assert FORMATS["c3"].problems(dialogues) == []
        entries = published_entries(FORMATS["c3"].write(dialogues, full=True), "english_")
        for index, (sent, date) in enumerate(entries):
            assert sent == sent_for(dialogues[0].document, index)
            assert date == "2024-07-12"
    both = FORMATS["c3"].write(read("c3", c3_record()), full=True)
    assert len(published_entries(both, "english_")) == len(published_entries(both, "")) == 4


def test_what_a_published_evaluator_would_stumble_at() -> None:
    (dialogue,) = read("wild", wild_record())
    dialogue.document["env_info"] = "a Friday"
    dialogue.document["context"] = [{"role": "assistant", "content": "Hello"}]
    dialogue.document["tasks"][0]["policy"] = None
    found = {problem.pointer for problem in FORMATS["c3"].problems([dialogue])}
    assert found == {"/env_info", "/context", "/tasks/t1/policy"}
    dialogue.document["env_info"] = None
    assert "/env_info" in {problem.pointer for problem in FORMATS["c3"].problems([dialogue])}


def test_variants_that_differ_in_a_shared_field_keep_their_own() -> None:
    dialogues = read("c3", c3_record())
    dialogues[1].document["env_info"] = "2024-01-01"
    dialogues[1].document["tasks"][3]["policy"] = "clarify"
    written = FORMATS["c3"].write(dialogues)
    assert written["env_info"] == "2024-01-01 星期一"
    assert written["english_env_info"] == c3_record()["env_info"]
    assert (written["type"][3], written["english_type"][3]) == ("反", "拒")
    again = FORMATS["c3"].read(written)
    assert [item.document for item in again] == [item.document for item in dialogues]


def test_ids_that_are_lists_are_joined() -> None:
    record = {**c3_record(), "id": ["c3", "_", "7"]}
    assert read("c3", record)[0].external_id == "c3_7"
    assert same(rewrite("c3", record), record)


def broken(**changes: Any) -> dict[str, Any]:
    return {**c3_record(), **changes}


PROBLEMS = [
    (broken(english_task="one"), "/english_task", "not text"),
    (broken(task_ids=[0]), "/task_ids", "1 entries, but there are 4 tasks"),
    (broken(task_ids=[0, "1", 0, 0]), "/task_ids/1", "index of a message"),
    (broken(task_ids=[0, -1, 0, 0]), "/task_ids/1", "index of a message"),
    (broken(type=["单", "多", "反", "聊"]), "/type/3", "'聊' is unknown"),
    (broken(type=["单", "多", "反", {}]), "/type/3", "unknown"),
    (broken(turn_type=[False]), "/turn_type", "1 entries"),
    (broken(turn_type=[False, "maybe", True, True]), "/turn_type/1", "'maybe' is unknown"),
    (broken(turn_type=[0, 1, 1, 0]), "/turn_type/0", "unknown"),
    (broken(turn_subtypes=["省略成分"]), "/turn_subtypes", "1 entries, but there are 2 follow-ups"),
    (broken(turn_subtypes=["省略成分", "x"]), "/turn_subtypes/1", "'x' is unknown"),
    (broken(turn_subtypes="x"), "/turn_subtypes", "Must be a list"),
    (broken(env_info=["a"]), "/env_info", "1 entries"),
    (broken(env_info=["a", "b", "c", 4]), "/env_info/3", "not a number"),
    (broken(env_info={}), "/env_info", "not an object"),
    (broken(english_messages={}), "/english_messages", "not an object"),
    (broken(english_messages=[]), "/english_messages", "0 parts, but there are 4 tasks"),
    (broken(english_messages=[{"role": "user"}]), "/english_messages/0", "both of them text"),
    (broken(english_messages=[3]), "/english_messages/0", "not a number"),
    (broken(english_messages=["next"]), "/english_messages/0", "separator"),
    (broken(answer_list=[[]]), "/answer_list", "1 entries, but there are 4 tasks"),
]


@pytest.mark.parametrize(("record", "pointer", "words"), PROBLEMS, ids=[f"{p}-{w}" for _, p, w in PROBLEMS])
@pytest.mark.parametrize("name", ["c3", "mmtb"])
def test_faults_have_a_place_and_a_sentence(name: str, record: dict[str, Any], pointer: str, words: str) -> None:
    problems = problems_of(name, record)
    assert words in problems[pointer]
    assert problems[pointer].endswith(".")


@pytest.mark.parametrize("name", ["c3", "mmtb"])
def test_a_record_in_the_names_of_wild_is_said_to_be_one(name: str) -> None:
    for dialogue in read(name, wild_record()):
        assert "has the field names of wild" in dialogue.warnings[0].message
        assert f"a record of {name}" in dialogue.warnings[0].message
    for dialogue in [*read(name, c3_record()), *read("wild", wild_record())]:
        assert not any("wild" in warning.message for warning in dialogue.warnings)


def test_what_a_release_leaves_out_for_want_of_tasks_or_words_is_said() -> None:
    record = c3_record()
    del record["task"], record["turn_subtypes"]
    (dialogue,) = FORMATS["c3"].read(record)
    said = {warning.pointer: warning.message for warning in dialogue.warnings}
    assert set(said) == {"/tools", "/messages", "/answer_list", "/turn_type/1", "/turn_type/2"}
    assert all("release leaves it out" in message for message in said.values())
    assert same(FORMATS["c3"].write([dialogue]), record)
    assert FORMATS["c3"].read(FORMATS["c3"].write([dialogue], full=True))[0].warnings == []
    english, _ = read("c3", {**c3_record(), "turn_subtypes": [None, "长期记忆"]})
    assert [one.pointer for one in english.warnings if "hides something" in one.message] == ["/turn_subtypes/0"]
