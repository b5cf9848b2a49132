"""Values and names in sentences."""

import difflib
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from annotator.core.schema.exact_json import dumps

_MAX_LENGTH = 60
_TYPES = {
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}


def shown(value: Any) -> str:
    """Return a value for a sentence, shortened if it is long."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return f"the text “{cut(value)}”" if value.strip() else "empty text"
    if isinstance(value, dict):
        return "an object" if value else "an empty object"
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    return cut(dumps(value).decode())


def quoted(value: Any) -> str:
    """Return a text in quotation marks, or another value as it is written, shortened if it is long."""
    return f"“{cut(value)}”" if isinstance(value, str) else cut(dumps(value).decode())


def cut(text: str, longest: int = _MAX_LENGTH) -> str:
    """Return ``text`` on one line, with an ellipsis if it is long."""
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def listed(words: Iterable[str], most: int = 8, last: str = "and") -> str:
    """Return “a”, “b” and “c”; after ``most`` words, the number of the others."""
    quoted = [f"“{cut(word)}”" for word in words]
    if len(quoted) > most:
        quoted = [*quoted[:most], f"{len(quoted) - most} more"]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} {last} {quoted[-1]}" if quoted else "none"


def options(values: Sequence[Any]) -> str:
    """Return the values of an enum."""
    return listed((value if isinstance(value, str) else dumps(value).decode() for value in values), last="or")


def types(names: Sequence[str]) -> str:
    """Return JSON Schema types in words: "text or null"."""
    return " or ".join(_TYPES.get(name, name) for name in names)


def path_name(path: Sequence[str | int]) -> str:
    """Return a place below the arguments in dotted form: position.latitude, data[0].type."""
    name = ""
    for step in path:
        name += f"[{step}]" if isinstance(step, int) else f".{step}" if name else str(step)
    return cut(name)


def closest(word: str, known: Iterable[str]) -> str | None:
    """Return the known name that was probably meant: equal but for case and separators, else the most similar one."""
    names = list(known)
    squashed = _squash(word)
    for name in names:
        if squashed and _squash(name) == squashed:
            return name
    if not names:
        return None
    # A full comparison of two texts is cubic at worst, so only the name with the most common pairs is compared fully.
    pairs = _pairs(word[:_MAX_LENGTH])
    near = max(names, key=lambda name: _share(pairs, _pairs(name[:_MAX_LENGTH])))
    alike = difflib.SequenceMatcher(None, word[:_MAX_LENGTH], near[:_MAX_LENGTH]).ratio() >= 0.75
    return near if alike else None


@lru_cache(maxsize=4096)
def _squash(word: str) -> str:
    return re.sub(r"[\W_]", "", word).lower()


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / (len(one) + len(other))


@lru_cache(maxsize=4096)
def _pairs(word: str) -> frozenset[str]:
    """Return all pairs of neighbouring letters, including the ends of the word."""
    word = f" {word.lower()} "
    return frozenset(word[at : at + 2] for at in range(len(word) - 1))
