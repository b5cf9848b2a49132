"""Tasks of one dialogue are alike: what is counted of it, and how much wider intervals become."""

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviews.core.agreement import (
    Figure,
    Overlap,
    Pattern,
    PatternCounts,
    RatedField,
    cohen_kappa,
    dialogue_keys,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    overlap_scores,
    percent_agreement,
    read_counts,
    summarise,
)
from reviews.core.agreement.clusters import design_effect
from reviews.core.agreement.custom_fields import Level

AGREED, APART = ("a", "a"), ("a", "b")
UNIT = st.tuples(st.sampled_from("abc"), st.sampled_from("abc"))
DIALOGUES = st.lists(st.lists(UNIT, min_size=1, max_size=4), min_size=2, max_size=12)
SETS = RatedField("Tags", Level.SET, ("a", "b", "c"))
SCALE = RatedField("Care", Level.ORDINAL, ("a", "b", "c"))


def all_figures(counts: PatternCounts) -> list[Figure]:
    """Every statistic that tasks have."""
    return [
        percent_agreement(counts),
        cohen_kappa(counts),
        fleiss_kappa(counts),
        gwet_ac1(counts, "abc"),
        krippendorff_alpha(counts),
        *summarise("field:tags", counts, pair=False, field=SETS)[1:],
        *summarise("field:care", counts, pair=False, field=SCALE)[1:],
    ]


def width(figure: Figure) -> float:
    assert figure.low is not None
    assert figure.high is not None
    return figure.high - figure.low


# --- what is counted --------------------------------------------------------------------------------------------------


def test_a_dialogue_counts_its_units_and_the_pairs_of_them() -> None:
    counts = PatternCounts.of_dialogues([[AGREED, APART, AGREED, AGREED], [APART], [APART, AGREED]])
    assert dict(counts.checked()) == {AGREED: 4, APART: 3}
    assert sorted(counts.together()) == [(AGREED, AGREED, 3), (AGREED, APART, 4)]


@given(DIALOGUES, DIALOGUES)
def test_what_is_stored_of_dialogues_adds_up_and_is_read_back(
    one: list[list[Pattern]], other: list[list[Pattern]]
) -> None:
    stored = dialogue_keys([])
    for patterns in one + other:
        stored.update(dialogue_keys(patterns))
    assert read_counts(stored) == PatternCounts.of_dialogues(one) + PatternCounts.of_dialogues(other)
    for patterns in other:
        stored.subtract(dialogue_keys(patterns))
    assert read_counts(stored) == PatternCounts.of_dialogues(one)


def test_a_key_of_a_pair_is_short_and_a_pair_without_its_patterns_is_left_out() -> None:
    long = ("x" * 300,) * 5
    keys = dialogue_keys([long, AGREED])
    assert sum(map(len, keys)) < 1600
    assert read_counts(keys).together() == [(AGREED, long, 1)]
    assert read_counts({key: 1 for key in keys if "x" not in key}).together() == []


def test_a_dialogue_with_many_different_answers_has_few_keys() -> None:
    keys = dialogue_keys([(f"{number}", "x") for number in range(5000)] + [AGREED] * 2)
    # All 5,001 patterns, the pair of the one that occurs twice, and the pairs of the forty most frequent.
    assert len(keys) == 5001 + 1 + 40 * 39 // 2


def test_counts_of_before_are_units_of_different_dialogues() -> None:
    assert read_counts({'["a","a"]': 3, '["a","b"]': 1}) == PatternCounts({AGREED: 3, APART: 1})


def test_missing_and_impossible_ratings_leave_pairs_out() -> None:
    counts = PatternCounts.of_dialogues([[("b", "a"), ("a", None)], [("a", "b"), ("c", "d"), (None, None)]])
    assert sorted(counts.without_order().together()) == [(APART, ("a",), 1), (APART, ("c", "d"), 1)]
    assert counts.without_order().at_least(2).together() == [(APART, ("c", "d"), 1)]


# --- the design effect ------------------------------------------------------------------------------------------------


