"""Print how often the 95 % intervals of docs/agreement.md cover the truth: the tables of that page.

python docs/agreement_coverage.py [SEEDS]

By default 1,000; tasks of dialogues and sets take half as many.
"""

# ruff: noqa: S311 - reproducible on purpose

import itertools
import random
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from reviews.core.agreement import (
    Figure,
    Overlap,
    Pattern,
    PatternCounts,
    Stratum,
    accuracy_after,
    added_up,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    overlap_scores,
    percent_agreement,
    residual_error,
)
from reviews.core.agreement.custom_fields import BETWEEN, masi_distance

VALUES = "abcd"
#: How often each value is the truth, and how often a reviewer says it rather than guessing.
CASES = {
    "even labels": ((0.25, 0.25, 0.25, 0.25), 0.8),
    "skewed labels": ((0.9, 0.05, 0.03, 0.02), 0.9),
    "hardly any disagreement": ((0.95, 0.03, 0.01, 0.01), 0.95),
}
SIZES = (20, 50, 200, 1000)
#: Tasks of one dialogue, the share of dialogues in which reviewers are often wrong, and the numbers of tasks.
TASKS, HARD, TASK_SIZES = 4, 0.2, (32, 60, 100, 400)
#: The abilities in the other dialogues and in the hard ones; equal ones make the tasks independent.
ABILITIES = {"hard dialogues": (0.95, 0.3), "independent tasks": (0.85, 0.85)}


#: The number of reviewers, and the statistic of their ratings.
STATISTICS: dict[str, tuple[int, Callable[[PatternCounts], Figure]]] = {
    "percent agreement, two": (2, percent_agreement),
    "percent agreement, three": (3, percent_agreement),
    "Cohen's kappa": (2, cohen_kappa),
    "Fleiss' kappa, three": (3, fleiss_kappa),
    "alpha, nominal": (2, krippendorff_alpha),
    "alpha, ordinal": (2, lambda counts: krippendorff_alpha(counts, VALUES)),
    "AC1": (2, lambda counts: gwet_ac1(counts, tuple(VALUES))),
}


def chance(pattern: Pattern, shares: tuple[float, ...], ability: float) -> float:
    """How often reviewers of this ability say these values together."""
    total = 0.0
    for truth, share in zip(VALUES, shares, strict=True):
        said = share
        for value in pattern:
            said *= (ability if value == truth else 0.0) + (1 - ability) / len(VALUES)
        total += said
    return total


def holds(figure: Figure, truth: float) -> bool | None:
    """Return whether the interval covers the truth; None if there is no interval."""
    return None if figure.low is None or figure.high is None else figure.low - 1e-12 <= truth <= figure.high + 1e-12


def line(name: str, columns: list[list[bool | None]]) -> str:
    """One row of a table."""
    cells = []
    for outcomes in columns:
        known = [one for one in outcomes if one is not None]
        without = f" ({len(outcomes) - len(known)} without)" if len(known) < len(outcomes) else ""
        cells.append(f"{100 * sum(known) / len(known):.1f} %{without}" if known else "none has one")
    return f"| {name} | {' | '.join(cells)} |"


def ratings(seeds: int) -> None:
    """Random ratings of two or three reviewers, against the value of a billion of them."""
    for case, (shares, ability) in CASES.items():
        for name, (raters, statistic) in STATISTICS.items():
            patterns = list(itertools.product(VALUES, repeat=raters))
            weights = [chance(pattern, shares, ability) for pattern in patterns]
            many = PatternCounts({p: round(w * 10**9) for p, w in zip(patterns, weights, strict=True)})
            truth = statistic(many).value or 0.0
            columns = [
                [
                    holds(statistic(PatternCounts.of(random.Random(seed).choices(patterns, weights, k=size))), truth)
                    for seed in range(seeds)
                ]
                for size in SIZES
            ]
            print(line(f"{name}; {case}", columns))


