"""Scores against a known answer, worked out by hand."""

from copy import deepcopy
from typing import Any

import pytest

from reviews.core.gold import AnchorResult, errors_in, score
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


#: Two errors: the policy, and an argument.
SHOWN = other_city(relabelled(ANSWER))


@pytest.mark.parametrize(
    ("submitted", "results_", "found", "false", "right"),
    [
        (ANSWER, {"/tasks/t1/policy": "repaired", CITY: "repaired"}, 2, 0, True),
        (SHOWN, {"/tasks/t1/policy": "missed", CITY: "missed"}, 0, 0, False),
        (other_city(ANSWER), {"/tasks/t1/policy": "repaired", CITY: "missed"}, 1, 0, False),
        (other_city(ANSWER, "Antwerp"), {"/tasks/t1/policy": "repaired", CITY: "otherwise"}, 2, 0, False),
        (relabelled(SHOWN, "clarify"), {"/tasks/t1/policy": "otherwise", CITY: "missed"}, 1, 0, False),
        (changed(ANSWER, "Rain."), {"/tasks/t1/policy": "repaired", CITY: "repaired", TEXT: "false"}, 2, 1, True),
        (changed(SHOWN, "Rain."), {"/tasks/t1/policy": "missed", CITY: "missed", TEXT: "false"}, 0, 1, False),
    ],
)
def test_what_became_of_each_place(
    submitted: dict[str, Any], results_: dict[str, str], found: int, false: int, right: bool
) -> None:
    verdict = "approve" if submitted == SHOWN else "fix"
    result = score(shown=SHOWN, answer=ANSWER, submitted=submitted, verdict=verdict)
    assert {place.anchor: str(place.result) for place in result.places} == results_
    assert (result.errors, result.found, result.false_changes) == (2, found, false)
    # Whatever was changed, who leaves an error lets it pass.
    assert result.verdict_right is right


def test_a_wrong_call_mended_in_part_is_mended_otherwise() -> None:
    result = score(shown=other_tool(ANSWER), answer=ANSWER, submitted=other_city(ANSWER), verdict="fix")
    assert [(str(place.result)) for place in result.places] == ["otherwise"]


@pytest.mark.parametrize(
    ("verdict", "faulty", "clean"), [("approve", False, True), ("fix", True, False), ("reject", False, False),
                                     ("escalate", True, False)]
)  # fmt: skip
def test_which_verdict_is_right(verdict: str, faulty: bool, clean: bool) -> None:
    mended = ANSWER if verdict == "fix" else SHOWN
    assert score(shown=SHOWN, answer=ANSWER, submitted=mended, verdict=verdict).verdict_right is faulty
    assert score(shown=ANSWER, answer=ANSWER, submitted=ANSWER, verdict=verdict).verdict_right is clean


def test_words_may_be_mended_in_other_words() -> None:
    """No program can tell whether they say the same; a value that is another one is wrong."""
    shown = changed(ANSWER, "It snows.")
    for text, right in (("Clear, and 18 degrees.", True), ("It snows.", False)):
        result = score(shown=shown, answer=ANSWER, submitted=changed(other_city(ANSWER), text), verdict="fix")
        assert result.verdict_right is right
    lacking = deepcopy(ANSWER)
    del lacking["tasks"][0]["steps"][1]
    added = score(shown=lacking, answer=ANSWER, submitted=changed(ANSWER, "Clear, 18 degrees."), verdict="fix")
    assert ([place.result for place in added.places], added.verdict_right) == ([AnchorResult.OTHERWISE], True)


@pytest.mark.parametrize("field", ["arguments", "observation"])
def test_what_a_tool_reads_or_returns_is_no_words_whatever_it_is_called(field: str) -> None:
    def saying(text: str) -> dict[str, Any]:
        copy = deepcopy(ANSWER)
        copy["tasks"][0]["steps"][0][field] = {"text": text}
        return copy

    result = score(shown=saying("Bruges"), answer=saying("Ghent"), submitted=saying("Antwerp"), verdict="fix")
    assert ([place.result for place in result.places], result.verdict_right) == ([AnchorResult.OTHERWISE], False)


def test_what_is_named_is_found_only_where_it_is() -> None:
    result = score(shown=SHOWN, answer=ANSWER, submitted=SHOWN, verdict="escalate", named=["/tasks/t1/steps/s0", ""])
    assert {place.anchor: place.result for place in result.places} == {
        "/tasks/t1/policy": AnchorResult.MISSED,
        CITY: AnchorResult.NAMED,
    }


def test_white_space_is_no_error() -> None:
    assert errors_in(changed(ANSWER, "It is  clear and 18 degrees in Ghent. "), ANSWER) == []
