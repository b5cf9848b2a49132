"""Rate limits: how many requests count in one window of time. Counts are in memory or elsewhere."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from threading import Lock

WINDOWS = {"second": 1, "minute": 60, "hour": 3600}
#: Names counted in one window of one kind of limit; further names are not limited, so memory stays bounded.
MAX_NAMES = 100_000
_RATE = re.compile(r"([0-9]{1,9})/(second|minute|hour)", re.ASCII)


@dataclass(frozen=True)
class Rate:
    """At most ``count`` requests in each window of ``seconds``. Windows begin at multiples of their length."""

    count: int
    seconds: int

    def window(self, now: float) -> int:
        """Return the number of the window in which ``now`` (Unix time in seconds) lies."""
        return int(now // self.seconds)

    def seconds_left(self, now: float) -> int:
        """Return the whole seconds until the next window begins, at least 1."""
        return max(1, ceil((self.window(now) + 1) * self.seconds - now))


def read_rate(text: str) -> Rate | None:
    """Read ``N/second``, ``N/minute`` or ``N/hour``; None for ``0``, which is no limit. Raises ValueError."""
    if text == "0":
        return None
    found = _RATE.fullmatch(text)
    if found is None or not int(found[1]):
        raise ValueError(text)
    return Rate(int(found[1]), WINDOWS[found[2]])


@dataclass(frozen=True)
class Counted:
    """A limit of one name (a token, a person, an address), and how much of it is used after this request."""

    kind: str
    name: str
    rate: Rate
    used: int
    seconds_left: int

    @property
    def admitted(self) -> bool:
        return self.used <= self.rate.count

    @property
    def left(self) -> int:
        """Return how many more requests this window admits."""
        return max(0, self.rate.count - self.used)


@dataclass(frozen=True)
class Limited:
    """What to count: a kind of limit, the name that it is for, and its rate."""

    kind: str
    name: str
    rate: Rate

    def counted(self, used: int, now: float) -> Counted:
        return Counted(self.kind, self.name, self.rate, used, self.rate.seconds_left(now))


class MemoryCounts:
    """Counts in the memory of one process. Only the current window of each kind of limit is kept."""

    def __init__(self) -> None:
        self._lock = Lock()
        #: Kind and length of the window → its number, name → count.
        self._windows: dict[tuple[str, int], tuple[int, dict[str, int]]] = {}

    def count(self, limits: Sequence[Limited], now: float) -> list[int]:
        """Count a request for each limit. Return how many each has had in its window."""
        with self._lock:
            return [self._count(limit, now) for limit in limits]

    def _count(self, limit: Limited, now: float) -> int:
        key, number = (limit.kind, limit.rate.seconds), limit.rate.window(now)
        found, counts = self._windows.get(key, (number, {}))
        if found != number:
            counts = {}
        self._windows[key] = number, counts
        if limit.name not in counts and len(counts) >= MAX_NAMES:
            return 1
        used = counts[limit.name] = counts.get(limit.name, 0) + 1
        return used