def dialogues(tasks: int, seed: int, task: Callable[[random.Random, bool], Pattern]) -> PatternCounts:
    """Count the tasks of dialogues, of which some are hard. ``task``: draws one, of a hard dialogue or another."""
    rng = random.Random(seed)
    found = []
    for _ in range(tasks // TASKS):
        hard = rng.random() < HARD
        found.append([task(rng, hard) for _ in range(TASKS)])
    return PatternCounts.of_dialogues(found)


def rated(patterns: list[Pattern], easy: list[float], hard: list[float], rng: random.Random, is_hard: bool) -> Pattern:
    """The ratings of one task. ``easy`` and ``hard``: the cumulative shares of the patterns."""
    return rng.choices(patterns, cum_weights=hard if is_hard else easy)[0]


def clustered_ratings(seeds: int) -> None:
    """Random ratings of the tasks of dialogues, against the value of a billion of them."""
    for (kind, abilities), case in itertools.product(ABILITIES.items(), ("even labels", "skewed labels")):
        shares = CASES[case][0]
        for name, (raters, statistic) in STATISTICS.items():
            patterns: list[Pattern] = list(itertools.product(VALUES, repeat=raters))
            easy, hard = ([chance(pattern, shares, ability) for pattern in patterns] for ability in abilities)
            mixed = [(1 - HARD) * one + HARD * other for one, other in zip(easy, hard, strict=True)]
            many = PatternCounts({p: round(w * 10**9) for p, w in zip(patterns, mixed, strict=True)})
            truth = statistic(many).value or 0.0
            task = partial(rated, patterns, list(itertools.accumulate(easy)), list(itertools.accumulate(hard)))
            columns = [
                [holds(statistic(dialogues(size, seed, task)), truth) for seed in range(seeds)] for size in TASK_SIZES
            ]
            print(line(f"{name}; {case}, {kind}", columns))


def drawn_calls(rng: random.Random, reviewers: int, seen: float) -> Pattern:
    """One to six calls, of which each reviewer leaves out a share."""
    calls = [[rng.random() < seen for _ in range(reviewers)] for _ in range(rng.randint(1, 6))]
    pairs = [
        Overlap(sum(call[i] and call[j] for call in calls), sum(call[i] for call in calls),
                sum(call[j] for call in calls))
        for i, j in itertools.combinations(range(reviewers), 2)
    ]  # fmt: skip
    return added_up(pairs, reviewers).pattern()


def compared(reviewers: int, easy: float, hard: float, rng: random.Random, is_hard: bool) -> Pattern:
    """The overlap of the calls of one task. ``easy`` and ``hard``: the shares of calls that a reviewer sees."""
    return drawn_calls(rng, reviewers, hard if is_hard else easy)


def clustered_overlaps(seeds: int) -> None:
    """F1 of the tasks of dialogues: reviewers leave out more calls in the hard ones."""
    for (kind, easy, hard), reviewers in itertools.product(
        (("hard dialogues", 0.97, 0.6), ("independent tasks", 0.9, 0.9)), (2, 3)
    ):
        # F1 is Σ both / Σ either reviewer's calls: the mean of squares over the mean of the shares.
        truth = ((1 - HARD) * easy**2 + HARD * hard**2) / ((1 - HARD) * easy + HARD * hard)
        task = partial(compared, reviewers, easy, hard)
        columns = [
            [holds(overlap_scores(dialogues(size, seed, task)).f1, truth) for seed in range(seeds)]
            for size in TASK_SIZES
        ]
        print(line(f"F1 of {truth:.2f}, {'two' if reviewers == 2 else 'three'}; {kind}", columns))


def overlaps(seeds: int) -> None:
    """F1: tasks of one to six calls, of which each reviewer leaves out a share; where it is 0.1, F1 is 0.9."""
    for (reviewers, name), seen in itertools.product(((2, "two"), (3, "three"), (4, "four")), (0.9, 0.98)):
        columns = []
        for size in SIZES:
            randoms = [random.Random(seed) for seed in range(seeds)]
            tasks = (PatternCounts.of(drawn_calls(rng, reviewers, seen) for _ in range(size)) for rng in randoms)
            columns.append([holds(overlap_scores(counts).f1, seen) for counts in tasks])
        print(line(f"F1 of {seen}, {name}", columns))


def two_sets(rng: random.Random, ability: float) -> Pattern:
    """The sets of two reviewers: each sees whether a member belongs to it, or guesses."""
    truth = [rng.random() < share for share in (0.7, 0.3, 0.1)]
    return tuple(
        BETWEEN.join(
            name
            for name, belongs in zip("abc", truth, strict=True)
            if (belongs if rng.random() < ability else rng.random() < 0.4)
        )
        for _ in range(2)
    )


def sets(seeds: int) -> None:
    """Alpha of sets, against its value in a hundred thousand units."""
    for ability in (0.8, 0.95):

        def drawn(seed: int, size: int, ability: float = ability) -> Figure:
            rng = random.Random(seed)
            counts = PatternCounts.of(two_sets(rng, ability) for _ in range(size))
            return krippendorff_alpha(counts, distance=masi_distance, resamples=400)

        truth = drawn(-1, 100_000).value or 0.0
        columns = [[holds(drawn(seed, size), truth) for seed in range(seeds)] for size in SIZES]
        print(line(f"alpha of sets, {truth:.2f} (half of the seeds)", columns))


def right(rng: random.Random, size: int, rates: tuple[float, ...], together: int) -> int:
    """Return how many of ``size`` items are right. ``rates``: of authors; ``together``: items right or wrong as one."""
    count = 0
    for start in range(0, size, together):
        if rng.random() < rates[start // together % len(rates)]:
            count += min(together, size - start)
    return count


def accuracies(seeds: int) -> None:
    """Wilson's interval of an accuracy: of independent items, of eight authors who differ, and of groups of five."""
    for truth, apart in ((0.62, 0.2), (0.94, 0.05)):
        for kind, authors, together in (("", 1, 1), (", eight authors who differ", 8, 1), (", groups of five", 1, 5)):
            columns = []
            for size in SIZES:
                outcomes = []
                for seed in range(seeds):
                    rng = random.Random(seed)
                    rates = tuple(truth + apart * rng.choice((-1, 1)) * (authors > 1) for _ in range(authors))
                    outcomes.append(holds(accuracy_after("", right(rng, size, rates, together), size), truth))
                columns.append(outcomes)
            print(line(f"accuracy, {100 * truth:.0f} % right{kind}", columns))


def audits(seeds: int) -> None:
    """A tenth of a thousand items, of one stratum and of nine whose error rates differ."""
    nine = [110, 120, 90, 130, 115, 105, 100, 124, 106]
    for rate in (0.02, 0.05, 0.15):
        cells = []
        for sizes, rates in (([1000], [rate]), (nine, [0.0, 2 * rate])):
            wrong = [round(size * rates[place % len(rates)]) for place, size in enumerate(sizes)]
            truth, outcomes = sum(wrong) / sum(sizes), []
            for seed in range(seeds):
                rng = random.Random(seed)
                found = [
                    sum(one < bad for one in rng.sample(range(size), round(size / 10)))
                    for size, bad in zip(sizes, wrong, strict=True)
                ]
                strata = [
                    Stratum(str(n), size, round(size / 10), errors)
                    for n, (size, errors) in enumerate(zip(sizes, found, strict=True))
                ]
                outcomes.append(holds(residual_error(strata).error_rate, truth))
            cells.append(outcomes)
        print(line(f"about {100 * rate:.0f} % wrong", cells))


if __name__ == "__main__":
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print("| interval | 20 units | 50 | 200 | 1,000 |\n|---|---|---|---|---|")
    ratings(times)
    overlaps(times)
    sets(times // 2)
    accuracies(times)
    print("\n| interval, four tasks a dialogue | 32 tasks | 60 | 100 | 400 |\n|---|---|---|---|---|")
    clustered_ratings(times // 2)
    clustered_overlaps(times // 2)
    print("\n| audit of a tenth of 1,000 items | one stratum | nine, with different error rates |\n|---|---|---|")
    audits(times)
