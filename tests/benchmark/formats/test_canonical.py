"""Canonical text is made on a fast path and a slow one; both must agree with the plain definition."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.schema import SchemaProblem, canonical, read_document
from annotator.core.schema.canonical import MAX_DEPTH, encode_faithful, normalise
from tests.benchmark.formats.format_records import read, wild_record

_TEXTS = st.text(st.characters(), max_size=6) | st.sampled_from(["", "\0", "a\0b", "\\u0000", "\ud800", "é", "{", '"'])
_ATOMS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**66), 2**66)
    | st.sampled_from([10**1000 - 1, 10**1000, -(10**1000)])
    | st.floats()
    | st.sampled_from([0.0, -0.0, 1.0, 2.0**53, 1e20, 1e300, -5.5, math.nan, math.inf])
    | _TEXTS
)
ANYTHING = st.recursive(
    _ATOMS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(_TEXTS, inner, max_size=3)
        | st.dictionaries(st.integers(), inner, max_size=1)
    ),
    max_leaves=8,
)


def plainly(value: Any) -> Any:
    """Return what is stored for a value, or raise ValueError: the definition, without regard to speed."""
    if isinstance(value, str):
        if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
            raise ValueError(value)
        return value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if abs(value) >= 10**1000:
            raise ValueError(value)
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(value)
        return value
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise ValueError(value)
        return {plainly(key): plainly(item) for key, item in value.items()}
    return [plainly(item) for item in value]


def strict(value: Any) -> str:
    """Text that tells 1 from 1.0 and true."""
    return json.dumps(value, sort_keys=True)


@given(ANYTHING)
def test_normalised_values_are_as_defined(value: Any) -> None:
    try:
        expected = plainly(value)
    except ValueError:
        with pytest.raises(SchemaProblem):
            normalise(value)
        with pytest.raises(SchemaProblem):
            canonical(value)
        assert encode_faithful(value) is None
    else:
        assert strict(normalise(value)) == strict(expected)
        assert canonical(value) == canonical(expected)
        assert strict(json.loads(canonical(value))) == strict(expected)
        encoded = encode_faithful(value)
        if encoded is not None:
            assert strict(json.loads(encoded)) == strict(value) == strict(expected)


@given(st.dictionaries(st.text("abé\uffff😀", max_size=3), st.integers(0, 9), max_size=6))
def test_the_order_of_keys_does_not_matter(value: dict[str, int]) -> None:
    assert canonical(value) == canonical(dict(reversed(value.items())))


@pytest.mark.parametrize("levels", [MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1, 100_000])
@pytest.mark.parametrize("kind", ["list", "object"])
def test_depth_is_bounded_before_anything_recurses(levels: int, kind: str) -> None:
    value: Any = 1
    for _ in range(levels):
        value = [value] if kind == "list" else {"a": value}
    if levels <= MAX_DEPTH:
        assert json.loads(canonical(value)) == value
        return
    with pytest.raises(SchemaProblem, match="nested more than 60"):
        canonical(value)
    with pytest.raises(SchemaProblem, match="nested more than 60"):
        read_document(value)


def test_problems_have_pointers() -> None:
    with pytest.raises(SchemaProblem) as caught:
        normalise({"a/b": [{"~": "x\0"}]})
    assert caught.value.problems[0].pointer == "/a~1b/0/~0"


def test_a_normalised_value_is_a_copy() -> None:
    value = {"a": [1, {"b": 2}]}
    copy = normalise(value)
    copy["a"][1]["b"] = 3
    assert value == {"a": [1, {"b": 2}]}


def test_a_read_document_is_a_copy() -> None:
    (dialogue,) = read("wild", wild_record())
    copy = read_document(dialogue.document)
    copy["tasks"][0]["steps"][0]["arguments"]["city"] = "Nara"
    assert dialogue.document["tasks"][0]["steps"][0]["arguments"]["city"] == "Kyoto"
