"""Turn Parquet columns into the values of JSON."""

from collections.abc import Iterator
from decimal import Decimal
from math import inf
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annotator.core.schema.exact_json import MAX_DEPTH, escape, read_decimal

_NO_KEY = "A key of a map is null, or its bytes are not UTF-8. Write the keys as text."


class Flaw:
    """Replaces a value that JSON does not have; ``message``: a sentence."""

    __slots__ = ("message",)

    def __init__(self, message: str) -> None:
        self.message = message


def flaws(value: Any, pointer: str = "") -> Iterator[tuple[str, Flaw]]:
    """Yield the flaws in a value with their JSON pointers."""
    if isinstance(value, Flaw):
        yield pointer, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from flaws(item, f"{pointer}/{escape(key)}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from flaws(item, f"{pointer}/{index}")


def check_fields(fields: list[pa.Field], depth: int = 1, where: str = "") -> None:
    """Raise ValueError, with a sentence, if the fields of a table or structure cannot be those of an object."""
    names = set()
    for field in fields:
        place = f"{where}.{field.name}" if where else field.name
        if field.name in names:
            raise ValueError(f"Two columns have the name “{place[:80]}”. Rename one.")
        names.add(field.name)
        _check_type(field.type, depth, place)


def _check_type(kind: pa.DataType, depth: int, place: str) -> None:
    if depth > MAX_DEPTH:
        raise ValueError(f"The column “{place[:80]}” is nested too deeply. The limit is {MAX_DEPTH} levels.")
    if pa.types.is_struct(kind):
        check_fields([kind.field(index) for index in range(kind.num_fields)], depth + 1, place)
    elif pa.types.is_map(kind):
        if not _is_text(kind.key_type):
            raise ValueError(f"The column “{place[:80]}” is a map whose keys are not text. Convert the keys to text.")
        _check_type(kind.item_type, depth + 1, place)
    elif _is_list(kind):
        _check_type(kind.value_type, depth + 1, place)
    elif pa.types.is_dictionary(kind):
        _check_type(kind.value_type, depth, place)
    elif not any(is_kind(kind) for is_kind in _SIMPLE):
        raise ValueError(f"The column “{place[:80]}” has the type {str(kind)[:80]}. Convert it to text or numbers.")


def values_of(array: pa.Array) -> list[Any]:
    """Return the values of a column whose type is checked.

    Objects lack their null fields: a null in a structure is the same as a field that is absent.
    """
    kind = array.type
    if pa.types.is_dictionary(kind):
        return values_of(array.dictionary_decode())
    if pa.types.is_struct(kind):
        return _objects(array)
    if pa.types.is_map(kind):
        entries = pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)]))
        return _maps(array.cast(entries))
    if _is_list(kind):
        return [found if found is None else list(found) for found in _pieces(array, values_of(array.flatten()))]
    if _is_text(kind):
        return _texts(array)
    if pa.types.is_floating(kind):
        return _floats(array)
    if pa.types.is_decimal(kind):
        return [found if found is None else _number(found) for found in array.to_pylist()]
    if pa.types.is_temporal(kind):
        return _times(array)
    plain: list[Any] = array.to_pylist()
    return plain


def _pieces(array: pa.Array, items: list[Any]) -> Iterator[list[Any] | None]:
    """Yield the items of each list."""
    at = 0
    for length in pc.list_value_length(array).to_pylist():
        yield None if length is None else items[at : at + length]
        at += length or 0


def _objects(array: pa.Array) -> list[Any]:
    names = [array.type.field(index).name for index in range(array.type.num_fields)]
    columns = [values_of(one) for one in array.flatten()]
    return [
        {name: column[row] for name, column in zip(names, columns, strict=True) if column[row] is not None}
        if is_there
        else None
        for row, is_there in enumerate(array.is_valid().to_pylist())
    ]


def _maps(array: pa.Array) -> list[Any]:
    pairs = list(zip(*map(values_of, array.flatten().flatten()), strict=True))
    out: list[Any] = []
    for piece in _pieces(array, pairs):
        found: Any = piece if piece is None else {}
        for key, value in piece or ():
            if not isinstance(key, str) or key in found:
                found = Flaw(f"A map has the key {str(key)[:80]} twice." if isinstance(key, str) else _NO_KEY)
                break
            found[key] = value
        out.append(found)
    return out


def _texts(array: pa.Array) -> list[Any]:
    is_binary = not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type))
    if not is_binary:
        try:
            texts: list[Any] = array.to_pylist()
        except UnicodeDecodeError:
            array = array.view(pa.large_binary() if pa.types.is_large_string(array.type) else pa.binary())
        else:
            return texts
    return [found if found is None else _text(found) for found in array.to_pylist()]


def _text(content: bytes) -> str | Flaw:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        return Flaw(f"The bytes are not UTF-8 (byte {error.start + 1}). Write them as text, such as Base64.")


def _floats(array: pa.Array) -> list[Any]:
    found: list[Any] = array.to_pylist()
    if pc.all(pc.is_finite(array)).as_py() is not False:
        return found
    # NaN is what programs write for a missing number.
    flaw = Flaw("Infinity is not JSON. Write null or text.")
    return [None if value is None or value != value else flaw if value in (inf, -inf) else value for value in found]


def _number(value: Decimal) -> int | float | str:
    """Return the number that equals a decimal; text if no float does."""
    text = f"{value:f}"
    if "." not in text:
        return int(text)
    try:
        return read_decimal(text)
    except ValueError:
        return text


def _times(array: pa.Array) -> list[Any]:
    kind, zone = array.type, ""
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        # The time is in UTC, whatever the zone that it was written in.
        array, zone = array.cast(pa.timestamp(kind.unit)), "Z"
    return [found if found is None else _iso(found, zone) for found in array.cast(pa.string()).to_pylist()]


def _iso(text: str, zone: str) -> str | Flaw:
    if text.startswith("<"):
        return Flaw("The time is outside of the years that can be written. Write it as text.")
    whole, point, fraction = text.replace(" ", "T").partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole}{point if fraction else ''}{fraction}{zone}"


def _is_list(kind: pa.DataType) -> bool:
    return any(is_kind(kind) for is_kind in _LISTS)


def _is_text(kind: pa.DataType) -> bool:
    return any(is_kind(kind) for is_kind in _TEXTS)


_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
_TEXTS = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
)
_SIMPLE = (
    *_TEXTS,
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_timestamp,
    pa.types.is_date,
    pa.types.is_time,
    pa.types.is_null,
)
