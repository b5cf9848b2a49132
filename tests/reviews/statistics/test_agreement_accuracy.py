"""Accuracy after each stage, revision rates and what an audit says of the rest, held to values worked out by hand."""

import random
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.core.agreement import (
    Stratum,
    accuracy_after,
    error_bounds,
    residual_error,
    revision_rates,
    wilson,
)


def test_wilsons_interval_of_seven_in_ten() -> None:
    figure = wilson("share", 7, 10)
    assert (figure.value, figure.low, figure.high) == (
        0.7,
        pytest.approx(0.396778, abs=1e-6),
        pytest.approx(0.892209, abs=1e-6),
    )


def test_nothing_counted_is_undefined() -> None:
    figure = wilson("share", 0, 0)
    assert (figure.value, figure.low, figure.undefined) == (None, None, "Nothing to count yet.")
    with pytest.raises(ValueError, match="3 of 2 is not a proportion"):
        wilson("share", 3, 2)


def test_accuracy_after_a_point_is_a_share_of_the_finished_items() -> None:
    figure = accuracy_after("Self-check", 2, 3)
    assert (figure.name, figure.value) == ("Accuracy after Self-check", pytest.approx(2 / 3))
    assert (figure.low, figure.high) == (wilson("", 2, 3).low, wilson("", 2, 3).high)
    assert accuracy_after("Baseline", 0, 0).undefined == "No finished items yet."


def test_the_revision_rates_of_the_cctu_paper() -> None:
    code = revision_rates({1: 19, 2: 35}, 200)
    assert code.total.value == 0.27
    assert (code.by_rounds[1].value, code.by_rounds[2].value) == (0.095, 0.175)
    assert (code.total.low, code.total.high) == (pytest.approx(0.21323, abs=1e-5), pytest.approx(0.33543, abs=1e-5))
    assert code.by_rounds[1].name == "Revised in 1 round"
    assert revision_rates({}, 0).total.undefined == "No item reviewed in this stage is finished yet."


def test_impossible_revisions_are_refused() -> None:
    with pytest.raises(ValueError, match="count rounds from 1"):
        revision_rates({0: 3}, 10)
    with pytest.raises(ValueError, match="11 of 10"):
        revision_rates({1: 5, 2: 6}, 10)


# --- the audit --------------------------------------------------------------------------------------------------------


def test_bounds_of_a_small_audit_by_hand() -> None:
    # 10 items, 4 audited, none wrong. P(none | 6 wrong) = C(4,4)/C(10,4) = 1/210 < 0.025;
    # P(none | 5) = C(5,4)/210 = 5/210 = 0.0238 < 0.025; P(none | 4) = C(6,4)/210 = 15/210 > 0.025.
    assert error_bounds(10, 4, 0) == (0, 4)
    # 16 items, 13 audited, none wrong. P(none | 2 wrong) = C(14,13)/C(16,13) = 14/560 = 0.025, and not more.
    assert error_bounds(16, 13, 0) == (0, 1)


def test_an_audit_of_everything_leaves_no_doubt() -> None:
    assert error_bounds(30, 30, 4) == (4, 4)


@given(st.integers(1, 30), st.data())
def test_bounds_are_those_of_trying_every_number(population: int, data: st.DataObject) -> None:
    audited = data.draw(st.integers(0, population))
    errors = data.draw(st.integers(0, audited))

    def chance(found: int, wrong: int) -> Fraction:
        return Fraction(comb(wrong, found) * comb(population - wrong, audited - found), comb(population, audited))

    possible = [
        wrong
        for wrong in range(errors, population - (audited - errors) + 1)
        if sum(chance(found, wrong) for found in range(errors + 1)) > Fraction(1, 40)
        and sum(chance(found, wrong) for found in range(errors, audited + 1)) > Fraction(1, 40)
    ]
    assert error_bounds(population, audited, errors) == (possible[0], possible[-1])


def test_what_is_left_is_what_was_not_found() -> None:
    said = residual_error([Stratum("ann", 100, 10, 2)])
    low, high = error_bounds(100, 10, 2)
    assert (said.error_rate.value, said.error_rate.low, said.error_rate.high) == (0.2, low / 100, high / 100)
    assert said.residual.value == pytest.approx(0.18)
    assert (said.residual.low, said.residual.high) == ((low - 2) / 100, (high - 2) / 100)
    assert said.strata[0].value == 0.2


