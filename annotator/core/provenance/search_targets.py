"""The places where a value is searched for: a text, or an observation, which is JSON.

Both are read at most once for each kind of form (words, digits, squashed), when a value first needs it. A search is at
most one pass over the text.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from annotator.core.provenance.dates_in_text import Date, Time, dates_in, may_hold_date, times_in
from annotator.core.provenance.number_words import Span
from annotator.core.provenance.numbers_in_text import has_other_figures, is_negative, may_lessen, numbers_in, plainly
from annotator.core.provenance.quantities import Quantity, is_computable, quantities_in
from annotator.core.provenance.value_forms import APART, Forms, fold, forms_of, is_joined, squash
from annotator.core.provenance.work_budget import ITEM, LOOK, PLACE, Work
from annotator.core.schema.exact_json import pointer

#: Characters of one text that are searched; the rest is ignored.
MAX_CHARACTERS = 200_000
#: Values of one observation that are searched.
MAX_LEAVES = 20_000
#: Most spans returned for one value in one text.
MAX_SPANS = 8

_ESCAPE = re.compile(r'\\[nrt"\\]')
_WORD = re.compile(r"\w+")
_FOLLOWING = re.compile(r"[ -]([a-z]+)")


class Quality(StrEnum):
    """How a value appears in its source.

    exact: character for character, as a whole word or JSON value. normalised: the same in another form (case, spacing,
    number, date). inside: only as part of a longer word, as an inflected word, or by its words one by one.
    """

    EXACT = "exact"
    NORMALISED = "normalised"
    INSIDE = "inside"


class Hit(NamedTuple):
    """``start`` and ``end`` count characters of the text. ``path`` is the JSON pointer below an observation's root; the
    span then counts within the text at that pointer (None if it is a whole value). ``whole`` says that the value is the
    complete text there.
    """

    start: int
    end: int
    quality: Quality
    path: str | None = None
    whole: bool = False


class Text:
    """Running text."""

    __slots__ = (
        "_dates",
        "_days",
        "_has_figures",
        "_kept",
        "_numbers",
        "_quantities",
        "_squashed",
        "_times",
        "_words",
        "_work",
        "_written",
        "_years",
        "folded",
        "raw",
    )

    def __init__(self, raw: str, *, written: bool = True, work: Work | None = None) -> None:
        """``written``: also read numbers written as words; tools do not write them. ``work``: the remaining search
        budget; if it is used up, nothing is found.
        """
        self._written = written
        self._work = work or Work()
        self.raw = raw[:MAX_CHARACTERS]
        self.folded = fold(self.raw)
        self._numbers: dict[int | float, list[Span]] | None = None
        self._quantities: list[Quantity] | None = None
        self._dates: list[tuple[Date, Span]] | None = None
        self._days: dict[tuple[int | None, ...], list[tuple[int | None, Span]]] | None = None
        self._years: dict[int | float | None, dict[Span, None]] | None = None
        self._times: list[tuple[Time, Span]] | None = None
        self._has_figures: bool | None = None
        self._squashed: str | None = None
        # Position in the text of each character of the squashed text.
        self._kept: list[int] | None = None
        self._words: dict[str, dict[str, Span]] | None = None

    def has(self, forms: Forms) -> bool:
        """Return whether the value appears here in any form."""
        folded, text = forms.folded, self.folded
        if forms.foreign:
            return bool(self._spans(forms, 1))
        if not self._may_look(forms):
            return False
        return bool((folded and folded in text and self._standing(folded, 1)) or self._otherwise(forms, 1))

    def _may_look(self, forms: Forms) -> bool:
        """Charge the budget for one search. A long value may be compared at each character; a number is also searched
        for in words, a date by its month.
        """
        times = 4 if forms.dates or forms.number is not None else 1
        return self._work.spend(LOOK + len(self.folded) * (times + min(len(forms.folded), 100) // 8))

    def hits(self, forms: Forms) -> list[Hit]:
        """Return where the value appears in its best form: at most MAX_SPANS places, best quality first."""
        return [Hit(start, end, quality) for start, end, quality in self._spans(forms, MAX_SPANS)]

    def _spans(self, forms: Forms, most: int) -> list[tuple[int, int, Quality]]:
        if not forms.foreign:
            return self._all_spans(forms, most)
        spans = self._all_spans(forms, len(self.folded))
        following = ((_FOLLOWING.match(self.folded, span[1]), span) for span in spans)
        return [span for word, span in following if word is None or word[1] not in forms.foreign][:most]

    def _all_spans(self, forms: Forms, most: int) -> list[tuple[int, int, Quality]]:
        folded = forms.folded
        if not self._may_look(forms):
            return []
        if folded and folded in self.folded:
            spans = self._standing(folded, most)
            if spans:
                raw, value = self.raw, str(forms.value).strip()
                exact = Quality.EXACT, Quality.NORMALISED
                return [(start, end, exact[raw[start:end] != value]) for start, end in spans]
        return self._otherwise(forms, most)

    def _otherwise(self, forms: Forms, most: int) -> list[tuple[int, int, Quality]]:
        """Return where the value appears in a form other than character by character."""
        if forms.number is not None:
            spans = self._number(forms.number)
            if spans:
                written = str(forms.value)
                raw = self.raw
                return [
                    (start, end, Quality.EXACT if raw[start:end] == written else Quality.NORMALISED)
                    for start, end in spans[:most]
                ]
        if forms.dates or forms.times:
            spans = self._moment(forms)
            if spans:
                return [(start, end, Quality.NORMALISED) for start, end in spans[:most]]
        if forms.squashed and forms.core in self.folded:
            spans = self._run_together(forms.squashed, most)
            if spans:
                return [(start, end, Quality.NORMALISED) for start, end in spans]
        if forms.stem:
            span = self._inflected(forms)
            if span:
                return [(*span, Quality.INSIDE)]
        if self._written and type(forms.number) is int:
            # A year may be an argument by itself; days and months are too small to identify their source.
            if self._years is None:
                self._years = {}
                for (year, *_), span in self.dates:
                    self._years.setdefault(year, {})[span] = None
            return [(*span, Quality.INSIDE) for span in list(self._years.get(forms.number, ()))[:most]]
        return []

    @property
    def numbers(self) -> dict[int | float, list[Span]]:
        """The numbers in the text, except those of dates and times."""
        if self._numbers is None:
            taken = [span for _, span in self.dates] + [span for _, span in self.times]
            self._numbers = numbers_in(self.folded, taken, words=self._written)
        return self._numbers

    @property
    def quantities(self) -> list[Quantity]:
        """The numbers with a unit in the text."""
        if self._quantities is None:
            self._quantities = quantities_in(self.folded, self.numbers)
        return self._quantities

    def _number(self, number: int | float) -> list[Span]:
        spans = plainly(number, self.folded, self._work)
        # Python writes small fractions with an exponent, people do not.
        if self._has_figures is None:
            self._has_figures = has_other_figures(self.folded, words=self._written)
        if spans or not (self._has_figures or "e-" in str(number)):
            return spans
        found = self.numbers.get(number)
        if found is None and number < 0 and may_lessen(self.folded):
            found = self.numbers.get(-number)
        return found or []

    @property
    def dates(self) -> list[tuple[Date, Span]]:
        """The dates in the text."""
        if self._dates is None:
            self._dates = dates_in(self.folded)
        return self._dates

    @property
    def times(self) -> list[tuple[Time, Span]]:
        """The times of day in the text."""
        if self._times is None:
            self._times = times_in(self.folded)
        return self._times

    def _moment(self, forms: Forms) -> list[Span]:
        """Return where a date appears; with a time of day: where both appear, or for midnight only the date."""
        if forms.dates and not any(may_hold_date(self.folded, date) for date in forms.dates):
            return []
        if self._days is None:
            self._days = {}
            for date, span in self.dates:
                self._days.setdefault(date[1:], []).append((date[0], span))
        there = [(year, self._days.get(tuple(day), [])) for year, *day in forms.dates]
        if not self._work.spend(ITEM * (sum(len(days) for _, days in there) + len(self.times))):
            return []
        days = [
            span
            for year, others in there
            for other, span in others
            if year == other or year is None or (other is None and forms.yearless)
        ]
        if not forms.times:
            return days
        hours = [span for time, span in self.times if time in forms.times]
        if not forms.dates:
            return hours
        midnight = forms.times[0] in ((0, 0), (23, 59))
        return days + hours if days and hours else days if midnight else []

    def _run_together(self, squashed: str, most: int) -> list[Span]:
        if self._squashed is None:
            self._squashed = squash(self.folded)
        found: list[Span] = []
        at = self._squashed.find(squashed)
        if at < 0:
            return found
        if self._kept is None:
            self._kept = [i for i, character in enumerate(self.folded) if character not in APART]
        while at >= 0 and len(found) < most and self._work.spend(PLACE):
            start, end = self._kept[at], self._kept[at + len(squashed) - 1] + 1
            if _apart(self.folded, start, end):
                found.append((start, end))
            at = self._squashed.find(squashed, at + len(squashed))
        return found

    def _inflected(self, forms: Forms) -> Span | None:
        """Yield the words with the same stem: all but two letters of the shorter word, and at least four."""
        start = forms.stem[:4]
        if start not in self.folded:
            return None
        if self._words is None:
            self._words = {}
            for match in _WORD.finditer(self.folded):
                self._words.setdefault(match[0][:4], {}).setdefault(match[0], match.span())
        word = forms.folded
        for other, span in self._words.get(start, {}).items():
            if not self._work.spend(PLACE):
                return None
            if (
                other.isalpha()
                and abs(len(other) - len(word)) < 4
                and _shared(word, other) >= max(4, min(len(word), len(other)) - 2)
            ):
                return span
        return None

    def _standing(self, needle: str, most: int) -> list[Span]:
        """Yield where ``needle`` appears as whole words; anywhere if it does not begin or end with a letter."""
        found: list[Span] = []
        at = self.folded.find(needle)
        while at >= 0 and len(found) < most and self._work.spend(PLACE):
            end = at + len(needle)
            if _apart(self.folded, at, end):
                found.append((at, end))
            at = self.folded.find(needle, end)
        return found


_ONE_A_LINE = json.JSONEncoder(ensure_ascii=False, separators=(",\n", ": ")).encode


class Observation:
    """What a tool returned. Numbers are found as values; texts and keys are searched as one text, leaf by leaf."""

    __slots__ = ("_blob", "_leaves", "_numbers", "_starts", "_text", "_work", "root")

    def __init__(self, root: Any, work: Work | None = None) -> None:
        self.root = root
        self._work = work or Work()
        self._blob: Text | None = None
        self._text: Text | None = None
        self._starts: list[int] = []
        self._leaves: list[tuple[tuple[Any, ...], bool]] = []
        self._numbers: dict[int | float, list[tuple[tuple[Any, ...], int | float | str]]] = {}

    def has(self, forms: Forms) -> bool:
        """Return whether the value appears here in any form. Searches the JSON as text, without parsing it."""
        if self._blob is None:
            # Each value on its own line, to separate the numbers of a list. (Without indentation, because a value forty
            # levels deep would become forty times as long; without quotation marks, to separate neighbours.)
            blob = _ONE_A_LINE(self.root)
            if "\\" in blob:
                blob = _ESCAPE.sub("  ", blob)
            self._blob = Text(blob.replace('"', "\n"), written=False, work=self._work)
        if self._blob.has(forms):
            return True
        # JSON and Python write the exponents of such numbers differently.
        return type(forms.number) is float and "e" in str(forms.number) and bool(self.hits(forms))

    def hits(self, forms: Forms) -> list[Hit]:
        """Return where the value appears, at most MAX_SPANS places: whole values before parts of longer ones."""
        text = self.text
        found = []
        if forms.number is not None:
            for path, number in self._numbers.get(forms.number, ())[:MAX_SPANS]:
                same = forms.value == number and isinstance(forms.value, str) == isinstance(number, str)
                shown = len(str(number))
                quality = Quality.EXACT if same else Quality.NORMALISED
                found.append(Hit(0, shown, quality, pointer(path), True))
        found += self._hits(text, forms, MAX_SPANS)
        found.sort(key=lambda hit: (not hit.whole, _RANK[hit.quality]))
        places: dict[tuple[str | None, int], Hit] = {}
        for hit in found:
            places.setdefault((hit.path, hit.start), hit)
        return list(places.values())[:MAX_SPANS]

    def text_at(self, path: str) -> str:
        """Return the text at a JSON pointer that ``hits`` returned; the text of a number as JSON writes it."""
        node: Any = self.root
        for step in path.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(node, dict) and key in node:
                node = node[key]
            elif isinstance(node, list) and key.isdecimal() and int(key) < len(node):
                node = node[int(key)]
        return node if isinstance(node, str) else json.dumps(node) if isinstance(node, int | float) else ""

    def _hits(self, text: Text, forms: Forms, most: int) -> list[Hit]:
        found = []
        for start, end, quality in text._spans(forms, most):
            hit = self.place(start, end, quality)
            if hit is not None:
                found.append(hit)
        return found

    def place(self, start: int, end: int, quality: Quality = Quality.INSIDE) -> Hit | None:
        """Return the place of a span of ``text``; None if it is in more than one value."""
        text = self.text
        at = bisect_right(self._starts, start) - 1
        begins = self._starts[at]
        after = self._starts[at + 1] - 1 if at + 1 < len(self._starts) else len(text.folded)
        if end > after:
            return None
        path, is_key = self._leaves[at]
        whole = not is_key and start == begins and end == after
        return Hit(start - begins, end - begins, Quality.INSIDE if is_key else quality, pointer(path), whole)

    def numbers(self, work: Work) -> Iterator[tuple[str, int | float]]:
        """Yield pairs (JSON pointer, number) of the numbers that are values and can be computed with, as long as the
        budget lasts.
        """
        self.text  # noqa: B018 - reading it collects the numbers
        for number, places in self._numbers.items():
            if not is_computable(number):
                continue
            for path, written in places:
                if not isinstance(written, str):
                    if not work.spend(ITEM // 10):
                        return
                    yield pointer(path), number

    @property
    def text(self) -> Text:
        """Return all texts and keys of the observation, one on each line."""
        if self._text is None:
            self._text = self._walk()
        return self._text

    def _walk(self) -> Text:
        parts: list[str] = []
        at, left = 0, MAX_LEAVES
        stack: list[tuple[tuple[Any, ...], Any]] = [((), self.root)]
        starts, leaves, numbers = self._starts, self._leaves, self._numbers
        while stack and left and at < MAX_CHARACTERS:
            path, node = stack.pop()
            left -= 1
            kind = type(node)
            if kind is str:
                starts.append(at)
                leaves.append((path, False))
                parts.append(node)
                at += len(node) + 1
                if len(node) < 32 and node[:1].isdecimal():
                    number = forms_of(node).number
                    if number is not None:
                        numbers.setdefault(number, []).append((path, node))
            elif kind is dict:
                for key in node:
                    starts.append(at)
                    leaves.append(((*path, key), True))
                    parts.append(key)
                    at += len(key) + 1
                stack += [((*path, key), node[key]) for key in reversed(node)]
            elif kind is list:
                stack += [((*path, i), node[i]) for i in range(min(len(node), left) - 1, -1, -1)]
            elif kind is int or kind is float:
                numbers.setdefault(node, []).append((path, node))
        return Text("\n".join(parts), written=False, work=self._work)


Body = Text | Observation
_RANK = {Quality.EXACT: 0, Quality.NORMALISED: 1, Quality.INSIDE: 2}


def _apart(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1] if start else " ", text[end] if end < len(text) else " "
    if is_joined(before) and is_joined(text[start]):
        return False
    if is_joined(after) and is_joined(text[end - 1]):
        return False
    # 12 does not appear in 12.5, nor in 1,012, nor in -12.
    if text[start].isdecimal() and is_negative(text, start):
        return False
    if text[start].isdecimal() and before in ".," and start > 1 and text[start - 2].isdecimal():
        return False
    return not (text[end - 1].isdecimal() and after in ".," and text[end + 1 : end + 2].isdecimal())


def _shared(one: str, other: str) -> int:
    """Return the length of the common prefix."""
    shorter = min(len(one), len(other))
    return next((i for i in range(shorter) if one[i] != other[i]), shorter)
