"""Protocols as data: what follows from verdicts, and what is said of a protocol that cannot be worked with."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.schema import SchemaProblem, canonical, load_text
from reviews.core.protocols import (
    MAJORITY_OF_THREE,
    PRESETS,
    Outcome,
    Protocol,
    Stage,
    Verdict,
    combinations,
    decide,
    load_preset,
    offered_verdicts,
    read_protocol,
    validate,
)
from reviews.core.protocols.drafting import suggest_table

A, F, R, E = "approve", "fix", "reject", "escalate"


def c3(**options: Any) -> Protocol:
    return load_preset("c3", **options)


def edited(**changes: Any) -> Protocol:
    """c3 with the cross-check's fields changed."""
    data = c3().model_dump(mode="json")
    data["stages"][2] |= changes
    return read_protocol(data)


def sentences(protocol: Protocol) -> str:
    return "\n".join(f"{problem.pointer} {problem.message}" for problem in validate(protocol))


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_presets_are_sound(name: str) -> None:
    assert validate(load_preset(name)) == []


@pytest.mark.parametrize("reviewers", [1, 2])
def test_c3_takes_one_or_two_colleagues(reviewers: int) -> None:
    protocol = c3(cross_check_reviewers=reviewers)
    assert validate(protocol) == []
    assert protocol.stage("cross_check").reviewers == reviewers
    assert protocol.stage("cross_check").blind


def test_c3_has_no_third_colleague() -> None:
    with pytest.raises(ValueError, match="one or two"):
        c3(cross_check_reviewers=3)


def test_a_protocol_survives_being_stored() -> None:
    text = canonical(c3().model_dump(mode="json"))
    assert read_protocol(load_text(text)) == c3()


@pytest.mark.parametrize(
    ("verdicts", "equal", "outcome"),
    [
        ((A, A), True, "pass"),
        ((A, F), False, "escalate"),
        ((F, A), False, "escalate"),
        ((F, F), True, "pass_with_fix"),
        ((F, F), False, "escalate"),
        ((R, R), True, "rejected"),
        ((A, R), True, "escalate"),
        ((R, A), True, "escalate"),
        ((F, R), True, "escalate"),
        ((A, E), True, "escalate"),
        ((F, E), True, "escalate"),
        ((R, E), True, "escalate"),
        ((E, E), True, "escalate"),
    ],
)
def test_the_outcome_table_of_two_colleagues(verdicts: tuple[str, str], equal: bool, outcome: str) -> None:
    assert decide(c3().stage("cross_check"), verdicts, equal) == outcome


@pytest.mark.parametrize("stage", ["self_check_single", "self_check_multi"])
@pytest.mark.parametrize(("verdict", "outcome"), [(A, "pass"), (F, "pass_with_fix"), (R, "escalate"), (E, "escalate")])
def test_a_self_check_alone_never_destroys_an_item(stage: str, verdict: str, outcome: str) -> None:
    assert decide(c3().stage(stage), [verdict], True) == outcome


def test_the_expert_has_the_last_word() -> None:
    expert = c3().stage("expert")
    assert [decide(expert, [verdict], True) for verdict in (A, F, R)] == ["pass", "pass_with_fix", "rejected"]
    assert Verdict.ESCALATE not in offered_verdicts(expert)


@pytest.mark.parametrize("verdict", [F, R, E])
def test_whatever_one_colleague_does_not_approve_is_a_discrepancy(verdict: str) -> None:
    assert decide(c3(cross_check_reviewers=1).stage("cross_check"), [verdict], True) == Outcome.ESCALATE


def test_the_combinations_are_those_that_can_happen() -> None:
    # Four verdicts, two people: 10 multisets, and two fixes are either the same or not.
    assert len(list(combinations(c3().stage("cross_check")))) == 11
    # One person: each verdict alone.
    assert len(list(combinations(c3().stage("expert")))) == 3


@given(verdicts=st.permutations([A, F, R, E, A, F]).map(lambda order: order[:2]), equal=st.booleans())
def test_who_reviewed_first_does_not_matter(verdicts: list[str], equal: bool) -> None:
    stage = c3().stage("cross_check")
    assert decide(stage, verdicts, equal) == decide(stage, list(reversed(verdicts)), equal)


@given(reviewers=st.integers(1, 5))
def test_one_row_for_everything_is_complete(reviewers: int) -> None:
    rule = {"verdicts": ["any"] * reviewers, "outcome": "escalate"}
    assert validate(edited(reviewers=reviewers, outcomes=[rule])) == []


def test_a_majority_can_be_said() -> None:
    rows = [
        {"verdicts": ["approve", "approve", "any"], "outcome": "pass"},
        {"verdicts": ["any", "any", "any"], "outcome": "escalate"},
    ]
    stage = edited(reviewers=3, outcomes=rows).stage("cross_check")
    outcomes = {verdicts: decide(stage, verdicts, False) for verdicts in product((A, F, R), repeat=3)}
    assert {k for k, v in outcomes.items() if v == "pass"} == {k for k in outcomes if k.count(A) >= 2}


MAJORITY = [rule.model_dump(mode="json") for rule in MAJORITY_OF_THREE]


