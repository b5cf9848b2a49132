"""Agreement and accuracy on random data, held to what public packages compute."""

import json
import math
import random
from collections.abc import Callable
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from scipy import optimize, stats
from sklearn.metrics import cohen_kappa_score, f1_score
from statsmodels.stats.inter_rater import aggregate_raters
from statsmodels.stats.inter_rater import cohens_kappa as statsmodels_cohen
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss
from statsmodels.stats.proportion import proportion_confint

from reviews.core.agreement import (
    Figure,
    Overlap,
    PatternCounts,
    cohen_kappa,
    error_bounds,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    overlap_scores,
    percent_agreement,
    wilson,
)
from reviews.core.agreement.audit import _mean
from reviews.core.agreement.figures import t_quantile

#: Random ratings and what irrCAC 0.4.4 makes of them. Recorded, because that package asks for one old scipy.
IRRCAC = json.loads((Path(__file__).parent / "data" / "agreement_irrcac.json").read_text(encoding="utf-8"))

Units = list[tuple[str | None, ...]]

#: How many times as many units make our intervals those of the large-sample formulas.
MANY = 10**8


def many_times(counts: PatternCounts) -> PatternCounts:
    """The same shares of many times as many units."""
    return PatternCounts({pattern: MANY * counts[pattern] for pattern in counts})


def reach(figure: Figure) -> float:
    """Half the width of an interval."""
    assert figure.low is not None
    assert figure.high is not None
    return (figure.high - figure.low) / 2


def ratings(seed: int, *, raters: int, values: str, missing: float = 0.0) -> Units:
    """Units in which raters of a random ability more or less agree, at least two values among them."""
    rng = random.Random(seed)
    ability, units = rng.uniform(0.1, 0.95), rng.randint(5, 80)
    out: Units = [(values[0],) * raters, (values[1],) * raters]
    for _ in range(units):
        truth = rng.choice(values)
        out.append(
            tuple(
                None if rng.random() < missing else truth if rng.random() < ability else rng.choice(values)
                for _ in range(raters)
            )
        )
    return out


@pytest.mark.parametrize("seed", range(40))
def test_cohens_kappa_is_that_of_scikit_learn_and_its_interval_that_of_statsmodels(seed: int) -> None:
    units = ratings(seed, raters=2, values="abcd"[: 2 + seed % 3])
    figure = cohen_kappa(PatternCounts.of(units))
    left, right = zip(*units, strict=True)
    assert figure.value == pytest.approx(cohen_kappa_score(left, right), abs=1e-12)
    names = sorted({*left, *right})
    table = [[sum(unit == (one, other) for unit in units) for other in names] for one in names]
    theirs = statsmodels_cohen(np.array(table))
    assert figure.value == pytest.approx(theirs.kappa, abs=1e-12)
    # Theirs is the normal interval, which ours comes to with so many units.
    many = cohen_kappa(many_times(PatternCounts.of(units)))
    assert reach(many) == pytest.approx(theirs.std_kappa * stats.norm.ppf(0.975) / MANY**0.5, rel=2e-3, abs=1e-8)


@pytest.mark.parametrize("seed", range(30))
def test_fleiss_kappa_is_that_of_statsmodels(seed: int) -> None:
    units = ratings(seed, raters=2 + seed % 5, values="abcde"[: 2 + seed % 4])
    codes = np.array([["abcde".index(value) for value in unit if value] for unit in units])
    table, _ = aggregate_raters(codes)
    assert fleiss_kappa(PatternCounts.of(units)).value == pytest.approx(statsmodels_fleiss(table), abs=1e-12)


@pytest.mark.parametrize("metric", ["nominal", "ordinal"])
@pytest.mark.parametrize("seed", range(30))
def test_alpha_is_that_of_krippendorff(seed: int, metric: str) -> None:
    values = "12345"[: 2 + seed % 4]
    units = ratings(seed, raters=2 + seed % 4, values=values, missing=(seed % 3) * 0.2)
    figure = krippendorff_alpha(PatternCounts.of(units), values if metric == "ordinal" else None, resamples=2)
    data = np.array([[np.nan if value is None else float(value) for value in unit] for unit in units]).T
    theirs = krippendorff.alpha(reliability_data=data, level_of_measurement=metric)
    assert figure.value == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("case", IRRCAC, ids=range(len(IRRCAC)))
