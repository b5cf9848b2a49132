"""wild records: what they become, what annotation adds to them, and what is refused."""

import copy
from pathlib import Path
from typing import Any

import pytest

from annotator.core.schema import exact_json
from annotator.core.schema.reading import load_text
from benchmark.core.formats import FORMATS, ReadDialogue
from tests.benchmark.formats.format_records import (
    WEATHER,
    answer,
    bilingual_wild_record,
    json_lines,
    node,
    openai_record,
    read,
    rewrite,
    same,
    wild_record,
)


def needs(*ids: str) -> list[dict[str, str]]:
    return [{"id": step, "kind": "parameter"} for step in ids]


def test_a_record_becomes_a_document() -> None:
    (dialogue,) = read("wild", wild_record())
    document = dialogue.document
    assert (dialogue.external_id, dialogue.language, dialogue.variant_group) == ("wild_tool_bench_7", "en", "")
    assert dialogue.tools == [WEATHER]
    assert (document["language"], document["env_info"]) == ("en", "2024-07-12")
    tasks = document["tasks"]
    assert [task["id"] for task in tasks] == ["t1", "t2", "t3", "t4"]
    assert [task["policy"] for task in tasks] == ["single_tool", "multi_tool", "clarify", "chat"]
    assert [task["information"] for task in tasks] == [
        "explicit",
        "partial_information",
        "coreferential_reference",
        "long_range_dependency",
    ]
    assert [task["native_information"] for task in tasks] == [
        None,
        "Partial Information",
        "Coreferential Reference",
        "Long-Range Dependency",
    ]
    call, final = tasks[0]["steps"]
    assert (call["type"], call["name"], call["arguments"]) == ("call", "getWeather", {"city": "Kyoto"})
    assert (call["observation"], call["depends_on"]) == ({"sky": "clear"}, [])
    assert (final["type"], final["text"], final["answer_type"]) == ("answer", "It is clear.", "tool")
    assert final["depends_on"] == needs("s0")
    question = tasks[2]["steps"][0]
    assert (question["type"], question["question"], question["user_reply"]) == (
        "clarification",
        "For which city?",
        "Lima",
    )


def test_a_candidate_is_not_annotated_rather_than_empty(shared_data: Path) -> None:
    """Null is "not annotated"; the empty list would say "depends on nothing"."""
    for record in json_lines(shared_data / "wild" / "candidates.jsonl"):
        (dialogue,) = read("wild", record)
        for task in dialogue.document["tasks"]:
            for step in task["steps"]:
                assert step["depends_on"] is None
                assert step.get("observation", step.get("text", step.get("question"))) is None
        assert [message["content"] for message in dialogue.document["context"]] == [
            message["content"] for message in record["context"]
        ]
        label = record["first_task_turn_subtype"]
        assert dialogue.document["tasks"][0]["native_information"] == label


def test_annotating_a_candidate_adds_idx_observation_and_dependencies(shared_data: Path) -> None:
    record = json_lines(shared_data / "wild" / "candidates.jsonl")[0]
    (dialogue,) = read("wild", record)
    steps = dialogue.document["tasks"][0]["steps"]
    for step, above in zip(steps, [[], ["s0"], ["s1"], ["s1"], ["s2", "s3"]], strict=True):
        step["depends_on"] = needs(*above)
    steps[0]["observation"] = {"aqi": 40}
    steps[-1]["text"] = "The air is good."
    written = FORMATS["wild"].write([dialogue])
    nodes = written["english_answer_list"][0]
    assert [item["idx"] for item in nodes] == [0, 1, 2, 3, 4]
    assert [item["dependency_list"] for item in nodes] == [[], [0], [1], [1], [2, 3]]
    assert [item["observation"] for item in nodes] == [{"aqi": 40}, None, None, None, "The air is good."]
    assert [item["action"] for item in nodes] == [item["action"] for item in record["english_answer_list"][0]]
    untouched = {key: value for key, value in written.items() if key != "english_answer_list"}
    assert same(untouched, {key: record[key] for key in untouched})
    (again,) = FORMATS["wild"].read(written)
    assert again.document == dialogue.document


