"""Agreement from pattern counts, held to values worked out by hand."""

import json
import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.core.agreement import (
    Overlap,
    PatternCounts,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    ordered,
    overlap_scores,
    pattern_key,
    percent_agreement,
    read_pattern,
    summarise,
    unordered,
)
from reviews.core.agreement.bootstrap import FEW_UNITS, binomial, multinomial
from reviews.core.agreement.clusters import FEW_DIALOGUES
from reviews.core.agreement.custom_fields import BETWEEN, Level, RatedField
from reviews.core.agreement.figures import t_quantile

RATINGS = st.lists(st.one_of(st.none(), st.sampled_from("abc")), min_size=1, max_size=4)


def table(aa: int, ab: int, ba: int, bb: int) -> PatternCounts:
    return PatternCounts({("a", "a"): aa, ("a", "b"): ab, ("b", "a"): ba, ("b", "b"): bb})


# --- patterns ---------------------------------------------------------------------------------------------------------


def test_interchangeable_raters_have_no_order_and_no_gaps() -> None:
    assert unordered(["fix", None, "approve", "fix"]) == ("approve", "fix", "fix")
    assert ordered(["fix", None, "approve"]) == ("fix", None, "approve")


@pytest.mark.parametrize("pattern", [("approve", "fix"), (None, "a"), (2, 3, 4), (), ('say "ja"', "数"), ("1", 1)])
def test_a_key_is_read_back(pattern: tuple[str | int | None, ...]) -> None:
    assert read_pattern(pattern_key(pattern)) == pattern


@pytest.mark.parametrize("text", ['{"a": 1}', "[1.5]", "[true]", '[["a"]]', "[", '"a"'])
def test_what_is_no_pattern_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"pattern|Expecting"):
        read_pattern(text)


@given(st.lists(RATINGS), st.lists(RATINGS))
def test_counts_add_up(one: list[list[str | None]], other: list[list[str | None]]) -> None:
    a, b = PatternCounts.of(map(ordered, one)), PatternCounts.of(map(ordered, other))
    assert a + b == PatternCounts.of(map(ordered, one + other))
    assert PatternCounts.from_json(json.loads(json.dumps((a + b).to_json()))) == a + b
    assert (a + b).without_order() == a.without_order() + b.without_order()


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(ValueError, match=r'The pattern \["a","b"\] has the count -1'):
        percent_agreement(PatternCounts({("a", "a"): 3, ("a", "b"): -1}))


# --- hand values ------------------------------------------------------------------------------------------------------


def test_percent_agreement_of_two_has_wilsons_interval() -> None:
    figure = percent_agreement(table(4, 2, 1, 3))
    assert (figure.value, figure.n) == (0.7, 10)
    assert (figure.low, figure.high) == (pytest.approx(0.396778, abs=1e-6), pytest.approx(0.892209, abs=1e-6))


def test_percent_agreement_of_three_is_the_mean_over_units() -> None:
    # 1, 1/3, 0 and a unit that one person alone rated.
    counts = PatternCounts.of([("a", "a", "a"), ("a", "a", "b"), ("a", "b", "c"), ("a", None, None)])
    figure = percent_agreement(counts)
    assert (figure.value, figure.n) == (pytest.approx(4 / 9), 3)
    # No reason to rule out that three always agree, or never do: the interval is wide and inside the scale.
    assert figure.low is not None
    assert figure.high is not None
    assert 0 < figure.low < 0.2
    assert 0.8 < figure.high < 1


def test_cohens_kappa_of_a_published_table() -> None:
    figure = cohen_kappa(table(20, 5, 10, 15))
    # Chance: 0.5 · 0.6 + 0.5 · 0.4 = 0.5; (0.7 - 0.5) / (1 - 0.5).
    assert (figure.value, figure.n) == (pytest.approx(0.4), 50)
    # With so many units that the interval is symmetrical, its reach is 1.96 standard errors, by hand:
    # (0.4·(0.5-1.1·0.3)² + 0.3·(0.5-0.9·0.3)² + 0.3²·(0.1·(0.6+0.5)² + 0.2·(0.4+0.5)²) - 0.05²) / 0.5⁴ for one unit.
    variance = (0.4 * 0.17**2 + 0.3 * 0.23**2 + 0.09 * (0.1 * 1.1**2 + 0.2 * 0.9**2) - 0.05**2) / 0.5**4
    many = cohen_kappa(table(2 * 10**9, 5 * 10**8, 10**9, 15 * 10**8))
    assert many.high is not None
    assert many.high - 0.4 == pytest.approx(1.959964 * (variance / (5 * 10**9)) ** 0.5, rel=1e-3)


