"""Read and write JSON exactly. All JSON text is read and written here.

The kind of a number matters: 40 and 40.0 are two values (a published checker judges a call with the one right and with
the other wrong), and so are 0.0 and -0.0. Integers keep every digit, up to ``MAX_DIGITS``. Decimals are floats; a
decimal that no float equals (1.00000000000000000001) is refused with its JSON pointer, because digits would be lost.
How a number is *spelled* (1.50 or 1.5, 1E2 or 100.0) is not part of the value; ``core.schema.layout`` keeps that for
export. A key that appears twice in one object is refused, too, because one of the two values would be lost.

The fast parser silently takes the last of two equal keys, turns integers beyond 64 bits into floats, and rounds
decimals. Counting finds all of these without parsing twice: the written value has as many quotes as the text unless a
key was lost, and only a number of 16 digits or more, or with a large negative exponent, can be inexact. (A quote
written as an escape would change the count.) The slow parser decides about doubtful texts.
"""

import contextlib
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

import orjson

#: Deepest nesting of a value; deeper input is refused before any recursive code reads it.
MAX_DEPTH = 60
#: Most digits of an integer. Reading and writing thousands of digits takes quadratic time.
MAX_DIGITS = 1000
#: Characters of a number that a sentence shows.
_SHOWN = 40

_TOO_DEEP = f"The value is nested too deeply. The limit is {MAX_DEPTH} levels."
_BEYOND = 10**MAX_DIGITS
_INT_MIN, _INT_MAX = -(2**63), 2**64 - 1
_DIGITS = bytes(0x30 if 0x30 <= byte <= 0x39 else 0x20 for byte in range(256))
_LONG_NUMBER = b"0" * 19
#: The digits of a decimal, including the point: a float keeps any decimal of 15 digits.
_FIGURES = bytes(0x30 if 0x30 <= byte <= 0x39 or byte == 0x2E else 0x20 for byte in range(256))
_LONG_FIGURE = b"0" * 16
#: Searched for one by one, because only their first characters have a fast search.
_TINY = (re.compile(rb"e-0*[1-9][0-9]{2}"), re.compile(rb"E-0*[1-9][0-9]{2}"))
# A text without its closing mark extends to the end: searching again from each mark would be quadratic.
_TOKEN = re.compile(r'"(?:[^"\\]|\\[\s\S])*+"?|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?')
_ESCAPED_QUOTE = b"\\u0022"
_SLOW = ("infinity", "surrogate in string", "depth limit")


_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
HALF_CHARACTER = "The text contains half of a surrogate pair, which is not a character. Remove it."


class JsonError(ValueError):
    """Valid JSON with a value that cannot be stored; ``pointer`` says where (RFC 6901)."""

    def __init__(self, pointer: str, message: str) -> None:
        # Keys may contain characters that a database cannot store, and this message is stored.
        pointer, message = (_UNSTORABLE.sub("\ufffd", text) for text in (pointer, message))
        super().__init__(f"At {pointer[:200]}: {message}" if pointer else message)
        self.pointer = pointer
        self.message = message


