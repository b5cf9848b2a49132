"""Find dates and times of day in running text, as people write them. Every pattern here is linear."""

import re
from collections.abc import Iterator
from functools import lru_cache

from annotator.core.provenance.number_words import ORDINAL, Span, han_number, ordinal

#: (year, month, day); None for a year or a day that is not given.
Date = tuple[int | None, int, int | None]
#: (hour, minute)
Time = tuple[int, int]

_MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november"),
    "december",
)
_MONTHS = {short: i for i, name in enumerate(_MONTH_NAMES, 1) for short in (name, name[:3])} | {"sept": 9}
_TO = r"\s?(?:-|–|to|and|or|until|till|through)\s?(?:the )?"
_RUN = re.compile(r"\d[\d/.\-]{4,24}")
_YEAR_FIRST = re.compile(r"(\d{4})([-/.])(\d{1,2})(?:\2(\d{1,2}))?(?!\d)")
_YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?!\d)")
_MONTH_YEAR = re.compile(r"(\d{1,2})/((?:19|20)\d\d)(?![\d/])")
_FLAT = re.compile(r"((?:19|20)\d\d)(\d\d)(\d\d)(?!\d)")
_MONTH = re.compile(rf"(?:{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b")
_BEFORE_MONTH = re.compile(
    rf"(?:(?<!\d)(\d{{1,2}})(?:st|nd|rd|th)?{_TO})?(?<!\d)(\d{{1,2}})(?:st|nd|rd|th)?\s{{0,2}}(?:day )?(?:of )?$"
)
_SPELT_BEFORE_MONTH = re.compile(rf"\b({ORDINAL})\s(?:day )?(?:of )?$")
_SPELT_AFTER_MONTH = re.compile(rf"\s(?:the )?({ORDINAL})\b(?:,?\s{{0,2}}(\d{{4}})(?!\d))?")
_AFTER_MONTH = re.compile(
    rf"\.?,?\s{{1,2}}(?:the )?(?:(\d{{1,2}})(?!\d)(?:st|nd|rd|th)?(?:{_TO}(\d{{1,2}})(?!\d)(?:st|nd|rd|th)?)?)?"
    r"(?:,?\s{0,2}(\d{4})(?!\d))?"
)
_HAN_DATE = re.compile(
    r"(?:(\d{4})年)?(\d{1,2}|[一二三四五六七八九十]{1,2})月"
    r"(?:(\d{1,2}|[一二三四五六七八九十]{1,3})[日号]?(?:[到至\-–~—](\d{1,2})[日号])?)?"
)
#: The characters before a month's name that may contain its day.
_REACH = 28

_TIMES = re.compile(
    r"\d{1,2}(?:[:：](?P<m>\d{2})(?!\d)(?::\d{2}(?!\d))?(?:\s?(?P<half>[ap])\.?m\b)?|\s?(?P<half12>[ap])\.?m\b"
    r"|\.(?P<m12>\d{2})\s?(?P<half24>[ap])\.?m\b|\s?o['’]clock\b)"
)
_HAN_TIME = re.compile(
    r"(上午|早上|下午|晚上|中午|凌晨|清晨|傍晚|夜里|今晚|明晚|晚)?(\d{1,2}|[一二三四五六七八九十两]{1,3})[点时]"
    r"(?:(\d{1,2}|[一二三四五六七八九十]{1,3}(?=分)|[二三四五]?十[一二三四五六七八九]?|[零〇][一二三四五六七八九])分?"
    r"|(半)|([一三])刻)?"
)
_CLOCK = {
    word: hour
    for hour, word in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), 1
    )
}
_HOUR = rf"(?:{'|'.join(_CLOCK)}|1\d|2[0-3]|\d)"
_DAYTIME = r"(?:[ap]\.?m\b\.?|(?:in the |this |tomorrow )?(?:morning|afternoon|evening)\b|at night\b|tonight\b)"
#: Half past seven, quarter to nine, seven in the evening, eight pm, ten o'clock.
_SPOKEN = re.compile(
    rf"\b(?:(?P<past>(?:a )?quarter|half|five|ten|twenty|twenty-five|[1-5]?\d)(?: minutes?)?"
    rf" (?P<way>past|after|to|before) )?(?P<hour>{_HOUR})(?::(?P<minute>[0-5]\d))?(?![\w:]|[.,]\d)"
    rf"(?P<clock> ?o['’]clock\b)?(?: (?P<half>{_DAYTIME}))?"
)
_MINUTES = {"half": 30, "quarter": 15, "five": 5, "ten": 10, "twenty": 20, "twenty-five": 25}
_LATER = frozenset({"下午", "晚上", "傍晚", "夜里", "今晚", "明晚", "晚"})
_NOON = (re.compile(r"\b(?:noon|midday)\b"), 12), (re.compile(r"\bmidnight\b"), 0)


def may_hold_date(folded: str, date: Date) -> bool:
    """Return whether a folded text may have a date in any form: a cheap test that is never wrongly False."""
    _, month, day = date
    if "月" in folded or day is None:
        return True
    if _MONTH_NAMES[month - 1][:3] in folded:
        return True
    if str(day) not in folded:
        return False
    return any(digits in folded for digits in _in_digits(month, day))


@lru_cache(maxsize=512)
def _in_digits(month: int, day: int) -> tuple[str, ...]:
    """Return whether digits can be a date: month and day side by side, in either order."""
    months, days = {str(month), f"{month:02}"}, {str(day), f"{day:02}"}
    pairs = [pair for one in months for other in days for pair in ((one, other), (other, one))]
    return (f"{month:02}{day:02}", *sorted({f"{one}{sign}{other}" for one, other in pairs for sign in "-/."}))


