"""Find numbers in running text, as people write them.

Every pattern here is linear: repetitions are bounded, and the same characters match in only one way.
"""

import re
from typing import Any

from annotator.core.provenance.number_words import Span, has_words, written
from annotator.core.provenance.work_budget import PLACE, Work

#: Thousands separators; only non-breaking spaces.
_THOUSANDS = ",，\u00a0\u2009\u202f"
_APART = str.maketrans("", "", _THOUSANDS)
#: Digits that do not show the value directly: percentages, thousands, other decimal commas, trailing zeros.
_SCALED = re.compile(
    rf"\d(?:\s?(?:%|％|per ?cent|million|billion|thousand|k\b|m\b|mn\b|bn\b|千|万|亿)"
    rf"|[{_THOUSANDS}]\d{{3}}|\.\d{{0,11}}0(?!\d)|,\d{{1,2}}(?!\d))"
)
_POINTS = frozenset(".,")
_JOINTS = frozenset("-/:")
# Patterns begin with the digits themselves, so that the search skips text without digits; the text before them is
# checked afterwards.
_NUMBER = re.compile(
    rf"(\d{{1,3}}(?:[{_THOUSANDS}]\d{{3}}){{1,5}}(?!\d)(?:\.\d{{1,12}}(?!\d))?|\d{{1,18}}(?:\.\d{{1,12}})?(?!\d))"
    r"(?:\s?(%|％|percent\b|per cent\b|thousand\b|million\b|billion\b|k\b|m\b|mn\b|bn\b|千|万|亿))?"
)
_SCALES: dict[str, int] = {
    **{"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000, "k": 1_000, "m": 1_000_000},
    **{"mn": 1_000_000, "bn": 1_000_000_000},
    **{"千": 1_000, "万": 10_000, "亿": 100_000_000},
}
#: A decimal comma: 12,5 or 1.234,50.
_DECIMAL_COMMA = re.compile(r"(\d{1,3}(?:\.\d{3}){1,5}|\d{1,9}),(\d{1,2})(?![\d,])")
_MINUS = frozenset("-−")
#: Words of loss: after them, a number without a minus may be meant as one with it (“12 pairs were damaged”).
_LESS = re.compile(
    r"\b(?:minus|negative|below|under|less|fewer|reduc|decreas|lower|remov|damag|lost|lose|loss|broke|sold|sell|return"
    r"|deduct|subtract|withdr|spen[dt]|drop|down\b|off\b|west|south|debit|refund|missing|stolen|expired|discard|used)"
    r"|[负减扣退亏损少降]|零下|南纬|西经"
)
_WHOLE_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3}){1,5}|\d{1,18})(?:\.\d{1,12})?")


def number_of(value: Any) -> int | float | None:
    """Return the number that a JSON value is or contains ("1,000", "5.0"); None for other texts, also "00417"."""
    kind = type(value)
    if kind is int or kind is float:
        return _whole(value)
    if kind is not str or len(value) > 32 or _WHOLE_NUMBER.fullmatch(value) is None:
        return None
    digits = value.replace(",", "")
    plain = digits.lstrip("+-")
    if plain[0] == "0" and len(plain) > 1 and plain[1] != ".":
        return None
    return _whole(float(digits)) if "." in digits else int(digits)


def _whole(number: int | float) -> int | float:
    return int(number) if isinstance(number, float) and number.is_integer() and abs(number) < 2**53 else number


def plainly(number: int | float, folded: str, work: Work, most: int = 8) -> list[Span]:
    """Return the spans of a number in digits, as JSON writes it (a unit may follow).

    The minus of a negative number may be missing after a word of loss; −40 is never 40.
    """
    digits = str(abs(number))
    lessens = number < 0 and may_lessen(folded)
    found: list[Span] = []
    at = folded.find(digits)
    while at >= 0 and len(found) < most and work.spend(PLACE):
        end = at + len(digits)
        after = folded[end : end + 2]
        cut = after[:1].isdecimal() or (after[:1] in _POINTS and after[1:].isdecimal())
        signed = lessens or is_negative(folded, at) == (number < 0)
        if signed and not cut and not _goes_on(folded, at) and not _in_moment(folded, at, end):
            found.append((at, end))
        at = folded.find(digits, end)
    return found


def is_negative(folded: str, start: int) -> bool:
    """Return whether a minus is before the digits at ``start``: not a hyphen in a word, a range or a code."""
    if start and folded[start - 1] in "$€£¥":
        start -= 1
    return start > 0 and folded[start - 1] in _MINUS and not (start > 1 and folded[start - 2].isalnum())


def may_lessen(folded: str) -> bool:
    """Return whether a text has a word of loss, so that its numbers may be meant with a minus."""
    return _LESS.search(folded) is not None


def _in_moment(folded: str, start: int, end: int) -> bool:
    """Return whether digits are part of a date or a time of day."""
    before, after = folded[max(0, start - 1) : start], folded[end : end + 1]
    if before not in _JOINTS and after not in _JOINTS:
        return False
    left, right = start, end
    while left > 0 and start - left < 12 and (folded[left - 1].isdecimal() or folded[left - 1] in _JOINTS):
        left -= 1
    while right < len(folded) and right - end < 12 and (folded[right].isdecimal() or folded[right] in _JOINTS):
        right += 1
    run = folded[left:right].strip("-/:")
    return len(run) >= 8 or (":" in run and len(run) > end - start)


def has_other_figures(folded: str, *, words: bool) -> bool:
    """Return whether a text has numbers that are not digits as JSON writes them: percentages, thousands, other marks,
    trailing zeros, and with ``words`` also numbers in words.
    """
    return _SCALED.search(folded) is not None or (words and has_words(folded))


def numbers_in(folded: str, taken: list[Span], *, words: bool = True) -> dict[int | float, list[Span]]:
    """Return number → its spans in a folded text, except in the spans ``taken`` by dates and times.

    50 % is both 50 and 0.5. Thousands, 万 and the like are multiplied out and also kept as written. ``words``: also
    read written numbers (three, 三).
    """
    found: dict[int | float, list[Span]] = {}
    ends = sorted(taken)
    for match in _NUMBER.finditer(folded):
        start, end = match.span(1)
        if _goes_on(folded, start) or (ends and _inside(start, ends)):
            continue
        digits = match[1].translate(_APART)
        number: int | float = float(digits) if "." in digits else int(digits)
        if is_negative(folded, start):
            number = -number
        found.setdefault(number, []).append((start, end))
        unit = match[2]
        if unit:
            scale = _SCALES.get(unit)
            other = number * scale if scale else round(number / 100, 12)
            found.setdefault(other, []).append(match.span())
    for match in _DECIMAL_COMMA.finditer(folded):
        if not _goes_on(folded, match.start()):
            found.setdefault(float(f"{match[1].replace('.', '')}.{match[2]}"), []).append(match.span())
    if words:
        for number, span in written(folded):
            found.setdefault(number, []).append(span)
    return found


def _goes_on(folded: str, start: int) -> bool:
    """Return whether the digits at ``start`` continue a word or a longer number."""
    if not start:
        return False
    before = folded[start - 1]
    if before.isascii():
        return before.isalnum() or before == "_" or (before in ".," and start > 1 and folded[start - 2].isdecimal())
    return False


def _inside(start: int, spans: list[Span]) -> bool:
    low, high = 0, len(spans)
    while low < high:
        middle = (low + high) // 2
        if spans[middle][0] <= start:
            low = middle + 1
        else:
            high = middle
    return low > 0 and start < spans[low - 1][1]
