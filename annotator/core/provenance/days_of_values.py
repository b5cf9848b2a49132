"""The days that argument values name, and today's date in env_info."""

from collections.abc import Iterator
from datetime import date
from itertools import islice

from annotator.core.provenance.number_words import Span
from annotator.core.provenance.relative_dates import day_of
from annotator.core.provenance.scope import SearchTarget, TaskScope, text_of
from annotator.core.provenance.value_forms import Forms

#: “July 5” is a day within this many days of today; with another year, the text does not give it.
_NEAR = 366
#: Dates of env_info that may be today's.
_MOST_TODAYS = 20


def date_of(year: int, month: int, day: int | None) -> date | None:
    """Return a day; None if there is no such day."""
    whole = day_of((year, month, day)) if day else None
    return whole[0] if whole else None


def days_named(forms: Forms) -> tuple[date, date] | None:
    """Return the first and last day that a value names: of a date, a month or a year."""
    if forms.dates:
        return day_of(forms.dates[0])
    year = forms.number
    return (date(year, 1, 1), date(year, 12, 31)) if type(year) is int and 1900 < year < 2100 else None


def todays(task: TaskScope) -> Iterator[tuple[date, SearchTarget, Span]]:
    """Yield the first dates of env_info, of which one is today's, and where they are."""
    dates = ((day_of(today), target, span) for target in task.env for today, span in text_of(target).dates)
    for days, target, span in islice(dates, _MOST_TODAYS):
        if days is not None:
            yield days[0], target, span


def near_today(task: TaskScope, forms: Forms) -> Forms:
    """Return the forms of a date so that it is also found without its year, if it is near the dates of env_info."""
    days = days_named(forms) if forms.dates else None
    distances = [abs((days[0] - today).days) for today, _, _ in todays(task)] if days else []
    return forms if not distances or min(distances) <= _NEAR else forms.with_year()
