"""Draw composites: so many for each stratum, no combination twice, rarely used single tasks first.

A stratum of similar composites is a category; of cross composites, a set of different categories.
"""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations, product

from annotator.core.composites.dialogue import most_rounds

SIZES = (2, 3, 4)
#: Most strata and composites of one draw.
MAX_STRATA = 20_000
MAX_COMPOSITES = 100_000
#: A stratum with at most this many combinations is drawn from a list of all; a larger one by trying.
_LISTED = 5_000
_TRIES = 1_000
#: Uses beyond those of the least used task that still lower the weight; four such weights multiply above zero.
_STEPS = 40


class Kind(StrEnum):
    SIMILAR = "similar"
    CROSS = "cross"


class CannotCompose(ValueError):
    """The request makes no sense; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class Single:
    """A single task that may be drawn. ``calls``: the number of its gold calls."""

    id: str
    category: str
    calls: int
    family: str = ""


@dataclass(frozen=True, slots=True)
class Composite:
    """A drawn composite. ``stratum`` has a category for each task, sorted; a similar one repeats its category."""

    id: str
    family: str
    kind: Kind
    stratum: tuple[str, ...]
    tasks: tuple[str, ...]
    seed: int
    max_rounds: int


@dataclass(frozen=True, slots=True)
class Stratum:
    """A stratum with the number of its combinations; ``short``: how many of the asked ones it lacks."""

    categories: tuple[str, ...]
    combinations: int
    short: int


def strata(singles: Sequence[Single], kind: Kind, size: int, per_stratum: int) -> list[Stratum]:
    """Return the strata of a draw, sorted, with what they offer. Raises CannotCompose."""
    if size not in SIZES:
        raise CannotCompose(f"A composite has {', '.join(map(str, SIZES[:-1]))} or {SIZES[-1]} tasks, not {size}.")
    if per_stratum < 1:
        raise CannotCompose("Ask for at least one composite for each stratum.")
    counts = Counter(single.category for single in singles)
    if kind is Kind.SIMILAR:
        found = [((category,) * size, math.comb(count, size)) for category, count in sorted(counts.items())]
    else:
        number = math.comb(len(counts), size)
        if number > MAX_STRATA:
            raise CannotCompose(f"{len(counts)} categories make {number:,} strata. The limit is {MAX_STRATA:,}.")
        found = [
            (chosen, math.prod(counts[category] for category in chosen))
            for chosen in combinations(sorted(counts), size)
        ]
    if not found:
        raise CannotCompose(f"There are fewer than {size} categories, so there is nothing to draw.")
    if len(found) * per_stratum > MAX_COMPOSITES:
        raise CannotCompose(f"That would be {len(found) * per_stratum:,} composites. The limit is {MAX_COMPOSITES:,}.")
    return [Stratum(chosen, number, max(0, per_stratum - number)) for chosen, number in found]


def compose(
    singles: Sequence[Single],
    kind: Kind,
    size: int,
    per_stratum: int,
    seed: int,
    earlier: Iterable[Sequence[str]] = (),
) -> list[Composite]:
    """Draw composites; the same arguments give the same draw. ``earlier``: tasks of composites that exist already.

    A stratum with too few combinations gives all it has (see ``strata``). Raises CannotCompose.
    """
    if len({single.id for single in singles}) != len(singles):
        raise CannotCompose("Two single tasks have the same id.")
    by_category = defaultdict(list)
    for single in sorted(singles, key=lambda single: single.id):
        by_category[single.category].append(single)
    taken = {frozenset(tasks) for tasks in earlier}
    uses = Counter(task for tasks in taken for task in tasks)
    chance = random.Random(seed)  # noqa: S311 - a draw that can be repeated
    drawn: list[Composite] = []
    for stratum in strata(singles, kind, size, per_stratum):
        for _ in range(per_stratum):
            tasks = _draw(stratum, by_category, uses, taken, chance)
            if tasks is None:
                break
            taken.add(frozenset(single.id for single in tasks))
            uses.update(single.id for single in tasks)
            families = {single.family for single in tasks}
            drawn.append(
                Composite(
                    id=f"{kind}{size}_{seed}_{len(drawn):03d}",
                    family=families.pop() if len(families) == 1 else "mixed",
                    kind=kind,
                    stratum=stratum.categories,
                    tasks=tuple(single.id for single in tasks),
                    seed=seed,
                    max_rounds=most_rounds(sum(single.calls for single in tasks)),
                )
            )
    return drawn


def _draw(
    stratum: Stratum,
    by_category: dict[str, list[Single]],
    uses: Counter[str],
    taken: set[frozenset[str]],
    chance: random.Random,
) -> list[Single] | None:
    """Return a combination that is not taken, its tasks in random order; None if there is none left."""
    pools = [by_category[category] for category in stratum.categories]
    if stratum.combinations <= _LISTED:
        listed = _all(stratum, pools)
        free = [chosen for chosen in listed if frozenset(single.id for single in chosen) not in taken]
        if not free:
            return None
        weight = {name: value for pool in pools for name, value in _weights(pool, uses).items()}
        weights = [math.prod(weight[single.id] for single in chosen) for chosen in free]
        chosen = list(chance.choices(free, weights)[0])
        chance.shuffle(chosen)
        return chosen
    for _ in range(_TRIES):
        chosen = []
        for pool in pools:
            rest = [single for single in pool if single not in chosen]
            chosen += chance.choices(rest, list(_weights(rest, uses).values()))
        if frozenset(single.id for single in chosen) not in taken:
            chance.shuffle(chosen)
            return chosen
    return None


def _all(stratum: Stratum, pools: Sequence[Sequence[Single]]) -> list[tuple[Single, ...]]:
    if len(set(stratum.categories)) == 1:
        return list(combinations(pools[0], len(pools)))
    return list(product(*pools))


def _weights(pool: Sequence[Single], uses: Counter[str]) -> dict[str, float]:
    """Return a weight for each task: each use more than that of the least used one divides it by 64."""
    least = min(uses[single.id] for single in pool)
    return {single.id: 64.0 ** -min(uses[single.id] - least, _STEPS) for single in pool}


# --- coverage --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often each single task, category, and pair of categories is used; unused ones count 0.

    A pair is sorted; two tasks of one category in a composite count for the pair of that category with itself.
    """

    singles: dict[str, int]
    categories: dict[str, int]
    pairs: dict[tuple[str, str], int]


def coverage(singles: Sequence[Single], composites: Iterable[Sequence[str]]) -> Coverage:
    """Count the uses of single tasks in composites, each given as its tasks' ids; unknown ids are left out."""
    category_of = {single.id: single.category for single in singles}
    names = sorted(set(category_of.values()))
    uses = dict.fromkeys(sorted(category_of), 0)
    categories = dict.fromkeys(names, 0)
    pairs = {(one, other): 0 for index, one in enumerate(names) for other in names[index:]}
    for tasks in composites:
        known = [task for task in tasks if task in category_of]
        for task in known:
            uses[task] += 1
            categories[category_of[task]] += 1
        for one, other in combinations(sorted(category_of[task] for task in known), 2):
            pairs[one, other] += 1
    return Coverage(uses, categories, pairs)