def test_idx_follows_the_order_on_export() -> None:
    (dialogue,) = read("wild", wild_record())
    task = dialogue.document["tasks"][1]
    first, second, third, final = task["steps"]
    new = {**copy.deepcopy(third), "id": "s4", "depends_on": needs("s1")}
    task["steps"] = [second, new, third, final]
    third["depends_on"] = needs("s1", "s4")
    nodes = FORMATS["wild"].write([dialogue])["english_answer_list"][1]
    assert [item["action"]["arguments"].get("city") for item in nodes] == ["Bergen", "Narvik", "Narvik", None]
    assert [item["idx"] for item in nodes] == [0, 1, 2, 3]
    assert [item["dependency_list"] for item in nodes] == [[], [0], [0, 1], [2]]
    assert first["id"] == "s0"


def test_numbers_of_the_file_are_kept_until_the_steps_change() -> None:
    record = wild_record()
    record["english_answer_list"][0] = [
        node(10, "getWeather", {"city": "Kyoto"}, "clear", []),
        node(20, "getWeather", {"city": "Nara"}, "clear", [10]),
        answer(30, "Clear.", [10, 20]),
    ]
    (dialogue,) = read("wild", record)
    task = dialogue.document["tasks"][0]
    assert [step["id"] for step in task["steps"]] == ["s10", "s20", "s30"]
    assert same(FORMATS["wild"].write([dialogue]), record)
    del task["steps"][0]
    task["steps"][0]["depends_on"] = []
    task["steps"][1]["depends_on"] = needs("s20")
    nodes = FORMATS["wild"].write([dialogue])["english_answer_list"][0]
    assert [(item["idx"], item["dependency_list"]) for item in nodes] == [(0, []), (1, [0])]


def test_a_dangling_dependency_stays_dangling() -> None:
    record = wild_record()
    record["english_answer_list"][0][1]["dependency_list"] = [0, 7]
    (dialogue,) = read("wild", record)
    steps = dialogue.document["tasks"][0]["steps"]
    assert steps[1]["depends_on"] == needs("s0", "s7")
    assert same(FORMATS["wild"].write([dialogue]), record)
    # s1 is gone, so position 1 is another node's: the number must not come to mean it.
    steps[1]["id"], steps[1]["depends_on"] = "s5", needs("s1")
    written = FORMATS["wild"].write([dialogue])["english_answer_list"][0]
    assert written[1]["idx"] == 1
    assert written[1]["dependency_list"] not in ([0], [1])


def test_the_topology_of_an_annotated_task_comes_from_its_graph() -> None:
    (dialogue,) = read("wild", wild_record())
    steps = dialogue.document["tasks"][1]["steps"]
    steps[2]["depends_on"] = []
    assert FORMATS["wild"].write([dialogue])["english_task_types"][1] == "Parallel Multi-Tool"
    steps[1]["depends_on"], steps[2]["depends_on"] = needs("s0"), needs("s1")
    assert FORMATS["wild"].write([dialogue])["english_task_types"][1] == "Sequential Multi-Tool"


def test_a_label_that_the_graph_denies_is_kept_until_the_graph_is_edited() -> None:
    record = wild_record()
    record["english_task_types"][1] = "Parallel Multi-Tool"
    (dialogue,) = read("wild", record)
    assert same(FORMATS["wild"].write([dialogue]), record)
    full = FORMATS["wild"].write([dialogue], full=True)
    assert full["english_task_types"][1] == "Mixed Multi-Tool"
    dialogue.document["tasks"][1]["steps"][1]["depends_on"] = needs("s0")
    dialogue.document["tasks"][1]["steps"][2]["depends_on"] = needs("s1")
    assert FORMATS["wild"].write([dialogue])["english_task_types"][1] == "Sequential Multi-Tool"


def test_the_label_stands_in_while_the_graph_is_not_annotated() -> None:
    record = wild_record()
    for item in record["english_answer_list"][1]:
        del item["dependency_list"], item["idx"]
    (dialogue,) = read("wild", record)
    assert FORMATS["wild"].write([dialogue])["english_task_types"][1] == "Mixed Multi-Tool"
    dialogue.document["tasks"][0]["policy"] = "multi_tool"
    assert FORMATS["wild"].write([dialogue])["english_task_types"][0] == "Multi-Tool"


def test_labels_that_were_edited_are_written() -> None:
    (dialogue,) = read("wild", wild_record())
    tasks = dialogue.document["tasks"]
    tasks[3]["policy"] = "clarify"
    tasks[1]["information"] = "long_range_dependency"
    tasks[2]["information"] = None
    written = FORMATS["wild"].write([dialogue])
    assert written["english_task_types"][3] == "Clarify"
    assert written["english_turn_subtypes"] == ["Long-Range Dependency", None, "Long-Range Dependency"]


