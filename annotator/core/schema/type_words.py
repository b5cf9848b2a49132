"""Words that published tool schemas use for types, and their meaning in JSON Schema.

JSON Schema has seven types. Published toolsets also write "float", "dict", "array of strings", "Optional[int]",
"integer or string", "interger", and their Chinese names.
"""

import re
from functools import lru_cache
from typing import Any

JSON_TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})

_WORDS: dict[str, tuple[str, ...]] = {
    "string": (
        *("str", "text", "char", "character", "varchar", "date", "datetime", "time", "url", "uri", "uuid", "email"),
        *("file", "path", "bytes", "字符串", "文本", "日期"),
    ),
    "number": ("float", "double", "decimal", "real", "numeric", "float32", "float64", "数字", "浮点数", "小数"),
    "integer": ("int", "interger", "integar", "long", "short", "int32", "int64", "uint", "bigint", "整数", "整型"),
    "boolean": ("bool", "布尔", "布尔值"),
    "object": ("dict", "dictionary", "map", "mapping", "hashmap", "struct", "record", "对象", "字典"),
    "array": ("list", "tuple", "set", "arr", "vector", "sequence", "iterable", "数组", "列表"),
    "null": ("none", "nil", "void"),
}
_KNOWN = {word: name for name, words in _WORDS.items() for word in (name, *words)}
#: Words with an unclear type: "timestamp" is a text in one schema and a number in another.
_ANYTHING = frozenset({"any", "unknown", "mixed", "variant", "json", "timestamp", "enum", "*", "", "任意"})

_GENERIC = re.compile(r"([^\s\[\]<>]+)\s*[\[<](.*)[\]>]", re.DOTALL)
_OF = re.compile(r"(\S+)\s+of\s+(.+)", re.DOTALL)
_SEPARATOR = re.compile(r"\s*\|\s*|\s*/\s*|\s+or\s+")
#: A longer type word is prose.
_MAX_LENGTH = 80


@lru_cache(maxsize=1024)
def _parse(word: str) -> tuple[tuple[str, ...], Any] | None:
    """Return type names and, if the word names it, the schema of the items; None for an unknown word."""
    word = word.strip().lower()
    if word in _ANYTHING:
        return (), None
    name = _KNOWN.get(word) or _KNOWN.get(word.removesuffix("s"))
    if name:
        return (name,), None
    if len(word) > _MAX_LENGTH:
        return None
    if word.endswith("[]"):
        return ("array",), type_fragment(word[:-2])
    if generic := _GENERIC.fullmatch(word):
        return _parse_generic(generic[1].rpartition(".")[2], generic[2])
    if (of := _OF.fullmatch(word)) and _KNOWN.get(of[1].removesuffix("s")) == "array":
        return ("array",), type_fragment(of[2])
    parts = _SEPARATOR.split(word)
    if len(parts) > 1:
        return _union(parts)
    # "string, optional" and "string (YYYY-MM-DD)" begin with the type.
    first = re.split(r"[\s,;(:]", word, maxsplit=1)[0]
    return ((_KNOWN[first],), None) if first != word and first in _KNOWN else None


def _parse_generic(outer: str, inner: str) -> tuple[tuple[str, ...], Any] | None:
    if outer == "optional":
        names = _parse(inner)
        return None if names is None else (_with_null(names[0]), names[1])
    if outer == "union":
        return _union(inner.split(","))
    kind = _KNOWN.get(outer)
    if kind == "array":
        # list[int, str] and tuple[int, str] name one type for each position, which no single schema of the items
        # expresses.
        several = "," in inner and "[" not in inner and "<" not in inner
        return ("array",), None if outer == "tuple" or several else type_fragment(inner)
    return (("object",), None) if kind == "object" else None


def _union(parts: list[str]) -> tuple[tuple[str, ...], Any] | None:
    names: list[str] = []
    items: Any = None
    for part in parts:
        parsed = _parse(part)
        if parsed is None:
            return None
        if not parsed[0]:
            return (), None
        names += [name for name in parsed[0] if name not in names]
        items = items or parsed[1]
    return tuple(names), items


def _with_null(names: tuple[str, ...]) -> tuple[str, ...]:
    return (*names, "null") if names and "null" not in names else names


def type_fragment(word: str) -> dict[str, Any] | None:
    """Return the JSON Schema keywords that a type word means; {} for "any"; None for an unknown word.

    "float" → {"type": "number"}; "array of strings" → {"type": "array", "items": {"type": "string"}}; "Optional[int]" →
    {"type": ["integer", "null"]}.
    """
    parsed = _parse(word)
    if parsed is None:
        return None
    names, items = parsed
    fragment: dict[str, Any] = {}
    if names:
        fragment["type"] = names[0] if len(names) == 1 else list(names)
    if items:
        fragment["items"] = items
    return fragment
