"""label.*: what a task is said to be, against what it is."""

from typing import Any

import pytest

from annotator.core.checks import CheckSettings
from tests.annotator.core.checks.check_cases import answer, ask, call, depends, document, findings, good, of, task

HIDING = "partial_information"


def calls(count: int) -> list[dict[str, Any]]:
    return [call(f"s{i}", "translate", text=str(i)) for i in range(count)]


def chats(*information: str, **more: Any) -> dict[str, Any]:
    tasks = [task(f"t{i}", "chat", label, answer(kind="chat")) for i, label in enumerate(information, 1)]
    return document(*tasks, **more)


def test_sound_labels_have_no_finding() -> None:
    assert [one for one in findings(good()) if one.check.startswith("label.")] == []


def test_labels_are_to_do_until_submission() -> None:
    unlabelled = document(task("t1", None, None, answer(kind=None)))
    assert [(one.check, one.severity) for one in findings(unlabelled, "import")] == [
        ("label.policy_missing", "info"),
        ("label.information_missing", "info"),
        ("label.answer_type_missing", "info"),
    ]
    assert [(one.anchor, one.severity) for one in findings(unlabelled, "submit")] == [
        ("/tasks/t1/policy", "error"),
        ("/tasks/t1/information", "error"),
        ("/tasks/t1/steps/a/answer_type", "error"),
    ]


@pytest.mark.parametrize(
    ("policy", "steps", "fits"),
    [
        ("single_tool", [*calls(1), answer("s0")], True),
        ("single_tool", [*calls(2), answer("s0 s1")], False),
        ("single_tool", [ask("q"), call("s0", "translate", "q", text="x"), answer("s0")], False),
        ("single_tool", [answer()], False),
        ("multi_tool", [*calls(2), answer("s0 s1")], True),
        ("multi_tool", [*calls(1), answer("s0")], False),
        ("clarify", [ask("q"), answer("q")], True),
        ("clarify", [ask("q"), call("s0", "translate", "q", text="x"), answer("s0")], True),
        ("clarify", [*calls(1), answer("s0")], False),
        ("chat", [answer(kind="chat")], True),
        ("chat", [*calls(1), answer("s0", kind="chat")], False),
        # Nothing is there to disagree with yet.
        ("multi_tool", [], True),
    ],
)
def test_policy_against_steps(policy: str, steps: list[dict[str, Any]], fits: bool) -> None:
    assert (of("label.policy_steps", document(task("t1", policy, "explicit", *steps))) == []) is fits


def test_a_policy_that_does_not_fit_is_told_what_would() -> None:
    bad = document(task("t1", "chat", "explicit", ask("q"), *calls(2), answer("q s0 s1")))
    assert of("label.policy_steps", bad) == [
        (
            "/tasks/t1/policy",
            "The policy is chat (neither a call nor a clarification), but the task has 2 calls and "
            "1 clarification. Correct the steps, or change the policy to clarify.",
        )
    ]


def test_the_first_task_is_explicit_and_the_others_hide() -> None:
    assert of("label.first_explicit", chats("explicit", HIDING)) == []
    assert of("label.later_hides", chats("explicit", HIDING)) == []
    assert [anchor for anchor, _ in of("label.first_explicit", chats(HIDING, HIDING))] == ["/tasks/t1/information"]
    assert [anchor for anchor, _ in of("label.later_hides", chats("explicit", "explicit"))] == ["/tasks/t2/information"]


def test_with_the_talk_so_far_the_first_task_is_not_the_first() -> None:
    talk = [{"role": "user", "content": "Is it raining in Graz?"}, {"role": "assistant", "content": "Yes."}]
    assert of("label.first_explicit", chats(HIDING, context=talk)) == []
    assert [anchor for anchor, _ in of("label.later_hides", chats("explicit", context=talk))] == [
        "/tasks/t1/information"
    ]


LONG = "long_range_dependency"


@pytest.mark.parametrize(
    ("rule", "information", "anchors"),
    [
        ("c3", ("explicit", LONG), ["/tasks/t2/information"]),
        ("c3", ("explicit", HIDING, LONG), []),
        ("wild", ("explicit", HIDING, LONG), ["/tasks/t3/information"]),
        ("wild", ("explicit", HIDING, HIDING, LONG), []),
    ],
)
def test_long_range_needs_something_far_enough_back(
    rule: Any, information: tuple[str, ...], anchors: list[str]
) -> None:
    found = of("label.long_range", chats(*information), settings=CheckSettings(long_range_rule=rule))
    assert [anchor for anchor, _ in found] == anchors


def test_by_the_wild_rule_replies_to_clarifications_count() -> None:
    dialogue = document(
        task("t1", "clarify", "explicit", ask("q"), answer("q")),
        task("t2", "chat", HIDING, answer(kind="chat")),
        task("t3", "chat", LONG, answer(kind="chat")),
    )
    assert of("label.long_range", dialogue, settings=CheckSettings(long_range_rule="wild")) == []


def test_with_the_talk_so_far_nobody_knows_how_far_back_it_goes() -> None:
    talk = [{"role": "assistant", "content": "Yes."}]
    assert of("label.long_range", chats(LONG, context=talk)) == []


@pytest.mark.parametrize(
    ("policy", "kind", "fits"),
    [
        ("chat", "chat", True),
        ("chat", "tool", False),
        ("single_tool", "tool", True),
        ("multi_tool", "chat", False),
        ("clarify", "tool", True),
        ("clarify", "chat", True),
        (None, "tool", True),
        ("chat", None, True),
    ],
)
def test_answer_type_against_policy(policy: str | None, kind: str | None, fits: bool) -> None:
    found = of("label.answer_type", document(task("t1", policy, "explicit", answer(kind=kind))))
    assert (found == []) is fits
    assert all(anchor == "/tasks/t1/steps/a/answer_type" for anchor, _ in found)


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        ([*calls(2), answer("s0 s1")], []),
        ([*calls(2), answer("s0")], [("a", "The answer does not wait for “s1”. Add the missing dependency.")]),
        (
            [*calls(3), answer("")],
            [("a", "The answer does not wait for “s0”, “s1” and “s2”. Add the missing dependency.")],
        ),
        ([ask("q"), answer("")], [("a", "The answer does not wait for “q”. Add the missing dependency.")]),
        ([ask("q"), call("s0", "translate", "q", text="x"), answer("s0")], []),
        ([*calls(1), ask("q", "s0"), answer("q")], []),
        (
            [*calls(1), ask("q"), answer("s0 q")],
            [("q", "q asks the user while “s0” could run. Add a dependency that says which comes first.")],
        ),
        # Not known yet, or wrong anyway: other checks say so.
        ([*calls(1), answer(None)], []),
        ([*calls(1), answer("s9")], []),
        ([answer("")], []),
    ],
)
def test_answers_and_clarifications_never_share_a_batch_with_calls(
    steps: list[dict[str, Any]], found: list[tuple[str, str]]
) -> None:
    expected = [(f"/tasks/t1/steps/{step}/depends_on", message) for step, message in found]
    assert of("label.batch", document(task("t1", "multi_tool", "explicit", *steps))) == expected


def test_a_call_after_the_answer_is_not_also_a_question_of_batches() -> None:
    late = {**call("s0", "translate", text="x"), "depends_on": depends("a")}
    bad = document(task("t1", "single_tool", "explicit", answer(""), late))
    assert of("label.batch", bad) == []
    assert len(of("graph.answer_last", bad)) == 2
