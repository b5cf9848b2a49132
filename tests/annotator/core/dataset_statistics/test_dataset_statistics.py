"""What dialogues consist of."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotator.core.dataset_statistics.messages import words_of
from annotator.core.dataset_statistics.sentence_forms import form_of
from annotator.core.dataset_statistics.statistics import DatasetStatistics
from annotator.core.dataset_statistics.tool_use import definitions_of
from annotator.core.schema import read_document
from annotator.core.tools.parameters import each_tool
from tests.annotator.case_documents import TOOLS, case
from tests.factories import WEATHER_TOOLS, make_document

WEATHER = definitions_of(each_tool(WEATHER_TOOLS))


def chinese() -> dict[str, Any]:
    steps = [
        {"id": "s0", "type": "clarification", "question": "哪一天？", "user_reply": "明天"},
        {"id": "s1", "type": "call", "name": "get_weather", "arguments": {"city": "北京"}, "depends_on": []},
        {"id": "s2", "type": "call", "name": "no_such_tool", "arguments": "{", "depends_on": []},
    ]
    tasks = [{"id": "t1", "user_message": "帮我查天气", "policy": "clarify", "information": None, "steps": steps}]
    return read_document({"kind": "multi_turn", "language": "zh", "tasks": tasks})


def counted(*documents: dict[str, Any]) -> DatasetStatistics:
    found = DatasetStatistics()
    for document in documents:
        found.add(document, WEATHER, "Weather")
    return found


def test_dialogues_by_hand() -> None:
    found = counted(make_document(tasks=3), make_document(), chinese()).summary()
    assert (found["dialogues"], found["tasks"]) == (3, 5)
    assert found["kinds"] == [["multi_turn", 3]]
    assert found["languages"] == [["en", 2], ["zh", 1]]
    assert found["toolset_categories"] == [["Weather", 3]]
    assert found["dialogues_by_tasks"] == [[1, 2], [3, 1]]
    assert found["policies"] == [["chat", 2], ["single_tool", 2], ["clarify", 1]]
    assert found["information"] == [["coreferential_reference", 2], ["explicit", 2], ["none", 1]]
    assert found["topologies"] == []
    assert found["steps"] == [["answer", 4], ["call", 4], ["clarification", 1]]
    assert found["steps_per_task"] == {"count": 5, "median": 2, "p90": 3, "largest": 3}
    assert found["calls_per_dialogue"] == {"count": 3, "median": 1, "p90": 2, "largest": 2}
    assert found["constraints"] is None


def test_tools_and_values_by_hand() -> None:
    found = counted(make_document(), make_document(), make_document("two"), chinese()).summary()["tool_use"]
    assert (found["calls"], found["tools"], found["unknown"]) == (5, 2, 1)
    assert found["most_called"] == [["get_weather", 4], ["no_such_tool", 1]]
    # Each definition of a tool counts once, however often it is called.
    assert found["definitions"] == 1
    assert [count for _, count in found["parameter_types"]] == [len(WEATHER["get_weather"]) - 2]
    assert (found["values"], found["distinct_values"]) == (4, 3)
    assert found["by_parameter"] == [["get_weather", "city", 4, 3]]
    assert found["exact"]


def test_messages_by_hand() -> None:
    (_, english), (_, other) = counted(make_document(), make_document("two"), chinese()).summary()["messages"]
    requests = dict(english["lengths"])["request"]
    # “What is the weather like in Ghent?” and “… Ghent two?”
    assert requests["characters"] == {"count": 2, "median": 34, "p90": 38, "largest": 38}
    assert requests["words"] == {"count": 2, "median": 7, "p90": 8, "largest": 8}
    assert english["forms"] == [["question", 2], ["command", 0], ["other", 0]]
    assert english["openings"] == {"distinct": 1, "exact": True, "most_common": [["what is the", 2]]}
    # 15 words, 8 of them different; 13 pairs, 7 of them different.
    assert (english["words"], english["distinct_1"], english["distinct_2"]) == (15, 0.5333, 0.5385)
    assert [kind for kind, _ in other["lengths"]] == ["request", "reply", "question"]
    assert other["openings"]["most_common"] == [["帮我查", 1]]
    assert other["forms"] == [["question", 0], ["command", 1], ["other", 0]]


def test_constrained_cases_by_hand() -> None:
    found = DatasetStatistics()
    found.add(case(), definitions_of(each_tool(TOOLS)))
    summary = found.summary()
    assert summary["policies"] == []
    assert summary["constraints"]["cases"] == 1
    assert summary["constraints"]["constraints"] == len(case()["constraints"])
    assert summary["rounds_per_case"]["median"] == len(case()["reference_trajectory"])
    assert summary["tool_use"]["definitions"] == 2
    assert "system" in dict(summary["messages"][0][1]["lengths"])


def test_nothing_has_a_summary() -> None:
    assert DatasetStatistics().summary()["dialogues"] == 0


@settings(max_examples=30)
@given(st.lists(st.sampled_from(["", "two", "three", "case", "zh"]), max_size=7), st.integers(0, 7))
def test_neither_order_nor_parts_change_the_summary(tags: list[str], middle: int) -> None:
    made = {"case": case, "zh": chinese}
    documents = [made[tag]() if tag in made else make_document(tag, tasks=1 + len(tag)) for tag in tags]
    whole = counted(*documents).summary()
    assert counted(*reversed(documents)).summary() == whole
    first, second = counted(*documents[:middle]), counted(*documents[middle:])
    before = second.summary()
    assert first.merge(second).summary() == whole
    assert second.summary() == before


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("What is the weather", "question"),
        ("And could you book it", "question"),
        ("Book it, would you?", "question"),
        ("Please, it is late.", "command"),
        ("The ferry is full. Then cancel the booking.", "command"),
        ("OK, find a ferry.", "command"),
        ("I would like a ferry.", "other"),
        ("", "other"),
        ("明天天气怎么样", "question"),
        ("请帮我订票", "command"),
        ("我在北京。然后查一下天气。", "command"),
        ("我几乎到了", "other"),
    ],
)
def test_forms_of_messages(text: str, form: str) -> None:
    assert form_of(text) == form


def test_a_chinese_character_is_a_word_and_long_words_are_cut() -> None:
    assert words_of("Ｏslo 天气 don't") == ["oslo", "天", "气", "don", "t"]
    assert words_of("a" * 100_000) == ["a" * 60]