def test_cohens_kappa_tells_the_raters_apart() -> None:
    # Both patterns are a disagreement; whose habit it is changes what chance expects.
    one_way = cohen_kappa(table(4, 4, 0, 2)).value
    both_ways = cohen_kappa(table(4, 2, 2, 2)).value
    assert (one_way, both_ways) == (pytest.approx(0.285714, abs=1e-6), pytest.approx(0.166667, abs=1e-6))


def test_fleiss_kappa_of_the_textbook_example() -> None:
    rows = [
        (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
        (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
    ]  # fmt: skip
    units = [tuple(value for value, count in zip("abcde", row, strict=True) for _ in range(count)) for row in rows]
    figure = fleiss_kappa(PatternCounts.of(units))
    assert (figure.value, figure.n) == (pytest.approx(0.20993, abs=1e-5), 10)


def test_ac1_does_not_collapse_where_nearly_everything_is_one_value() -> None:
    counts = table(118, 5, 2, 0)
    # Chance: 2 · 0.972 · 0.028 = 0.054432; (0.944 - 0.054432) / 0.945568.
    assert gwet_ac1(counts).value == pytest.approx(0.940777, abs=1e-6)
    kappa = cohen_kappa(counts).value
    assert kappa is not None
    assert kappa < 0


def test_ac1_knows_values_that_nobody_gave() -> None:
    counts = table(6, 2, 1, 1)
    # Shares 0.75 and 0.25: Σ π(1 - π) = 0.375, over q - 1 = 3 gives 0.125.
    assert gwet_ac1(counts, ["a", "b", "c", "d"]).value == pytest.approx((0.7 - 0.125) / 0.875)
    with pytest.raises(ValueError, match="'b' is not on the scale"):
        gwet_ac1(counts, ["a", "c"])


def observed() -> PatternCounts:
    """Four observers, twelve units (Krippendorff 2011)."""
    a = "1 2 3 3 2 1 4 1 2 . . ."
    b = "1 2 3 3 2 2 4 1 2 5 . 3"
    c = ". 3 3 3 2 3 4 2 2 5 1 ."
    d = "1 2 3 3 2 4 4 1 2 5 1 ."
    columns = zip(*(row.split() for row in (a, b, c, d)), strict=True)
    return PatternCounts.of(tuple(None if value == "." else value for value in column) for column in columns)


def test_alpha_of_the_published_example() -> None:
    nominal, ordinal = krippendorff_alpha(observed()), krippendorff_alpha(observed(), "12345")
    assert (nominal.value, nominal.n) == (pytest.approx(0.743, abs=5e-4), 11)
    assert ordinal.value == pytest.approx(0.815, abs=5e-4)
    assert nominal.low is not None
    assert nominal.high is not None
    assert nominal.low < 0.743 < nominal.high
    assert "Score interval" in nominal.interval
    assert "Score interval" in ordinal.interval


def test_alpha_refuses_what_is_not_on_the_scale() -> None:
    with pytest.raises(ValueError, match="'5' is not on the ordered scale"):
        krippendorff_alpha(observed(), "1234")


def test_alpha_is_the_same_each_time_it_is_asked() -> None:
    assert krippendorff_alpha(observed(), "12345") == krippendorff_alpha(observed(), "12345")


def test_overlaps_are_summed_before_dividing() -> None:
    counts = PatternCounts.of(
        [Overlap(2, 2, 3).pattern(), Overlap(1, 1, 1).pattern(), Overlap(0, 1, 0).pattern(), (0, 0, 0)]
    )
    scores = overlap_scores(counts)
    assert (scores.precision.value, scores.precision.n) == (0.75, 2)
    assert (scores.recall.value, scores.recall.n) == (0.75, 3)
    assert (scores.f1.value, scores.f1.n) == (0.75, 3)
    # Residuals 4 - 0.75·5 = 0.25, 2 - 0.75·2 = 0.5, 0 - 0.75·1 = -0.75: Σ² = 0.875, and with so many tasks that the
    # interval is symmetrical it reaches 1.96 · √(Σ² / Σbottom²) with Σbottom = 8, over the root of how many times.
    many = overlap_scores(PatternCounts({pattern: 10**8 * counts[pattern] for pattern in counts})).f1
    assert many.high is not None
    assert many.high - 0.75 == pytest.approx(1.959964 * (0.875 / 64 / 10**8) ** 0.5, rel=1e-3)


def test_sets_that_all_match_have_an_interval_that_reaches_down() -> None:
    one = overlap_scores(PatternCounts({(1, 1, 1): 20})).f1
    # Sets of one call either match or do not, so this is a proportion: Wilson's bound of 20 of 20.
    assert (one.value, one.high) == (1.0, 1.0)
    assert one.low == pytest.approx(1 - 1.959964**2 / (20 + 1.959964**2), abs=1e-6)
    # Of four calls one less is matched.
    four = overlap_scores(PatternCounts({(4, 4, 4): 20})).f1
    assert four.low == pytest.approx(1 - 1.959964**2 / (20 + 1.959964**2) / 4, abs=1e-6)
    nothing = overlap_scores(PatternCounts({(0, 1, 0): 5})).f1
    assert (nothing.value, nothing.low) == (0.0, None)
    assert nothing.interval.startswith("No interval:")


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)), max_size=8))
def test_f1_does_not_depend_on_who_is_called_left(parts: list[tuple[int, int, int]]) -> None:
    one = [Overlap(both, both + left, both + right) for both, left, right in parts]
    other = [Overlap(both, both + right, both + left) for both, left, right in parts]
    here, there = (overlap_scores(PatternCounts.of(o.pattern() for o in side)) for side in (one, other))
    assert here.f1 == there.f1
    assert here.precision.value == there.recall.value


