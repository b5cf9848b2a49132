"""Numbers with a unit, in running text and under keys, and whether a value is one of them in another unit."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from annotator.core.provenance.number_words import Span

_LARGEST = 1e15
#: Quantities that are read in one text.
MAX_QUANTITIES = 500
Number = int | float

#: What is measured → unit → its size.
_TABLE: dict[str, dict[str, Number]] = {
    "time": {
        "milliseconds millisecond ms 毫秒": 0.001,
        "seconds second secs sec s 秒钟 秒": 1,
        "minutes minute mins min 分钟": 60,
        "hours hour hrs hr h 小时 钟头": 3600,
        "days day 天": 86_400,
        "weeks week 周 星期": 604_800,
    },
    "length": {
        "millimetres millimeters mm 毫米": 0.001,
        "centimetres centimeters cm 厘米": 0.01,
        "metres meters metre meter m 米": 1,
        "kilometres kilometers kilometre kilometer kms km 公里 千米": 1000,
        "miles mile mi 英里": 1609.344,
        "feet foot ft 英尺": 0.3048,
        "inches inch 英寸": 0.0254,
    },
    "mass": {
        "grams gram g 克": 1,
        "kilograms kilogram kilos kilo kg 公斤 千克": 1000,
        "pounds pound lbs lb 磅": 453.592_37,
        "ounces ounce oz 盎司": 28.349_523,
        "tonnes tonne tons 吨": 1_000_000,
        "斤": 500,
    },
    "volume": {
        "millilitres milliliters ml 毫升": 0.001,
        "litres liters litre liter l 升": 1,
        "gallons gallon gal 加仑": 3.785_411_784,
    },
    "money": {"cents cent pence 分": 0.01, "dollars dollar euros euro usd eur gbp 元 块": 1},
    "share": {"percent percentage pct": 0.01, "fraction ratio share": 1},
}
_UNITS = {
    word: (what, size) for what, sizes in _TABLE.items() for words, size in sizes.items() for word in words.split()
}
#: Words in names of arguments that say what they measure, without a unit.
_MEASURES = {
    "time": "duration length time timeout interval period ttl delay expiration expiry runtime reminder lead wait",
    "length": "distance radius length range height width depth size altitude elevation within",
    "mass": "weight mass quantity amount load",
    "volume": "volume quantity amount capacity fuel tank",
    "money": "price amount total cost budget fee sum balance payment",
    "share": "rate discount share",
}
_ASCII_UNITS = "|".join(sorted((unit for unit in _UNITS if unit.isascii()), key=len, reverse=True))
_HAN_UNITS = "|".join(sorted((unit for unit in _UNITS if not unit.isascii()), key=len, reverse=True))
_AFTER = re.compile(rf"[ -]?(?:(?P<unit>{_ASCII_UNITS})(?![a-z])(?P<half> and a half\b)?|个?(?P<han>{_HAN_UNITS}))")
#: An hour, half an hour, a full day.
_ARTICLE = re.compile(
    rf"\b(?P<half>half )?an? (?:full |whole |single )?(?P<unit>{_ASCII_UNITS})\b(?P<and> and a half\b)?"
)
_JOIN = re.compile(r"(?:,? and |, ?| )?")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
#: A person's rounding: relative, for sizes that are not exact multiples.
_CLOSE = 1e-6


class Quantity(NamedTuple):
    """``base``: the number in the unit of size 1 of what is measured. ``size``: of the unit in which it is written,
    0 if in several.
    """

    what: str
    base: float
    size: Number
    span: Span


def is_computable(number: Number) -> bool:
    """Return whether people compute with a number. A larger whole number may not fit into a float."""
    return abs(number) <= _LARGEST


def quantities_in(folded: str, numbers: Mapping[Number, list[Span]]) -> list[Quantity]:
    """Return the quantities in a folded text with these numbers; 1 hour 30 minutes also as a sum."""
    found: list[Quantity] = []
    for number, spans in numbers.items():
        if not is_computable(number):
            continue
        for start, end in spans:
            match = _AFTER.match(folded, end)
            if match and len(found) < MAX_QUANTITIES:
                what, size = _UNITS[match["unit"] or match["han"]]
                half = bool(match["half"])
                base = (number + 0.5 * half) * size
                found.append(Quantity(what, base, 0 if half else size, (start, match.end())))
    for match in _ARTICLE.finditer(folded):
        if len(found) < MAX_QUANTITIES:
            what, size = _UNITS[match["unit"]]
            many = 0.5 if match["half"] else 1.5 if match["and"] else 1
            found.append(Quantity(what, many * size, size, match.span()))
    return found + list(_sums(folded, found))


def _sums(folded: str, found: list[Quantity]) -> Iterable[Quantity]:
    begins = {one.span[0]: one for one in found}
    for one in found:
        join = _JOIN.match(folded, one.span[1])
        other = begins.get(join.end()) if join else None
        if other and other.what == one.what and other.size < one.size:
            yield Quantity(one.what, one.base + other.base, 0, (one.span[0], other.span[1]))


@lru_cache(maxsize=4096)
def unit_of_key(key: str) -> tuple[str, Number] | None:
    """Return what a key such as distance_km or durationMinutes measures, and its unit's size; None without a unit."""
    words = _PARTS.findall(key)
    return _UNITS.get(words[-1].lower()) if words else None


@lru_cache(maxsize=4096)
def sizes_asked(name: str, description: str) -> tuple[tuple[str, Number], ...]:
    """Return the units in which an argument may be given: the unit in its name; else the one in its description; else
    all units of what its name measures.
    """
    unit = unit_of_key(name)
    if unit:
        return (unit,)
    words = {word.lower() for word in _PARTS.findall(name)}
    measured = [what for what, names in _MEASURES.items() if not words.isdisjoint(names.split())]
    said = {
        _UNITS[word] for word in re.findall(r"[a-z]+", description[:500].lower()) if len(word) > 1 and word in _UNITS
    }
    named = [(what, size) for what, size in said if what in measured]
    return tuple(named) or tuple((what, size) for what in measured for size in _TABLE[what].values())


def is_converted(value: Number, what: str, base: float, size: Number, asked: Iterable[tuple[str, Number]]) -> bool:
    """Return whether a value is a quantity in one of the units asked for, other than its own. It may be rounded."""
    for kind, unit in asked:
        if kind != what or unit == size:
            continue
        exact = base / unit
        decimals = len(str(value).partition(".")[2]) if isinstance(value, float) and "e" not in str(value) else 0
        if abs(exact - value) <= _CLOSE * abs(value) or (
            abs(value) >= 1 and decimals and round(exact, decimals) == value
        ):
            return True
    return False
