"""Groups of things that are alike, directly or through others, from pairs of them."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass


class Groups:
    """Disjoint sets of numbers (union-find with path halving). The smallest number of each is its first."""

    def __init__(self) -> None:
        self._above: dict[int, int] = {}
        #: The number of sets.
        self.count = 0

    def __len__(self) -> int:
        """Return how many numbers are in a set."""
        return len(self._above)

    def first(self, member: int) -> int:
        """Return the first of the set of a number that was joined."""
        above = self._above
        while above[member] != member:
            above[member] = above[above[member]]
            member = above[member]
        return member

    def join(self, one: int, other: int) -> None:
        """Put the sets of two numbers together."""
        for member in (one, other):
            if member not in self._above:
                self._above[member] = member
                self.count += 1
        low, high = sorted((self.first(one), self.first(other)))
        if low != high:
            self._above[high] = low
            self.count -= 1

    def firsts(self) -> dict[int, int]:
        """Return member → first of its set."""
        return {member: self.first(member) for member in self._above}


@dataclass(frozen=True, slots=True)
class Extent:
    """What a threshold in percent would report: groups, and the dialogues in them."""

    threshold: int
    groups: int
    dialogues: int


def extents(pairs: Iterable[tuple[int, int, int]], thresholds: Collection[int]) -> list[Extent]:
    """Return the extent of each threshold, the lowest first. ``pairs``: two numbers, and their overlap in percent."""
    by_percent: dict[int, list[tuple[int, int]]] = {}
    for one, other, percent in pairs:
        by_percent.setdefault(percent, []).append((one, other))
    groups, out = Groups(), []
    left = sorted(by_percent)
    for threshold in sorted(set(thresholds), reverse=True):
        while left and left[-1] >= threshold:
            for one, other in by_percent[left.pop()]:
                groups.join(one, other)
        out.append(Extent(threshold, groups.count, len(groups)))
    return out[::-1]