def test_more_in_both_than_in_one_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot have 3 in common"):
        overlap_scores(PatternCounts({(3, 2, 5): 1}))


# --- undefined --------------------------------------------------------------------------------------------------------

EVERY = [percent_agreement, cohen_kappa, fleiss_kappa, gwet_ac1, krippendorff_alpha]


@pytest.mark.parametrize("statistic", EVERY)
@pytest.mark.parametrize("counts", [PatternCounts(), PatternCounts({("a", None): 5, (None, "b"): 2, (None, None): 1})])
def test_without_a_pair_of_ratings_there_is_no_value(statistic: type[object], counts: PatternCounts) -> None:
    figure = statistic(counts)  # type: ignore[call-arg]
    assert (figure.value, figure.n, figure.undefined) == (None, 0, "No unit has been rated by two people yet.")  # type: ignore[attr-defined]


def test_without_variation_chance_is_complete() -> None:
    counts = PatternCounts({("a", "a"): 9})
    assert percent_agreement(counts).value == 1
    for figure in (cohen_kappa(counts), fleiss_kappa(counts), krippendorff_alpha(counts)):
        assert (figure.value, figure.low, figure.n) == (None, None, 9)
        assert "same value" in figure.undefined
    assert "reviewers can’t disagree" in gwet_ac1(counts).undefined
    assert gwet_ac1(counts, ["a", "b"]).value == 1


def test_an_interval_holds_its_value_where_ratings_are_missing() -> None:
    figure = fleiss_kappa(PatternCounts({("a", None): 3, ("a", "b"): 2, (None, "b"): 1}))
    # Shares of a and b over units: 2/3 and 1/3, so p_e = 5/9; nobody agrees: -(5/9) / (4/9).
    assert figure.value == pytest.approx(-1.25)
    assert figure.low is not None
    assert figure.high is not None
    assert figure.low <= -1.25 <= figure.high


