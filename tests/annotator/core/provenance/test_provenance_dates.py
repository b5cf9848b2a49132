"""Days that follow from words, and days that no words give."""

from datetime import date
from typing import Any

import pytest

from annotator.core.provenance import Origin, trace
from annotator.core.provenance.relative_dates import days_meant
from tests.annotator.core.checks.check_cases import TOOLSET, call, document, task

#: A Wednesday.
TODAY = date(2026, 3, 4)


def meant(text: str) -> set[tuple[str, str]]:
    return {(f"{one.first:%m-%d}", f"{one.last:%m-%d}") for one in days_meant(text.lower(), TODAY)}


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("tomorrow", ["03-05"]),
        ("the day after tomorrow", ["03-06"]),
        ("大后天", ["03-07"]),
        ("the day before yesterday", ["03-02"]),
        ("in three days", ["03-07"]),
        ("a week from today", ["03-11"]),
        ("in a fortnight", ["03-18"]),
        ("in two months", ["05-04"]),
        ("12 days ago", ["02-20"]),
        ("a month ago", ["02-04"]),
        ("十天后", ["03-14"]),
        ("两周前", ["02-18"]),
        ("on Friday", ["02-27", "03-06"]),
        ("next Friday", ["03-06", "03-13"]),
        ("last Friday", ["02-20", "02-27"]),
        ("下周五", ["03-06", "03-13"]),
        ("the end of next month", ["04-04", "04-30"]),
        ("月底", ["03-31"]),
        ("the start of the year", ["01-01"]),
        ("the 15th", ["02-15", "03-15", "04-15"]),
        ("Christmas Eve", ["12-24"]),
    ],
)
def test_a_closed_form_means_single_days(text: str, days: list[str]) -> None:
    single = {first for first, last in meant(text) if first == last}
    assert single == set(days)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("this weekend", "03-06", "03-08"),
        ("next week", "03-09", "03-15"),
        ("last month", "02-01", "02-28"),
        ("this quarter", "01-01", "03-31"),
        ("本月", "03-01", "03-31"),
        ("the next three days", "03-04", "03-07"),
        ("the last 30 days", "02-02", "03-04"),
        ("过去7天", "02-25", "03-04"),
        ("a 5-day forecast", "03-04", "03-09"),
    ],
)
def test_other_words_mean_a_range(text: str, first: str, last: str) -> None:
    assert (first, last) in meant(text)


@pytest.mark.parametrize("text", ["every day", "I may go", "7月5日", "he is 30 years old", "第三天", "Saturn"])
def test_words_without_a_day_mean_none(text: str) -> None:
    assert meant(text) == set()


def origin(value: Any, message: str, env: str | None = "Today is 2026-03-04.") -> Origin:
    one = task("t1", None, None, call("s0", "searchHotels", city=value), message=message)
    (argument,) = trace(document(one, env_info=env), TOOLSET).tasks[0].calls[0].arguments
    return argument.origin


@pytest.mark.parametrize(
    ("value", "message", "origin_of_it"),
    [
        ("2026-03-07", "I leave in three days.", Origin.ENV_INFO),
        ("2026-03-06", "I leave in three days.", Origin.NOWHERE),
        ("2026-03-01", "I leave in three days.", Origin.NOWHERE),
        ("2026-03-20", "I run every day.", Origin.NOWHERE),
        # The year of a day without one is near.
        ("2026-07-05", "On July 5.", Origin.MESSAGE),
        ("2025-07-05", "On July 5.", Origin.MESSAGE),
        ("2023-07-05", "On July 5.", Origin.NOWHERE),
        ("2023-07-05", "On July 5, 2023.", Origin.MESSAGE),
        # The end of a stay.
        ("2026-07-08", "From July 5, three nights.", Origin.MESSAGE),
        ("2026-07-10", "From July 5, three nights.", Origin.NOWHERE),
        ("2026-03-08", "From tomorrow for 3 nights.", Origin.ENV_INFO),
        # Months and years.
        ("2026-04", "My bills of next month.", Origin.ENV_INFO),
        ("2026-06", "My bills of next month.", Origin.NOWHERE),
        (2025, "The report of last year.", Origin.ENV_INFO),
        (2024, "The report of last year.", Origin.NOWHERE),
        (2024, "My reports.", Origin.NOWHERE),
    ],
)
def test_a_day_is_one_that_words_give(value: Any, message: str, origin_of_it: Origin) -> None:
    assert origin(value, message) is origin_of_it


def test_without_a_date_of_today_a_day_may_follow_from_a_stay_only() -> None:
    assert origin("2026-07-08", "From July 5, three nights.", None) is Origin.MESSAGE
    assert origin("2026-07-10", "From July 5, three nights.", None) is Origin.UNKNOWN
