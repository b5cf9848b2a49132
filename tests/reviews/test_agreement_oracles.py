"""Agreement and accuracy on random data, held to what public packages compute."""

import json
import math
import random
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score, f1_score
from statsmodels.stats.inter_rater import aggregate_raters
from statsmodels.stats.inter_rater import cohens_kappa as statsmodels_cohen
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss
from statsmodels.stats.proportion import proportion_confint

from reviews.agreement import (
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
from reviews.agreement.audit import _at_most
from reviews.agreement.figures import t_quantile

#: Random ratings and what irrCAC 0.4.4 makes of them. Recorded, because that package asks for one old scipy.
IRRCAC = json.loads((Path(__file__).parent / "data" / "agreement_irrcac.json").read_text(encoding="utf-8"))

Units = list[tuple[str | None, ...]]


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
    if figure.low is None:  # they give a point
        assert theirs.kappa_low == pytest.approx(theirs.kappa_upp)
        return
    assert figure.low == pytest.approx(max(-1, theirs.kappa_low), abs=1e-9)
    assert figure.high == pytest.approx(min(1, theirs.kappa_upp), abs=1e-9)


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
def test_values_and_intervals_are_those_of_irrcac(case: dict[str, Any]) -> None:
    counts = PatternCounts.of(tuple(None if value == "." else value for value in row) for row in case["ratings"])
    figures = {
        "gwet": gwet_ac1(counts, case["categories"]),
        "fleiss": fleiss_kappa(counts),
        "krippendorff": krippendorff_alpha(counts),
    }
    for name, figure in figures.items():
        theirs = case[name]
        assert figure.value == pytest.approx(theirs["value"], abs=1e-10)
        assert figure.low == pytest.approx(max(-1, theirs["low"]), abs=1e-9)
        assert figure.high == pytest.approx(theirs["high"], abs=1e-9)
    assert percent_agreement(counts).value == pytest.approx(case["gwet"]["pa"], abs=1e-10)


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
        assert math.isclose(_at_most(errors, population, wrong, audited), theirs, rel_tol=1e-6)
