"""Days that words mean when the date of today is known: tomorrow, in three days, last month, 下周五.

Every phrase gives a range of days; a closed form (tomorrow, two weeks ago) gives a single day. Words that can be read
in two ways give both; nothing else is guessed. Every pattern is linear.
"""

import calendar
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date, timedelta
from itertools import islice
from typing import NamedTuple

from annotator.core.provenance.dates_in_text import Date
from annotator.core.provenance.number_words import Span, count_of

#: Phrases that are read in one text.
MAX_PHRASES = 200
_COUNT = (
    r"(?P<count>\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen"
    r"|twenty|thirty|sixty|ninety|a couple of|couple of|a few|few|several)"
)
_UNIT = r"(?P<unit>days?|nights?|weeks?|fortnights?|months?|quarters?|years?)"
_HAN_COUNT = r"(?P<count>\d{1,3}|[一二两三四五六七八九十]{1,3}|几)"
_HAN_UNIT = r"(?P<unit>天|日|晚|周|个?星期|个?礼拜|个月|季度|年)"
_STEP = r"(?P<step>this|the current|current|next|coming|following|upcoming|last|past|previous)"
_HAN_STEP = "(?P<step>本|这个?|下个?|上个?)"
_WEEKDAY = "(?P<day>monday|tuesday|wednesday|thursday|friday|saturday|sunday|mon|tues?|wed|thurs?|fri|sat|sun)"
#: Unit → its days and months.
_SIZES = {"day": (1, 0), "night": (1, 0), "week": (7, 0), "fortnight": (14, 0), "month": (0, 1), "quarter": (0, 3)}
_SIZES |= {"year": (0, 12), "天": (1, 0), "日": (1, 0), "晚": (1, 0), "周": (7, 0), "星期": (7, 0), "礼拜": (7, 0)}
_SIZES |= {"月": (0, 1), "季": (0, 3), "季度": (0, 3), "年": (0, 12)}
_VAGUE = {"couple of": (2, 3), "a couple of": (2, 3), "a few": (2, 9), "few": (2, 9), "several": (2, 12), "几": (2, 9)}
_WEEKDAYS = {
    **{name: i for i, name in enumerate(("mon", "tue", "wed", "thu", "fri", "sat", "sun"))},
    **{sign: i for i, sign in enumerate("一二三四五六日")},
    "天": 6,
}
_STEPS = {"this": 0, "the": 0, "current": 0, "the current": 0, "next": 1, "coming": 1, "following": 1, "upcoming": 1}
_STEPS |= {"last": -1, "past": -1, "previous": -1, "本": 0, "这": 0, "这个": 0, "今": 0, "当": 0, "下": 1, "下个": 1}
_STEPS |= {"明": 1, "后": 2, "上": -1, "上个": -1, "去": -1, "前": -2}
_SINGLE = {
    0: r"(?<!from )\b(?:today|tonight|this (?:morning|afternoon|evening)|right now|now)\b|今天|今晚|今日|今早|现在",
    1: r"(?<!day after )\btomorrow\b|明天|明日|明早|明晚",
    2: r"\bday after tomorrow\b|(?<!大)后天",
    3: "大后天",
    -1: r"(?<!day before )\byesterday\b|\blast night\b|昨天|昨日|昨晚",
    -2: r"\bday before yesterday\b|前天",
}
#: (month, day) of days that have the same date every year.
_FEASTS = {
    (1, 1): r"\bnew year['’]?s day\b|元旦",
    (2, 14): r"\bvalentine['’]?s day\b|情人节",
    (5, 1): "劳动节",
    (7, 4): r"\bindependence day\b",
    (10, 1): "国庆",
    (10, 31): r"\bhalloween\b|万圣节",
    (12, 24): r"\bchristmas eve\b|平安夜",
    (12, 25): r"\bchristmas\b(?! eve)|圣诞节",
    (12, 31): r"\bnew year['’]?s eve\b|跨年夜",
}


