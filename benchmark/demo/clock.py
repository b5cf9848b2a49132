"""A clock for the demo, whose history covers three weeks.

Services take the time from Python or from the database. Inside ``using_clock`` both return the demo's time, so all rows
and hashes are as if people had worked for weeks.
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

#: The clock moves at each reading, so that no two times are equal.
_TICK = timedelta(milliseconds=5)


class Clock:
    """A clock that moves when it is advanced, and a little when it is read. It never moves back."""

    def __init__(self, moment: datetime) -> None:
        self.moment = moment

    def now(self) -> datetime:
        self.moment += _TICK
        return self.moment

    def advance(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)

    def move_to(self, day: date, hour: int, zone: ZoneInfo) -> None:
        """Move to an hour of a day, unless that is in the past."""
        self.moment = max(self.moment, datetime.combine(day, time(hour), zone))


def working_days(count: int, *, before: date) -> list[date]:
    """Return the last ``count`` days from Monday to Friday before a day, in order."""
    days: list[date] = []
    day = before
    while len(days) < count:
        day -= timedelta(days=1)
        if day.weekday() < 5:
            days.append(day)
    return days[::-1]


@contextmanager
def using_clock(clock: Clock) -> Iterator[None]:
    """Make every service in this process use the clock. Only for a process without other work."""

    class DemoDatetime(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return clock.now().astimezone(tz)  # type: ignore[return-value]

    def as_sql(self: Now, compiler: Any, connection: Any, **extra: Any) -> Any:
        return compiler.compile(Value(clock.now(), output_field=DateTimeField()))

    with ExitStack() as stack:
        # ``timezone.now`` is the default of many fields, so replace the function that it calls.
        stack.enter_context(patch.object(timezone, "datetime", DemoDatetime))
        for name in ("as_sql", "as_sqlite", "as_postgresql"):
            stack.enter_context(patch.object(Now, name, as_sql, create=True))
        # A compiled query would keep the time at which it was compiled.
        stack.enter_context(patch.object(compiled, "__call__", lambda query, *given: list(query.function(*given))))
        stack.enter_context(patch.object(compiled_update, "__call__", _update))
        yield


def _update(query: compiled_update[Any], *given: Any) -> int:
    rows, changes = query.function(*given)
    return rows.update(**changes)