def test_strata_are_weighted_by_their_size() -> None:
    # 900 items of which 10 % of the audited are wrong, 100 of which half are: 0.9 · 0.1 + 0.1 · 0.5.
    said = residual_error([Stratum("ann", 900, 10, 1), Stratum("ben", 100, 10, 5)])
    assert said.error_rate.value == pytest.approx(0.14)
    assert "hold jointly" in said.error_rate.interval
    assert "one sample" not in said.error_rate.interval
    parts = [error_bounds(900, 10, 1, 0.95**0.5), error_bounds(100, 10, 5, 0.95**0.5)]
    assert said.error_rate.low == pytest.approx(sum(low for low, _ in parts) / 1000)
    assert said.error_rate.high == pytest.approx(sum(high for _, high in parts) / 1000)


def test_strata_drawn_at_one_rate_are_one_sample() -> None:
    said = residual_error([Stratum("ann", 105, 11, 1), Stratum("ben", 95, 9, 0)])
    low, high = error_bounds(200, 20, 1)
    assert (said.error_rate.low, said.error_rate.high) == (low / 200, high / 200)
    assert "one sample" in said.error_rate.interval


def test_what_was_looked_at_as_a_whole_adds_no_doubt() -> None:
    said = residual_error([Stratum("ann", 6, 6, 3), Stratum("ann", 60, 6, 0, "2")]).error_rate
    low, high = error_bounds(60, 6, 0)
    assert (said.value, said.low, said.high) == (3 / 66, (3 + low) / 66, (3 + high) / 66)


def test_small_draws_of_one_share_are_one_sample_with_large_ones() -> None:
    # Of a small draw the rounding makes more than a tenth.
    small = [Stratum("ann", 3, 1, 0, str(number), 0.1) for number in range(40)]
    strata = [*small, Stratum("ann", 300, 30, 3, "40", 0.1), Stratum("ann", 100, 50, 2, "41", 0.5)]
    said = residual_error(strata).error_rate
    parts = [error_bounds(420, 70, 3, 0.95**0.5), error_bounds(100, 50, 2, 0.95**0.5)]
    assert (said.low, said.high) == (sum(low for low, _ in parts) / 520, sum(high for _, high in parts) / 520)
    assert "one sample, summed over the rates" in said.interval


def test_a_stratum_nobody_audited_leaves_the_whole_unknown() -> None:
    said = residual_error([Stratum("ann", 100, 10, 1), Stratum("ben", 50, 0, 0), Stratum("cy", 0, 0, 0)])
    assert said.error_rate.value is None
    assert said.error_rate.undefined == "Stratum ben has not been audited, so its error rate is unknown."
    assert [one.value for one in said.strata] == [0.1, None, None]
    assert residual_error([]).residual.undefined == "Nothing has been audited yet."


def test_impossible_audits_are_refused() -> None:
    with pytest.raises(ValueError, match="Stratum ann: 3 errors in 2 audited of 10 is impossible"):
        Stratum("ann", 10, 2, 3)


def test_combined_bounds_hold_as_often_as_they_say() -> None:
    # Nine people, whose work differs much, a tenth of each audited.
    rng = random.Random(11)
    sizes, rates = [110, 120, 90, 130, 115, 105, 100, 124, 130], [0.0, 0.02, 0.3, 0.05, 0.1, 0.0, 0.15, 0.02, 0.08]
    wrong = [round(size * rate) for size, rate in zip(sizes, rates, strict=True)]
    truth, held, trials = sum(wrong) / sum(sizes), 0, 400
    for _ in range(trials):
        strata = []
        for name, (size, bad) in enumerate(zip(sizes, wrong, strict=True)):
            audited = round(size / 10)
            found = sum(one < bad for one in rng.sample(range(size), audited))
            strata.append(Stratum(str(name), size, audited, found))
        figure = residual_error(strata).error_rate
        assert figure.low is not None
        assert figure.high is not None
        held += figure.low <= truth <= figure.high
    assert held / trials >= 0.94
