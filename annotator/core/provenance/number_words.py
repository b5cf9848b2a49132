"""Numbers written in words: three, twenty-first, two and a half, six dozen, 叁仟, 百分之二十.

Every pattern here is linear: repetitions are bounded, and the same characters match in only one way.
"""

import re
from collections.abc import Iterator

Span = tuple[int, int]
Number = int | float

_UNITS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINALS = (
    *("zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
    *("eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth"),
    "nineteenth",
)
#: Zeroth to nineteenth.
ORDINAL_NAMES = _ORDINALS
_WORDS: dict[str, Number] = {word: number for number, word in enumerate(_UNITS)}
_WORDS |= {word: 10 * number for number, word in enumerate(_TENS, 2)}
_WORDS |= {"hundred": 100}
#: Words that are numbers by themselves.
_ALONE: dict[str, Number] = {"dozen": 12, "half": 0.5, "twice": 2, "both": 2, "thrice": 3, "triple": 3, "double": 2}
_ALONE |= {"couple": 2, "pair": 2}
_PARTS = {"half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fifth": 5, "fifths": 5}
_PARTS |= {"tenth": 10, "tenths": 10}
_TO_NINETEEN = "|".join(sorted(_UNITS, key=len, reverse=True))
_BELOW_HUNDRED = rf"(?:(?:{'|'.join(_TENS)})(?:[ -](?:{'|'.join(_UNITS[1:10])})\b)?|{_TO_NINETEEN})"
_BELOW_THOUSAND = rf"(?:(?:(?:a|{_BELOW_HUNDRED})[ -])?hundred\b(?: (?:and )?{_BELOW_HUNDRED}\b)?|{_BELOW_HUNDRED}\b)"
_LARGE_WORDS = {"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_LARGE = "|".join(_LARGE_WORDS)
_CARDINAL = re.compile(
    rf"\b(?:(?:a|{_BELOW_THOUSAND})[ -](?:{_LARGE})\b(?:,? (?:and )?{_BELOW_THOUSAND})?"
    rf"|{_BELOW_THOUSAND}|(?:{'|'.join(_ALONE)})\b)"
)
#: An ordinal up to 99th. “Second” alone is also a time.
ORDINAL = (
    rf"(?:(?:{'|'.join(_TENS)})[ -])?(?:{'|'.join(_ORDINALS[3:])}|first|(?<=the )second|(?<=[ -])second)|"
    + "|".join(f"{ten[:-1]}ieth" for ten in _TENS)
)
_ORDINAL = re.compile(rf"\b(?:{ORDINAL})\b")
#: Two and a half, 3 1/2, three quarters, half a million, six dozen.
_MIXED = re.compile(
    rf"\b(?P<whole>{_BELOW_HUNDRED}|\d{{1,6}}|an?)(?: \w{{3,9}})? and (?:a|one|three) (?P<part>half|quarters?|third)\b"
    r"|\b(?:(?P<ones>\d{1,3})[ -])?(?P<over>\d{1,2})/(?P<under>\d{1,2})\b(?!/)"
    rf"|\b(?P<many>a|one|two|three|four)[ -](?P<share>{'|'.join(_PARTS)})\b"
    rf"|\bhalf an? (?P<half>{_LARGE}|dozen|hundred)\b"
    rf"|\b(?P<dozens>{_BELOW_HUNDRED}|an?|\d{{1,3}}) dozens?\b"
)
_DIGIT = f"(?:{'|'.join(_UNITS[:10])}|oh)"
#: Digits said one by one.
_DICTATED = re.compile(rf"\b{_DIGIT}(?:[ -]{_DIGIT}){{2,19}}\b")
_STARTS = (*_UNITS, *(ten[:-1] for ten in _TENS), *_ORDINALS, *_ALONE, *_PARTS, "hundred", *_LARGE_WORDS)
_ANY = re.compile(rf"\b(?:{'|'.join(_STARTS)})|\d/\d")

_HAN_DIGITS = {**{sign: value for value, sign in enumerate("零一二三四五六七八九")}, "〇": 0, "两": 2, "俩": 2, "仨": 3}
#: The numerals of banks and contracts.
_HAN_DIGITS |= {sign: value for value, sign in enumerate("壹贰叁肆伍陆柒捌玖", 1)}
_HAN_SCALES = {"十": 10, "百": 100, "千": 1_000, "万": 10_000, "亿": 100_000_000}
_HAN_SCALES |= {"拾": 10, "佰": 100, "仟": 1_000, "萬": 10_000, "億": 100_000_000}
_SIGNS = "".join((*_HAN_DIGITS, *_HAN_SCALES))
_HAN = re.compile(rf"[{_SIGNS}]{{1,12}}")
_HAN_COUNT = rf"(?:[{_SIGNS}]{{1,9}}|\d{{1,6}})"
#: 一个半, 五块五, 三点二五, 百分之二十, 八折, 七五折, 三分之二, 两打.
_HAN_MIXED = re.compile(
    rf"(?P<whole>{_HAN_COUNT})(?:个|年|天|块|斤|公斤|倍|小时|公里)?半"
    rf"|(?P<yuan>{_HAN_COUNT})块(?P<jiao>[{''.join(_HAN_DIGITS)}\d])(?!\d)"
    rf"|(?P<before>{_HAN_COUNT})点(?P<after>[零〇一二三四五六七八九]{{1,4}})(?![十分点])"
    rf"|百分之(?P<percent>{_HAN_COUNT})|(?P<fold>{_HAN_COUNT})折"
    rf"|(?P<under>{_HAN_COUNT})分之(?P<over>{_HAN_COUNT})|(?P<dozens>{_HAN_COUNT})打|(?P<half>半)"
)


def has_words(folded: str) -> bool:
    """Return whether a folded text may have a number in words: a cheap test that is never wrongly False."""
    return _ANY.search(folded) is not None or (
        not folded.isascii() and (_HAN.search(folded) is not None or "半" in folded)
    )


def written(folded: str) -> Iterator[tuple[Number, Span]]:
    """Yield the numbers in words of a folded text, with their spans. Overlapping readings are all given."""
    for match in _CARDINAL.finditer(folded):
        yield _spelt(match[0]), match.span()
    for match in _ORDINAL.finditer(folded):
        yield ordinal(match[0]), match.span()
    for match in _MIXED.finditer(folded):
        for number in _mixed(match):
            yield number, match.span()
    for match in _DICTATED.finditer(folded):
        digits = "".join(str(_WORDS.get(word, 0)) for word in re.split("[ -]", match[0]))
        yield int(digits), match.span()
    if not folded.isascii():
        for match in _HAN.finditer(folded):
            han = han_number(match[0])
            if han is not None:
                yield han, match.span()
        for match in _HAN_MIXED.finditer(folded):
            for number in _han_mixed(match):
                yield number, match.span()


def count_of(text: str) -> Number | None:
    """Return the number that a folded count is: digits, “a”, “three”, 三; None if it is none."""
    if text.isdecimal():
        return int(text)
    if text in ("a", "an"):
        return 1
    if text.isascii():
        parts = re.split("[ -]", text)
        return sum(_WORDS[part] for part in parts) if all(part in _WORDS for part in parts) else None
    return han_number(text)


def ordinal(text: str) -> int:
    """Return the number of an ordinal in words: “twenty-first” is 21."""
    *tens, last = re.split("[ -]", text)
    if last in _ORDINALS:
        return int(sum(_WORDS[word] for word in tens)) + _ORDINALS.index(last)
    return int(_WORDS[f"{last[:-4]}y"])


def _spelt(words: str) -> Number:
    if words in _ALONE:
        return _ALONE[words]
    total: Number = 0
    section: Number = 0
    for word in re.split("[ ,-]+", words):
        if word == "hundred":
            section = (section or 1) * 100
        elif word in _LARGE_WORDS:
            total, section = total + (section or 1) * _LARGE_WORDS[word], 0
        elif word not in ("a", "and"):
            section += _WORDS[word]
    return total + section


def _mixed(match: re.Match[str]) -> Iterator[Number]:
    given = {name: text for name, text in match.groupdict().items() if text}
    if "whole" in given:
        three = 3 if " three " in match[0].removeprefix(given["whole"]) else 1
        yield (count_of(given["whole"]) or 0) + three / _PARTS[given["part"]]
    elif "over" in given:
        if int(given["under"]):
            yield from _rounded(int(given.get("ones", 0)) + int(given["over"]) / int(given["under"]))
    elif "many" in given:
        share = (count_of(given["many"]) or 0) / _PARTS[given["share"]]
        yield from _rounded(share)
        yield from _rounded(100 * share)
    elif "half" in given:
        yield {**_LARGE_WORDS, "dozen": 12, "hundred": 100}[given["half"]] // 2
    else:
        yield 12 * (count_of(given["dozens"]) or 0)


def _rounded(number: float) -> Iterator[float]:
    """Yield a fraction as people round it."""
    yield from {number, round(number, 2), round(number, 3)}


def _han_mixed(match: re.Match[str]) -> Iterator[Number]:
    given = {name: count_of(text) or 0 for name, text in match.groupdict().items() if text and name != "half"}
    if "whole" in given:
        yield given["whole"] + 0.5
    elif "yuan" in given:
        yield given["yuan"] + given["jiao"] / 10
    elif "before" in given:
        decimals = "".join(str(_HAN_DIGITS[sign]) for sign in match["after"])
        yield given["before"] + int(decimals) / 10 ** len(decimals)
    elif "percent" in given:
        yield from (given["percent"], round(given["percent"] / 100, 4))
    elif "fold" in given:
        # 八折: one pays 80 %.
        paid = given["fold"] * (10 if given["fold"] < 10 else 1)
        yield from (paid, round(paid / 100, 4), 100 - paid, round(1 - paid / 100, 4))
    elif "over" in given:
        if given["under"]:
            yield from _rounded(given["over"] / given["under"])
    elif "dozens" in given:
        yield 12 * given["dozens"]
    else:
        yield 0.5


def han_number(text: str) -> int | None:
    """Return the value of Chinese numerals, or None. 一万五 is 15,000, 一万零五 is 10,005."""
    if not text or any(sign not in _HAN_DIGITS and sign not in _HAN_SCALES for sign in text):
        return None
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
        if sign in "亿億":
            total, section = (total + section + digit or 1) * scale, 0
        elif sign in "万萬":
            total, section = total + (section + digit or 1) * scale, 0
        else:
            section += (digit or 1) * scale
        digit = 0
    return total + section + digit * (scale // 10 if scale > 10 else 1)
