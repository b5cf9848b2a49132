"""A protocol while it is edited: fields to places, steps, keys, tables, versions of checklists."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.core.protocols import Stage, load_preset, read_protocol, validate
from reviews.core.protocols.differences import describe_protocol_changes, summary
from reviews.core.protocols.drafting import TABLES, check, complete, overlay, renumber_checklists, step, suggest_table


def c3(**options: Any) -> dict[str, Any]:
    return load_preset("c3", **options).model_dump(mode="json")


def test_fields_are_put_where_their_names_say() -> None:
    draft = overlay(
        c3(),
        [
            ("/name", ["Ours"]),
            ("/stages/2/blind", ["false", "true"]),
            ("/stages/0/blind", ["false"]),
            ("%/stages/3/entry/fraction", ["12,5"]),
            ("/stages/2/eligible/roles[]", ["", "annotator"]),
            ("/stages/99/title", ["nowhere"]),
            ("/stages/x/title", ["nowhere"]),
            ("csrf", ["no place"]),
        ],
    )
    protocol = read_protocol(draft)
    assert (protocol.name, protocol.stages[2].blind, protocol.stages[0].blind) == ("Ours", True, False)
    assert protocol.stages[3].entry.fraction == 0.125
    assert protocol.stages[2].eligible.roles == ("annotator",)
    assert len(protocol.stages) == 4


def test_what_is_no_number_is_said_at_its_place() -> None:
    _, problems = check(overlay(c3(), [("%/discrepancy_alarm", ["a few"]), ("/stages/1/lease_minutes", ["soon"])]))
    assert {problem.pointer for problem in problems} == {"/discrepancy_alarm", "/stages/1/lease_minutes"}


def test_a_share_that_cannot_be_is_refused_in_per_cent_too() -> None:
    """The form takes per cent: “1.0 or less” would be one per cent there."""
    _, problems = check(overlay(c3(), [("%/stages/3/entry/send_back/above", ["700"])]))
    assert [one.message for one in problems] == ["Enter a share from 0 % to 100 % (in JSON, from 0 to 1)."]


def test_stages_are_added_moved_and_removed() -> None:
    draft = step(c3(), "add:/stages")
    assert [stage["title"] for stage in draft["stages"]][-1] == "New stage"
    draft = step(step(draft, "up:/stages/4"), "remove:/stages/0")
    assert [stage["key"] for stage in complete(draft)["stages"]] == [
        "self_check_multi",
        "cross_check",
        "new_stage",
        "expert",
    ]


@pytest.mark.parametrize(
    "action",
    ["up:/stages/0", "down:/stages/3", "remove:/stages/9", "remove:/name", "add:/name", "add:", "hop:/stages/1", "",
     "agree:/nowhere/1", "down:/stages/-1", "add:/stages/7/outcomes"],
)  # fmt: skip
def test_what_cannot_be_done_is_not_done(action: str) -> None:
    assert step(c3(), action) == c3()


def test_rows_questions_and_kinds_are_added() -> None:
    draft = c3()
    for action in ("add:/stages/2/outcomes", "add:/stages/2/checklist/items", "add:/taxonomy"):
        draft = step(draft, action)
    assert draft["stages"][2]["outcomes"][-1]["verdicts"] == ["any", "any"]
    protocol, _ = check(complete(draft))
    assert protocol is not None
    assert protocol.stages[2].checklist.items[-1].key == "new_question"
    assert protocol.taxonomy[-1].key == "new_error_type"


def test_keys_are_made_of_words_and_are_never_there_twice() -> None:
    draft = c3()
    for label in ("Überflüssiger Aufruf", "天气", "Other", "Other"):
        draft = step(draft, "add:/taxonomy")
        draft["taxonomy"][-1]["label"] = label
    keys = [kind["key"] for kind in complete(draft)["taxonomy"]][-4:]
    assert keys == ["uberflussiger_aufruf", "error_type", "other_2", "other_3"]


@given(st.text(max_size=60))
def test_any_words_make_a_key_that_can_be_read(words: str) -> None:
    draft = step(c3(), "add:/taxonomy")
    draft["taxonomy"][-1]["label"] = "A label"
    draft["stages"][0] |= {"key": "", "title": words}
    _, problems = check(complete(draft))
    assert not any(problem.pointer == "/stages/0/key" for problem in problems)


@pytest.mark.parametrize("kind", ["self_check", "cross_check", "expert"])
@pytest.mark.parametrize("reviewers", range(1, 10))
@pytest.mark.parametrize("how", TABLES)
def test_suggested_tables_are_complete(kind: str, reviewers: int, how: str) -> None:
    draft = c3()
    place = {"self_check": 0, "cross_check": 2, "expert": 3}[kind]
    draft["stages"][place]["reviewers"] = reviewers
    draft = step(draft, f"{how}:/stages/{place}")
    protocol, problems = check(draft)
    assert protocol is not None
    assert [problem for problem in problems if "outcomes" in problem.pointer] == []


def test_a_table_for_who_knows_how_many_is_one_for_one() -> None:
    assert len(suggest_table("cross_check", "many")) == 2


def test_a_fraction_of_everything_is_left_out() -> None:
    draft = c3()
    draft["stages"][3]["entry"]["mode"] = "all"
    protocol, _ = check(complete(draft))
    assert protocol is not None
    assert protocol.stages[3].entry.fraction == 0


def test_a_changed_checklist_gets_the_next_number() -> None:
    first = load_preset("c3")
    draft = step(c3(), "remove:/stages/0/checklist/items/5")
    second = renumber_checklists(read_protocol(draft), [first])
    assert [stage.checklist.version for stage in second.stages] == [2, 1, 1, 1]
    # Reverting is a change, too: answers to the second version keep their meaning.
    third = renumber_checklists(first, [second, first])
    assert third.stages[0].checklist.version == 3
    assert renumber_checklists(second, [second, first]) == second


# --- differences ------------------------------------------------------------------------------------------------------


def lines(draft: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    after = read_protocol(complete(draft))
    return [(one.place, one.what, one.before, one.after) for one in describe_protocol_changes(load_preset("c3"), after)]


def test_nothing_differs_from_itself() -> None:
    assert lines(c3()) == []


def test_fields_of_a_stage_are_named() -> None:
    draft = c3()
    draft["stages"][2] |= {"blind": False, "lease_minutes": 45}
    draft["stages"][3]["entry"]["fraction"] = 0.2
    assert lines(draft) == [
        ("Stage “Cross-check”", "Blind", "yes", "no"),
        ("Stage “Cross-check”", "Claim expires after (minutes)", "30", "45"),
        (
            "Stage “Expert verification”",
            "Items",
            "every escalated item and a random 10 % of the others",
            "every escalated item and a random 20 % of the others",
        ),
    ]


def test_outcomes_are_compared_by_what_they_say_not_by_their_rows() -> None:
    draft = c3()
    # The same said in another way …
    draft["stages"][2]["outcomes"] = suggest_table("cross_check", 2)
    assert lines(draft) == []
    # … and one combination that is answered otherwise.
    draft["stages"][2]["outcomes"][2]["outcome"] = "back_to_author"
    assert lines(draft) == [("Stage “Cross-check”", "Outcome of reject + reject", "reject", "send back to the author")]


def test_stages_come_go_and_change_places() -> None:
    draft = step(step(c3(), "add:/stages"), "remove:/stages/1")
    found = lines(draft)
    assert ("Stage “New stage”", "Stage", "", "cross-check, one reviewer, blind, every item") in found
    assert [line[0] for line in found if line[3] == ""] == ["Stage “Self-check, multi round”"]
    assert lines(step(c3(), "up:/stages/1"))[0][1] == "Order of stages"


def test_error_types_and_questions() -> None:
    draft = c3()
    draft["taxonomy"][0] |= {"label": "Tool is wrong"}
    draft["taxonomy"][1]["retired"] = True
    draft["stages"][0]["checklist"]["items"][0]["per_task"] = False
    assert [line[1:] for line in lines(draft)] == [
        (
            "Checklist, relevance",
            "Every call and the answer serve the user’s request (for each task)",
            "Every call and the answer serve the user’s request (once)",
        ),
        ("Wrong tool, name", "Wrong tool", "Tool is wrong"),
        ("Missing call, retired", "no", "yes"),
    ]


def test_a_kind_out_of_use_is_not_offered_but_known() -> None:
    draft = c3()
    draft["taxonomy"][0]["retired"] = True
    protocol = read_protocol(draft)
    assert validate(protocol) == []
    assert "wrong_tool" not in protocol.error_type_keys()
    assert protocol.taxonomy[0].label == "Wrong tool"


def test_a_stage_in_a_line() -> None:
    stage: Stage = load_preset("c3").stages[2]
    assert summary(stage) == "cross-check, 2 reviewers, blind, every item"
