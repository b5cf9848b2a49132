"""Pairs reviewers for a round: those who have worked together least, so that pairs change from round to round.

A person is any text. The same history and seed give the same pairs. Up to ``EXACT`` people, every matching is
considered and the one with the fewest repeated pairs is chosen; larger groups are paired greedily, which can repeat a
pair unnecessarily.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

#: Up to this many people, every matching is considered.
EXACT = 12

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Look:
    """An item that two people review in a round."""

    external_id: str
    #: Who may not review it: its author and its owner.
    barred: frozenset[str] = frozenset()
    #: Who reviewed it in an earlier round; others come first.
    met: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class History:
    """Earlier rounds, the oldest first, each as its pairs."""

    rounds: Sequence[Sequence[Pair]] = ()

    def together(self) -> Counter[frozenset[str]]:
        """Return how often two people were a pair; the last round counts twice, so its pairs are repeated last."""
        out = Counter(frozenset(pair) for pairs in self.rounds for pair in pairs)
        out.update({frozenset(pair) for pair in self.rounds[-1]} if self.rounds else ())
        return out

    def worked(self) -> Counter[str]:
        """Return in how many rounds each person took part."""
        return Counter(person for pairs in self.rounds for person in {name for pair in pairs for name in pair})


def pair_up(people: Iterable[str], *, history: History, seed: str) -> list[Pair]:
    """Return disjoint pairs of these people; if their number is odd, whoever took part most often sits out."""
    together, worked = history.together(), history.worked()
    names = sorted(set(people), key=lambda name: _digest(seed, name))
    if len(names) % 2 == 0:
        return _match(names, together, seed)
    most = max(worked[name] for name in names)
    ways = [_match([one for one in names if one != name], together, seed) for name in names if worked[name] == most]
    return min(ways, key=lambda pairs: sum(together[frozenset(pair)] ** 2 for pair in pairs))


def share_out(
    looks: Sequence[Look], pairs: Sequence[Pair], people: Iterable[str], *, history: History, seed: str
) -> dict[str, Pair]:
    """Return {external id: pair}, which pair reviews which item, without items that no two of these people may review.

    An item goes to a pair that has not seen it, then to the pair with the fewest items. If every pair includes somebody
    who may not review it, two others who may form an extra pair for it.
    """
    together = history.together()
    load: Counter[Pair] = Counter()
    busy: Counter[str] = Counter()
    out: dict[str, Pair] = {}
    ranks = {pair: place for place, pair in enumerate(pairs)}
    everybody = sorted(set(people), key=lambda name: _digest(seed, name))
    for look in sorted(looks, key=lambda one: _digest(seed, one.external_id)):
        may = [pair for pair in ranks if not look.barred & set(pair)]
        if may:
            pair = min(may, key=lambda one: (len(look.met & set(one)), load[one], ranks[one]))
        else:
            free = [name for name in everybody if name not in look.barred]
            others = list(combinations(free, 2))
            if not others:
                continue
            pair = min(
                others,
                key=lambda one: (
                    len(look.met & set(one)),
                    together[frozenset(one)],
                    busy[one[0]] + busy[one[1]],
                ),
            )
        out[look.external_id] = pair
        load[pair] += 1
        busy.update(pair)
    return out


def _match(names: Sequence[str], together: Counter[frozenset[str]], seed: str) -> list[Pair]:
    if len(names) > EXACT:
        return _greedy(names, together, seed)
    cost = [[together[frozenset((one, other))] for other in names] for one in names]

    @cache
    def best(free: int) -> tuple[int, tuple[tuple[int, int], ...]]:
        if not free:
            return 0, ()
        first = (free & -free).bit_length() - 1
        rest = free & ~(1 << first)
        options = []
        for other in range(first + 1, len(names)):
            if rest >> other & 1:
                below, chosen = best(rest & ~(1 << other))
                # Squared: two pairs repeated once are better than one pair repeated twice.
                options.append((below + cost[first][other] ** 2, ((first, other), *chosen)))
        return min(options)

    return [(names[one], names[other]) for one, other in best((1 << len(names)) - 1)[1]]


def _greedy(names: Sequence[str], together: Mapping[frozenset[str], int], seed: str) -> list[Pair]:
    ranked = sorted(
        combinations(names, 2), key=lambda pair: (together.get(frozenset(pair), 0), _digest(seed, "\n".join(pair)))
    )
    free, out = set(names), []
    for one, other in ranked:
        if one in free and other in free:
            out.append((one, other))
            free -= {one, other}
    return out


def _digest(seed: str, name: str) -> str:
    return hashlib.sha256(f"{seed}\npair\n{name}".encode()).hexdigest()
