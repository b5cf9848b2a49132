"""The dry run: exact where nothing is uncertain, near the expectation otherwise, and the same each time."""

from math import isclose
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.core.protocols import Outcome, Protocol, load_preset, read_protocol
from reviews.core.protocols.drafting import step
from reviews.core.protocols.estimating import Assumption, Estimate, estimate, outcome_chances

ANNOTATOR, SENIOR = frozenset({"annotator"}), frozenset({"senior_reviewer"})
NINE = [ANNOTATOR] * 7 + [SENIOR] * 2
C3 = load_preset("c3")


def dry_run(protocol: Protocol = C3, items: int = 1024, people: Any = NINE, **chances: Assumption) -> Estimate:
    sure = {stage.key: Assumption(minutes=6) for stage in protocol.stages}
    return estimate(protocol, items=items, assumptions=sure | chances, people=people)


def test_where_everybody_approves_the_figures_are_exact() -> None:
    found = dry_run()
    # 1,024 in each self-check, two reviews each in the cross-check, and ceil(0.1 * 1,024) = 103 in the sample.
    assert [stage.reviews.typical for stage in found.stages] == [1024, 1024, 2048, 103]
    assert (found.reviews.typical, found.reviews.exact) == (4199, True)
    assert isclose(found.hours.typical, 419.9)
    assert (found.rejected.high, found.endless) == (0, False)


def test_what_is_certain_to_be_escalated_is_not_drawn() -> None:
    found = dry_run(cross_check=Assumption(fix=1.0, same_fix=0.0, minutes=6))
    assert [stage.items.typical for stage in found.stages] == [1024, 1024, 1024, 1024]
    assert found.reviews.exact


def test_the_mean_is_the_expectation() -> None:
    # By hand: of 1,000 items each cross-check passes with 0.9 * 0.9 = 0.81; the expert sees 190 and a tenth of 810.
    found = dry_run(items=1000, cross_check=Assumption(fix=0.1, same_fix=0.0, minutes=6))
    expert = found.stages[3].items
    assert abs(expert.typical - 271) < 3
    assert expert.low < 271 < expert.high
    # A binomial number of 1,000 with 0.19, of which nine tenths count: a deviation of 11.2, and 1.64 of them each way.
    assert 25 < expert.high - expert.low < 50


def test_it_is_the_same_each_time() -> None:
    found, again = (dry_run(cross_check=Assumption(fix=0.2)) for _ in range(2))
    assert (found.stages, found.hours) == (again.stages, again.hours)


def test_what_goes_back_comes_again() -> None:
    # Half of the items go back from the cross-check each time: twice as many cycles in the mean.
    data = load_preset("c3", cross_check_reviewers=1).model_dump(mode="json")
    data["stages"][2]["outcomes"][1]["outcome"] = "back_to_author"
    found = dry_run(read_protocol(data), items=2000, cross_check=Assumption(fix=0.5, again=1.0, minutes=6))
    assert abs(found.stages[2].items.typical - 4000) < 40
    # The author's stage before it is the second self-check: the first is passed once.
    assert found.stages[0].items.exact
    assert abs(found.stages[1].items.typical - 4000) < 40


def test_approvals_in_a_row() -> None:
    # Nothing is found: each of the two stages of CCTU is passed twice by every item, and the expert sees nothing.
    found = dry_run(load_preset("cctu"), items=200)
    assert [stage.reviews.typical for stage in found.stages] == [400, 400, 0]
    assert found.reviews.exact


def test_a_change_begins_the_count_anew() -> None:
    # Every first look of a stage changes something and no later one does: three looks at each item.
    found = dry_run(load_preset("cctu"), items=200, data=Assumption(fix=1.0, again=0.0, minutes=6))
    assert [stage.reviews.typical for stage in found.stages] == [600, 400, 0]


def test_rounds_go_on_until_everything_was_seen() -> None:
    # Nothing is found in 256 items: rounds of ceil(0.2 * 256) = 52, of which the fifth has seen everything.
    found = dry_run(load_preset("wild"), items=256)
    assert [stage.items.typical for stage in found.stages] == [256, 260, 0]
    assert (found.stages[1].reviews.typical, found.endless) == (520, False)


def test_errors_make_further_rounds_and_disputes_are_settled_first() -> None:
    found = dry_run(load_preset("wild"), items=256, rounds=Assumption(fix=0.2, minutes=6))
    assert found.stages[1].items.typical > 260
    assert found.stages[2].items.low > 20
    assert not found.endless


@pytest.mark.parametrize("name", ["wild", "cctu", "async", "c3"])
def test_every_preset_can_be_estimated(name: str) -> None:
    found = estimate(load_preset(name), items=1024, assumptions={}, people=NINE)
    assert found.reviews.low >= 1024
    assert not found.endless


def test_what_never_ends_is_said() -> None:
    data = load_preset("c3", cross_check_reviewers=1).model_dump(mode="json")
    data["stages"][2]["outcomes"][1]["outcome"] = "restart"
    assert dry_run(read_protocol(data), items=10, cross_check=Assumption(fix=1.0, again=1.0)).endless


def test_the_work_is_shared_as_evenly_as_roles_allow() -> None:
    # Two seniors alone do the 10.3 hours of the sample; the other 409.6 are shared by all nine, but the self-checks
    # (204.8) by the seven annotators. Seniors help with the cross-check, so 419.9 / 9 hours each.
    found = dry_run()
    assert found.hours_each is not None
    assert isclose(found.hours_each, 419.9 / 9)
    # With one senior and sixty annotators the sample is what takes longest.
    found = dry_run(people=[ANNOTATOR] * 60 + [SENIOR])
    assert found.hours_each is not None
    assert isclose(found.hours_each, 10.3)


def test_a_stage_without_anybody_is_said() -> None:
    assert dry_run(people=[ANNOTATOR] * 3).hours_each is None


def test_nothing_takes_no_time() -> None:
    found = dry_run(items=0)
    assert (found.reviews.typical, found.hours_each) == (0, 0.0)


def test_chances_of_two_colleagues() -> None:
    chances = outcome_chances(C3.stages[2], Assumption(fix=0.2, reject=0.1, escalate=0.0, same_fix=0.5))
    # Approve 0.7: 0.49 pass; fix and fix 0.04, half of them the same; reject and reject 0.01; the rest escalated.
    assert isclose(chances[Outcome.PASS], 0.49)
    assert isclose(chances[Outcome.PASS_WITH_FIX], 0.02)
    assert isclose(chances[Outcome.REJECTED], 0.01)
    assert isclose(chances[Outcome.ESCALATE], 0.48)


@given(
    st.sampled_from(["agree", "majority"]),
    st.integers(1, 5),
    st.tuples(*[st.floats(0, 1.2)] * 4),
)
def test_chances_add_up_to_one(how: str, reviewers: int, rates: tuple[float, float, float, float]) -> None:
    data = C3.model_dump(mode="json")
    data["stages"][2]["reviewers"] = reviewers
    stage = read_protocol(step(data, f"{how}:/stages/2")).stages[2]
    fix, reject, escalate, same = rates
    assert isclose(sum(outcome_chances(stage, Assumption(fix, reject, escalate, same)).values()), 1.0)


@pytest.mark.parametrize("items", [1, 30, 100_000])
def test_every_item_comes_out_once(items: int) -> None:
    found = dry_run(items=items, expert=Assumption(reject=0.5), cross_check=Assumption(fix=0.5))
    assert 0 <= found.rejected.low <= found.rejected.high <= items
    assert found.stages[3].items.high <= items