def test_perfect_agreement_has_an_interval_that_reaches_down() -> None:
    counts = table(9, 0, 0, 11)
    # Disagreements that nobody saw: their share is Wilson's upper bound for 0 of 20, d = 1.959964² / (20 + 1.959964²)
    # = 0.161125; it leaves (0.45, 0.55)·(1-d) and half of d to each value, which the bound makes still less even.
    assert percent_agreement(counts).low == pytest.approx(1 - 0.161125, abs=1e-6)
    left = 0.45 * (1 - 0.161125) + 0.161125 / 2
    fleiss = fleiss_kappa(counts)
    assert (fleiss.value, fleiss.high) == (pytest.approx(1.0), 1.0)
    assert fleiss.low == pytest.approx(1 - 0.161125 / (2 * left * (1 - left)), abs=1e-3)
    for figure in (cohen_kappa(counts), krippendorff_alpha(counts), gwet_ac1(counts)):
        assert figure.value == pytest.approx(1.0)
        assert figure.low is not None
        assert 0.5 < figure.low < 0.8


def test_a_value_that_everybody_gave_leaves_ac1_an_interval() -> None:
    figure = gwet_ac1(PatternCounts({("a", "a"): 20}), ["a", "b", "c", "d"])
    assert (figure.value, figure.high) == (1.0, 1.0)
    assert figure.low is not None
    assert 0.75 < figure.low < 0.84
    three = percent_agreement(PatternCounts({("a", "a", "a"): 20}))
    assert (three.value, three.high) == (1.0, 1.0)
    assert three.low is not None
    assert three.low < 1


def test_few_disagreements_do_not_rule_out_that_both_say_the_rare_value() -> None:
    # In no unit do both people fix, so kappa is below zero; one of 37 would make it 0.3, two 0.5.
    for figure in (
        fleiss_kappa(table(33, 2, 2, 0)),
        cohen_kappa(table(33, 2, 2, 0)),
        krippendorff_alpha(table(33, 4, 0, 0)),
    ):
        assert figure.value is not None
        assert figure.value < 0
        assert figure.low is not None
        assert figure.high is not None
        assert -0.25 < figure.low < figure.value
        assert 0.5 < figure.high < 0.75


def test_one_unit_has_no_interval() -> None:
    for figure in (fleiss_kappa(table(0, 1, 0, 0)), krippendorff_alpha(table(0, 1, 0, 0))):
        assert (figure.n, figure.low) == (1, None)
        assert "two units" in figure.interval


def test_resamples_without_variation_leave_no_interval() -> None:
    # One unit in ten tells b from a; about every third resample misses it.
    figure = krippendorff_alpha(
        PatternCounts({("a", "a"): 9, ("a", "b"): 1}), distance=lambda one, other: float(one != other)
    )
    assert (figure.value, figure.low) == (pytest.approx(0.0), None)
    assert "of 1000 resamples." in figure.interval


def test_no_sets_no_overlap() -> None:
    figure = overlap_scores(PatternCounts({(0, 0, 0): 4})).f1
    assert (figure.value, figure.n) == (None, 0)
    assert "no task has anything to compare" in figure.undefined


# --- what the intervals rest on ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.7062047), (2, 4.3026527), (5, 2.5705818), (30, 2.0422725), (200, 1.9718962), (1000, 1.9623391)],
)
def test_students_quantile_is_that_of_the_tables(freedom: int, quantile: float) -> None:
    assert t_quantile(freedom) == pytest.approx(quantile, abs=1e-7)


@pytest.mark.parametrize(("n", "p"), [(10, 0.3), (1000, 0.02), (5000, 0.9), (40, 0.5)])
def test_binomial_draws_have_their_mean_and_spread(n: int, p: float) -> None:
    rng = random.Random(7)
    drawn = [binomial(n, p, rng) for _ in range(4000)]
    mean = sum(drawn) / len(drawn)
    variance = sum((one - mean) ** 2 for one in drawn) / len(drawn)
    assert 0 <= min(drawn) <= max(drawn) <= n
    assert abs(mean - n * p) < 4 * (n * p * (1 - p) / 4000) ** 0.5
    assert variance == pytest.approx(n * p * (1 - p), rel=0.12)