def test_two_who_make_the_same_fix_are_a_majority_of_three() -> None:
    protocol = edited(reviewers=3, outcomes=MAJORITY)
    assert validate(protocol) == []
    stage = protocol.stage("cross_check")
    assert [decide(stage, [A, F, F], False, same) for same in (1, 2)] == ["escalate", "pass_with_fix"]
    assert [decide(stage, [F, F, F], False, same) for same in (1, 2)] == ["escalate", "pass_with_fix"]
    assert [decide(stage, [F, R, F], equal, 1) for equal in (False, True)] == ["escalate", "pass_with_fix"]
    assert decide(stage, [F, F, F], True) == "pass_with_fix"
    words = {str(one) for one in combinations(stage) if one.fixes == 2 and A in one.verdicts}
    assert words == {f"approve + fix + fix ({how})" for how in ("same fix by a majority", "different content")}


def test_a_fix_that_passes_must_be_one_of_a_majority_or_all() -> None:
    rows = [{**row, "content": "any"} if row["content"] == "majority" else row for row in MAJORITY]
    problems = [problem.message for problem in validate(edited(reviewers=3, outcomes=rows))]
    assert "After approve + fix + fix (different content), it is not clear which fix passes." in problems
    assert not any("same fix by a majority" in words for words in problems)


@given(reviewers=st.integers(2, 9))
def test_a_suggested_majority_table_can_be_worked_with(reviewers: int) -> None:
    rows = suggest_table("cross_check", reviewers, majority=True)
    assert validate(edited(reviewers=reviewers, outcomes=rows)) == []
    enough, stage = reviewers // 2 + 1, edited(reviewers=reviewers, outcomes=rows).stage("cross_check")
    others = [A] * (reviewers - enough)
    assert decide(stage, [F] * enough + others, not others, enough) == "pass_with_fix"
    assert decide(stage, [F] * (enough - 1) + [A] + [R] * len(others), False, enough - 1) == "escalate"


def test_an_undecided_combination_is_an_error_not_a_guess() -> None:
    stage = Stage.model_construct(**{**c3().stage("expert").__dict__, "outcomes": ()})
    with pytest.raises(ValueError, match="has no row for approve"):
        decide(stage, [A], True)


# --- what is wrong with a protocol ------------------------------------------------------------------------------------

TABLE = [rule.model_dump(mode="json") for rule in c3().stage("cross_check").outcomes]


@pytest.mark.parametrize(
    ("changes", "pointer", "words"),
    [
        ({"outcomes": TABLE[:-1]}, "/stages/2/outcomes", "No row covers escalate + escalate"),
        ({"outcomes": [*TABLE, TABLE[0]]}, "/stages/2/outcomes/7", "Earlier rows cover all its cases"),
        (
            {"outcomes": [{"verdicts": [A, F], "content": "same", "outcome": "pass"}, *TABLE]},
            "/stages/2/outcomes/0",
            "combination of verdicts cannot happen",
        ),
        (
            {"outcomes": [*TABLE, {"verdicts": [A, "abstain"], "outcome": "pass"}]},
            "/verdicts",
            "“abstain” is not a verdict of this stage",
        ),
        ({"outcomes": [*TABLE, {"verdicts": [A], "outcome": "pass"}]}, "/outcomes", "Row 8 has a different number"),
        (
            {"outcomes": [{"verdicts": [F, F], "content": "different", "outcome": "pass_with_fix"}, *TABLE]},
            "/outcomes/0/outcome",
            "not clear which fix passes",
        ),
        (
            {"outcomes": [{"verdicts": [R, "any"], "outcome": "pass_with_fix"}, *TABLE]},
            "/outcomes/0/outcome",
            "no fix that could pass",
        ),
        ({"outcomes": [{"verdicts": [R, R], "outcome": "pass"}, *TABLE]}, "/outcomes/0/outcome", "nobody has approved"),
        ({"eligible": {"roles": ["annotator"], "author": "any"}}, "/eligible/author", "Only a self-check"),
        ({"entry": {"mode": "escalated_and_fraction", "fraction": 0.1}}, "/entry/mode", "Only an expert stage"),
        ({"entry": {"mode": "fraction", "fraction": 0}}, "/entry/fraction", "no item enters this stage"),
        ({"entry": {"mode": "all", "fraction": 0.5}}, "/entry", "Remove the random sample"),
        ({"key": "expert"}, "/stages", "The stage “expert” appears 2 times"),
        (
            {"checklist": {"items": [{"key": "a", "text": "A"}, {"key": "a", "text": "B"}]}},
            "/checklist/items",
            "“a” appears 2 times",
        ),
    ],
)
def test_problems_are_named(changes: dict[str, Any], pointer: str, words: str) -> None:
    found = validate(edited(**changes))
    assert any(pointer in problem.pointer and words in problem.message for problem in found), sentences(
        edited(**changes)
    )


def test_escalations_need_somebody_who_takes_them() -> None:
    data = c3().model_dump(mode="json")
    data["stages"] = data["stages"][:3]
    assert "No later expert stage takes escalated items" in sentences(read_protocol(data))