def test_design_effect_by_hand() -> None:
    # Forty dialogues of two tasks: in 10 people differ on both, in 10 on one, in 20 on none. The share is
    # 30/80 = 0.375, so u is 0.625 or -0.375.
    # Alone: 30 · 0.625² + 50 · 0.375² = 18.75. Pairs: 10 · 0.625² - 10 · 0.625 · 0.375 + 20 · 0.375² = 4.375.
    # deff = (18.75 + 2 · 4.375) / 18.75 = 1.4667. Forty dialogues of two move it to 2 - 0.5333 · (1 - 1.5 / 40) =
    # 1.48667.
    units = [(0.625, 30), (-0.375, 50)]
    pairs = [(0.625, 0.625, 10), (0.625, -0.375, 10), (-0.375, -0.375, 20)]
    assert design_effect(units, pairs) == pytest.approx(1.486667, abs=1e-6)
    counts = PatternCounts.of_dialogues([[APART] * 2] * 10 + [[APART, AGREED]] * 10 + [[AGREED] * 2] * 20)
    figure = percent_agreement(counts)
    # Wilson's interval of 0.625 with 80 / 1.486667 = 53.8117 units: centre 0.616671, reach 0.125243.
    assert (figure.value, figure.n) == (0.625, 80)
    assert (figure.low, figure.high) == (pytest.approx(0.491428, abs=2e-6), pytest.approx(0.741914, abs=2e-6))
    assert "Rao and Scott" in figure.interval


def test_pairs_that_were_left_out_make_no_variance_negative() -> None:
    # Ten dialogues of two units; only the pairs of unequal ones are there: 1 + 2 · 10 · -0.25 / 5 = 0, then 2 · 0.15.
    assert design_effect([(0.5, 10), (-0.5, 10)], [(0.5, -0.5, 10)]) == pytest.approx(0.3)
    assert design_effect([(0.5, 2), (-0.5, 18)], [(0.5, -0.5, 30)]) > 0


def test_without_variation_a_dialogue_counts_as_one() -> None:
    assert design_effect([(0.0, 12)], [(0.0, 0.0, 18)]) == pytest.approx(4.0)
    alike = percent_agreement(PatternCounts.of_dialogues([[AGREED] * 4] * 3))
    assert alike.low == pytest.approx(percent_agreement(PatternCounts({AGREED: 3})).low)


@given(st.lists(UNIT, min_size=1, max_size=20))
@settings(deadline=None, max_examples=30)
def test_dialogues_of_one_task_have_the_figures_of_before(units: list[Pattern]) -> None:
    assert all_figures(PatternCounts.of_dialogues([unit] for unit in units)) == all_figures(PatternCounts.of(units))


@given(DIALOGUES)
@settings(deadline=None, max_examples=40)
def test_saying_everything_twice_narrows_no_interval(dialogues: list[list[Pattern]]) -> None:
    once = PatternCounts.of_dialogues(dialogues)
    twice = PatternCounts.of_dialogues([patterns * 2 for patterns in dialogues])
    for statistic in (percent_agreement, cohen_kappa, fleiss_kappa, gwet_ac1):
        one, other = statistic(once), statistic(twice)
        if one.low is not None and other.low is not None:
            assert width(other) >= width(one) - 1e-4


def test_saying_everything_twice_narrows_no_f1() -> None:
    rng = random.Random(4)
    tasks = [[Overlap(rng.randint(0, 3), 3, rng.randint(3, 5)).pattern() for _ in range(3)] for _ in range(15)]
    once, twice = PatternCounts.of_dialogues(tasks), PatternCounts.of_dialogues([task * 2 for task in tasks])
    assert width(overlap_scores(twice).f1) >= width(overlap_scores(once).f1) - 1e-4


def test_hard_dialogues_make_every_interval_wider() -> None:
    rng = random.Random(7)
    dialogues = []
    for number in range(60):
        right = 0.4 if number % 5 == 0 else 0.95
        truths = [rng.choice("abc") for _ in range(4)]
        dialogues.append([tuple(t if rng.random() < right else rng.choice("abc") for _ in range(2)) for t in truths])
    tied = all_figures(PatternCounts.of_dialogues(dialogues))
    free = all_figures(PatternCounts.of(itertools.chain.from_iterable(dialogues)))
    for one, other in zip(tied, free, strict=True):
        assert (one.value, one.n) == (other.value, other.n)
        assert width(one) > 1.2 * width(other), one.name