def test_small_binomials_come_as_often_as_they_should() -> None:
    # Above 24 trials they are split; 26 trials cross that border at once.
    rng = random.Random(3)
    drawn = Counter(binomial(26, 0.1, rng) for _ in range(20_000))
    assert drawn[0] / 20_000 == pytest.approx(0.9**26, abs=0.007)
    assert drawn[3] / 20_000 == pytest.approx(2600 * 0.1**3 * 0.9**23, abs=0.009)


def test_a_resample_has_as_many_units() -> None:
    for drawn in multinomial([50, 0, 3, 400], 50, seed=2):
        assert sum(drawn) == 453
        assert drawn[1] == 0


def test_figures_do_not_depend_on_how_many_reviews_there_are() -> None:
    # The same shares, a hundred thousand times as many: as many patterns, so the same work, and a narrower interval.
    small, large = table(4, 2, 1, 3), table(400_000, 200_000, 100_000, 300_000)
    for statistic in (cohen_kappa, fleiss_kappa, gwet_ac1, krippendorff_alpha):
        here, there = statistic(small), statistic(large)
        assert here.value == pytest.approx(there.value, abs=0.05)
        assert there.high is not None
        assert there.low is not None
        assert there.high - there.low < 0.01
    # With two values all metrics are the same, and so are bootstrap and score interval.
    nominal, ordinal = krippendorff_alpha(large), krippendorff_alpha(large, "ab")
    assert ordinal == replace(nominal, name=ordinal.name)
    drawn = krippendorff_alpha(large, distance=lambda one, other: float(one != other))
    assert drawn.value == pytest.approx(nominal.value)
    assert drawn.low == pytest.approx(nominal.low, abs=3e-4)
    assert drawn.high == pytest.approx(nominal.high, abs=3e-4)


def test_figures_of_few_dialogues_or_few_drawn_units_say_that_they_may_be_too_sure() -> None:
    tasks = [("chat", "chat"), ("chat", "multi_tool"), ("multi_tool", "multi_tool")]
    few, many = (PatternCounts.of_dialogues([tasks] * number) for number in (14, 15))
    # Tasks that only one person rated are not compared, so their dialogues do not count.
    single = PatternCounts.of_dialogues([[("chat", None)] * 3] * 20)
    assert {figure.caution for figure in summarise("policy", few + single, pair=True)} == {FEW_DIALOGUES}
    assert {figure.caution for figure in summarise("policy", many, pair=True)} == {""}
    calls = PatternCounts.of_dialogues([[(1, 2, 2), (2, 2, 2)]] * 14 + [[(0, 0, 0)] * 2] * 20)
    assert [figure.caution for figure in summarise("calls", calls, pair=False)] == [FEW_DIALOGUES]
    # Each in a dialogue of its own, so nothing is alike.
    alone = PatternCounts({("chat", "chat"): 10, ("chat", "multi_tool"): 2})
    assert {figure.caution for figure in summarise("policy", alone, pair=True)} == {""}
    tags = RatedField(title="Tags", level=Level.SET, values=("a", "b"))
    for number, caution in ((99, FEW_UNITS), (100, "")):
        sets = PatternCounts({("a", "a"): number, (f"a{BETWEEN}b", "b"): number})
        percent, alpha = summarise("field:tags", sets, pair=True, field=tags)
        assert (percent.caution, alpha.caution) == ("", caution)


def test_each_label_has_its_statistics() -> None:
    rated = PatternCounts({("approve", "fix"): 3, ("approve", "approve"): 5})
    assert [figure.name for figure in summarise("verdict", rated, pair=True)] == [
        "Percent agreement", "Cohen's kappa", "Krippendorff's alpha (nominal)", "Gwet's AC1"
    ]  # fmt: skip
    assert summarise("verdict", rated, pair=False)[1].name == "Fleiss' kappa"
    # Four verdicts could have been given, two were.
    assert summarise("verdict", rated, pair=False)[3] != gwet_ac1(rated)
    sets = PatternCounts({(1, 2, 1): 1})
    assert [figure.name for figure in summarise("edges", sets, pair=False)] == ["F1 on edges"]
    assert len(summarise("calls", sets, pair=True)) == 3
    with pytest.raises(ValueError, match="There is no label colour; it is one of verdict, policy"):
        summarise("colour", rated, pair=True)
