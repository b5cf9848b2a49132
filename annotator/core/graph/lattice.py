"""Count the ordered partitions of a partial order, over the lattice of its down-sets.

``above`` and ``below`` are bitsets of everything above and below each position, transitively. A *down-set* is a set of
calls that can all have run: it contains the dependencies of each of its calls.
"""

from collections import deque
from collections.abc import Sequence
from math import comb, factorial

from annotator.core.graph.dag import positions

#: For a down-set: the calls that could run next, its topmost calls, and the sums T(D, 0), T(D, 1), ….
_Entry = tuple[int, int, list[int]]


class StepBound:
    """The budget of elementary steps (one addition of numbers)."""

    __slots__ = ("left",)

    def __init__(self, steps: int) -> None:
        self.left = steps

    @property
    def share(self) -> int:
        """The budget of one attempt: half, so that something is always left for the next."""
        return self.left // 2


def partitions_by_length(
    mask: int, below: Sequence[int], above: Sequence[int], bound: StepBound, limit: int
) -> list[int] | None:
    """Return, at index k, the number of paths of ``mask`` in k batches; None if that takes more than ``limit`` steps.

    The paths that end with the down-set D are those that end with D without its last batch, over all non-empty sets of
    calls that nothing in D depends on. The subsets are not visited one by one: T(D, c) sums over those among the c
    latest of D's topmost calls, and T(D, c) = T(D, c-1) + T(D without the c-th, c-1). All lengths are in one integer,
    each in its own bits, so a step is one addition.

    Calls with the same calls below and above them (twins) are interchangeable: only down-sets with the first few of
    them are kept, and b out of c twins leave in C(c, b) ways.
    """
    # Twins are adjacent, so that the first few of them are the lower bits of theirs.
    elements = sorted(positions(mask), key=lambda v: ((below[v] & mask).bit_count(), below[v] & mask, above[v] & mask))
    rank = {v: i for i, v in enumerate(elements)}
    size = len(elements)
    down = [_ranked(below[v] & mask, rank) for v in elements]
    up = [_ranked(above[v] & mask, rank) for v in elements]
    twins = _twins(down, up)
    # A call can only make its direct dependents ready.
    covers = [over & ~_union(up, over) for over in up]
    # There are fewer ordered partitions of n things than n! 2^n, so no field overflows into the next.
    width = (factorial(size) << size).bit_length() + 1
    # Adding long integers takes longer; this many bits take as long as the bookkeeping of one step.
    weight = 2 + size * width // 4096
    steps = 0
    ready = sum(1 << i for i in range(size) if not down[i])
    levels: deque[dict[int, _Entry]] = deque(maxlen=max(one.bit_count() for one in twins))
    levels.appendleft({0: (ready, 0, [1])})
    for _ in range(size):
        following: dict[int, tuple[int, int]] = {}
        for done, (open_, topmost, _sums) in levels[0].items():
            left = open_
            while left:
                bit = left & -left
                left ^= bit
                wider = done | bit
                i = bit.bit_length() - 1
                if wider in following or twins[i] & (bit - 1) & ~done:
                    continue
                freed, rest = 0, covers[i]
                while rest:
                    low = rest & -rest
                    rest ^= low
                    if not down[low.bit_length() - 1] & ~wider:
                        freed |= low
                steps += 1
                following[wider] = (open_ ^ bit | freed, topmost & ~down[i] | bit)
            if steps > limit:
                bound.left -= steps
                return None
        previous, new = levels[0], dict[int, _Entry]()
        for done, (open_, topmost) in following.items():
            total, taken, partial, rest = 0, 0, [0], topmost
            while rest:
                last = 1 << rest.bit_length() - 1
                members = twins[last.bit_length() - 1] & done
                rest &= ~members
                if members == last:
                    total += previous[done ^ last][2][taken]
                    steps += weight
                else:
                    total += _without_twins(levels, done, members, taken)
                    steps += weight * members.bit_count()
                taken += 1
                partial.append(total)
            ending = total << width
            new[done] = (open_, topmost, [ending + one for one in partial])
            if steps > limit:
                bound.left -= steps
                return None
        levels.appendleft(new)
    bound.left -= steps
    ((_, _, sums),) = levels[0].values()
    field = (1 << width) - 1
    return [sums[0] >> k * width & field for k in range(size + 1)]


def _without_twins(levels: Sequence[dict[int, _Entry]], done: int, members: int, taken: int) -> int:
    """Return what a set of twins adds to the sums: one, two or all of them are removed, the last ones first."""
    total, count = 0, members.bit_count()
    for leaving in range(1, count + 1):
        last = 1 << members.bit_length() - 1
        members ^= last
        done ^= last
        total += comb(count, leaving) * levels[leaving - 1][done][2][taken]
    return total


def _union(sets: Sequence[int], chosen: int) -> int:
    """Return the union of the sets at the positions of ``chosen``."""
    union = 0
    for i in positions(chosen):
        union |= sets[i]
    return union


def _ranked(mask: int, rank: dict[int, int]) -> int:
    return sum(1 << rank[v] for v in positions(mask))


def _twins(down: Sequence[int], up: Sequence[int]) -> list[int]:
    """Return, at each position, a bitset of the calls with the same calls below and above, including itself."""
    groups: dict[tuple[int, int], int] = {}
    for i, key in enumerate(zip(down, up, strict=True)):
        groups[key] = groups.get(key, 0) | 1 << i
    return [groups[key] for key in zip(down, up, strict=True)]