class Meant(NamedTuple):
    """A phrase and the days from ``first`` to ``last`` that it may mean."""

    span: Span
    first: date
    last: date


Reading = Callable[[re.Match[str], date], Iterator[tuple[date, date]]]


def days_meant(folded: str, today: date, taken: Iterable[Span] = ()) -> list[Meant]:
    """Return what the words for days in a folded text mean, seen from ``today``; at most MAX_PHRASES.

    ``taken``: spans of dates that the text states itself; “7th” in “July 7th” is no day of this month.
    """
    found: list[Meant] = []
    ends = {end for _, end in taken}
    for pattern, reading in _PATTERNS:
        for match in pattern.finditer(folded):
            if match.end() in ends:
                continue
            try:
                found += [Meant(match.span(), *days) for days in reading(match, today)]
            except (ValueError, OverflowError):
                # A day beyond the calendar.
                continue
            if len(found) >= MAX_PHRASES:
                return found
    return found


def stays(folded: str, starts: list[tuple[date, Span]]) -> list[Meant]:
    """Return the last days of the stays in a folded text: each start plus each “three nights”.

    A stay may also be counted with its first day.
    """
    found = []
    for match in islice(_STAY.finditer(folded), 8):
        for many in _counts(match["count"] or match["han"]):
            for start, span in starts[:25]:
                if span[0] <= match.start() < span[1]:
                    continue
                try:
                    end = _moved(start, many, match["unit"] or match["han_unit"])
                    found.append(Meant(match.span(), end - timedelta(days=1), end))
                except (ValueError, OverflowError):
                    continue
    return found


def day_of(one: Date) -> tuple[date, date] | None:
    """Return the first and last day of a date with a year; None for others. A month has many days."""
    year, month, day = one
    try:
        if year is None:
            return None
        return date(year, month, day or 1), date(year, month, day or calendar.monthrange(year, month)[1])
    except ValueError:
        return None


def _single(days: int) -> Reading:
    def read(_: re.Match[str], today: date) -> Iterator[tuple[date, date]]:
        yield (_plus(today, days),) * 2

    return read


def _around(first: int, last: int) -> Reading:
    def read(_: re.Match[str], today: date) -> Iterator[tuple[date, date]]:
        yield _plus(today, first), _plus(today, last)

    return read


def _later(sign: int) -> Reading:
    """Read “in three days” (1) or “three days ago” (−1): a single day."""

    def read(match: re.Match[str], today: date) -> Iterator[tuple[date, date]]:
        for many in _counts(match["count"]):
            yield (_moved(today, sign * many, match["unit"]),) * 2

    return read


def _until(sign: int) -> Reading:
    """Read “the next three days” (1) or “the last three days” (−1): everything between today and then."""

    def read(match: re.Match[str], today: date) -> Iterator[tuple[date, date]]:
        counts = _counts(match["count"]) if "count" in match.groupdict() else (8,)
        if counts:
            then = _moved(today, sign * max(counts), match["unit"])
            yield min(today, then), max(today, then)

    return read


def _calendar(match: re.Match[str], today: date) -> Iterator[tuple[date, date]]:
    """Read “next week”, “this month”, 去年: that week, month or year, and the same day in it."""
    step, unit = _STEPS[match["step"]], _bare(match["unit"])
    yield _period(today, unit, step)
    if step:
        then = _moved(today, step, unit)
        # “The last month” may also be the days up to now.
        yield then, today if step < 0 and _SIZES[unit][1] < 12 else then


def _weekday(match: re.Match[str], today: date) -> Iterator[tuple[date, date]]:
    """Read “Friday”, “next Friday”, 下周五: the days of a week around, or of two in the direction that it says."""
    step, wanted = _STEPS.get(match["step"] or "", 0), _WEEKDAYS[match["day"][:3]]
    for distance in range(-14, 15):
        day = _plus(today, distance)
        if day.weekday() == wanted and (distance * step > 0 if step else abs(distance) < 8):
            yield day, day


