"""The parts of two reviews that count for agreement, and their units."""

from typing import Any

import pytest

from reviews.core.agreement import (
    PatternCounts,
    RunFacts,
    SubmittedReview,
    Unit,
    exclusion_reason,
    overlap_scores,
    rating_units,
)
from reviews.core.protocols import StageKind, load_preset
from tests.annotator.document_cases import answer, call, clarification, document, task

Document = dict[str, Any]


def approve(content: Document) -> SubmittedReview:
    return SubmittedReview("approve", content)


def fix(content: Document) -> SubmittedReview:
    return SubmittedReview("fix", content)


def one_task(*steps: dict[str, Any], **labels: Any) -> Document:
    return document(task("t1", *steps, **labels))


def patterns(units: list[Unit], label: str) -> list[tuple[str, tuple[Any, ...]]]:
    return [(unit.task, unit.pattern) for unit in units if unit.label == label]


# --- what enters ------------------------------------------------------------------------------------------------------


def test_a_blind_first_look_of_two_counts() -> None:
    assert exclusion_reason(RunFacts(StageKind.CROSS_CHECK, blind=True, reviews=2)) == ""


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"gold": True}, "Gold items"),
        ({"kind": StageKind.EXPERT}, "Senior reviewers see"),
        ({"reviews": 1}, "There is only one review"),
        ({"blind": False}, "not blind"),
        ({"round": 2}, "Only first reviews count"),
        ({"cycle": 2}, "Only first reviews count"),
    ],
)
def test_everything_else_is_left_out_with_a_reason(changes: dict[str, Any], reason: str) -> None:
    run = {"kind": StageKind.CROSS_CHECK, "blind": True, "reviews": 2, **changes}
    assert reason in exclusion_reason(RunFacts(**run))


def test_of_the_c3_stages_the_cross_check_alone_counts() -> None:
    stages = load_preset("c3").stages
    counted = [one.key for one in stages if not exclusion_reason(RunFacts(one.kind, one.blind, one.reviewers))]
    assert counted == ["cross_check"]


# --- labels -----------------------------------------------------------------------------------------------------------


def test_labels_are_compared_task_by_task() -> None:
    left = document(
        task("t1", answer("s1"), policy="chat", information="explicit"),
        task("t2", answer("s1"), policy="clarify", information="explicit"),
    )
    right = document(
        task("t1", answer("s1"), policy="chat", information="long_range_dependency"),
        task("t2", answer("s1"), policy="single_tool", information="explicit"),
    )
    units = rating_units([approve(left), fix(right)])
    assert patterns(units, "verdict") == [("", ("approve", "fix"))]
    assert patterns(units, "policy") == [("t1", ("chat", "chat")), ("t2", ("clarify", "single_tool"))]
    assert patterns(units, "information") == [
        ("t1", ("explicit", "long_range_dependency")), ("t2", ("explicit", "explicit"))
    ]  # fmt: skip


def test_a_refusal_rates_the_item_and_nothing_in_it() -> None:
    content = one_task(call("s1"), answer("s2"), policy="single_tool")
    units = rating_units([approve(content), SubmittedReview("reject", content), SubmittedReview("escalate", content)])
    assert patterns(units, "verdict") == [("", ("approve", "reject", "escalate"))]
    assert patterns(units, "policy") == [("t1", ("single_tool", None, None))]
    assert not patterns(units, "calls")


def test_an_open_label_and_a_missing_task_are_missing_ratings() -> None:
    left = document(task("t1", answer("s1"), policy="chat"), task("t2", answer("s1"), policy="chat"))
    right = document(task("t1", answer("s1")))
    units = rating_units([fix(left), fix(right)])
    assert patterns(units, "policy") == [("t1", ("chat", None)), ("t2", ("chat", None))]
    assert patterns(units, "information") == []


def test_one_review_is_refused() -> None:
    with pytest.raises(ValueError, match="two or more reviews"):
        rating_units([approve(one_task(answer("s1")))])


# --- calls and edges --------------------------------------------------------------------------------------------------


def test_equal_content_overlaps_wholly() -> None:
    content = one_task(call("s1"), call("s2", "book", depends_on=["s1"]), answer("s3", depends_on=["s2"]))
    units = rating_units([approve(content), approve(content)])
    assert patterns(units, "calls") == [("t1", (2, 2, 2))]
    assert patterns(units, "edges") == [("t1", (2, 2, 2))]


