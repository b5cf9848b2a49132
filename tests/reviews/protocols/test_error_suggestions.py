"""Errors that a reviewer's edits suggest: what each edit stands for, and what suggests nothing."""

import copy
from typing import Any

import pytest

from annotator.core.comparison import diff
from reviews.core.protocols.error_suggestions import MAX_SUGGESTIONS, suggest_errors
from reviews.core.protocols.taxonomy import TAXONOMY
from tests.factories import make_document

KINDS = frozenset(kind.key for kind in TAXONOMY)
TASK, CALL, ANSWER = "/tasks/t1", "/tasks/t1/steps/s0", "/tasks/t1/steps/s1"


def suggested(before: dict[str, Any], after: dict[str, Any], kinds: Any = KINDS) -> list[tuple[str, str]]:
    return [(one.kind, one.anchor) for one in suggest_errors(diff(before, after), before, after, kinds)]


def edited(edit: Any) -> dict[str, Any]:
    document = copy.deepcopy(make_document())
    edit(document["tasks"][0], document["tasks"][0]["steps"])
    return document


def add_call(task: Any, steps: Any) -> None:
    steps.insert(1, steps[0] | {"id": "s9"})
    steps[2]["depends_on"].append({"id": "s9", "kind": "parameter"})


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        (lambda task, steps: steps[0]["arguments"].update(city="Bruges"), [("wrong_argument_value", CALL)]),
        (lambda task, steps: steps[0]["arguments"].update(day="today", city="x"), [("wrong_argument_value", CALL)]),
        # The arguments of another tool, and edges to a step that came or went, follow from the edit.
        (
            lambda task, steps: steps[0].update(name="get_time", arguments={"zone": "CET"}),
            [("wrong_tool", CALL)],
        ),
        (add_call, [("missing_call", "/tasks/t1/steps/s9")]),
        (lambda task, steps: (steps.pop(0), steps[0].update(depends_on=[])), [("superfluous_call", CALL)]),
        (lambda task, steps: steps[1].update(depends_on=[]), [("superfluous_dependency", ANSWER)]),
        (
            lambda task, steps: steps[0].update(depends_on=[{"id": "s1", "kind": "order"}]),
            [("missing_dependency", CALL)],
        ),
        (lambda task, steps: steps[0]["observation"].update(sky="cloudy"), [("observation_implausible", CALL)]),
        (lambda task, steps: steps[1].update(text="It rains."), [("answer_wrong", ANSWER)]),
        (lambda task, steps: task.update(user_message="Weather?"), [("message_unnatural", TASK)]),
        (lambda task, steps: task.update(policy="chat"), [("wrong_policy_label", TASK)]),
        (lambda task, steps: task.update(information="ellipsis"), [("wrong_information_label", TASK)]),
    ],
)
def test_an_edit_suggests_the_error_that_it_corrects(edit: Any, found: list[tuple[str, str]]) -> None:
    assert suggested(make_document(), edited(edit)) == found


def test_filling_in_what_was_missing_corrects_no_error() -> None:
    def clear(task: Any, steps: Any) -> None:
        task.update(policy=None, information=None)
        steps[0].update(observation=None, depends_on=None)
        steps[1].update(text="")

    assert suggested(edited(clear), make_document()) == []
    assert suggested(make_document(), make_document()) == []


def test_only_the_protocols_own_error_types_are_suggested_and_never_more_than_one_reads() -> None:
    changed = edited(lambda task, steps: steps[0]["arguments"].update(city="Bruges"))
    assert suggested(make_document(), changed, {"wrong_tool"}) == []
    many, other = make_document(tasks=60), make_document(tasks=60)
    for task in other["tasks"]:
        task["user_message"] = "x"
    assert len(suggested(many, other)) == MAX_SUGGESTIONS


def test_the_key_of_a_suggestion_changes_with_the_edit_and_with_nothing_else() -> None:
    def key(city: str, message: str = "") -> str:
        def edit(task: Any, steps: Any) -> None:
            steps[0]["arguments"]["city"] = city
            task["user_message"] += message

        before, after = make_document(), edited(edit)
        found = suggest_errors(diff(before, after), before, after, KINDS)
        return next(one.key for one in found if one.anchor == CALL)

    assert key("Bruges") == key("Bruges", " Now?") != key("Liège")


def test_the_calls_of_a_constrained_case_are_steps_too() -> None:
    call = {"id": "s1", "name": "find", "arguments": {"a": 1}, "observation": None}
    before = {"kind": "constrained", "reference_trajectory": [{"id": "r1", "calls": [call]}]}
    after = copy.deepcopy(before)
    after["reference_trajectory"][0]["calls"] = [call | {"arguments": {"a": 2}}, call | {"id": "s2"}]  # type: ignore[index]
    calls = "/reference_trajectory/r1/calls"
    assert suggested(before, after) == [("wrong_argument_value", f"{calls}/s1"), ("missing_call", f"{calls}/s2")]
