"""Accuracy after each stage, revision rates and what an audit says of the rest, held to values worked out by hand."""

import random
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.core.agreement import (
    Sensitivity,
    Stratum,
    accuracy_after,
    error_bounds,
    residual_error,
    revision_rates,
    wilson,
)
from reviews.core.agreement.audit import AS_KNOWN, BORROWED, FEW_KNOWN, OVERLOOKED, REDRAWN
from reviews.core.protocols import Evidence
from reviews.core.simulation.audits import AuditSetting, simulate_audit


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


def test_strata_are_one_sample_only_if_their_rates_are_alike() -> None:
    # The draw takes at least one of each stratum: a third of each small one, a tenth of the others.
    small = [Stratum("ann", 3, 1, 0, str(number)) for number in range(40)]
    strata = [*small, Stratum("ann", 300, 30, 3, "40"), Stratum("ben", 100, 12, 0, "40"), Stratum("ann", 100, 50, 2)]
    said = residual_error(strata).error_rate
    parts = [error_bounds(400, 42, 3, 0.95 ** (1 / 3)), error_bounds(120, 40, 0, 0.95 ** (1 / 3))]
    parts.append(error_bounds(100, 50, 2, 0.95 ** (1 / 3)))
    low, high = (sum(bound) for bound in zip(*parts, strict=True))
    assert (said.low, said.high) == (low / 620, high / 620)
    assert "one sample, summed over the rates" in said.interval


@pytest.mark.parametrize("wrong", [2, 4, 6])
def test_small_strata_do_not_hide_the_errors_of_large_ones(wrong: int) -> None:
    """Ten owners of two items without errors and ten of nine, one item of each audited: all as one sample, the bounds
    would hold in little more than half of the draws.
    """
    rng, held, trials = random.Random(wrong), 0, 300
    truth = 10 * wrong / 110
    for _ in range(trials):
        small = [Stratum(f"small {n}", 2, 1, 0) for n in range(10)]
        large = [Stratum(f"large {n}", 9, 1, int(rng.random() < wrong / 9)) for n in range(10)]
        figure = residual_error([*small, *large]).error_rate
        assert figure.low is not None
        assert figure.high is not None
        held += figure.low - 1e-9 <= truth <= figure.high + 1e-9
    assert held / trials >= 0.94


def test_a_stratum_without_audited_items_has_the_rate_of_its_draw() -> None:
    strata = [Stratum("ann", 100, 10, 1, "1"), Stratum("ben", 50, 0, 0, "1"), Stratum("cy", 0, 0, 0, "1")]
    said = residual_error(strata)
    assert said.error_rate.value == pytest.approx(0.1)
    low, high = error_bounds(150, 10, 1)
    assert (said.error_rate.low, said.error_rate.high) == (low / 150, high / 150)
    assert [one.value for one in said.strata] == [0.1, None, None]
    assert said.warnings == [OVERLOOKED, BORROWED]
    unknown = residual_error([*strata, Stratum("ben", 30, 0, 0, "2")])
    assert unknown.error_rate.value is None
    assert unknown.error_rate.undefined.startswith("Nothing of one of the draws has been audited yet")
    assert residual_error([]).residual.undefined == "Nothing has been audited yet."


def test_a_reworked_stratum_is_not_one_with_its_first_sample() -> None:
    # An owner of 60: 3 of 6 are wrong, the other 54 are reworked, then 0 of 6 are wrong. 3 errors, 5 %.
    first = Stratum("ann", 6, 6, 3, "1", sent_back=True)
    said = residual_error([first, Stratum("ann", 54, 6, 0, "2")])
    assert said.error_rate.value == 3 / 60
    assert said.error_rate.low == 3 / 60
    assert said.residual.value == said.residual.low == 0
    assert REDRAWN in said.warnings


def test_rates_of_lucky_strata_are_shrunk_if_others_were_drawn_again() -> None:
    # Of 4 · 5 audited items 4 are wrong: 20 %. Σ a(p_h - p)² = 5 · (0.4² + 3 · (2/15)²) … worked out below.
    kept = [Stratum(name, 50, 5, errors, "1") for name, errors in (("ann", 1), ("ben", 1), ("cy", 0))]
    sent = Stratum("dan", 5, 5, 2, "1", sent_back=True)
    again = Stratum("dan", 45, 5, 0, "2")
    said = residual_error([*kept, sent, again])
    mean = 4 / 20
    spread = 5 * ((0.2 - mean) ** 2 * 2 + (0 - mean) ** 2 + (0.4 - mean) ** 2)
    # 0.4 < 3 · 0.16, so the strata differ no more than by chance, and all have the mean rate.
    assert spread == pytest.approx(0.4)
    assert spread < 3 * mean * (1 - mean)
    assert said.residual.value == pytest.approx(3 * 45 * mean / 200)
    # Without the redraw the strata keep their own rates.
    plain = residual_error(kept)
    assert plain.error_rate.value == pytest.approx((10 + 10 + 0) / 150)
    assert plain.warnings == [OVERLOOKED]
    alone = residual_error([*kept, again])
    assert said.residual.high is not None
    assert alone.residual.high is not None
    assert said.residual.high > alone.residual.high


