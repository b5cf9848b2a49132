"""Which backups are kept: the newest of each of the last days, weeks and months that have one."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Keep:
    """How many days, weeks (from Monday) and months with backups keep their newest one; none at all: keep all."""

    daily: int = 0
    weekly: int = 0
    monthly: int = 0


def kept(times: Iterable[datetime], keep: Keep) -> set[datetime]:
    """Return which of the times of backups are kept. The newest is always one of them."""
    newest_first = sorted(set(times), reverse=True)
    rules = (
        (keep.daily, lambda at: at.date().toordinal()),
        (keep.weekly, lambda at: at.isocalendar()[:2]),
        (keep.monthly, lambda at: (at.year, at.month)),
    )
    if not any(number for number, _ in rules):
        return set(newest_first)
    found = set(newest_first[:1])
    for number, period in rules:
        newest: dict[object, datetime] = {}
        for at in newest_first:
            newest.setdefault(period(at), at)
        found.update(list(newest.values())[:number])
    return found