def test_calls_are_the_same_whatever_their_ids_and_order() -> None:
    left = one_task(call("s1", "a"), call("s2", "b", depends_on=["s1"]), answer("s3", depends_on=["s2"]))
    right = one_task(call("s1", "b", depends_on=["s2"]), call("s2", "a"), answer("s3", depends_on=["s1"]))
    units = rating_units([fix(left), fix(right)])
    assert patterns(units, "calls") == [("t1", (2, 2, 2))]
    assert patterns(units, "edges") == [("t1", (2, 2, 2))]


def test_a_call_with_another_argument_is_another_call_at_the_same_place_of_the_graph() -> None:
    left = one_task(call("s1", arguments={"city": "Oslo"}), answer("s2", depends_on=["s1"]))
    right = one_task(call("s1", arguments={"city": "Bergen"}), answer("s2", depends_on=["s1"]))
    units = rating_units([fix(left), fix(right)])
    assert patterns(units, "calls") == [("t1", (0, 1, 1))]
    assert patterns(units, "edges") == [("t1", (1, 1, 1))]


def test_the_order_of_keys_is_no_difference_and_a_repeated_call_counts_twice() -> None:
    left = one_task(call("s1", arguments={"a": 1, "b": 2}), call("s2", arguments={"a": 1, "b": 2}), answer("s3"))
    right = one_task(call("s1", arguments={"b": 2, "a": 1}), answer("s2"))
    assert patterns(rating_units([fix(left), fix(right)]), "calls") == [("t1", (1, 2, 1))]


def test_an_edge_of_another_kind_is_another_edge() -> None:
    left = one_task(call("s1"), call("s2", "b", depends_on=["s1"]), answer("s3"))
    right = one_task(call("s1"), call("s2", "b", depends_on=[{"id": "s1", "kind": "logical"}]), answer("s3"))
    assert patterns(rating_units([fix(left), fix(right)]), "edges") == [("t1", (0, 1, 1))]


def test_edges_that_are_not_annotated_are_none() -> None:
    left = one_task(call("s1"), call("s2", "b", depends_on=["s1"]), answer("s3"))
    right = one_task(call("s1"), call("s2", "b", depends_on=None), answer("s3"))
    assert patterns(rating_units([fix(left), fix(right)]), "edges") == [("t1", (0, 1, 0))]


def test_a_task_without_calls_is_no_unit_of_calls() -> None:
    content = one_task(clarification("s1"), answer("s2", depends_on=["s1"]))
    units = rating_units([approve(content), approve(content)])
    assert patterns(units, "calls") == []
    assert patterns(units, "edges") == [("t1", (1, 1, 1))]


def test_the_pairs_of_three_reviewers_are_one_unit_of_a_task() -> None:
    """They depend on one another: taken for units of their own, they made the interval of F1 too narrow."""
    one, two = one_task(call("s1"), answer("s2")), one_task(call("s1"), call("s3", "b"), answer("s2"))
    reviews = [approve(one), approve(one), fix(two)]
    # 1 of 1 and 1, and twice 1 of 1 and 2, in any order.
    for said in (reviews, reviews[::-1]):
        assert patterns(rating_units(said), "calls") == [("t1", (3, 3, 5, 3))]
    counts = PatternCounts({(3, 3, 5, 3): 6, (3, 3, 3, 3): 14})
    figure = overlap_scores(counts).f1
    assert (figure.value, figure.n) == (pytest.approx(6 * 20 / (8 * 6 + 6 * 14)), 20)
    # Of those that vouch, two are a pair as ever.
    assert patterns(rating_units([*reviews[1:], SubmittedReview("reject", one)]), "calls") == [("t1", (1, 1, 2))]


def test_where_three_agree_one_may_still_have_differed() -> None:
    # One call of each, two pairs of three lost: as Wilson's bound of 20 of 20, two thirds of the way down.
    figure = overlap_scores(PatternCounts({(3, 3, 3, 3): 20})).f1
    assert figure.low == pytest.approx(1 - 2 / 3 * 1.959964**2 / (20 + 1.959964**2), abs=1e-6)
    assert figure.high == 1


def test_units_of_many_runs_add_up_to_one_figure() -> None:
    one, two = one_task(call("s1"), answer("s2")), one_task(call("s1"), call("s3", "b"), answer("s2"))
    total: dict[str, PatternCounts] = {}
    for left, right in ((one, one), (one, two), (two, two)):
        for unit in rating_units([fix(left), fix(right)]):
            total[unit.label] = total.get(unit.label, PatternCounts()) + PatternCounts.of([unit.pattern])
    assert total["verdict"] == PatternCounts({("fix", "fix"): 3})
    # Matched 1 + 1 + 2, left 1 + 1 + 2, right 1 + 2 + 2.
    assert overlap_scores(total["calls"]).f1.value == pytest.approx(8 / 9)