def test_both_languages_make_two_dialogues_of_one_group() -> None:
    english, chinese = read("wild", bilingual_wild_record())
    assert (english.external_id, english.language) == ("wild_tool_bench_7", "en")
    assert (chinese.external_id, chinese.language) == ("wild_tool_bench_7:zh", "zh")
    assert english.variant_group == chinese.variant_group == "wild_tool_bench_7"
    assert chinese.document["tasks"][0]["user_message"] == "京都天气怎么样？"
    assert same(FORMATS["wild"].write([chinese, english]), bilingual_wild_record())


def test_one_variant_alone_keeps_its_own_id() -> None:
    english, chinese = read("wild", bilingual_wild_record())
    assert same(FORMATS["wild"].write([english]), wild_record())
    alone = FORMATS["wild"].write([chinese])
    assert (alone["id"], "english_tasks" in alone) == ("wild_tool_bench_7:zh", False)


def test_two_dialogues_of_one_language_are_no_record() -> None:
    (dialogue,) = read("wild", wild_record())
    with pytest.raises(ValueError, match="same language"):
        FORMATS["wild"].write([dialogue, dialogue])
    with pytest.raises(ValueError, match="at least one"):
        FORMATS["wild"].write([])


def test_a_chinese_record_without_prefixes() -> None:
    record = {"id": "z", "tasks": ["你好"], "tools": [], "answer_list": [[answer(0, "你好！", [], "chat")]]}
    (dialogue,) = read("wild", record)
    assert (dialogue.external_id, dialogue.language) == ("z", "zh")
    assert same(rewrite("wild", record), record)


def test_unknown_fields_are_kept_where_they_were() -> None:
    record = wild_record()
    record["generator"] = {"model": "m", "seed": 3}
    record["english_note"] = None
    step = record["english_answer_list"][0][0]
    step["cost"] = 0.5
    step["action"]["thought"] = "look it up"
    record["english_answer_list"][2][0]["action"]["arguments"] = {"tool_list": ["getWeather"]}
    (dialogue,) = read("wild", record)
    assert dialogue.document["extra"] == {"generator": {"model": "m", "seed": 3}, "english_note": None}
    first = dialogue.document["tasks"][0]["steps"][0]
    assert first["extra"] == {"cost": 0.5, "action": {"thought": "look it up"}}
    first["arguments"] = {"city": "Nara"}
    written = FORMATS["wild"].write([dialogue])
    assert written["english_answer_list"][0][0]["action"] == {
        "name": "getWeather",
        "arguments": {"city": "Nara"},
        "thought": "look it up",
    }
    assert same(rewrite("wild", record), record)


def test_what_stands_beside_the_name_of_a_call_without_arguments_is_released() -> None:
    record = wild_record()
    record["english_answer_list"][0][0]["action"] = {"name": "getWeather", "thought": "look it up"}
    (dialogue,) = read("wild", record)
    action = FORMATS["wild"].write([dialogue], full=True)["english_answer_list"][0][0]["action"]
    assert action == {"name": "getWeather", "thought": "look it up", "arguments": {}}
    assert same(rewrite("wild", record), record)


def test_absent_fields_stay_absent_until_they_are_filled() -> None:
    record = wild_record()
    del record["english_task_types"], record["english_turn_subtypes"], record["english_env_info"]
    (dialogue,) = read("wild", record)
    assert same(FORMATS["wild"].write([dialogue]), record)
    assert set(FORMATS["wild"].write([dialogue], full=True)) == set(wild_record())
    dialogue.document["tasks"][0]["policy"] = "chat"
    written = FORMATS["wild"].write([dialogue])
    assert written["english_task_types"] == ["Chat", None, None, None]
    assert "english_turn_subtypes" not in written


def test_arguments_in_a_text_are_read_where_they_are_an_object() -> None:
    record = wild_record()
    record["english_answer_list"][0][0]["action"]["arguments"] = '{"city":  "Kyoto"}'
    record["english_answer_list"][1][0]["action"]["arguments"] = "city: Oslo"
    (dialogue,) = read("wild", record)
    assert dialogue.document["tasks"][0]["steps"][0]["arguments"] == {"city": "Kyoto"}
    assert dialogue.document["tasks"][1]["steps"][0]["arguments"] == "city: Oslo"
    assert same(FORMATS["wild"].write([dialogue]), record)
    full = FORMATS["wild"].write([dialogue], full=True)
    assert full["english_answer_list"][0][0]["action"]["arguments"] == {"city": "Kyoto"}