def _weekend(match: re.Match[str], today: date) -> Iterator[tuple[date, date]]:
    """Read “the weekend”: Friday to Sunday of this week; “next weekend” may be this one."""
    step = _STEPS.get(match["step"] or match["han"] or "", 0)
    friday = _plus(today, 4 - today.weekday())
    for weeks in (0, 1) if step > 0 else (-1,) if step < 0 else (0,):
        yield _plus(friday, 7 * weeks), _plus(friday, 7 * weeks + 2)


def _edge(match: re.Match[str], today: date) -> Iterator[tuple[date, date]]:
    """Read “the end of next month”, 年初: its first or last day; of a week its last three."""
    unit = _bare(match["unit"])
    first, last = _period(today, unit, _STEPS.get(match["step"] or "", 0))
    if match["edge"] in ("end", "last day", "底", "末"):
        yield last - timedelta(days=2 if _SIZES[unit][0] else 0), last
    elif match["edge"] in ("middle", "中"):
        middle = first + (last - first) / 2
        yield middle - timedelta(days=3), middle + timedelta(days=3)
    else:
        yield first, first


def _on_day(match: re.Match[str], today: date) -> Iterator[tuple[date, date]]:
    """Read “the 15th”, 15号: of this month, the one before or the one after."""
    for months in (-1, 0, 1):
        first, last = _period(today, "month", months)
        if int(match["day"]) <= last.day:
            yield (first.replace(day=int(match["day"])),) * 2


def _feast(month: int, day: int) -> Reading:
    def read(_: re.Match[str], today: date) -> Iterator[tuple[date, date]]:
        for year in (today.year - 1, today.year, today.year + 1):
            if abs((date(year, month, day) - today).days) < 366:
                yield (date(year, month, day),) * 2

    return read


def _plus(day: date, days: int) -> date:
    return day + timedelta(days=days)


def _bare(unit: str) -> str:
    return unit.removeprefix("个") if not unit.isascii() else unit.rstrip("s")


def _counts(text: str) -> tuple[int, ...]:
    if text in _VAGUE:
        first, last = _VAGUE[text]
        return tuple(range(first, last + 1))
    many = count_of(text)
    return (int(many),) if many is not None and many == int(many) else ()


def _moved(day: date, many: int, unit: str) -> date:
    """Return the day so many units later; the last day of the month if it has no such day."""
    days, months = _SIZES[_bare(unit)]
    if days:
        return day + timedelta(days=days * many)
    at = day.year * 12 + day.month - 1 + months * many
    year, month = divmod(at, 12)
    return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


