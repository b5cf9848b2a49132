"""Counts that can be made of parts and then merged, in any order, with the same result (mergeable summaries).

Each takes a bounded amount of memory, however much is added.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from hashlib import blake2b
from math import ceil
from typing import Any, TypeVar

#: Keys of more than one part, such as a tool and its parameter, are tuples.
Key = str | tuple[str, ...]

#: Numbers below this are counted exactly; larger ones are rounded down to three digits.
EXACT_BELOW = 1_000
#: Characters of a key that are kept and distinguish it.
MAX_KEY = 200

_BITS = 64
_M = TypeVar("_M", bound="Mergeable")


class Mergeable:
    """A dataclass whose fields are numbers, counters, mergeables, or dicts of mergeables."""

    def merge(self: _M, other: _M) -> _M:
        """Add what ``other``, which stays as it is, has counted; return self."""
        for one in fields(self):  # type: ignore[arg-type]
            mine, theirs = getattr(self, one.name), getattr(other, one.name)
            if isinstance(mine, Mergeable):
                mine.merge(theirs)
            elif isinstance(mine, Counter):
                mine.update(theirs)
            elif isinstance(mine, dict):
                for key, part in theirs.items():
                    # A new part starts empty, so that both sides never share one.
                    mine.setdefault(key, type(part)()).merge(part)
            else:
                setattr(self, one.name, mine + theirs)
        return self


@dataclass
class Distribution(Mergeable):
    """How often each number occurs: not negative, and from EXACT_BELOW on rounded down to three digits.

    So at most 1,000 numbers and 900 for each further power of ten are kept.
    """

    counts: Counter[int] = field(default_factory=Counter)

    def add(self, value: int) -> None:
        """Count a number."""
        self.counts[_rounded(value)] += 1

    @property
    def count(self) -> int:
        return self.counts.total()

    def quantile(self, share: float) -> int | None:
        """Return the smallest number such that at least this share of all is not larger; None if there are none.

        The inverse of the empirical distribution (type 1 of Hyndman and Fan, 1996, Sample quantiles in statistical
        packages), so it is always a number that occurs.
        """
        wanted, below = ceil(share * self.count), 0
        for value, times in sorted(self.counts.items()):
            below += times
            if below >= wanted:
                return value
        return None

    def summary(self) -> dict[str, int | None]:
        """Return ``count``, ``median``, ``p90`` and ``largest`` as JSON."""
        return {
            "count": self.count,
            "median": self.quantile(0.5),
            "p90": self.quantile(0.9),
            "largest": max(self.counts, default=None),
        }


def _rounded(value: int) -> int:
    if value < EXACT_BELOW:
        return value
    unit = 10 ** (len(str(value)) - 3)
    return int(value // unit * unit)


class SampledCounts(Mergeable):
    """How often each key occurs, for at most ``limit`` different keys; beyond that for a random sample of the keys.

    Distinct sampling (Gibbons, 2001, Distinct sampling for highly-accurate answers to distinct values queries): a key
    is in the sample of level n if its hash begins with n zeros, and the level rises only when the sample is full. So a
    kept key has been counted from its first occurrence, and the result depends neither on the order nor on the parts.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.level = 0
        #: Occurrences of all keys, kept or not.
        self.total = 0
        self._counts: dict[Key, int] = {}

    @property
    def exact(self) -> bool:
        """Whether all keys are kept."""
        return self.level == 0

    @property
    def distinct(self) -> int:
        """The number of different keys; an estimate unless ``exact``, with a relative standard error of 1.2/√limit
        (Flajolet, 1990, On adaptive sampling).
        """
        return len(self._counts) << self.level

    def add(self, key: Key, times: int = 1) -> None:
        """Count a key."""
        self.total += times
        key = key[:MAX_KEY] if isinstance(key, str) else tuple(part[:MAX_KEY] for part in key)
        self._count(key, times)

    def _count(self, key: Key, times: int) -> None:
        held = self._counts.get(key)
        if held is not None:
            self._counts[key] = held + times
        elif self.level == 0 or self._is_sampled(key):
            self._counts[key] = times
            while len(self._counts) > self.limit:
                self._raise_level(self.level + 1)

    def merge(self, other: "SampledCounts") -> "SampledCounts":
        """Add what ``other``, which stays as it is and has the same limit, has counted; return self."""
        self.total += other.total
        if other.level > self.level:
            self._raise_level(other.level)
        for key, times in other._counts.items():
            self._count(key, times)
        return self

    def items(self) -> Iterator[tuple[Key, int]]:
        """Return the kept keys with their counts."""
        return iter(self._counts.items())

    def most_common(self, number: int) -> list[tuple[Key, int]]:
        """Return the keys with the highest counts, of equal ones the first in alphabetical order."""
        return most_common(self._counts.items(), number)

    def _raise_level(self, level: int) -> None:
        self.level = level
        self._counts = {key: times for key, times in self._counts.items() if self._is_sampled(key)}

    def _is_sampled(self, key: Key) -> bool:
        joined = key if isinstance(key, str) else "\x1f".join(key)
        digest = blake2b(joined.encode(errors="surrogatepass"), digest_size=_BITS // 8).digest()
        return int.from_bytes(digest) >> (_BITS - self.level) == 0


def most_common(counts: Iterable[tuple[Any, int]], number: int) -> list[tuple[Any, int]]:
    """Return the pairs with the highest counts, of equal ones the first in the order of keys."""
    return sorted(counts, key=lambda pair: (-pair[1], pair[0]))[:number]


def as_pairs(counts: Mapping[int, int]) -> list[list[int]]:
    """Return (number, count) in the order of the numbers."""
    return [[number, count] for number, count in sorted(counts.items())]
