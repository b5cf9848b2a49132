"""Intervals of shares over clustered entries, paired comparisons of two runs, and rates over attempts."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb, erfc, sqrt
from operator import mul

from reviews.core.agreement.bootstrap import RESAMPLES, SEED, bootstrap, multinomial, with_interval
from reviews.core.agreement.figures import NO_SPREAD, Figure, wilson

#: Entries that differ, up to which McNemar's test is exact.
MAX_EXACT = 10_000
#: Decimal places of a rate over attempts.
PLACES = 6
#: Most attempts for which pass^k and best-of-k are figures, and their names.
MAX_K = 16
PASS, BEST = "pass^k", "best of k"
#: By cluster (a dialogue): how many are right, of how many.
Clusters = Mapping[str, tuple[float, int]]


def add_up(pairs: Iterable[tuple[str, int, int]]) -> dict[str, tuple[int, int]]:
    """Return (right, of) by cluster from triples (cluster, right, of)."""
    found: dict[str, tuple[int, int]] = {}
    for cluster, right, of in pairs:
        done, total = found.get(cluster, (0, 0))
        found[cluster] = (done + right, total + of)
    return found


def share(name: str, clusters: Clusters) -> Figure:
    """Return Σ right / Σ of with the interval of a cluster bootstrap: whole dialogues are drawn, so that entries of one
    dialogue, which are not independent, stay together.

    Where all clusters have the same share nothing varies; then the interval is Wilson's over the clusters.
    """
    return _share(name, tuple(sorted(Counter(clusters.values()).items())))


@lru_cache(maxsize=4096)
def _share(name: str, patterns: tuple[tuple[tuple[float, int], int], ...]) -> Figure:
    patterns = tuple(one for one in patterns if one[0][1])
    right = sum(k * count for (k, _), count in patterns)
    of = sum(n * count for (_, n), count in patterns)
    clusters = sum(count for _, count in patterns)
    if not of:
        return Figure(name, None, 0, undefined="There are no such entries.")
    value = right / of
    if len({k / n for (k, n), _ in patterns}) == 1:
        return _without_spread(name, value, of, clusters)
    pairs = [pair for pair, _ in patterns]

    def statistic(drawn: Sequence[int]) -> float | None:
        whole = sum(n * times for (_, n), times in zip(pairs, drawn, strict=True))
        part = sum(k * times for (k, _), times in zip(pairs, drawn, strict=True))
        return part / whole if whole else None

    found = bootstrap(name, value, clusters, [count for _, count in patterns], statistic)
    return Figure(name, value, of, found.low, found.high, interval=found.interval)


def _without_spread(name: str, value: float, of: int, clusters: int) -> Figure:
    if value not in (0.0, 1.0):
        return Figure(name, value, of, interval=NO_SPREAD)
    over = wilson(name, clusters if value else 0, clusters)
    return Figure(name, value, of, over.low, over.high, interval=over.interval)


# --- two runs --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs on the entries that both have: shares ``a`` and ``b``, and ``difference`` = b − a with its interval.

    ``only_a`` and ``only_b`` are the entries that only one of them has right. ``p``: McNemar's exact test of these.
    """

    n: int
    a: float | None
    b: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    only_a: int
    only_b: int


def compare(pairs: Iterable[tuple[str, bool, bool]]) -> Comparison:
    """Compare two runs entry by entry: triples (dialogue, right in a, right in b).

    The interval is that of a paired cluster bootstrap: dialogues are drawn, with both answers of each entry.
    """
    clusters: dict[str, Counter[tuple[bool, bool]]] = {}
    for cluster, first, second in pairs:
        clusters.setdefault(cluster, Counter())[bool(first), bool(second)] += 1
    total: Counter[tuple[bool, bool]] = sum(clusters.values(), Counter())
    n = total.total()
    if not n:
        return Comparison(0, None, None, None, None, None, None, 0, 0)
    only_a, only_b = total[True, False], total[False, True]
    both = total[True, True]
    patterns = Counter((cell[False, True] - cell[True, False], cell.total()) for cell in clusters.values())
    kinds = sorted(patterns)

    def statistic(drawn: Sequence[int]) -> float | None:
        whole = sum(of * times for (_, of), times in zip(kinds, drawn, strict=True))
        part = sum(gain * times for (gain, _), times in zip(kinds, drawn, strict=True))
        return part / whole if whole else None

    difference = (only_b - only_a) / n
    found = bootstrap("difference", difference, len(clusters), [patterns[kind] for kind in kinds], statistic)
    return Comparison(
        n, (both + only_a) / n, (both + only_b) / n, difference, found.low, found.high, mcnemar(only_a, only_b), only_a,
        only_b,
    )  # fmt: skip


