"""The time of the demo: three weeks pass while it is made.

Services write the time they are told by this machine or by the database. Within ``pretending`` both tell the demo's
time instead, so that everything they write, hashes included, is as it would be if people had worked for weeks.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any, Self
from unittest.mock import patch
from zoneinfo import ZoneInfo

from django.db.models import DateTimeField, Value
from django.db.models.functions import Now
from django.utils import timezone

from annotator.services.database.compiled import compiled, compiled_update

#: No two moments are the same: what comes later is seen to.
_TICK = timedelta(milliseconds=5)


class Clock:
    """A clock that moves when it is told to, and a little whenever it is read; never back."""

    def __init__(self, moment: datetime) -> None:
        self.moment = moment

    def read(self) -> datetime:
        self.moment += _TICK
        return self.moment

    def pass_by(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)

    def go_to(self, day: date, hour: int, zone: ZoneInfo) -> None:
        """Move on to that hour of a day; where it has passed already, nothing happens."""
        self.moment = max(self.moment, datetime.combine(day, time(hour), zone))


def working_days(count: int, *, before: date) -> list[date]:
    """The last ``count`` days from Monday to Friday before a day, in order."""
    days: list[date] = []
    day = before
    while len(days) < count:
        day -= timedelta(days=1)
        if day.weekday() < 5:
            days.append(day)
    return days[::-1]


@contextmanager
def pretending(clock: Clock) -> Iterator[None]:
    """Within it, every service of this process is told the clock's time. Only for a process that does nothing else."""

    class Told(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return clock.read().astimezone(tz)  # type: ignore[return-value]

    def as_sql(self: Now, compiler: Any, connection: Any, **extra: Any) -> Any:
        return compiler.compile(Value(clock.read(), output_field=DateTimeField()))

    with ExitStack() as stack:
        # ``timezone.now`` itself is the default of many fields; it is what it asks that is exchanged.
        stack.enter_context(patch.object(timezone, "datetime", Told))
        for name in ("as_sql", "as_sqlite", "as_postgresql"):
            stack.enter_context(patch.object(Now, name, as_sql, create=True))
        # A compiled query would keep the moment at which it was compiled.
        stack.enter_context(patch.object(compiled, "__call__", lambda query, *given: list(query.function(*given))))
        stack.enter_context(patch.object(compiled_update, "__call__", _update))
        yield


def _update(query: compiled_update[Any], *given: Any) -> int:
    rows, changes = query.function(*given)
    return rows.update(**changes)