def test_values_are_those_of_irrcac_and_intervals_with_many_units(case: dict[str, Any]) -> None:
    counts = PatternCounts.of(tuple(None if value == "." else value for value in row) for row in case["ratings"])
    statistics: dict[str, Callable[[PatternCounts], Figure]] = {
        "gwet": lambda counts: gwet_ac1(counts, case["categories"]),
        "fleiss": fleiss_kappa,
        "krippendorff": krippendorff_alpha,
    }
    for name, statistic in statistics.items():
        theirs, figure = case[name], statistic(counts)
        assert figure.value == pytest.approx(theirs["value"], abs=1e-10)
        # Student's t of units - 1, and units - 1 where ours has units.
        sizes = [sum(value != "." for value in row) for row in case["ratings"]]
        units = sum(size > (name == "krippendorff") for size in sizes)
        error = (theirs["value"] - theirs["low"]) / stats.t.ppf(0.975, units - 1) * ((units - 1) / units / MANY) ** 0.5
        share = reach(statistic(many_times(counts))) / error / stats.norm.ppf(0.975)
        if name == "krippendorff":  # they correct the variance, too, for few ratings
            assert share == pytest.approx(1, rel=0.05)
        elif min(sizes) > 1:
            assert share == pytest.approx(1, rel=2e-3)
        else:  # they take the number of units with two ratings for fixed, which leaves a little more spread
            assert 0.75 < share < 1
    assert percent_agreement(counts).value == pytest.approx(case["gwet"]["pa"], abs=1e-10)


@pytest.mark.parametrize("seed", range(8))
def test_the_bounds_are_the_farthest_that_scipy_finds(seed: int) -> None:
    rng, values = random.Random(seed), "abc"[: 2 + seed % 2]
    patterns = list(combinations_with_replacement(values, 2))
    weights = [rng.choice([0.1, 1, 5]) for _ in patterns]
    drawn = PatternCounts.of(rng.choices(patterns, weights, k=rng.choice([20, 60])))
    counts = drawn + PatternCounts({(one, one): 1 for one in values[:2]})
    found = np.array([counts[pattern] for pattern in patterns])
    n = found.sum()

    def kappa(shares: Any) -> Any:
        agreed = sum(share for share, (one, other) in zip(shares, patterns, strict=True) if one == other)
        of = [sum(share * p.count(v) / 2 for share, p in zip(shares, patterns, strict=True)) for v in values]
        chance = sum(share**2 for share in of)
        return (agreed - chance) / (1 - chance)

    inside = [
        {"type": "eq", "fun": lambda shares: shares.sum() - 1},
        {"type": "ineq", "fun": lambda shares: stats.norm.ppf(0.975) ** 2 + n - (found**2 / shares).sum() / n},
    ]
    figure = fleiss_kappa(counts)
    for way, ours in ((1, figure.low), (-1, figure.high)):
        ends = []
        for start in (found + 0.5, found + 2):
            best = optimize.minimize(
                lambda shares, way=way: way * kappa(shares), start / start.sum(), constraints=inside,
                bounds=[(1e-9, 1)] * len(patterns), options={"maxiter": 500, "ftol": 1e-12},
            )  # fmt: skip
            ends += [best.fun] if best.success else []
        assert ours == pytest.approx(way * min(ends), abs=2e-4)


@pytest.mark.parametrize("seed", range(20))
def test_micro_averaged_f1_is_that_of_scikit_learn(seed: int) -> None:
    rng = random.Random(seed)
    left = [[rng.random() < 0.5 for _ in range(6)] for _ in range(rng.randint(3, 30))]
    right = [[mark if rng.random() < 0.8 else not mark for mark in row] for row in left]
    pairs = [list(zip(one, other, strict=True)) for one, other in zip(left, right, strict=True)]
    counts = PatternCounts.of(
        Overlap(sum(a and b for a, b in task), sum(a for a, _ in task), sum(b for _, b in task)).pattern()
        for task in pairs
    )
    theirs = f1_score(np.array(left), np.array(right), average="micro")
    assert overlap_scores(counts).f1.value == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (0, 12), (7, 10), (54, 200), (200, 200), (3, 100_000)])
def test_wilsons_interval_is_that_of_statsmodels(successes: int, n: int) -> None:
    figure = wilson("share", successes, n)
    low, high = proportion_confint(successes, n, method="wilson")
    assert (figure.low, figure.high) == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))


@pytest.mark.parametrize("freedom", [1, 2, 3, 7, 29, 150, 200, 201, 500, 10**6])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_students_quantile_is_that_of_scipy(freedom: int, level: float) -> None:
    assert t_quantile(freedom, level) == pytest.approx(stats.t.ppf((1 + level) / 2, freedom), rel=1e-8)


@pytest.mark.parametrize(
    ("population", "audited", "errors"), [(50, 5, 0), (50, 10, 2), (1024, 103, 7), (100_000, 10_000, 12)]
)
def test_error_bounds_invert_the_hypergeometric_distribution_of_scipy(
    population: int, audited: int, errors: int
) -> None:
    low, high = error_bounds(population, audited, errors)
    found = stats.hypergeom
    assert found.cdf(errors, population, high, audited) > 0.025
    assert found.cdf(errors, population, high + 1, audited) <= 0.025
    assert found.sf(errors - 1, population, low, audited) > 0.025
    assert low == errors or found.sf(errors - 1, population, low - 1, audited) <= 0.025
    for wrong in (low, (low + high) // 2, high):
        theirs = found.cdf(errors, population, wrong, audited)
        at_most = [float(k <= errors) for k in range(audited + 1)]
        assert math.isclose(_mean(at_most, population, wrong, audited), theirs, rel_tol=1e-6)
