"""Known values of the tests and rates, and what intervals must do."""

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.core.scoring.statistics import (
    MAX_EXACT,
    add_up,
    best_of,
    compare,
    holm,
    mcnemar,
    over_attempts,
    pass_hat,
    share,
)


@pytest.mark.parametrize(
    ("only_a", "only_b", "p"),
    [(0, 0, 1), (5, 5, 1), (0, 5, 2 / 2**5), (1, 8, 2 * (1 + 9) / 2**9), (6, 16, 2 * 110_056 / 2**22)],
)
def test_mcnemar_is_the_exact_binomial(only_a, only_b, p):
    assert mcnemar(only_a, only_b) == mcnemar(only_b, only_a) == pytest.approx(p)


def test_mcnemar_of_many_is_small_but_no_error():
    assert 0 < mcnemar(1, 400) < 1e-100
    exact, approximate = mcnemar(4_900, 5_100), mcnemar(4_901, 5_101)
    assert MAX_EXACT == 4_900 + 5_100
    assert approximate == pytest.approx(exact, rel=1e-2)


def test_holm_is_by_rank_and_monotonic():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1, 1]
    assert holm([]) == []


def test_pass_hat_and_best_of_are_hypergeometric():
    # Three of four attempts are right: two drawn are both right in 3 of 6 cases, and one is right in all of them.
    assert (pass_hat(3, 4, 2), best_of(3, 4, 2)) == (0.5, 1)
    assert over_attempts({"a": [True, True], "b": [True, False]}) == {
        "1": {"pass_hat": 0.75, "best_of": 0.75},
        "2": {"pass_hat": 0.5, "best_of": 1.0},
    }
    assert over_attempts({}) == {}
    with pytest.raises(ValueError, match="no rate"):
        pass_hat(3, 2, 1)


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n), st.integers(1, n))))
def test_all_right_and_none_right_add_up(case):
    right, attempts, k = case
    none = comb(attempts - right, k) / comb(attempts, k)
    assert best_of(right, attempts, k) == pytest.approx(1 - none)
    assert pass_hat(right, attempts, k) <= best_of(right, attempts, k)


def test_a_share_has_an_interval_over_dialogues():
    entries = [(f"d{n}", int(n % 3 > 0), 1) for n in range(90)]
    alone = share("x", add_up(entries))
    assert alone.n == 90
    assert alone.low < alone.value == 60 / 90 < alone.high
    # The same entries four times over say no more about the dialogues.
    again = share("x", add_up(entries * 4))
    assert (again.n, again.value) == (360, alone.value)
    assert (again.low, again.high) == (alone.low, alone.high)


def test_a_share_without_spread_still_has_a_wilson_interval():
    found = share("x", add_up((f"d{n}", 1, 1) for n in range(10)))
    assert (found.value, found.high) == (1, 1)
    assert 0.6 < found.low < 0.8
    assert "Wilson" in found.interval
    assert share("x", {}).value is None


def test_a_comparison_is_paired():
    pairs = [(f"d{n}", n % 2 == 0, n % 2 == 0 or n < 20) for n in range(60)]
    found = compare(pairs)
    assert (found.n, found.a, found.b, found.only_a, found.only_b) == (60, 0.5, 40 / 60, 0, 10)
    assert found.difference == pytest.approx(10 / 60)
    assert 0 < found.low < found.difference < found.high
    assert found.p == pytest.approx(2 / 2**10)
    assert compare([]).p is None
