"""Canonical JSON text: the form in which content is stored, hashed and compared.

Keys sorted, no insignificant white space, UTF-8, whole floats written as integers, so that two documents which mean
the same have the same bytes on every machine. What cannot be stored faithfully (NUL, lone surrogates, NaN, numbers
beyond 64 bits) is refused at the door with a sentence.
"""

import hashlib
import math
from typing import Any

import orjson

from annotator.schema.errors import Problem, SchemaProblem

#: Largest nesting accepted in a document; deeper input is refused before any recursive code sees it.
MAX_DEPTH = 60

_INT_MIN, _INT_MAX = -(2**63), 2**64 - 1


def normalise(value: Any) -> Any:
    """Return a copy of ``value`` with whole floats as integers and tuples as lists.

    Raises SchemaProblem, with the JSON pointer of the place, for whatever cannot be stored faithfully.
    """
    try:
        return _copy(value, 0)
    except _Unfaithful:
        # Pointers are built only now: they would triple the cost of the ordinary case.
        return _copy_with_pointer(value, "", 0)


def canonical(value: Any) -> str:
    """Canonical JSON text of ``value``. Raises SchemaProblem when it cannot be stored faithfully."""
    encoded = encode_faithful(value, option=orjson.OPT_SORT_KEYS)
    if encoded is None:
        encoded = orjson.dumps(normalise(value), option=orjson.OPT_SORT_KEYS)
    return encoded.decode()


def encode_faithful(value: Any, *, option: int = 0) -> bytes | None:
    """JSON of a dict or list that ``normalise`` would return unchanged; None when it has to be looked at closely.

    The walk settles what the encoder does not (floats, depth, foreign types), the encoder what is slow to walk
    (half surrogates, big integers, keys) and its output shows NUL characters. One pass each: import lives on this.
    """
    kind = type(value)
    if (kind is not dict and kind is not list) or not _is_faithful(value, 0):
        return None
    try:
        encoded = orjson.dumps(value, option=option)
    except TypeError:
        return None
    return None if b"\\u0000" in encoded else encoded


def write_whole(value: dict[str, Any] | list[Any], depth: int = 0) -> None:
    """Turn whole floats into integers, in place: what ``normalise`` would do, without a copy of everything else."""
    if depth >= MAX_DEPTH:
        return
    places: Any = value
    for key, item in value.items() if type(value) is dict else enumerate(value):
        kind = type(item)
        if kind is dict or kind is list:
            write_whole(item, depth + 1)
        elif kind is float:
            places[key] = _whole(item)


def content_hash(text: str) -> str:
    """SHA-256 of canonical text, as 64 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def value_hash(value: Any) -> str:
    """First 16 hexadecimal digits of the hash of a value: enough to tell whether an anchored value has changed."""
    return content_hash(canonical(value))[:16]


def escape(key: str) -> str:
    """A key as one step of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def unescape(step: str) -> str:
    """The key behind one step of a JSON pointer."""
    return step.replace("~1", "/").replace("~0", "~")


class _Unfaithful(Exception):
    """Something in the value cannot be stored; the slow walk says what and where."""


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
            if item.is_integer() or item - item != 0.0:
                return False
        else:
            return False
    return True


def _copy(value: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise _Unfaithful
    if isinstance(value, str):
        if "\x00" in value:
            raise _Unfaithful
        if not value.isascii():
            _refuse_surrogates(value)
        return value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not _INT_MIN <= value <= _INT_MAX:
            raise _Unfaithful
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _Unfaithful
        return _whole(value)
    depth += 1
    if isinstance(value, dict):
        out = {}
        for key, item in value.items():
            if not isinstance(key, str) or "\x00" in key:
                raise _Unfaithful
            if not key.isascii():
                _refuse_surrogates(key)
            out[key] = _copy(item, depth)
        return out
    if isinstance(value, list | tuple):
        return [_copy(item, depth) for item in value]
    raise _Unfaithful


def _refuse_surrogates(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _Unfaithful from None


def _whole(value: float) -> int | float:
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _copy_with_pointer(value: Any, pointer: str, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise SchemaProblem([Problem(pointer, f"The value is nested more than {MAX_DEPTH} levels deep.")])
    if isinstance(value, str):
        return _checked_text(value, pointer)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not _INT_MIN <= value <= _INT_MAX:
            raise SchemaProblem([Problem(pointer, "The number has more than 64 bits; write it as a string.")])
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise SchemaProblem([Problem(pointer, "NaN and infinity are not JSON numbers.")])
        return _whole(value)
    if isinstance(value, dict):
        out = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise SchemaProblem([Problem(pointer, "Keys of an object must be strings.")])
            _checked_text(key, pointer)
            out[key] = _copy_with_pointer(item, f"{pointer}/{escape(key)}", depth + 1)
        return out
    if isinstance(value, list | tuple):
        return [_copy_with_pointer(item, f"{pointer}/{index}", depth + 1) for index, item in enumerate(value)]
    raise SchemaProblem([Problem(pointer, f"A {type(value).__name__} is not a JSON value.")])


def _checked_text(text: str, pointer: str) -> str:
    if "\x00" in text:
        raise SchemaProblem([Problem(pointer, "The text holds a NUL character, which cannot be stored; remove it.")])
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SchemaProblem(
            [Problem(pointer, "The text holds half of a surrogate pair, which is no character; remove it.")]
        ) from None
    return text