@pytest.mark.parametrize("name", ["wild", "c3", "neutral", "openai"])
def test_the_canary_is_written_and_taken_off_again(name: str) -> None:
    (dialogue,) = read("openai", openai_record()) if name == "openai" else read("wild", wild_record())
    plain = FORMATS[name].write([dialogue], full=True)
    marked = FORMATS[name].write([dialogue], full=True, canary="assay:canary:1")
    assert marked == {**plain, "canary": "assay:canary:1"}
    assert FORMATS[name].read(marked) == FORMATS[name].read(plain)


def test_what_a_published_evaluator_would_stumble_at() -> None:
    (dialogue,) = read("wild", wild_record())
    assert FORMATS["wild"].problems([dialogue]) == []
    task = dialogue.document["tasks"][2]
    task["steps"][0]["user_reply"] = None
    task["steps"][1]["depends_on"] = None
    del task["steps"][2]
    found = {problem.pointer for problem in FORMATS["wild"].problems([dialogue])}
    assert found == {"/tasks/t3/steps", "/tasks/t3/steps/s0/user_reply", "/tasks/t3/steps/s1/depends_on"}


def test_numbers_keep_their_kind_and_all_their_digits() -> None:
    """The published checker takes 40.0 and 40 for two answers."""
    arguments = {"hours": 40.0, "share": 0.5, "days": 40, "zero": -0.0, "id": 123456789012345678901}
    record = wild_record()
    record["english_answer_list"][0][0]["action"]["arguments"] = arguments
    record["english_answer_list"][1][0] |= {"idx": 0.0, "dependency_list": []}
    (dialogue,) = read("wild", record)
    stored = load_text(dialogue.text)
    assert repr(stored["tasks"][0]["steps"][0]["arguments"]) == repr(dict(sorted(arguments.items())))
    (again,) = FORMATS["wild"].read(FORMATS["wild"].write([dialogue]))
    assert again.text == dialogue.text
    assert exact_json.same(FORMATS["wild"].write([dialogue]), record)


def test_a_record_without_tools_is_read_with_a_warning() -> None:
    record = wild_record()
    del record["english_tools"]
    (dialogue,) = read("wild", record)
    assert dialogue.tools == []
    assert [warning.pointer for warning in dialogue.warnings] == ["/english_tools"]
    assert same(FORMATS["wild"].write([dialogue]), record)


def test_labels_of_one_language_hold_for_the_other_in_the_record() -> None:
    record = bilingual_wild_record()
    del record["task_types"], record["turn_subtypes"], record["tools"], record["env_info"]
    english, chinese = read("wild", record)
    for field in ("policy", "information"):
        assert [t[field] for t in chinese.document["tasks"]] == [t[field] for t in english.document["tasks"]]
    assert chinese.tools == [WEATHER]
    assert same(rewrite("wild", record), record)


@pytest.mark.parametrize(
    "extra",
    [
        {"@native": 5},
        {"@native": {"format": "wild", "absent": 3, "kept": []}},
        {"@native": {"format": "wild", "absent": {"english_tasks": 1}, "kept": {"english_tasks": 7, "id": [1]}}},
        {"action": 5},
    ],
)
def test_notes_of_unknown_origin_do_no_harm(extra: dict[str, Any]) -> None:
    """A neutral file may bring any ``extra`` at all."""
    (plain,) = read("wild", wild_record())
    record = FORMATS["neutral"].write([plain])
    for part in (record["document"], record["document"]["tasks"][0], record["document"]["tasks"][0]["steps"][0]):
        part["extra"] = copy.deepcopy(extra)
    (dialogue,) = FORMATS["neutral"].read(record)
    expected = {k: v for k, v in wild_record().items() if k != "english_answer_list"}
    for name in ("wild", "c3", "openai"):
        FORMATS[name].write([dialogue], full=True)
    written = FORMATS["wild"].write([dialogue])
    assert {key: written[key] for key in expected} == expected


def test_read_dialogue_is_what_writers_take() -> None:
    (dialogue,) = read("wild", wild_record())
    other = ReadDialogue("other", "en", "", dialogue.document, [])
    assert FORMATS["wild"].write([other])["id"] == "other"