def _period(today: date, unit: str, step: int) -> tuple[date, date]:
    """Return the first and last day of the week, month, quarter or year so many steps away."""
    days, months = _SIZES[unit]
    if days:
        monday = today - timedelta(days=today.weekday()) + timedelta(days=7 * step)
        return (monday, monday + timedelta(days=6)) if days > 1 else (_plus(today, step),) * 2
    start = today.replace(day=1, month=(today.month - 1) // months * months + 1)
    first = _moved(start, step, unit)
    return first, _moved(first, 1, unit) - timedelta(days=1)


_AHEAD, _BEHIND = "next|coming|following|upcoming", "last|past|previous|recent|preceding"
#: Words before or after a length that make it more than a length.
_NOT_BEHIND = "".join(f"(?<!{word} )" for word in ("in", "after", "within", *_AHEAD.split("|"), *_BEHIND.split("|")))
_NOT_AHEAD = r"(?![’']| (?:ago|before|back|earlier|from|later|hence|after|out|ahead|old)\b)"
_HAN_NOT_BEHIND = "".join(f"(?<!{word})" for word in ("过去", "最近", "近", "前", "这", "第"))
_EDGE = r"(?P<edge>end|start|beginning|first day|last day|middle) of (?:the )?"

_PATTERNS: list[tuple[re.Pattern[str], Reading]] = [
    (re.compile(words), reading)
    for words, reading in (
        *((words, _single(days)) for days, words in _SINGLE.items()),
        *((words, _feast(*day)) for day, words in _FEASTS.items()),
        (rf"\b(?:in|after) {_COUNT}[ -]{_UNIT}\b(?! ago)", _later(1)),
        (rf"\b{_COUNT} {_UNIT} (?:from (?:now|today)|later|hence|out|ahead)\b", _later(1)),
        (rf"\b{_COUNT} {_UNIT} (?:ago|before|back|earlier)\b", _later(-1)),
        (rf"{_HAN_COUNT}{_HAN_UNIT}(?:之后|以后|后)", _later(1)),
        (rf"{_HAN_COUNT}{_HAN_UNIT}(?:之前|以前|前)", _later(-1)),
        (rf"\b(?:{_AHEAD}|within) {_COUNT} {_UNIT}\b", _until(1)),
        (rf"\b(?:{_BEHIND}) {_COUNT} {_UNIT}\b", _until(-1)),
        (rf"\b(?:{_AHEAD}) (?P<unit>days|weeks|months|years)\b", _until(1)),
        (rf"\b(?:{_BEHIND}) (?P<unit>days|weeks|months|years)\b", _until(-1)),
        (rf"(?:未来|接下来|今后|之后|以后){_HAN_COUNT}{_HAN_UNIT}", _until(1)),
        (rf"(?:过去|最近|近|前|这){_HAN_COUNT}{_HAN_UNIT}", _until(-1)),
        # A length alone counts from today: a five-day forecast, 三天的天气.
        (rf"{_NOT_BEHIND}\b{_COUNT}[ -](?P<unit>days?|nights?|weeks?|fortnights?|months?)\b{_NOT_AHEAD}", _until(1)),
        (rf"{_HAN_NOT_BEHIND}{_HAN_COUNT}(?P<unit>天|晚|周|个?星期|个?礼拜|个月)(?![之以]?[前后])", _until(1)),
        (rf"\b{_STEP} (?P<unit>week|month|quarter|year)\b", _calendar),
        (r"\b(?:of|for|in|during) (?P<step>the) (?P<unit>week|month|quarter|year)\b", _calendar),
        (rf"{_HAN_STEP}(?P<unit>周|星期|礼拜|月|季度)(?![一二三四五六日天底初末中])", _calendar),
        (r"(?P<step>今|明|去|前|后|当)(?P<unit>年)(?![底初末中])", _calendar),
        (r"\bweekly\b|每周", _around(-7, 7)),
        (r"\bmonthly\b|月度", _around(-62, 31)),
        (r"\bquarterly\b", _around(-184, 92)),
        (r"\bannual(?:ly)?\b|\byearly\b|年度", _around(-730, 366)),
        (r"\b(?:recent|recently|lately|latest)\b|最近|近期|近来", _around(-92, 0)),
        (r"\bsoon\b|\bupcoming\b|即将|近日", _around(0, 92)),
        (rf"\b(?:{_STEP} )?{_WEEKDAY}s?\b", _weekday),
        (rf"{_HAN_STEP}?(?:周|星期|礼拜)(?P<day>[一二三四五六日天])", _weekday),
        (rf"\b(?:{_STEP} )?weekends?\b|(?P<han>本|这个?|下个?|上个?)?周末", _weekend),
        (rf"\b{_EDGE}(?:{_STEP} )?(?P<unit>week|month|quarter|year)\b", _edge),
        ("(?P<step>本|这个?|下个?|上个?|今|明|去)?(?P<unit>月|年|季度?|周)(?P<edge>底|末|初|中)", _edge),
        (r"(?<![\d.,])\b(?P<day>[12]?\d|3[01])(?:st|nd|rd|th)\b", _on_day),
        (r"(?<![\d月])(?P<day>[12]?\d|3[01])[号日](?!\d)", _on_day),
    )
]
_STAY = re.compile(
    rf"\b{_COUNT}[ -]{_UNIT}\b|(?P<han>\d{{1,3}}|[一二两三四五六七八九十]{{1,3}})(?P<han_unit>天|晚|周|个月|年)"
)
