"""Canonical JSON text: the form in which content is stored, hashed and compared.

Keys are sorted, there is no insignificant white space, the encoding is UTF-8, and every number has its shortest
spelling, so equal documents have the same bytes on every machine. Two numbers are the same if they have the same kind
and value: 1.5, 1.50 and 15e-1 are, and so are 1E2 and 100.0; 40 and 40.0 are not, nor are 0.0 and -0.0; integers keep
all their digits. (Documents stored before kinds were kept have integers in place of 40.0; their text, and so their
hash, does not change.) Values that cannot be stored exactly (NUL, single surrogates, NaN, integers of more than 1,000
digits) are refused with a sentence.
"""

import hashlib
import math
from typing import Any

import orjson

from annotator.core.schema.errors import Problem, SchemaProblem
from annotator.core.schema.exact_json import (
    HALF_CHARACTER,
    MAX_DEPTH,
    dumps,
    escape,
    is_too_long,
    pointer,
    too_many_digits,
)

__all__ = [
    "MAX_ANCHOR",
    "MAX_DEPTH",
    "canonical",
    "content_hash",
    "encode_faithful",
    "escape",
    "normalise",
    "shortened",
    "unescape",
    "value_hash",
    "without_kinds",
]

#: The longest anchor that is stored. Keys of observations may be longer; the place is then the value that contains
#: them.
MAX_ANCHOR = 600


def normalise(value: Any) -> Any:
    """Return a copy of ``value`` with tuples as lists.

    Raises SchemaProblem, with the JSON pointer of the place, if it cannot be stored exactly.
    """
    try:
        return _copy(value, 0)
    except _Unfaithful as found:
        raise SchemaProblem([Problem(pointer(reversed(found.path)), str(found))]) from None


def canonical(value: Any) -> str:
    """Return the canonical JSON text of ``value``. Raises SchemaProblem if it cannot be stored exactly."""
    encoded = encode_faithful(value, option=orjson.OPT_SORT_KEYS)
    if encoded is None:
        encoded = dumps(normalise(value), option=orjson.OPT_SORT_KEYS)
    return encoded.decode()


def encode_faithful(value: Any, *, option: int = 0) -> bytes | None:
    """Return the JSON of a dict or list that ``normalise`` would not change; None if it must be checked by
    ``normalise``.

    The walk checks what the encoder does not (floats, depth, other types), the encoder what is slow to walk (half
    surrogates, big integers, keys), and its output shows NUL characters. Each is one pass, because the speed of imports
    depends on it.
    """
    kind = type(value)
    if (kind is not dict and kind is not list) or not _is_faithful(value, 0):
        return None
    try:
        encoded = orjson.dumps(value, option=option)
    except TypeError:
        return None
    return None if b"\\u0000" in encoded else encoded


def without_kinds(value: Any) -> Any:
    """Return a copy in which whole floats are integers, to compare numbers of different kinds.

    Events and protocols are still hashed in this form, which is older than the distinction of kinds.
    """
    if isinstance(value, dict):
        return {key: without_kinds(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_kinds(item) for item in value]
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value


def content_hash(text: str) -> str:
    """Return the SHA-256 of canonical text, as 64 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def value_hash(value: Any) -> str:
    """Return the first 16 hexadecimal digits of the hash of a value: enough to tell whether an anchored
    value changed.
    """
    return content_hash(canonical(value))[:16]


def shortened(anchor: str) -> str:
    """Return the anchor; if it is too long to store, the anchor of its nearest parent."""
    return anchor if len(anchor) <= MAX_ANCHOR else anchor[: MAX_ANCHOR + 1].rpartition("/")[0]


def unescape(step: str) -> str:
    """Return the key of one part of a JSON pointer."""
    return step.replace("~1", "/").replace("~0", "~")


class _Unfaithful(Exception):
    """Something in the value cannot be stored; the message says why. ``path``: keys and indexes, innermost first.

    The path grows on the way out, because building pointers on the way in would triple the cost of the usual case.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.path: list[str | int] = []


_ATOMS = frozenset((str, int, bool, type(None)))


def _is_faithful(value: Any, depth: int) -> bool:
    if depth >= MAX_DEPTH:
        return False
    for item in value.values() if type(value) is dict else value:
        kind = type(item)
        if kind is str or kind in _ATOMS:
            continue
        if kind is dict or kind is list:
            if item and not _is_faithful(item, depth + 1):
                return False
        elif kind is float:
            # NaN and infinity minus themselves are not zero.
            if item - item != 0.0:
                return False
        else:
            return False
    return True


def _copy(value: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise _Unfaithful(f"The value is nested more than {MAX_DEPTH} levels deep.")
    if isinstance(value, str):
        if "\x00" in value or not value.isascii():
            _refuse_unstorable(value)
        return value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if is_too_long(value):
            raise _Unfaithful(too_many_digits())
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _Unfaithful("NaN and infinity are not JSON numbers.")
        return value
    depth += 1
    if isinstance(value, dict):
        out = {}
        for key, item in value.items():
            # A problem of a key itself is at the object.
            if not isinstance(key, str):
                raise _Unfaithful("Keys of an object must be strings.")
            if "\x00" in key or not key.isascii():
                _refuse_unstorable(key)
            try:
                out[key] = _copy(item, depth)
            except _Unfaithful as found:
                found.path.append(key)
                raise
        return out
    if isinstance(value, list | tuple):
        items = []
        for index, item in enumerate(value):
            try:
                items.append(_copy(item, depth))
            except _Unfaithful as found:
                found.path.append(index)
                raise
        return items
    raise _Unfaithful(f"A {type(value).__name__} is not a JSON value.")


def _refuse_unstorable(text: str) -> None:
    if "\x00" in text:
        raise _Unfaithful("The text contains a NUL character, which cannot be stored. Remove it.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _Unfaithful(HALF_CHARACTER) from None