def loads(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises JsonError for a key that appears twice, too many digits or levels; json.JSONDecodeError for invalid JSON.
    Both are ValueErrors.
    """
    raw = text if isinstance(text, bytes) else text.encode(errors="surrogatepass")
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        # The fast parser reads an integer of several hundred digits as infinity, and gives no position for half a
        # surrogate pair.
        if any(word in error.msg for word in _SLOW):
            with contextlib.suppress(UnicodeDecodeError):
                return _slowly(raw)
        raise
    try:
        written = orjson.dumps(value)
    except TypeError:
        raise JsonError("", _TOO_DEEP) from None
    doubtful = (
        raw.count(b'"') != written.count(b'"') or _may_be_inexact(raw) or (b"\\" in raw and _ESCAPED_QUOTE in raw)
    )
    return _slowly(raw) if doubtful else value


def holds_more_values(raw: bytes, most: int) -> bool:
    """Return whether a JSON text may have more values than ``most``, each of which can take a hundred bytes of memory.

    Use it before parsing: it counts the characters before and between values, also inside texts.
    """
    return len(raw) > most and sum(map(raw.count, (b",", b"[", b"{"))) > most


def read_decimal(text: str) -> float:
    """Return the float that equals a decimal; ``text`` is a number with a point or an exponent.

    Raises ValueError, with a sentence, if there is none: with as many digits as ``text`` has, the nearest float is
    another number.
    """
    # Measured before converting, as for integers.
    if len(text) > MAX_DIGITS:
        raise ValueError(too_many_digits())
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("The number is too large. Write it as text.")
    is_doubtful = len(text) >= len(_LONG_FIGURE) or abs(number) < sys.float_info.min
    if is_doubtful and repr(number) != text:
        try:
            decimal = Decimal(text)
        except InvalidOperation:
            decimal = Decimal("NaN")  # The exponent is too large.
        digits = len(decimal.as_tuple().digits)
        if decimal not in (Decimal(repr(number)), Decimal(f"{number:.{max(digits, 1) - 1}e}")):
            shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
            raise ValueError(
                f"{shown} would be stored as {number!r}. Write {number!r}, or write the original number as text."
            )
    return number


def with_kept_decimals(text: str) -> str:
    """Return a JSON text in which the nearest float replaces each decimal that ``read_decimal`` refuses."""
    return _TOKEN.sub(_kept, text) if _may_be_inexact(text.encode(errors="replace")) else text


def _kept(token: re.Match[str]) -> str:
    text = token[0]
    if text[0] != '"' and any(sign in text for sign in ".eE"):
        try:
            read_decimal(text)
        except ValueError:
            number = float(text)
            return repr(number) if math.isfinite(number) else text
    return text


def _may_be_inexact(raw: bytes) -> bool:
    return _LONG_FIGURE in raw.translate(_FIGURES) or any(tiny.search(raw) for tiny in _TINY)


def load_stored(text: str) -> Any:
    """Return the value of a text that ``dumps`` or ``canonical`` wrote, which is always valid."""
    raw = text.encode()
    return json.loads(text) if _LONG_NUMBER in raw.translate(_DIGITS) else orjson.loads(raw)


def dumps(value: Any, *, option: int = 0, default: Callable[[Any], Any] | None = None) -> bytes:
    """Return the JSON of a value, without extra white space; ``option`` and ``default`` as in orjson.
    Raises TypeError.
    """
    try:
        return orjson.dumps(value, option=option, default=default)
    except TypeError:
        return orjson.dumps(_written_out(value), option=option, default=default)


def same(a: Any, b: Any) -> bool:
    """Return whether two JSON values are equal: true is not 1, 40.0 is not 40; key order does not count."""
    if a != b:
        return False
    try:
        return dumps(a, option=orjson.OPT_SORT_KEYS) == dumps(b, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        # Half a surrogate pair, which only a program can put into a value.
        return True


def is_too_long(number: int) -> bool:
    """Return whether an integer has more digits than can be stored."""
    return not -_BEYOND < number < _BEYOND


def escape(key: str) -> str:
    """Return a key as one part of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def pointer(path: Iterable[object]) -> str:
    """Return a path of keys and indexes as a JSON pointer."""
    return "".join(f"/{escape(str(step))}" for step in path)


class _Flaw:
    """Replaces a value that cannot be stored until its place is known. ``step``: the key concerned."""

    def __init__(self, message: str, step: str = "") -> None:
        self.message = message
        self.step = step


def _slowly(raw: bytes) -> Any:
    try:
        value = json.loads(
            raw.decode(errors="surrogatepass"),
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_float,
            parse_constant=_constant,
        )
        for pointer, flaw in _flaws(value, ""):
            raise JsonError(pointer + flaw.step, flaw.message)
    except RecursionError:
        raise JsonError("", _TOO_DEEP) from None
    return value


def _object(pairs: list[tuple[str, Any]]) -> Any:
    out = dict(pairs)
    if len(out) == len(pairs):
        return out
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            break
        seen.add(key)
    return _Flaw(f"The key “{key[:80]}” appears twice in one object. Remove one.", f"/{escape(key)}")


def _integer(text: str) -> Any:
    # Measured before converting: converting thousands of digits takes quadratic time.
    return int(text) if len(text.lstrip("-")) <= MAX_DIGITS else _Flaw(too_many_digits())


def _float(text: str) -> Any:
    try:
        return read_decimal(text)
    except ValueError as error:
        return _Flaw(str(error))


def _constant(name: str) -> _Flaw:
    return _Flaw(f"{name} is not a JSON value. Write a number or null.")


def too_many_digits() -> str:
    """Return the sentence for an integer that ``is_too_long``."""
    return f"The number has more than {MAX_DIGITS:,} digits. Write it as text."


def _flaws(value: Any, pointer: str) -> Iterator[tuple[str, _Flaw]]:
    if isinstance(value, _Flaw):
        yield pointer, value
    elif isinstance(value, str):
        if not value.isascii() and _SURROGATE.search(value):
            yield pointer, _Flaw(HALF_CHARACTER)
    elif isinstance(value, dict):
        for key, item in value.items():
            if _SURROGATE.search(key):
                yield pointer, _Flaw(f"A key: {HALF_CHARACTER}")
            yield from _flaws(item, f"{pointer}/{escape(key)}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _flaws(item, f"{pointer}/{index}")


def _written_out(value: Any) -> Any:
    """Return a copy in which integers that the encoder cannot write are text."""
    if isinstance(value, dict):
        return {key: _written_out(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_written_out(item) for item in value]
    if type(value) is int and not _INT_MIN <= value <= _INT_MAX and not is_too_long(value):
        return orjson.Fragment(str(value))
    return value
