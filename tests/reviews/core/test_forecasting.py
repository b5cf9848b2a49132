"""The forecast and the quartiles, held to values worked out by hand; histories of items."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.core.agreement import Closeness, Visit, closeness, revised_rounds, round_points, stage_points
from reviews.core.agreement.forecasting import forecast, quartiles
from tests.factories import changed, make_document


def test_an_even_pace_has_no_doubt() -> None:
    found = forecast(100, [5] * 20)
    assert (found.days, found.low, found.high, found.pace) == (20, 20, 20, 5)


def test_a_pace_that_varies_has_bounds_around_the_expectation() -> None:
    # Mean 4, deviation 2 · sqrt(20/19); of 40 in 10 days: t(19) = 2.093024, root of 1/10 + 1/20 = 0.387298.
    found = forecast(40, [2, 6] * 10)
    assert found.days == 10
    assert found.low == pytest.approx(40 / (4 + 2.093024 * 2.051957 * 0.387298), rel=1e-5)
    assert found.high == pytest.approx(40 / (4 - 2.093024 * 2.051957 * 0.387298), rel=1e-5)


def test_where_there_is_no_forecast_a_sentence_says_why() -> None:
    assert forecast(0, [1] * 20).reason == "Nothing left to review."
    assert forecast(5, [1] * 9).reason == "A forecast needs 10 full days of reviews. There are 9 so far."
    assert "No reviews in" in forecast(5, [0] * 28).reason
    # One busy day in four weeks bounds nothing.
    assert forecast(50, [28, *[0] * 27]).high is None


@given(st.floats(1, 1e5), st.lists(st.integers(0, 50), min_size=10, max_size=28))
def test_bounds_hold_the_expectation(remaining: float, daily: list[int]) -> None:
    found = forecast(remaining, daily)
    if found.days is not None and found.low is not None:
        assert found.low <= found.days
        assert found.high is None or found.high >= found.days


def test_quartiles_of_counts_are_those_of_the_values() -> None:
    assert quartiles([]) is None
    assert quartiles([(7, 1)]) == (7, 7, 7)
    # 1, 1, 2, 3, 10
    assert quartiles([(10, 1), (1, 2), (2, 1), (3, 1)]) == (1, 2, 3)
    assert quartiles([(1, 1), (2, 1)]) == (1.25, 1.5, 1.75)


def test_a_stage_passed_over_keeps_the_content_of_the_one_before() -> None:
    visits = [Visit("self", 1, "a", "b"), Visit("cross", 1, "b", "b"), Visit("self", 2, "b", "c")]
    assert stage_points(["self", "cross", "expert"], "a", visits) == {
        "baseline": "a",
        "self": "c",
        "cross": "b",
        "expert": "b",
    }


def test_rounds_that_pass_an_item_over_leave_it_as_it_was() -> None:
    # Drawn in the second round and the fourth.
    visits = [Visit("check", 2, "a", "b"), Visit("check", 4, "b", "c")]
    assert round_points("check", visits) == ["a", "a", "b", "b", "c"]
    assert round_points("other", visits) == []
    # In a further cycle rounds are counted from one again.
    assert round_points("check", [Visit("check", 1, "a", "b"), Visit("check", 1, "b", "c")]) == ["a", "b", "c"]
    assert (revised_rounds("check", visits), revised_rounds("other", visits)) == (2, None)
    # Nobody looked: no round, and neither revised nor left as it was.
    passed_over = Visit("check", 5, "c", "c", looked=False)
    assert round_points("check", [*visits, passed_over]) == ["a", "a", "b", "b", "c"]
    assert round_points("check", [passed_over]) == ["c"]
    assert revised_rounds("check", [passed_over]) is None


def test_a_round_holds_what_its_session_mended() -> None:
    disputed, session = Visit("check", 1, "a", "a"), Visit("session", 1, "a", "b", settles="check")
    visits = [disputed, session, Visit("check", 2, "b", "b")]
    assert round_points("check", visits) == ["a", "b", "b"]
    # It was changed in the session.
    assert (revised_rounds("check", visits), revised_rounds("session", visits)) == (0, 1)
    assert round_points("session", visits) == ["a", "b"]
    # Settled by one who looks for the next stage: not the round's.
    assert round_points("check", [disputed, Visit("session", 1, "a", "b")]) == ["a", "a"]


def test_how_near_a_version_is_to_the_verified_one() -> None:
    verified = make_document("one")
    spaced = changed(verified, verified["tasks"][0]["steps"][-1]["text"].replace(" ", "  "))
    assert closeness(spaced, verified) is Closeness.RIGHT
    reworded = make_document("one")
    reworded["tasks"][0]["user_message"] = "Tell me the weather."
    assert closeness(reworded, verified) is Closeness.MESSAGE
    reworded["tasks"][0]["policy"] = "chat"
    assert closeness(reworded, verified) is Closeness.WRONG
    assert closeness(changed(verified), verified) is Closeness.WRONG
    unlabelled = make_document("one")
    unlabelled["tasks"][0] |= {"policy": None, "information": None}
    unlabelled["tasks"][0]["steps"][-1] |= {"depends_on": None, "answer_type": None}
    assert closeness(unlabelled, verified) is Closeness.UNLABELLED
    unlabelled["tasks"][0]["user_message"] = "Tell me the weather."
    assert closeness(unlabelled, verified) is Closeness.UNLABELLED
    # A label that the verified revision lacks is no missing one.
    assert closeness(verified, unlabelled) is Closeness.WRONG
    unlabelled["tasks"][0]["steps"][0]["arguments"] = {"city": "Elsewhere"}
    assert closeness(unlabelled, verified) is Closeness.WRONG
