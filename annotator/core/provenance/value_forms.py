"""One value in all forms in which it may appear elsewhere."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from annotator.core.provenance.dates_in_text import Date, Time, dates_in, times_in
from annotator.core.provenance.numbers_in_text import number_of

_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
_HAS_WIDE = re.compile("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]")
_TOKEN = re.compile(r"[^\W_]+(?:[.\-_@:/+'’][^\W_]+)*")
#: Characters that are dropped when a text is squashed. Line breaks stay.
_SEPARATORS = " \t\r!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ “”‘’«»–—…·、。，；：！？（）【】《》「」『』"
APART = frozenset(_SEPARATORS)
_DROP = str.maketrans("", "", _SEPARATORS)
_DIGITS = re.compile(r"\d+")
_HAN_RUN = re.compile("[\u3400-\u9fff]+")

#: Words that do not help to identify the source of a composed text.
_EMPTY_WORDS = frozenset(
    {"the", "and", "for", "with", "from", "this", "that", "are", "was", "has", "have", "not", "you", "your", "our"}
    | {"all", "any", "can", "will", "about", "into", "than", "then"}
)
#: A longer text was composed, not copied: it needs no source.
MAX_TEXT = 240


def fold(text: str) -> str:
    """Return ``text`` in lower case and half width; every character keeps its position, so spans stay valid."""
    if text.isascii():
        return text.lower()
    if _HAS_WIDE.search(text):
        text = text.translate(_WIDE)
    folded = text.lower()
    return folded if len(folded) == len(text) else "".join(low if len(low := c.lower()) == 1 else c for c in text)


@lru_cache(maxsize=4096)
def is_joined(character: str) -> bool:
    """Return whether a character belongs to the word next to it; never in scripts without spaces."""
    if character.isascii():
        return character.isalnum() or character == "_"
    return character.isalnum() and not "\u2e80" <= character <= "\ud7ff" and not "\uf900" <= character <= "\uffef"


def is_unspaced(text: str) -> bool:
    """Return whether a text is in a script that puts no spaces between words."""
    return bool(text) and all(c.isalnum() and not is_joined(c) for c in text)


def squash(folded: str) -> str:
    """Return the text without spaces and punctuation, line by line."""
    return folded.translate(_DROP)


class Forms:
    """A text or number of an argument, in every form in which it is searched for.

    ``common``: found everywhere (empty, 0, 1, −1, one letter, marks), so it needs no source. ``small``: so common that
    a hit is weak evidence (common values, whole numbers below ten). ``written``: a long text that somebody composed.
    ``foreign``: for a small number, words after it that show that it counts something else (two guests are not in “2
    nights”). ``core``: the part that does not change with spacing and punctuation: its longest run of digits, or its
    first two characters of a script without spaces. ``yearless``: a date is also found where its year is not given.
    """

    __slots__ = (
        "_tokens",
        "common",
        "core",
        "dates",
        "folded",
        "foreign",
        "number",
        "small",
        "squashed",
        "stem",
        "times",
        "value",
        "yearless",
    )

    def __init__(self, value: str | int | float, foreign: frozenset[str] = frozenset()) -> None:
        self.value = value
        self.foreign = foreign
        self.number = number = number_of(value)
        self.folded = folded = fold(value.strip()) if isinstance(value, str) else ""
        self.common = not folded if number is None else number in (0, 1, -1)
        if number is None and not self.common:
            # A single letter; marks such as “..” and “*”.
            self.common = (len(folded) == 1 and folded.isascii()) or (len(folded) < 4 and squash(folded) == "")
        self.small = self.common or (number is not None and number == int(number) and abs(number) < 10)
        self.dates: tuple[Date, ...] = ()
        self.times: tuple[Time, ...] = ()
        self.yearless = True
        self.squashed = self.stem = self.core = ""
        self._tokens: tuple[tuple[Forms, ...], tuple[Forms, ...]] | None = None
        if folded and (number is None or len(folded) == 8) and len(folded) <= MAX_TEXT:
            if len(folded) < 40 and not folded.isalpha() and any(c.isdecimal() for c in folded):
                self._read_date(folded)
            if number is None:
                squashed = squash(folded)
                if len(squashed) > 3 and not self.dates and not self.times:
                    self.squashed = squashed
                    digits = _DIGITS.findall(folded)
                    self.core = max(digits, key=len) if digits else folded[:2] if is_unspaced(folded[:2]) else ""
                if len(folded) > 3 and folded.isascii() and folded.isalpha():
                    self.stem = folded[: max(4, len(folded) - 2)]
        if folded and number is not None and not self.dates and not self.common:
            # The digits of a telephone or card number, which people write in groups.
            figures = squash(folded)
            self.squashed = figures if len(figures) > 6 and figures.isdecimal() and "." not in folded else ""

    def with_year(self) -> "Forms":
        """Return the forms of a date that is not found where its year is not given."""
        forms = Forms(self.value)
        forms.yearless = False
        return forms

    @property
    def written(self) -> bool:
        return len(self.folded) > MAX_TEXT

    def _read_date(self, folded: str) -> None:
        dates, times = dates_in(folded), times_in(folded)
        covered = sum(end - start for start, end in {span for _, span in [*dates, *times]})
        # A date may also have separators, seconds and a zone.
        if covered and covered >= len(folded) - (7 if dates and times else 1):
            self.dates = tuple(date for date, _ in dates)
            self.times = tuple(time for time, _ in times)

    @property
    def tokens(self) -> tuple[tuple["Forms", ...], tuple["Forms", ...]]:
        """Return, for a text of several words, (all content words, the specific ones: those with digits).

        Both are empty if the value is one word. For Chinese text, the pairs of neighbouring characters are the words.
        """
        if self._tokens is None:
            self._tokens = ((), ()) if self.number is not None or self.dates or self.times else _split(self.folded)
        return self._tokens


def _split(folded: str) -> tuple[tuple[Forms, ...], tuple[Forms, ...]]:
    words: dict[str, None] = {}
    for match in _TOKEN.finditer(folded[: 4 * MAX_TEXT]):
        word = match[0]
        if word.isascii():
            if word not in _EMPTY_WORDS and (len(word) > 2 or word.isdecimal()):
                words[word] = None
        else:
            for run in _HAN_RUN.finditer(word):
                for i in range(len(run[0]) - 1):
                    words[run[0][i : i + 2]] = None
            if not _HAN_RUN.search(word):
                words[word] = None
    if not words or (len(words) == 1 and next(iter(words)) == folded):
        return (), ()
    content_words = tuple(forms_of(word) for word in words)
    return content_words, tuple(one for one in content_words if is_specific(one))


def is_specific(forms: Forms) -> bool:
    """Return whether a word is specific to its source: an id, an address, a date, a number of three digits."""
    text = forms.folded or str(forms.value)
    return len(text) > 2 and any(c.isdecimal() for c in text) and (not forms.times or bool(forms.dates))


@lru_cache(maxsize=8192)
def _forms(value: str | int | float, kind: str) -> Forms:
    return Forms(value)


def forms_of(value: str | int | float) -> Forms:
    """Return the forms of a value (cached)."""
    # The type distinguishes 1 from 1.0 and True, which are equal keys.
    return _forms(value, type(value).__name__) if type(value) is not str or len(value) < 200 else Forms(value)


_PARTS_OF_NAME = re.compile(r"[A-Z]?[a-z]+")
_MEASURES = frozenset(
    {"second", "minute", "hour", "day", "night", "week", "month", "year"}
    | {"seconds", "minutes", "hours", "days", "nights", "weeks", "months", "years"}
)


def forms_for(name: str, value: str | int | float, others: Iterable[str]) -> Forms:
    """Return the forms of a value of the argument called ``name``; ``others`` are the tool's other arguments.

    For a whole number below ten, the word after it decides: it counts something else if that word is what another
    argument counts, or a span of time while this argument counts things (its name has a plural).
    """
    forms = forms_of(value)
    if not forms.small or forms.common:
        return forms
    own = _counted(name)
    foreign = {word for other in others if other != name for word in _counted(other)}
    if own and not own & _MEASURES:
        foreign |= _MEASURES
    foreign -= own
    return Forms(value, frozenset(foreign)) if foreign else forms


def _counted(name: str) -> set[str]:
    """Return the things that a name counts, in singular and plural: ``numberOfNights`` → night, nights."""
    words = [word.lower() for word in _PARTS_OF_NAME.findall(name)]
    plurals = [word for word in words if (word[-1] == "s" and len(word) > 3) or word in ("people", "children")]
    return {*plurals, *(word[:-1] for word in plurals)}


def is_value(value: Any) -> bool:
    """Return whether a leaf can be searched for: not null, true or false."""
    return value is not None and value is not True and value is not False
