"""What people infer from the words of a user in ways that tables and units do not cover: an abbreviation of a name, a
date whose parts are said apart, a number that is computed from two others or rounded.

Each is only tried when the value itself is found nowhere, and reads a bounded number of names or numbers.
"""

import calendar
import re
from collections.abc import Iterable, Iterator
from itertools import islice

from annotator.core.provenance.dates_in_text import Date
from annotator.core.provenance.number_words import ORDINAL_NAMES, Span
from annotator.core.provenance.quantities import is_computable

_CODE = re.compile(r"[A-Z]{2,4}")
#: Up to four capitalised words.
_NAME = re.compile(r"\b[A-Z][^\W\d_]+(?:[ '’-][A-Z][^\W\d_]+){0,3}")
_WORD = re.compile(r"[^\W\d_]+")
#: Names that are read in one text, and their longest length.
MAX_NAMES, _LONGEST = 50, 40
_SENTENCE_ENDS = tuple('.!?:;\n"“‘(')

_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_MONTHS |= {ORDINAL_NAMES[number]: number for number in range(1, 13)}
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_MONTH = re.compile(
    rf"\b(?:(?P<name>{'|'.join(name.lower() for name in calendar.month_name if name)})"
    rf"|(?P<nth>{'|'.join(ORDINAL_NAMES[1:13])}) month)\b"
)
_DAY = re.compile(r"(?<![\w.,/-])([12]?\d|3[01])(?:st|nd|rd|th)\b(?! (?:month|century|floor)\b)")
_PAIR = re.compile(r"(?<![\w/.-])(\d{1,2})/(\d{1,2})(?![\w/])")
_ROUNDING = re.compile(
    r"\b(?:nearest (?:integer|whole)|integers?|whole numbers?|rounded)\b"
    r"|\bround (?:it|them|that|up|down|off|to|when|if)\b|取整|四舍五入|整数"
)
_TIMES = {
    2: re.compile(r"\b(?:doubled?|twice|two times)\b|两倍|翻倍|加倍"),
    3: re.compile(r"\b(?:tripled?|three times)\b|三倍"),
}
#: A number that follows from any two others needs this many figures, else chance finds a pair.
_FIGURES = 4
#: Results are the same if they differ by less than half a cent.
_CENT = 0.005


def is_code(value: object) -> bool:
    """Return whether a value is two to four capitals, as abbreviations of names are."""
    return isinstance(value, str) and _CODE.fullmatch(value) is not None


def is_initials(code: str, raw: str) -> Span | None:
    """Return the name in a text of which the words begin with the letters of a code: New Hope → NH."""
    return next((span for words, span in _names(raw) if "".join(word[0] for word in words) == code), None)


def abbreviated(code: str, raw: str) -> Span | None:
    """Return the capitalised name in a text that a code abbreviates: Rivermist → RMS.

    The code begins with the first letter of a word of the name, and its other letters follow in the rest of the name in
    this order. Two letters must be the initials of two words, because two letters are found in too many names.
    """
    for words, span in _names(raw):
        for at, word in enumerate(words):
            if word[0] != code[0]:
                continue
            if len(code) > 2:
                rest = iter("".join(words[at:]).lower())
                if all(letter in rest for letter in code.lower()):
                    return span
            elif [other[0] for other in words[at : at + 2]] == list(code):
                return span
    return None


def _names(raw: str) -> Iterator[tuple[list[str], Span]]:
    """Yield the words of the first names in a text. The first word of a sentence is capitalised whatever it is."""
    for match in islice(_NAME.finditer(raw), MAX_NAMES):
        start, end = match.span()
        if end - start > _LONGEST:
            continue
        words = list(_WORD.finditer(raw, start, end))
        before = raw[max(0, start - 3) : start].rstrip(" ")
        if not before or before.endswith(_SENTENCE_ENDS):
            words = words[1:]
        words = [word for word in words if len(word[0]) > 1]
        if words:
            yield [word[0] for word in words], (words[0].start(), end)


class DateParts:
    """The days, months and years that a folded text gives each by itself: “the 15th of next month, which is November of
    2026”. ``taken``: spans of whole dates, whose parts belong to them.
    """

    __slots__ = ("_days", "_months", "_pairs", "_years")

    def __init__(self, folded: str, taken: Iterable[Span]) -> None:
        taken = list(islice(taken, MAX_NAMES))

        def free(pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
            for match in islice(pattern.finditer(folded), MAX_NAMES):
                if not any(start < match.end() and match.start() < end for start, end in taken):
                    yield match

        self._years = {int(match[0]) for match in free(_YEAR)}
        self._months = {_MONTHS[match["name"] or match["nth"]] for match in free(_MONTH)}
        self._days = {int(match[1]): match.span() for match in free(_DAY)}
        self._pairs = {frozenset(map(int, match.groups())): match.span() for match in free(_PAIR)}

    def place_of(self, dates: Iterable[Date]) -> Span | None:
        """Return where the text gives the day of one of the dates; None if a part of each is missing."""
        for year, month, day in dates:
            if year in self._years and day is not None:
                span = self._pairs.get(frozenset((month, day)))
                if span is None and month in self._months:
                    span = self._days.get(day)
                if span is not None:
                    return span
        return None


def asks_to_round(folded: str) -> bool:
    """Return whether a folded text asks for a whole number."""
    return _ROUNDING.search(folded) is not None


def computed(number: int | float, said: list[int | float], others: list[int | float], folded: str) -> int | None:
    """Return the position of the one of ``others`` from which a number follows: it is the sum, difference or product of
    this one and a number that the user says, or two or three times this one if the folded words say so.
    """
    if not is_computable(number):
        return None
    said = [one for one in said if abs(one) > 1 and is_computable(one)]
    factors = [many for many, words in _TIMES.items() if words.search(folded)]
    specific = len(f"{abs(number)}".replace(".", "").strip("0")) >= _FIGURES
    for at, other in enumerate(others):
        if abs(other) <= 1 or not is_computable(other):
            continue
        results = [other * many for many in factors]
        for one in said if specific else ():
            results += [one + other, one - other, other - one, one * other]
        if any(abs(result - number) < _CENT for result in results):
            return at
    return None
