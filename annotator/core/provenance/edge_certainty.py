"""How certain it is that a call took a value from an observation that contains it."""

import re

from annotator.core.provenance.search_targets import Hit, Quality
from annotator.core.provenance.value_forms import Forms

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|[\u3400-\u9fff]")
#: Common words in argument names that match any key.
_NEUTRAL = frozenset({"id", "ids", "the", "of", "list", "value", "name", "code", "number", "key"})


def words_of(name: str) -> frozenset[str]:
    """Return the words of a name in camelCase, snake_case or a path, in lower case and without a plural s."""
    words = (match[0].lower() for match in _WORDS.finditer(name))
    return frozenset(word[:-1] if len(word) > 3 and word.endswith("s") and word[-2] != "s" else word for word in words)


#: Words in the names of arguments that set how a tool works. Their values are the same everywhere.
SETTINGS = words_of(
    "class currency direction format lang language level limit locale max maximum min minimum mode offset ok order "
    "outcome page priority result size skip sort state status success theme type unit urgency version"
)
#: Words in keys that say when a reply was made, not what it is about.
_LOGGED = words_of("generated created updated modified timestamp fetched logged expires")
_IDENTIFYING = words_of("id ids number no nr num key code index")
#: A plain word shorter than this, inside a longer text, is not evidence of its source.
_LONG_WORD = 8
#: Whole numbers below this, and round ones up to the next, are as common as words.
_COMMON_NUMBER, _ROUND_NUMBER = 1_000, 10_000
_YEARS = range(1900, 2101)
_AFFINE = 0.5


def affinity(name: frozenset[str], path: str) -> float:
    """Return how well the keys of a path fit an argument's name: the share of its words found there, at most 1.

    Words that match any key (id, name …) count for a tenth.
    """
    if not name:
        return 0.0
    keys = words_of(path)
    weights = {word: 0.1 if word in _NEUTRAL else 1.0 for word in name}
    return sum(weight for word, weight in weights.items() if word in keys) / sum(weights.values())


def is_evidence(forms: Forms, hit: Hit, fit: float, *, common: bool) -> bool:
    """Return whether a hit suggests its observation at all, if only weakly. ``common``: the value needs no source."""
    if common or (forms.small and hit.whole):
        return hit.whole and fit >= 1
    if hit.whole:
        return True
    if hit.quality is Quality.INSIDE:
        return _is_data_key(forms, hit)
    text = forms.folded or str(forms.value)
    return _is_distinct(forms) or len(text) >= _LONG_WORD or not text.isascii() or not text.isalnum()


def is_certain(forms: Forms, name: frozenset[str], hit: Hit, fit: float, shown: str, *, only: bool) -> bool:
    """Return whether a dependency on the observation with this hit may be accepted together with others.

    Values that nothing else has by chance are certain: ids, names, longer numbers. Others (words of a vocabulary,
    small, round and year numbers, round hours, parts of a code) need keys that fit the argument's name, and an argument
    that is no setting. ``shown``: the text at the hit; ``only``: no other observation has the value.
    """
    path = words_of((hit.path or "").rpartition("/")[2])
    if forms.small:
        return only and fit >= 1 and bool(path & _IDENTIFYING) and bool(name & _IDENTIFYING)
    if forms.dates and path & _LOGGED and not fit:
        return False
    if not hit.whole and _is_fragment(forms, hit, shown):
        return fit >= _AFFINE and not name & SETTINGS
    if _is_distinct(forms) or _is_name(forms):
        return True
    return fit >= _AFFINE and not name & SETTINGS


def _is_distinct(forms: Forms) -> bool:
    """Return whether a value hardly appears twice by chance."""
    number = forms.number
    if number is not None:
        if number != int(number):
            return len(str(abs(number)).replace(".", "").strip("0")) > 2
        size = abs(int(number))
        return size >= _COMMON_NUMBER and size not in _YEARS and (size > _ROUND_NUMBER or size % 100 != 0)
    if forms.times and not forms.dates:
        return forms.times[0][1] % 30 != 0
    text = forms.folded
    return len(text) > 3 and (any(c.isdecimal() for c in text) or any(not c.isalnum() and c not in "_-" for c in text))


def _is_name(forms: Forms) -> bool:
    """Return whether a text looks like a name: capitalised, or in a script without capitals."""
    text = str(forms.value).strip()
    if forms.number is not None or forms.times:
        return False
    return not text.isascii() or (len(text) > 3 and text[0].isupper() and not text.isupper())


def _is_data_key(forms: Forms, hit: Hit) -> bool:
    """Return whether a value is the whole key of an object that lists data by name: BTC, 2024-07-05, Graz."""
    text = str(forms.value)
    is_key = (hit.path or "").rpartition("/")[2] == text
    return is_key and (text[:1].isupper() or any(c.isdecimal() for c in text))


def _is_fragment(forms: Forms, hit: Hit, shown: str) -> bool:
    """Return whether a value is part of a code such as AX-2026-15. A long number in a link and the name in an e-mail
    address are none.
    """
    start = end = hit.start
    while start > 0 and not shown[start - 1].isspace():
        start -= 1
    end = hit.end
    while end < len(shown) and not shown[end].isspace():
        end += 1
    if start == hit.start and shown[hit.end : hit.end + 1] == "@":
        return False
    around = (shown[start : hit.start] + shown[hit.end : end]).strip(".,;:!?()[]{}\"'“”‘’「」，。：；（）$€£¥%#")
    if not around or not any(c.isascii() and c.isalnum() for c in around):
        return False
    if forms.number is not None:
        return forms.number == int(forms.number) and abs(forms.number) < _ROUND_NUMBER
    letters, digits = (any(map(test, forms.folded)) for test in (str.isalpha, str.isdecimal))
    return not forms.dates and "@" not in forms.folded and not (letters and digits and len(forms.folded) > 4)
