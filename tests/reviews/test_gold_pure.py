"""Scores against a known answer, worked out by hand; ids that look like those around them."""

import random
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.gold import Fate, faults_of, resembling, score, stem
from tests.factories import changed, make_document

ANSWER = make_document()
TEXT = "/tasks/t1/steps/s1/text"
CITY = "/tasks/t1/steps/s0/arguments/city"


def relabelled(document: dict[str, Any], policy: str = "chat") -> dict[str, Any]:
    copy = deepcopy(document)
    copy["tasks"][0]["policy"] = policy
    return copy


def other_city(document: dict[str, Any], city: str = "Bruges") -> dict[str, Any]:
    copy = deepcopy(document)
    copy["tasks"][0]["steps"][0]["arguments"]["city"] = city
    return copy


def other_tool(document: dict[str, Any]) -> dict[str, Any]:
    copy = deepcopy(document)
    copy["tasks"][0]["steps"][0] |= {"name": "find_trains", "arguments": {"origin": "Ghent", "destination": "Bruges"}}
    return copy


#: Two faults: the policy, and an argument.
SHOWN = other_city(relabelled(ANSWER))


@pytest.mark.parametrize(
    ("handed_in", "fates", "found", "false"),
    [
        (ANSWER, {"/tasks/t1/policy": "repaired", CITY: "repaired"}, 2, 0),
        (SHOWN, {"/tasks/t1/policy": "missed", CITY: "missed"}, 0, 0),
        (other_city(ANSWER), {"/tasks/t1/policy": "repaired", CITY: "missed"}, 1, 0),
        (other_city(ANSWER, "Antwerp"), {"/tasks/t1/policy": "repaired", CITY: "otherwise"}, 2, 0),
        (relabelled(SHOWN, "clarify"), {"/tasks/t1/policy": "otherwise", CITY: "missed"}, 1, 0),
        (changed(ANSWER, "Rain."), {"/tasks/t1/policy": "repaired", CITY: "repaired", TEXT: "false"}, 2, 1),
        (changed(SHOWN, "Rain."), {"/tasks/t1/policy": "missed", CITY: "missed", TEXT: "false"}, 0, 1),
    ],
)
def test_what_became_of_each_place(handed_in: dict[str, Any], fates: dict[str, str], found: int, false: int) -> None:
    verdict = "approve" if handed_in == SHOWN else "fix"
    result = score(shown=SHOWN, answer=ANSWER, handed_in=handed_in, verdict=verdict)
    assert {place.anchor: str(place.fate) for place in result.places} == fates
    assert (result.faults, result.found, result.false_changes) == (2, found, false)
    assert result.verdict_right is (verdict == "fix")


def test_a_wrong_call_mended_in_part_is_mended_otherwise() -> None:
    result = score(shown=other_tool(ANSWER), answer=ANSWER, handed_in=other_city(ANSWER), verdict="fix")
    assert [(str(place.fate)) for place in result.places] == ["otherwise"]


@pytest.mark.parametrize(
    ("verdict", "faulty", "clean"), [("approve", False, True), ("fix", True, False), ("reject", False, False),
                                     ("escalate", True, False)]
)  # fmt: skip
def test_which_verdict_is_right(verdict: str, faulty: bool, clean: bool) -> None:
    assert score(shown=SHOWN, answer=ANSWER, handed_in=SHOWN, verdict=verdict).verdict_right is faulty
    assert score(shown=ANSWER, answer=ANSWER, handed_in=ANSWER, verdict=verdict).verdict_right is clean


def test_what_is_named_is_found_only_where_it_is() -> None:
    result = score(shown=SHOWN, answer=ANSWER, handed_in=SHOWN, verdict="escalate", named=["/tasks/t1/steps/s0", ""])
    assert {place.anchor: place.fate for place in result.places} == {
        "/tasks/t1/policy": Fate.MISSED,
        CITY: Fate.NAMED,
    }


def test_white_space_is_no_fault() -> None:
    assert faults_of(changed(ANSWER, "It is  clear and 18 degrees in Ghent. "), ANSWER) == []


@given(
    external_id=st.text("ab-0123456789", min_size=1, max_size=12),
    taken=st.sets(st.text("ab-0123456789", min_size=1, max_size=12), max_size=30),
    seed=st.integers(0, 1000),
)
def test_an_id_is_free_and_of_the_same_pattern(external_id: str, taken: set[str], seed: int) -> None:
    name = resembling(external_id, taken | {external_id}, random.Random(seed))
    assert name not in taken | {external_id}
    assert name.startswith(stem(external_id))


@pytest.mark.parametrize("external_id", ["warehouse-stock-04", "c3_0001_en", "2024-17"])
def test_it_keeps_letters_and_width(external_id: str) -> None:
    name = resembling(external_id, {external_id}, random.Random(1))
    assert len(name) == len(external_id)
    assert [a.isdigit() for a in name] == [a.isdigit() for a in external_id]


def test_where_all_are_taken_it_gets_one_digit_more() -> None:
    assert len(resembling("d7", {f"d{n}" for n in range(10)}, random.Random(1))) == 3
