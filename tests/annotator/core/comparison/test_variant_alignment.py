"""Two language variants side by side: what corresponds, what must stay, what is translated, what is stale."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.comparison.anchors import leaves, lookup
from annotator.core.comparison.placing import put
from annotator.core.comparison.variant_alignment import align_variants
from annotator.core.comparison.variant_staleness import is_copy, stale_places
from annotator.core.comparison.variant_values import (
    Problem,
    compare_variants,
    enumerations,
    is_fixed,
    is_unfit,
    untranslated,
)
from annotator.core.schema import read_document

Document = dict[str, Any]
TOOL = {
    "type": "function",
    "function": {
        "name": "book_ferry",
        "parameters": {"type": "object", "properties": {"deck": {"type": "string", "enum": ["upper", "lower"]}}},
    },
}


def call(key: str, name: str, arguments: Document, observation: Any) -> Document:
    return {
        "id": key, "type": "call", "name": name, "arguments": arguments, "observation": observation, "depends_on": []
    }  # fmt: skip


def pair() -> tuple[Document, Document]:
    """The same dialogue of two tasks in English and in Chinese; the Chinese one has ids of its own."""

    def document(language: str, texts: list[str], prefix: str) -> Document:
        island, first, answer, second, bye, sky = texts
        steps = [
            call(f"{prefix}0", "find_ferry", {"island": island, "day": "2026-05-02", "seats": 2}, {"id": "F-7"}),
            call(f"{prefix}1", "book_ferry", {"ferry": "F-7", "deck": "upper", "island": island}, {"sky": sky}),
            {"id": f"{prefix}2", "type": "answer", "text": answer, "answer_type": "tool"},
        ]
        steps[1]["depends_on"] = [{"id": f"{prefix}0", "kind": "parameter"}]
        steps[2]["depends_on"] = [{"id": f"{prefix}1", "kind": "parameter"}]
        end = {"id": f"{prefix}9", "type": "answer", "text": bye, "answer_type": "chat", "depends_on": []}
        tasks = [
            {"id": f"{prefix}t1", "user_message": first, "policy": "multi_tool", "steps": steps},
            {"id": f"{prefix}t2", "user_message": second, "policy": "chat", "steps": [end]},
        ]
        return read_document({"kind": "multi_turn", "language": language, "tasks": tasks})

    return (
        document("en", ["Gull Island", "A ferry, please.", "Booked.", "Thank you.", "You are welcome.", "clear"], "a"),
        document("zh", ["海鸥岛", "请订一张船票。", "订好了。", "谢谢。", "不客气。", "晴"], "b"),
    )


def found(one: Document, other: Document) -> list[tuple[str, str]]:
    return [(each.row.one, each.problem.value) for each in compare_variants(one, other, [TOOL], [TOOL]).found]


def test_tasks_and_steps_correspond_by_position() -> None:
    english, chinese = pair()
    assert [(each.one, each.other) for each in align_variants(english, chinese)][:3] == [
        ("", ""),
        ("/tasks/at1", "/tasks/bt1"),
        ("/tasks/at1/steps/a0", "/tasks/bt1/steps/b0"),
    ]
    del chinese["tasks"][0]["steps"][1]
    assert [(each.one[-2:], each.other[-2:]) for each in align_variants(english, chinese) if each.step] == [
        ("a0", "b0"), ("a1", ""), ("a2", "b2"), ("a9", "b9")
    ]  # fmt: skip


def test_a_good_translation_has_a_table_and_no_problem() -> None:
    comparison = compare_variants(*pair(), [TOOL], [TOOL])
    assert comparison.found == []
    ((term),) = comparison.terms
    assert (term.text, dict(term.translations)) == (
        "Gull Island",
        {"海鸥岛": ["/tasks/at1/steps/a0/arguments/island", "/tasks/at1/steps/a1/arguments/island"]},
    )


@pytest.mark.parametrize(
    ("step", "key", "value"),
    [(0, "day", "2026-05-03"), (0, "seats", 3), (0, "seats", 2.0), (1, "ferry", "F-8"), (1, "deck", "lower")],
)
def test_values_that_must_stay_are_named(step: int, key: str, value: Any) -> None:
    english, chinese = pair()
    chinese["tasks"][0]["steps"][step]["arguments"][key] = value
    assert found(english, chinese) == [(f"/tasks/at1/steps/a{step}/arguments/{key}", "differs")]


def test_one_text_has_one_translation() -> None:
    english, chinese = pair()
    for other in ("鸥岛", "Gull Island"):
        chinese["tasks"][0]["steps"][1]["arguments"]["island"] = other
        problems = [problem for _, problem in found(english, chinese)]
        assert (problems.count("inconsistent"), problems.count("untranslated")) == (2, other == "Gull Island")


def test_a_translated_enumeration_is_compared_by_position() -> None:
    english, chinese = pair()
    tool = deepcopy(TOOL)
    tool["function"]["parameters"]["properties"]["deck"]["enum"] = ["上层", "下层"]  # type: ignore[index]
    for value, problems in (("上层", []), ("下层", [Problem.DIFFERS])):
        chinese["tasks"][0]["steps"][1]["arguments"]["deck"] = value
        assert [one.problem for one in compare_variants(english, chinese, [TOOL], [tool]).found] == problems


def test_an_enumeration_belongs_to_its_path() -> None:
    english, chinese = pair()
    tool = deepcopy(TOOL)
    # Another parameter of the same name, further down, allows something else.
    inner = {"type": "object", "properties": {"deck": {"type": "string", "enum": ["Gull Island", "sun"]}}}
    tool["function"]["parameters"]["properties"]["wish"] = inner  # type: ignore[index]
    for document, wished in ((english, "upper"), (chinese, "上层")):
        document["tasks"][0]["steps"][1]["arguments"]["wish"] = {"deck": wished}
    assert [one.row.one for one in compare_variants(english, chinese, [tool], [tool]).found] == []
    assert set(enumerations([tool])) == {("book_ferry", ("deck",)), ("book_ferry", ("wish", "deck"))}


class Compared(str):
    """A text that counts how often it is compared."""

    __slots__ = ()
    count = 0

    def __eq__(self, other: object) -> bool:
        Compared.count += 1
        return str.__eq__(self, other)  # type: ignore[arg-type]

    __hash__ = str.__hash__


def test_many_values_are_not_searched_one_by_one() -> None:
    english, chinese = pair()
    tool = deepcopy(TOOL)
    schema = {"type": "array", "items": {"type": "string", "enum": [Compared(f"deck {i}") for i in range(500)]}}
    tool["function"]["parameters"]["properties"]["decks"] = schema  # type: ignore[index]
    for document in (english, chinese):
        document["tasks"][0]["steps"][1]["arguments"]["decks"] = [f"deck {i}" for i in range(500)]
    Compared.count = 0
    assert compare_variants(english, chinese, [tool], [tool]).found == []
    assert Compared.count <= 5 * 500


def test_missing_fields_labels_and_dependencies() -> None:
    english, chinese = pair()
    chinese["tasks"][0]["policy"] = "single_tool"
    chinese["tasks"][0]["steps"][2]["depends_on"] = [{"id": "b0", "kind": "parameter"}]
    del chinese["tasks"][0]["steps"][0]["arguments"]["seats"]
    assert found(english, chinese) == [
        ("/tasks/at1/policy", "differs"),
        ("/tasks/at1/steps/a0/arguments/seats", "missing"),
        ("/tasks/at1/steps/a2/depends_on", "differs"),
    ]


def test_texts_that_were_not_translated() -> None:
    english, chinese = pair()
    chinese["tasks"][1]["user_message"] = "Thank you."
    comparison = compare_variants(english, chinese, [TOOL], [TOOL])
    assert (untranslated(comparison, 0), untranslated(comparison, 1)) == ([], ["/tasks/bt2/user_message"])


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        ("2026-05-02", True), ("F-7", True), ("a@b.org", True), ("https://x.org/a", True), ("08:00 - 10:00", True),
        ("room_type", True), ("", False), ("Gull Island", False), ("Room 5", False), ("10am", False), ("5月", False),
    ],
)  # fmt: skip
def test_fixed_values(text: str, fixed: bool) -> None:
    assert is_fixed(text) is fixed


def test_languages_of_texts() -> None:
    texts = ("海鸥", "Gull", "Gull Island", "08:00 10:00")
    assert [is_unfit(text, "zh") for text in texts] == [False, False, True, False]
    assert [is_unfit(text, "en") for text in texts] == [True, False, False, False]


def test_what_is_stale() -> None:
    matched = pair()
    english, chinese = deepcopy(matched)
    english["tasks"][0]["user_message"] = "A ferry at noon, please."
    english["tasks"][0]["steps"][2]["text"] = "It is booked."
    chinese["tasks"][0]["steps"][2]["text"] = "已经订好。"
    chinese["tasks"][1]["steps"][0]["text"] = "再见。"
    assert [(one.side, one.place, one.change.anchor) for one in stale_places(matched, (english, chinese))] == [
        (0, "/tasks/at2/steps/a9/text", "/tasks/bt2/steps/b9/text"),
        (1, "/tasks/bt1/user_message", "/tasks/at1/user_message"),
    ]


def test_a_step_that_the_other_variant_lacks_or_still_has() -> None:
    matched = pair()
    english, chinese = deepcopy(matched)
    english["tasks"][0]["steps"].insert(1, call("a5", "find_ferry", {"island": "Gull Island"}, None))
    assert [(one.side, one.place) for one in stale_places(matched, (english, chinese))] == [(1, "/tasks/bt1/steps")]
    english = deepcopy(matched[0])
    del english["tasks"][0]["steps"][0]
    assert ("/tasks/bt1/steps/b0", 1) in [(one.place, one.side) for one in stale_places(matched, (english, chinese))]


def test_the_texts_of_a_copy_are_translated_and_its_source_stays() -> None:
    english = pair()[0]
    copy = english | {"language": "zh"}
    assert is_copy(english, copy)
    translated = deepcopy(copy)
    translated["tasks"][1]["user_message"] = "谢谢。"
    assert stale_places((english, copy), (english, translated), copy=1) == []
    changed = deepcopy(english)
    changed["tasks"][0]["user_message"] = "Two ferries."
    (stale,) = stale_places((english, copy), (changed, translated), copy=1)
    assert (stale.side, stale.place) == (1, "/tasks/at1/user_message")


def test_where_both_changed_the_order_decides() -> None:
    matched = pair()
    english, chinese = [
        [put_text(document, place, f"{n}") for n in (1, 2)]
        for document, place in zip(matched, ("/tasks/at1/user_message", "/tasks/bt1/user_message"), strict=True)
    ]

    def stale(*later: list[tuple[int, Document]], copy: int | None = None) -> list[int]:
        now = (later[0][-1][1], later[1][-1][1])
        return [one.side for one in stale_places(matched, now, copy=copy, later=(later[0], later[1]))]

    # English, Chinese: followed. Then English again: not followed yet, until Chinese is changed again.
    assert stale([(1, english[0])], [(2, chinese[0])]) == []
    assert stale([(1, english[0]), (3, english[1])], [(2, chinese[0])]) == [1]
    assert stale([(1, english[0]), (3, english[1])], [(2, chinese[0]), (4, chinese[1])]) == []
    assert stale([(2, english[0])], [(1, chinese[0]), (3, chinese[1])]) == [0]
    # Translating a copy makes nothing stale, so a later change of its source does.
    assert stale([(2, english[0])], [(1, chinese[0])], copy=1) == [1]
    assert stale([(1, english[0])], [(2, chinese[0]), (3, chinese[1])], copy=1) == []


def put_text(document: Document, place: str, text: str) -> Document:
    changed = deepcopy(document)
    put(changed, place, f"{lookup(changed, place)} {text}")
    return changed


_TEXTS = [anchor for anchor, value in leaves(pair()[0]) if isinstance(value, str) and not anchor.endswith(("/id", "e"))]


@given(st.sampled_from([each for each in _TEXTS if "/steps/" in each or "user_message" in each]), st.integers(0, 1))
def test_one_edit_marks_exactly_one_place(anchor: str, side: int) -> None:
    matched = pair()
    here, there = [anchor, "/".join(_renamed(part) for part in anchor.split("/"))][:: 1 - 2 * side]
    now = deepcopy(matched)
    put(now[side], here, f"{lookup(now[side], here)} new")
    assert [(one.side, one.place) for one in stale_places(matched, now)] == [(1 - side, there)]
    put(now[1 - side], there, "something else")
    assert stale_places(matched, now) == []


def _renamed(part: str) -> str:
    return f"b{part[1:]}" if part[:1] == "a" and part[1:].removeprefix("t").isdigit() else part
