"""Find numbers in running text, as people write them.

Every pattern here is linear: repetitions are bounded, and the same characters match in only one way.
"""

import re
from collections.abc import Iterator
from typing import Any

from annotator.core.provenance.work_budget import PLACE, Work

Span = tuple[int, int]

#: Thousands separators; only non-breaking spaces.
_THOUSANDS = ",，\u00a0\u2009\u202f"
_APART = str.maketrans("", "", _THOUSANDS)
#: Digits that do not show the value directly: percentages, thousands, other decimal commas, trailing zeros.
_SCALED = re.compile(
    rf"\d(?:\s?(?:%|％|per ?cent|million|billion|thousand|k\b|千|万|亿)|[{_THOUSANDS}]\d{{3}}|\.\d{{0,11}}0(?!\d))"
)
_POINTS = frozenset(".,")
_JOINTS = frozenset("-/:")
# Patterns begin with the digits themselves, so that the search skips text without digits; the text before them is
# checked afterwards.
_NUMBER = re.compile(
    rf"(\d{{1,3}}(?:[{_THOUSANDS}]\d{{3}}){{1,5}}(?!\d)(?:\.\d{{1,12}}(?!\d))?|\d{{1,18}}(?:\.\d{{1,12}})?(?!\d))"
    r"(?:\s?(%|％|percent\b|per cent\b|thousand\b|million\b|billion\b|k\b|千|万|亿))?"
)
_SCALES: dict[str, int] = {
    **{"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000, "k": 1_000},
    **{"千": 1_000, "万": 10_000, "亿": 100_000_000},
}
_UNITS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORDS: dict[str, int | float] = {word: number for number, word in enumerate(_UNITS)}
_WORDS |= {word: 10 * number for number, word in enumerate(_TENS, 2)}
_WORDS |= {"hundred": 100, "dozen": 12, "half": 0.5, "twice": 2, "both": 2}
_SPELT: dict[int | float, list[str]] = {}
for _word, _number in _WORDS.items():
    _SPELT.setdefault(_number, []).append(_word)
_TO_NINETEEN = "|".join(sorted(_UNITS, key=len, reverse=True))
_BELOW_HUNDRED = rf"(?:(?:{'|'.join(_TENS)})(?:[ -](?:{'|'.join(_UNITS[1:10])})\b)?|{_TO_NINETEEN})"
_BELOW_THOUSAND = rf"(?:(?:(?:a|{_BELOW_HUNDRED})[ -])?hundred\b(?: (?:and )?{_BELOW_HUNDRED}\b)?|{_BELOW_HUNDRED}\b)"
_LARGE_WORDS = {"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_NUMBER_WORD = re.compile(
    rf"(?:a|{_BELOW_THOUSAND})[ -](?:{'|'.join(_LARGE_WORDS)})\b(?:,? (?:and )?{_BELOW_THOUSAND})?"
    rf"|{_BELOW_THOUSAND}|(?:dozen|half|twice|both)\b"
)
_HAN_DIGITS = {**{sign: value for value, sign in enumerate("零一二三四五六七八九")}, "〇": 0, "两": 2}
_HAN_SIGNS = ("零〇", "一", "二两", "三", "四", "五", "六", "七", "八", "九")
_HAN_SCALES = {"十": 10, "百": 100, "千": 1_000, "万": 10_000, "亿": 100_000_000}
_HAN = re.compile(r"[零〇一二两三四五六七八九十百千万亿]{1,12}")
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
    """Return the spans of a number in digits, as JSON writes it (a unit may follow, a sign may be missing)."""
    digits = str(abs(number))
    found: list[Span] = []
    at = folded.find(digits)
    while at >= 0 and len(found) < most and work.spend(PLACE):
        end = at + len(digits)
        after = folded[end : end + 2]
        cut = after[:1].isdecimal() or (after[:1] in _POINTS and after[1:].isdecimal())
        if not cut and not _goes_on(folded, at) and not _in_moment(folded, at, end):
            found.append((at, end))
        at = folded.find(digits, end)
    return found


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


def has_scaled(folded: str) -> bool:
    """Return whether a text has digits that stand for another number: percentages, thousands, trailing zeros."""
    return _SCALED.search(folded) is not None


def may_be_spelt(number: int | float, folded: str) -> bool:
    """Return whether a text may have a number as a word. May be wrongly True, but never wrongly False."""
    if number != int(number):
        return "half" in folded
    size = abs(int(number))
    if not folded.isascii():
        signs = _HAN_SIGNS[size] if size < 10 else "十百千万亿〇零一二三四五六七八九"
        if any(sign in folded for sign in signs):
            return True
    if size > 100:
        return "hundred" in folded or any(word in folded for word in _LARGE_WORDS)
    if size > 20 and size % 10:
        return _TENS[size // 10 - 2] in folded
    return any(word in folded for word in _SPELT.get(size, ()))


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
        found.setdefault(number, []).append((start, end))
        unit = match[2]
        if unit:
            scale = _SCALES.get(unit)
            other = number * scale if scale else round(number / 100, 12)
            found.setdefault(other, []).append(match.span())
    if words:
        for written, span in _written(folded):
            found.setdefault(written, []).append(span)
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


def _written(folded: str) -> Iterator[tuple[int | float, Span]]:
    for match in _NUMBER_WORD.finditer(folded):
        start = match.start()
        if start and folded[start - 1].isalnum() and folded[start - 1].isascii():
            continue
        yield _spelt(match[0]), match.span()
    if not folded.isascii():
        for match in _HAN.finditer(folded):
            han = han_number(match[0])
            if han is not None:
                yield han, match.span()


def _spelt(words: str) -> int | float:
    total: int | float = 0
    section: int | float = 0
    for word in re.split("[ ,-]+", words):
        if word == "hundred":
            section = (section or 1) * 100
        elif word in _LARGE_WORDS:
            total, section = total + (section or 1) * _LARGE_WORDS[word], 0
        elif word not in ("a", "and"):
            section += _WORDS[word]
    return total + section


def count_of(text: str) -> int | float | None:
    """Return the number that a folded count is: digits, “a”, “three”, 三; None if it is none."""
    if text.isdecimal():
        return int(text)
    if text in ("a", "an"):
        return 1
    return _WORDS.get(text) if text.isascii() else han_number(text)


def han_number(text: str) -> int | None:
    """Return the value of Chinese numerals, or None. 一万五 is 15,000, 一万零五 is 10,005."""
    if all(sign in _HAN_DIGITS for sign in text):
        return int("".join(str(_HAN_DIGITS[sign]) for sign in text))
    total = section = digit = 0
    scale = 1
    for sign in text:
        if sign in _HAN_DIGITS:
            digit = _HAN_DIGITS[sign]
            scale = scale if digit else 1
            continue
        scale = _HAN_SCALES[sign]
        if sign == "亿":
            total, section = (total + section + digit or 1) * scale, 0
        elif sign == "万":
            total, section = total + (section + digit or 1) * scale, 0
        else:
            section += (digit or 1) * scale
        digit = 0
    return total + section + digit * (scale // 10 if scale > 10 else 1)
