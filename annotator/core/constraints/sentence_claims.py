"""The bounds, units and tools in a constraint's sentence, found by patterns that match only if they are certain."""

import re
from dataclasses import dataclass

_WORDS = {
    "once": 1, "twice": 2, "thrice": 3, "single": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6,
    "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20,
}  # fmt: skip
_DIGITS = r"\d[\d,]*"
_N = rf"({_DIGITS}|{'|'.join(_WORDS)})\b"
#: "a total of", "a maximum of": words that may come between a bound and its number.
_TO = r"(?:\s+(?:of|is|to|a|an|be|the|total|in))*\s+"
_ANY = re.compile(rf"(?<![\w.])({_DIGITS}|{'|'.join(_WORDS)})\b", re.I)
_BETWEEN = re.compile(
    rf"(?:between|range:?|from|within)(?:\s+(?:of|is|the|range|from|between))*\s+\[?{_N}\s*(?:and|to|,|-|–)\s*{_N}",
    re.I,
)
_DASH = re.compile(r"\b(\d+)\s*[-–]\s*(\d+)\s+(?:words|characters|calls|rounds|turns)", re.I)
_EXACT = re.compile(rf"\bexactly\s+{_N}", re.I)
_UPPER = re.compile(
    rf"(?:at\s+most|no\s+more\s+than|not\s+more\s+than|maximum|up\s+to|exceed(?:ing|s)?|limited){_TO}{_N}"
    rf"|\b{_N}\s+(?:\w+\s+)?or\s+(?:fewer|less)|\bonly\s+(once|twice)\b",
    re.I,
)
_UNDER = re.compile(rf"(?:fewer|less)\s+than\s+{_N}", re.I)
_LOWER = re.compile(
    rf"(?:at\s+least|no\s+(?:fewer|less)\s+than|not\s+(?:fewer|less)\s+than|minimum){_TO}{_N}|\b{_N}\s+(?:\w+\s+)?or\s+more",
    re.I,
)
_OVER = re.compile(rf"(?<!no )(?<!not )more\s+than\s+{_N}", re.I)
#: A number of rounds, not of calls.
_SOME_ROUND = re.compile(
    r"\bat\s+least\s+one(?:\s+\w+){0,2}\s+(?:turn|round|step|instruction)s?|\bat\s+least\s+once\b",
    re.I,
)
#: Characters of a sentence that are read; the longest published one has 640.
MAX_LENGTH = 2_000
_TOOL = re.compile(r"\b[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+\b")


@dataclass(frozen=True, slots=True)
class Claim:
    """The numbers that a sentence gives as lower and as upper bounds."""

    lows: frozenset[int]
    highs: frozenset[int]


def read_claim(text: str) -> Claim:
    """Return the bounds in a sentence: “at most 3”, “between 15 and 20”, “no fewer than two”, “exactly once”."""
    lows: set[int] = set()
    highs: set[int] = set()
    rest = _SOME_ROUND.sub(" ", text[:MAX_LENGTH])
    for pattern in (_BETWEEN, _DASH):
        for match in pattern.finditer(rest):
            lows.add(_number(match[1]))
            highs.add(_number(match[2]))
        rest = pattern.sub(" ", rest)
    for match in _EXACT.finditer(rest):
        lows.add(_number(match[1]))
        highs.add(_number(match[1]))
    highs |= {_matched(match) for match in _UPPER.finditer(rest)}
    highs |= {_matched(match) - 1 for match in _UNDER.finditer(rest) if not _negated(rest, match)}
    lows |= {_matched(match) for match in _LOWER.finditer(rest)}
    lows |= {_matched(match) + 1 for match in _OVER.finditer(rest) if not _negated(rest, match)}
    return Claim(frozenset(lows), frozenset(highs))


def numbers_in(text: str) -> frozenset[int]:
    """Return all whole numbers in a text, in digits or in English words (“twice”, “a single call”)."""
    return frozenset(_number(match[1]) for match in _ANY.finditer(text[:MAX_LENGTH]))


def named_tools(text: str) -> frozenset[str]:
    """Return the names in a sentence that look like tools' names, with underscores."""
    return frozenset(_TOOL.findall(text[:MAX_LENGTH]))


def named_units(text: str) -> frozenset[str]:
    """Return “words”, “characters”, or both, if they follow a number or a bound."""
    return frozenset(
        unit + "s" for unit in ("word", "character") if re.search(rf"\b{unit}s?\b", text[:MAX_LENGTH], re.I)
    )


def _matched(match: re.Match[str]) -> int:
    return _number(next(group for group in match.groups() if group))


def _negated(text: str, match: re.Match[str]) -> bool:
    before = text[: match.start()].rstrip().lower()
    return before.endswith((" no", " not", " never")) or before in ("no", "not", "never")


def _number(word: str) -> int:
    return _WORDS.get(word.lower()) or int(word.replace(",", ""))