def mcnemar(only_a: int, only_b: int) -> float:
    """Return the two-sided p of McNemar's exact test: of the entries that one run alone has right, each is as likely
    to be of either run (McNemar 1947, binomial).
    """
    n, least = only_a + only_b, min(only_a, only_b)
    if not n:
        return 1.0
    if n > MAX_EXACT:
        # The normal approximation with continuity correction (Edwards 1948) differs in no digit that is shown.
        return erfc(max(0.0, abs(only_a - only_b) - 1) / sqrt(2 * n))
    tail, term = 0, 1
    for k in range(least + 1):
        tail += term
        term = term * (n - k) // (k + 1)
    # Whole numbers to the end: 2 ** n is beyond floats from 1,024 entries on.
    return min(1.0, float(2 * tail / 2**n))


def holm(values: Sequence[float]) -> list[float]:
    """Return p values adjusted for their number (Holm 1979), in the given order."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - rank) * values[place]))
        found[place] = highest
    return found


# --- attempts --------------------------------------------------------------------------------------------------------


def pass_hat(right: int, attempts: int, k: int) -> float:
    """Return pass^k of one task: the chance that k of its attempts, drawn without replacement, are all right (tau²)."""
    _require(right, attempts, k)
    return comb(right, k) / comb(attempts, k)


def best_of(right: int, attempts: int, k: int) -> float:
    """Return the chance that at least one of k attempts is right (pass@k)."""
    _require(right, attempts, k)
    return (comb(attempts, k) - comb(attempts - right, k)) / comb(attempts, k)


def _require(right: int, attempts: int, k: int) -> None:
    if not 0 <= right <= attempts or not 1 <= k <= attempts:
        raise ValueError(f"{right} right of {attempts} attempts have no rate over {k} attempts.")


def over_attempts(outcomes: Mapping[str, Sequence[bool]]) -> dict[str, dict[str, float]]:
    """Return pass^k and best-of-k over tasks, for every k up to the fewest attempts that a task has."""
    fewest = min((len(one) for one in outcomes.values()), default=0)
    return {
        str(k): {
            name: round(sum(rate(sum(one), len(one), k) for one in outcomes.values()) / len(outcomes), PLACES)
            for name, rate in (("pass_hat", pass_hat), ("best_of", best_of))
        }
        for k in range(1, fewest + 1)
    }


def attempt_figures(
    outcomes: Mapping[str, Sequence[bool]], clusters: Mapping[str, str]
) -> Iterator[tuple[str, str, Figure]]:
    """Yield (name, k, figure) of pass^k and best-of-k for every k from 2 up to the fewest attempts that a task has, at
    most ``MAX_K``. ``clusters``: task → its dialogue.

    Dialogues are drawn once for all figures. They differ in how often each of their tasks is right.
    """
    fewest = min((len(one) for one in outcomes.values()), default=0)
    if fewest < 2:
        return
    dialogues: dict[str, list[tuple[int, int]]] = {}
    for task, one in outcomes.items():
        dialogues.setdefault(clusters[task], []).append((sum(one), len(one)))
    counts = Counter(tuple(sorted(one)) for one in dialogues.values())
    patterns = sorted(counts)
    sizes = [len(one) for one in patterns]
    draws = list(multinomial([counts[one] for one in patterns], RESAMPLES, SEED))
    drawn_sizes = [sum(map(mul, sizes, drawn)) for drawn in draws]
    for k in range(2, min(fewest, MAX_K) + 1):
        for name, rate in ((PASS, pass_hat), (BEST, best_of)):
            rates = [sum(rate(right, attempts, k) for right, attempts in one) for one in patterns]
            value = sum(counts[one] * here for one, here in zip(patterns, rates, strict=True)) / len(outcomes)
            if len(dialogues) < 2 or len({here / size for here, size in zip(rates, sizes, strict=True)}) == 1:
                yield name, str(k), _without_spread(name, value, len(outcomes), len(dialogues))
                continue
            values = (
                sum(map(mul, rates, drawn)) / size if size else None
                for drawn, size in zip(draws, drawn_sizes, strict=True)
            )
            yield name, str(k), with_interval(name, value, len(outcomes), values)