def test_an_owner_must_have_been_made() -> None:
    data = c3().model_dump(mode="json")
    data["stages"] = data["stages"][1:]
    assert "gets its owner in its first self-check" in sentences(read_protocol(data))


def test_the_first_stage_takes_everything() -> None:
    data = c3().model_dump(mode="json")
    data["stages"][0]["entry"] = {"mode": "fraction", "fraction": 0.5}
    assert "The first stage must take every item" in sentences(read_protocol(data))


def test_nothing_can_go_back_where_there_is_no_author() -> None:
    data = c3().model_dump(mode="json")
    data["stages"] = data["stages"][2:]
    data["stages"][0]["outcomes"][4]["outcome"] = "back_to_author"
    assert "No self-check comes before this stage" in sentences(read_protocol(data))


# --- rounds, approvals in a row, items that come back ----------------------------------------------------------------


def edited_preset(name: str, place: int, **changes: Any) -> str:
    data = load_preset(name).model_dump(mode="json")
    data["stages"][place] |= changes
    return sentences(read_protocol(data))


ROUND_TABLE = [rule.model_dump(mode="json") for rule in load_preset("wild").stage("rounds").outcomes]
ONE_TABLE = [rule.model_dump(mode="json") for rule in load_preset("cctu").stage("data").outcomes]
EXPERT_TABLE = [rule.model_dump(mode="json") for rule in c3().stage("expert").outcomes]


@pytest.mark.parametrize(
    ("preset", "place", "changes", "words"),
    [
        ("wild", 1, {"blind": False}, "Rounds need two or more reviewers who work blind"),
        ("wild", 1, {"entry": {"mode": "rounds", "fraction": 0.0}}, "no item enters this stage"),
        (
            "wild",
            1,
            {"outcomes": [*ROUND_TABLE[:-1], {"verdicts": ["any", "any"], "outcome": "restart"}]},
            "A stage with rounds cannot be repeated",
        ),
        ("wild", 1, {"kind": "self_check"}, "Only a cross-check can have rounds"),
        ("wild", 2, {"outcomes": EXPERT_TABLE}, "would leave the rounds without two matching reviews"),
        ("wild", 0, {"entry": {"mode": "rounds", "fraction": 0.2}}, "The first stage must take every item"),
        ("cctu", 0, {"reviewers": 2, "outcomes": TABLE}, "need one reviewer at a time"),
        (
            "cctu",
            0,
            {"outcomes": [ONE_TABLE[0], {"verdicts": [F], "outcome": "pass_with_fix"}, *ONE_TABLE[2:]]},
            "Set its outcome to “repeat the stage”",
        ),
        ("cctu", 0, {"outcomes": [{"verdicts": [A], "outcome": "confirm"}, *ONE_TABLE[1:]]}, "Use “pass”"),
        (
            "cctu",
            0,
            {"outcomes": [{"verdicts": [A], "outcome": "return"}, *ONE_TABLE[1:]]},
            "Only an expert stage that takes",
        ),
        ("cctu", 2, {"consecutive": 2}, "Only a cross-check can require approvals"),
        ("cctu", 1, {"validators_are_checked_later": True}, "No later stage takes every item and checks its"),
        (
            "async",
            0,
            {"entry": {"mode": "all", "send_back": {"above": 0.2, "audited": 5}}},
            "This stage has no such sample",
        ),
    ],
)
def test_problems_of_stages_that_repeat(preset: str, place: int, changes: dict[str, Any], words: str) -> None:
    assert words in edited_preset(preset, place, **changes), edited_preset(preset, place, **changes)


def test_the_table_of_a_pair() -> None:
    stage = load_preset("wild").stage("rounds")
    assert [decide(stage, pair, equal) for pair, equal in (((A, A), True), ((F, F), True), ((F, F), False))] == [
        "pass",
        "pass_with_fix",
        "escalate",
    ]
    # Not even two rejections take an item out: that is settled together.
    assert decide(stage, (R, R), True) == "escalate"


def test_protocols_stored_before_there_were_rounds_are_read() -> None:
    data = c3().model_dump(mode="json")
    for stage in data["stages"]:
        del stage["consecutive"], stage["entry"]["send_back"]
    protocol = read_protocol(data)
    assert validate(protocol) == []
    assert protocol.stage("expert").entry.send_back is None


def test_faults_of_form_have_pointers() -> None:
    data = c3().model_dump(mode="json")
    data["stages"][1]["kind"] = "oracle"
    data["stages"][2]["reviewrs"] = 2
    with pytest.raises(SchemaProblem) as caught:
        read_protocol(data)
    assert {problem.pointer for problem in caught.value.problems} == {"/stages/1/kind", "/stages/2/reviewrs"}


def test_the_path_through_c3() -> None:
    protocol = c3()
    keys = [stage.key for stage in protocol.stages]
    assert keys == ["self_check_single", "self_check_multi", "cross_check", "expert"]
    for key in keys[:3]:
        expert = protocol.expert_stage(key)
        assert expert is not None
        assert expert.key == "expert"
    author = protocol.author_stage("cross_check")
    assert author is not None
    assert author.key == "self_check_multi"