def test_strata_that_differ_keep_their_own_rates_even_if_others_were_drawn_again() -> None:
    kept = [Stratum("ann", 1000, 100, 2, "1"), Stratum("ben", 1000, 100, 1, "1")]
    said = residual_error([*kept, Stratum("dan", 100, 100, 60, "1", sent_back=True)])
    # The variance between strata is large against that of a sample of 100: own rates count nearly alone.
    assert said.residual.value == pytest.approx(900 * (0.02 + 0.01) / 2100, rel=0.35)


@given(st.integers(1, 40), st.data())
def test_a_sensitivity_that_is_certain_changes_nothing(population: int, data: st.DataObject) -> None:
    audited = data.draw(st.integers(1, population))
    errors = data.draw(st.integers(0, audited))
    plain = error_bounds(population, audited, errors)
    certain = error_bounds(population, audited, errors, sensitivity=Sensitivity(10**9, 10**9))
    assert plain == certain


def test_the_sensitivity_by_hand() -> None:
    # Rogan and Gladen: 3 of 30 audited were noticed, half of what is wrong: 20 % of 300 are wrong, 57 are left.
    said = residual_error([Stratum("ann", 300, 30, 3)], sensitivity=Sensitivity(20, 40))
    assert said.error_rate.value == pytest.approx(0.2)
    assert said.residual.value == pytest.approx(57 / 300)
    assert said.warnings == [AS_KNOWN]
    few = residual_error([Stratum("ann", 300, 30, 3)], sensitivity=Sensitivity(4, 9))
    assert few.warnings == [AS_KNOWN, FEW_KNOWN]
    exact = residual_error([Stratum("ann", 300, 30, 3)])
    assert exact.residual.high is not None
    assert said.residual.high is not None
    assert said.residual.high > exact.residual.high
    # With Jeffreys' prior and 1 of 2 noticed, the sensitivity is Beta(1.5, 1.5): P(0 of 1) = 1/2, P(0 of 2) =
    # B(1.5, 3.5) / B(1.5, 1.5) = (2.5 · 1.5) / (4 · 3) = 5/16.
    assert Sensitivity(1, 2).at_most(0, 2) == pytest.approx([1, 1 / 2, 5 / 16])
    assert Sensitivity(1, 2).at_most(1, 2) == pytest.approx([1, 1, 11 / 16])
    assert residual_error([Stratum("ann", 300, 30, 3)], sensitivity=Sensitivity(0, 0)).warnings == [OVERLOOKED]
    none = residual_error([Stratum("ann", 300, 30, 3)], sensitivity=Sensitivity(0, 9)).residual
    assert none.undefined == "The reviewers of the audit noticed none of the known errors."
    with pytest.raises(ValueError, match="5 of 4 known errors"):
        Sensitivity(5, 4)


def test_reviewers_who_overlook_errors_overlook_them_in_what_they_audit_too() -> None:
    said = residual_error([Stratum("ann", 30, 30, 6)], sensitivity=Sensitivity(30, 40))
    assert said.residual.value == pytest.approx((6 / 0.75 - 6) / 30)
    assert (said.residual.low, said.residual.high) == (0, pytest.approx(6 / 30, abs=0.11))


@pytest.mark.parametrize(
    "setting",
    [
        AuditSetting(rate=0.15, rework=0.0),
        AuditSetting(items=1000, rate=0.15),
        AuditSetting(rate=0.1, fraction=0.2, send_back=Evidence(above=0.1, audited=5), rework=0.0),
        AuditSetting(others=0.25, other_rate=0.3),
        AuditSetting(clustered=5),
        AuditSetting(detection=0.6, known=10),
    ],
)
def test_bounds_of_whole_audits_hold_as_often_as_they_say(setting: AuditSetting) -> None:
    runs = [simulate_audit(setting, seed) for seed in range(60)]
    held = 0
    for run in runs:
        left = residual_error(run.strata, sensitivity=run.sensitivity).residual
        assert left.low is not None
        assert left.high is not None
        held += left.low - 1e-9 <= run.truth <= left.high + 1e-9
    assert held / len(runs) >= 0.95


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