def dates_in(folded: str) -> list[tuple[Date, Span]]:
    """Return every date in a folded text. Ambiguous dates (day/month or month/day) are returned both ways."""
    found = [
        ((year, month, day), span)
        for (year, month, day), span in (*_dates_in_digits(folded), *_dates_by_month(folded), *_dates_in_han(folded))
        if 1 <= month <= 12 and (day is None or 1 <= day <= 31)
    ]
    found.sort(key=lambda one: one[1])
    return found


def _dates_in_digits(folded: str) -> Iterator[tuple[Date, Span]]:
    for run in _RUN.finditer(folded):
        start, text = run.start(), run[0]
        if start and (folded[start - 1].isdecimal() or folded[start - 1] in "_"):
            continue
        match = _YEAR_FIRST.match(text)
        if match:
            if match[4] or match[2] == "-":
                yield (
                    (int(match[1]), int(match[3]), int(match[4]) if match[4] else None),
                    (start, start + match.end()),
                )
            continue
        match = _YEAR_LAST.match(text)
        if match:
            first, second, year = int(match[1]), int(match[3]), int(match[4])
            year += 2000 if year < 100 else 0
            span = (start, start + match.end())
            yield (year, second, first), span
            if first != second:
                yield (year, first, second), span
            continue
        match = _MONTH_YEAR.match(text)
        if match:
            yield (int(match[2]), int(match[1]), None), (start, start + match.end())
            continue
        match = _FLAT.match(text)
        if match and not (start and folded[start - 1].isalpha() and folded[start - 1].isascii()):
            yield (int(match[1]), int(match[2]), int(match[3])), (start, start + match.end())


def _dates_by_month(folded: str) -> Iterator[tuple[Date, Span]]:
    for name in _MONTH.finditer(folded):
        start, end = name.span()
        if start and folded[start - 1].isascii() and folded[start - 1].isalpha():
            continue
        month = _MONTHS[name[0]]
        from_ = max(0, start - _REACH)
        before = _BEFORE_MONTH.search(folded[from_:start])
        after = _AFTER_MONTH.match(folded, end)
        year = _year(after[3]) if after else None
        if before and after and not after[1]:
            days, span = (before[1], before[2]), (from_ + before.start(), after.end() if year else end)
        elif before:
            days, span = (before[1], before[2]), (from_ + before.start(), end)
        elif after and after[1]:
            days, span = (after[1], after[2]), (start, after.end())
        elif spelt := _SPELT_AFTER_MONTH.match(folded, end):
            yield (_year(spelt[2]), month, ordinal(spelt[1])), (start, spelt.end())
            continue
        elif spelt := _SPELT_BEFORE_MONTH.search(folded[from_:start]):
            yield (year, month, ordinal(spelt[1])), (from_ + spelt.start(), after.end() if after and year else end)
            continue
        elif year:
            yield (year, month, None), (start, after.end() if after else end)
            continue
        else:
            continue
        for day in days:
            if day:
                yield (year, month, int(day)), span


def _dates_in_han(folded: str) -> Iterator[tuple[Date, Span]]:
    if "月" not in folded:
        return
    for match in _HAN_DATE.finditer(folded):
        year, month = _year(match[1]), _count(match[2])
        if match[3] or not match[4]:
            yield (year, month, _count(match[3]) if match[3] else None), match.span()
        if match[4]:
            yield (year, month, _count(match[4])), match.span()


def _year(text: str | None) -> int | None:
    return int(text) if text else None


def _count(text: str) -> int:
    return int(text) if text.isdecimal() else han_number(text) or 0


def times_in(folded: str) -> list[tuple[Time, Span]]:
    """Return every time of day in a folded text."""
    found: list[tuple[Time, Span]] = []
    for match in _TIMES.finditer(folded):
        start = match.start()
        if start and (folded[start - 1].isdecimal() or folded[start - 1] in ":."):
            continue
        hour = int(folded[start : start + 2]) if folded[start + 1].isdecimal() else int(folded[start])
        half = match["half"] or match["half12"] or match["half24"]
        if half:
            hour = hour % 12 + (12 if half == "p" else 0)
        found.append(((hour, int(match["m"] or match["m12"] or 0)), match.span()))
    if "点" in folded or "时" in folded:
        for match in _HAN_TIME.finditer(folded):
            hour = _count(match[2])
            if match[1] in _LATER and hour < 12:
                hour += 12
            quarter = {"一": 15, "三": 45}.get(match[5], 0)
            found.append(((hour, 30 if match[4] else quarter or _count(match[3] or "0")), match.span()))
    found += _spoken(folded)
    found += [((hour, 0), noon.span()) for pattern, hour in _NOON if (noon := pattern.search(folded))]
    return [((hour % 24, minute), span) for (hour, minute), span in found if hour < 25 and minute < 60]


def _spoken(folded: str) -> Iterator[tuple[Time, Span]]:
    """Yield the times in words. Without a time of day, an hour up to twelve is both in the morning and after noon."""
    for said in _SPOKEN.finditer(folded):
        past, half = said["past"], said["half"] or ""
        if not (past or half or said["clock"]) or (past and said["minute"]):
            continue
        hour, minute = _CLOCK.get(said["hour"]) or int(said["hour"]), int(said["minute"] or 0)
        if past:
            word = past.removeprefix("a ")
            minutes = _MINUTES.get(word) or int(word)
            hour, minute = (hour - 1, 60 - minutes) if said["way"] in ("to", "before") else (hour, minutes)
        if not half:
            hours = [hour, hour + 12] if hour <= 12 else [hour]
        elif half[0] == "p" or half.endswith(("noon", "evening", "night")):
            hours = [hour + 12 if hour < 12 else hour]
        else:
            hours = [hour % 12 if hour == 12 else hour]
        for each in hours:
            yield (each % 24, minute % 60), said.span()
