"""graph.*: what the steps of a task depend on."""

from typing import Any

import pytest

from tests.annotator.core.checks.check_cases import answer, ask, call, document, findings, good, of, task

BOTH = {"hotelId": "H-1", "nights": 1}


def with_steps(*steps: dict[str, Any]) -> dict[str, Any]:
    return document(task("t1", "multi_tool", "explicit", *steps))


def two(first: str | None, second: str | None, end: str | None = "s0 s1") -> dict[str, Any]:
    return with_steps(
        call("s0", "searchHotels", first, city="Graz"), call("s1", "searchHotels", second, city="Linz"), answer(end)
    )


def test_a_sound_graph_has_no_finding() -> None:
    assert [one for one in findings(good()) if one.check.startswith("graph.")] == []
    assert [one for one in findings(two("", "s0", "s1")) if one.check.startswith("graph.")] == []


@pytest.mark.parametrize(
    ("check", "bad", "anchor", "message"),
    [
        (
            "graph.cycle",
            two("s1", "s0"),
            "/steps/s0/depends_on",
            "These steps depend on each other in a cycle: s0 → s1 → s0. Remove one of the dependencies.",
        ),
        (
            "graph.dangling",
            two("", "s9"),
            "/steps/s1/depends_on",
            "s1 depends on “s9”, but this task has no such step.",
        ),
        (
            "graph.self_dependency",
            two("s0", ""),
            "/steps/s0/depends_on",
            "s0 depends on itself. Remove that dependency.",
        ),
        (
            "graph.duplicate_dependency",
            two("", "s0 s0"),
            "/steps/s1/depends_on",
            "s1 lists its dependency on s0 twice. Remove one.",
        ),
        (
            "graph.not_annotated",
            two("", None),
            "/steps/s1/depends_on",
            "Choose what s1 depends on, or “nothing”.",
        ),
        (
            "graph.redundant_edge",
            two("", "s0"),
            "/steps/a/depends_on",
            "The dependency of a on “s0” is implied by its other dependencies. Remove it unless it passes a value.",
        ),
        (
            "graph.answer_last",
            with_steps(answer(""), call("s0", "translate", text="x")),
            "/steps/a",
            "The answer a must be the last step, but s0 comes after it.",
        ),
        (
            "graph.answer_last",
            with_steps(call("s0", "translate", "a", text="x"), answer("")),
            "/steps/s0/depends_on",
            "s0 depends on the answer, which ends the task. Remove that dependency.",
        ),
        (
            "graph.several_answers",
            with_steps({**answer(""), "id": "b"}, answer("")),
            "/steps/b",
            "The task has 2 answers. Keep one, as its last step.",
        ),
    ],
)
def test_a_problem_is_a_sentence_at_its_step(check: str, bad: dict[str, Any], anchor: str, message: str) -> None:
    assert of(check, bad) == [(f"/tasks/t1{anchor}", message)]


def test_dependencies_not_annotated_are_still_to_do_until_submission() -> None:
    unfinished = two("", None)
    severities = {
        stage: [one.severity for one in findings(unfinished, stage) if one.check == "graph.not_annotated"]
        for stage in ("import", "save", "submit", "release")
    }
    assert severities == {"import": ["info"], "save": ["info"], "submit": ["error"], "release": ["error"]}


def test_clarifications_and_answers_are_annotated_too() -> None:
    unfinished = with_steps(ask("s0", None), call("s1", "translate", "s0", text="x"), answer(None))
    assert [anchor for anchor, _ in of("graph.not_annotated", unfinished)] == [
        "/tasks/t1/steps/s0/depends_on",
        "/tasks/t1/steps/a/depends_on",
    ]


def test_depending_on_nothing_is_an_annotation() -> None:
    assert of("graph.not_annotated", two("", "")) == []


def test_an_answer_that_waits_for_itself_only_depends_on_itself() -> None:
    bad = with_steps(call("s0", "translate", text="x"), answer("a s0"))
    assert [one.check for one in findings(bad) if one.check.startswith("graph.")] == ["graph.self_dependency"]


def test_a_task_with_more_steps_than_anybody_reviews() -> None:
    calls = [call(f"s{i}", "translate", text=str(i)) for i in range(65)]
    assert of("graph.too_many_steps", with_steps(*calls, answer(""))) == [
        (
            "/tasks/t1/steps",
            "The task has 65 calls in 66 steps. The limit is 64 calls and 128 steps. Split the task.",
        )
    ]
    assert of("graph.too_many_steps", with_steps(*calls[:64], answer(""))) == []


def test_what_the_published_evaluators_do_not_know_is_said_but_blocks_nothing() -> None:
    (found,) = (one for one in findings(two("", "")) if one.check == "graph.published_evaluator")
    assert (found.severity, found.anchor) == ("info", "/tasks/t1/steps")
    assert found.message.startswith("WildToolBench’s published evaluator rejects 1 of 3 legal paths, because it takes")
    # One after the other they are never ready together.
    assert of("graph.published_evaluator", two("", "s0", "s1")) == []
    # Nothing is said of a graph that is not known, or is faulty.
    assert of("graph.published_evaluator", two("", None)) == []
    assert of("graph.published_evaluator", two("s1", "s0")) == []


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        # Equal arguments: no evaluator can see which was first.
        ([call("s0", "translate", text="a"), call("s1", "translate", text="a")], None),
        (
            [call(f"s{n}", "translate", text=str(n)) for n in range(3)],
            "Of 13 legal paths, C3-Bench’s published evaluator rejects 6 and WildToolBench’s 11, because they merge "
            "calls to the same tool.",
        ),
        (
            [call("s0", "translate", text="a"), call("s1", "translate", text="a"), call("s2", "book_room", "s1")],
            "The published evaluators of C3-Bench and WildToolBench reject the same 2 of 5 legal paths, because they "
            "merge calls to the same tool.",
        ),
    ],
)
def test_each_published_evaluator_is_counted_on_its_own(steps: list[dict[str, Any]], said: str | None) -> None:
    found = of("graph.published_evaluator", with_steps(*steps, answer(" ".join(step["id"] for step in steps))))
    assert [message for _, message in found] == ([f"{said} The decision tree shows these paths."] if said else [])


def test_of_too_many_orders_it_is_said_that_some_may_be_unknown() -> None:
    names = ("searchHotels", "book_room", "translate")
    steps = [call(f"s{n}", names[n % 3], "") for n in range(24)]
    ((_, message),) = of("graph.published_evaluator", with_steps(*steps, answer(" ".join(f"s{n}" for n in range(24)))))
    assert message.startswith("The published evaluators may reject some legal paths")
