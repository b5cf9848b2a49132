"""Values that follow from what a text or an observation says, although they do not appear in it: another unit, a
rounded number, an id with another prefix, a name and its address, parts that are joined, seconds since 1970.

A derivation is only tried when the value itself is found nowhere. Each has one answer, so chance hits are rare.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from annotator.core.provenance.quantities import is_computable, is_converted, sizes_asked, unit_of_key
from annotator.core.provenance.search_targets import Body, Hit, Observation, Quality, Text
from annotator.core.provenance.value_forms import Forms, forms_of
from annotator.core.provenance.work_budget import ITEM, LOOK, Work

#: Digits that an id needs, so that another prefix or leading zeros do not make it another.
_ID_DIGITS = 3
#: Whole numbers from here on may be rounded ones.
_ROUNDED = 100
#: … and from here on if the user asks for it.
_SMALL = 10
#: A part that is joined with others has this many characters, and there are at most this many parts.
_PART, _PARTS = 3, 6
_PREFIXED = re.compile(r"[^\W\d_]{1,12}[-_:#]?0{0,12}([1-9]\d{2,17})", re.ASCII)
_PADDED = re.compile(r"0{1,12}([1-9]\d{2,17})")
_ADDRESS = re.compile(r"([a-z]{2,20})[._-]?([a-z]{2,20})?@[\w.-]{3,60}")
#: Seconds since 1970 that are a day from 1990 to 2090.
_FIRST_SECOND, _LAST_SECOND = 631_152_000, 3_786_912_000


class Derived(NamedTuple):
    """Where that is from which a value follows. ``named``: a unit or a form makes chance unlikely."""

    hit: Hit
    named: bool


def derived(
    forms: Forms, name: str, description: str, body: Body, work: Work, *, rounds: bool = False
) -> Derived | None:
    """Return from what in a text or observation the value of the argument ``name`` follows; None if from nothing.

    ``rounds``: the user asks for a whole number.
    """
    text = body.text if isinstance(body, Observation) else body
    if forms.common or forms.written or not work.spend(LOOK + 4 * len(text.folded)):
        return None
    for other in _same_as(forms):
        if body.has(other):
            return next((Derived(_inside(hit), True) for hit in body.hits(other)), None)
    number = forms.number
    if number is not None:
        found = None
        if is_computable(number):
            found = _in_other_unit(number, name, description, body, work)
            found = found or _rounded(number, body, work, rounds=rounds)
        if found is None and type(number) is int and len(str(number)) >= _ID_DIGITS:
            found = _with_prefix(number, body)
        return found
    if forms.dates:
        return _from_seconds(forms, body, work)
    return _joined(forms, body, work) if isinstance(body, Observation) else None


def _same_as(forms: Forms) -> Iterator[Forms]:
    """Yield other values that mean the same: an id without its prefix, the name in an address, a moment in seconds."""
    text, number = forms.folded, forms.number
    if type(number) is int:
        moment = _moment(number)
        if moment is not None:
            at_midnight = moment.hour == moment.minute == 0
            yield forms_of(moment.strftime("%Y-%m-%d" if at_midnight else "%Y-%m-%d %H:%M"))
    elif not forms.dates and not forms.times and len(text) < 100:
        for pattern in (_PADDED, _PREFIXED):
            if match := pattern.fullmatch(text):
                yield forms_of(int(match[1]))
        if (match := _ADDRESS.fullmatch(text)) and match[2]:
            yield forms_of(f"{match[1]} {match[2]}")


def _moment(number: int | float) -> datetime | None:
    """Return the moment that a number of seconds or milliseconds since 1970 is; None for numbers of something else."""
    for unit in (1, 1000):
        # Compared before it is divided: a whole number may be too large for a float.
        if _FIRST_SECOND * unit <= number < _LAST_SECOND * unit:
            return datetime.fromtimestamp(int(number / unit), UTC)
    return None


def _inside(hit: Hit) -> Hit:
    return hit._replace(quality=Quality.INSIDE)


def _in_other_unit(number: int | float, name: str, description: str, body: Body, work: Work) -> Derived | None:
    asked = sizes_asked(name, description)
    if not asked or not number:
        return None
    text = body.text if isinstance(body, Observation) else body
    if not work.spend(ITEM // 10 * len(text.quantities)):
        return None
    for one in text.quantities:
        if is_converted(number, one.what, one.base, one.size, asked):
            return _at(body, *one.span)
    if isinstance(body, Observation):
        for path, other in body.numbers(work):
            key = unit_of_key(path.rpartition("/")[2])
            if key is None and (ratio := next((size for what, size in asked if what == "share"), None)) == 0.01:
                # A share without a unit: 0.68 is 68 percent.
                key = ("share", 1) if 0 < abs(other) < 1 and ratio else None
            if key and is_converted(number, key[0], other * key[1], key[1], asked):
                return Derived(Hit(0, len(str(other)), Quality.INSIDE, path, True), True)
    return None


def _rounded(number: int | float, body: Body, work: Work, *, rounds: bool) -> Derived | None:
    """Return a number with more decimals that the value is when rounded; a small one only if the user asks for it."""
    decimals = len(str(number).partition(".")[2]) if isinstance(number, float) and "e" not in str(number) else 0
    if not decimals and abs(number) < (_SMALL if rounds else _ROUNDED):
        return None
    if isinstance(body, Text) and not work.spend(ITEM // 10 * len(body.numbers)):
        return None
    places = (
        ((Hit(0, len(str(other)), Quality.INSIDE, path, True), other) for path, other in body.numbers(work))
        if isinstance(body, Observation)
        else ((Hit(*span, Quality.INSIDE), other) for other, spans in body.numbers.items() for span in spans)
    )
    for hit, other in places:
        if isinstance(other, float) and other != number and round(other, decimals) == number:
            return Derived(hit, decimals > 1 or abs(number) >= _ROUNDED)
    return None


def _with_prefix(number: int, body: Body) -> Derived | None:
    """Return the number as part of an id: user_81510, 00081510."""
    text = body.text if isinstance(body, Observation) else body
    if str(abs(number)) not in text.folded:
        return None
    match = re.search(rf"(?<![^\W_])(?:[a-z]{{1,12}}_|0)0{{0,12}}{abs(number)}(?![^\W_])", text.folded)
    return _at(body, *match.span()) if match else None


def _from_seconds(forms: Forms, body: Body, work: Work) -> Derived | None:
    """Return a number of seconds or milliseconds since 1970 that is this day, and time if the value has one."""
    if not isinstance(body, Observation):
        return None
    for path, number in body.numbers(work):
        moment = _moment(number)
        if moment is not None:
            same = (moment.year, moment.month, moment.day) in forms.dates
            if same and (not forms.times or (moment.hour, moment.minute) in forms.times):
                return Derived(Hit(0, len(str(number)), Quality.INSIDE, path, True), True)
    return None


def _joined(forms: Forms, body: Observation, work: Work) -> Derived | None:
    """Return the first of several texts of an observation that together are the value: a folder and a file."""
    value = left = forms.folded
    lines = body.text.folded.split("\n")
    if not work.spend(ITEM // 10 * len(lines)):
        return None
    parts = {line for line in lines if _PART <= len(line) < len(value) and line in value}
    used: list[str] = []
    for part in sorted(parts, key=lambda part: (-len(part), part)):
        if part in left and len(used) < _PARTS:
            left = left.replace(part, "\n", 1)
            used.append(part)
    if len(used) < 2 or any(c.isalnum() for c in left):
        return None
    first = forms_of(min(used, key=value.find))
    return next((Derived(_inside(hit), True) for hit in body.hits(first) if hit.whole), None)


def _at(body: Body, start: int, end: int) -> Derived | None:
    hit = Hit(start, end, Quality.INSIDE) if isinstance(body, Text) else body.place(start, end)
    return Derived(hit, True) if hit else None
