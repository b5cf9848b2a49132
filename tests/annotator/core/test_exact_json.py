"""The door between JSON texts and values, and how a text is laid out: nothing is lost on the way, whatever it says."""

import json
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.editing import apply
from annotator.core.editing.json_text import read_json
from annotator.core.forms.values import shown_json
from annotator.core.schema import canonical, content_hash
from annotator.core.schema.canonical import without_kinds
from annotator.core.schema.exact_json import JsonError, dumps, load_stored, loads, same, with_kept_decimals
from annotator.core.schema.indenting import indented
from annotator.core.schema.layout import lay_out, on_one_line
from tests.annotator.document_cases import call, document, task

pytestmark = pytest.mark.any_database

_KEYS = st.text('abé"\\/~', max_size=2)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**25), 10**25)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([40, 40.0, -0.0, 10**400, 2**63, 1e20, 5e-324])
    | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=12,
)


def plainly(value: Any) -> str:
    """Text that tells 1 from 1.0 and true, and keeps every digit: by the standard library alone."""
    return json.dumps(value, sort_keys=True)


@st.composite
def spelled(draw: st.DrawFn, values: st.SearchStrategy[Any] = VALUES) -> str:
    """A JSON text in one of many layouts."""
    value = draw(values)
    if draw(st.booleans()):
        return draw(_numbers_in(value))
    return json.dumps(
        value,
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, 0, 2])),
        separators=draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,  ", " : ")])),
    )


def _numbers_in(value: Any) -> st.SearchStrategy[str]:
    """The value in a list, beside numbers in spellings that no program writes."""
    odd = st.sampled_from(["1.50", "1E2", "-0", "1e+05", "0.10", "100000000000000000000.0", "12345678901234567890"])
    return odd.map(lambda number: f'[{{"b": {number},"a":{json.dumps(value)} , "n":[{number} ]}}]')


@given(VALUES)
def test_a_value_comes_back_from_its_text(value: Any) -> None:
    assert plainly(loads(dumps(value))) == plainly(value)
    assert plainly(load_stored(canonical(value))) == plainly(value)
    assert canonical(load_stored(canonical(value))) == canonical(value)


@given(VALUES, st.integers(0, 40))
def test_the_text_of_a_form_field_is_read_as_the_value_it_was_written_from(value: Any, depth: int) -> None:
    for _ in range(depth):
        value = [{"a": value}] if depth % 2 else [1.50, value, 40.0]
    if depth <= 20:
        assert plainly(read_json(shown_json(value))) == plainly(value)
    for line, reading in ((0, False), (40, False), (0, True), (40, True)):
        assert plainly(json.loads(indented(value, line=line, reading=reading))) == plainly(value)


def test_a_text_for_reading_has_columns_and_full_lines() -> None:
    value = {"sku": "FA-3018", "warehouse": "LEJ", "stock": [{"units": 1, "place": "x" * 40}], "days": [*range(30)]}
    assert indented(value, line=40, reading=True).splitlines() == [
        "{",
        '  "sku":       "FA-3018",',
        '  "warehouse": "LEJ",',
        '  "stock": [',
        "    {",
        '      "units": 1,',
        f'      "place": "{"x" * 40}"',
        "    }",
        "  ],",
        '  "days": [',
        "    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,",
        "    21, 22, 23, 24, 25, 26, 27, 28, 29",
        "  ]",
        "}",
    ]


@given(VALUES, VALUES)
def test_two_values_are_one_when_their_texts_are(a: Any, b: Any) -> None:
    assert same(a, b) == (plainly(a) == plainly(b))
    assert same(a, json.loads(json.dumps(a)))


@given(spelled(), VALUES)
def test_an_unchanged_value_is_written_as_it_was_and_a_changed_one_is_what_it_is(text: str, other: Any) -> None:
    value = loads(text)
    assert lay_out(value, text) == text
    assert plainly(loads(lay_out(other, text))) == plainly(other)
    assert plainly(loads(on_one_line(text))) == plainly(value)
    assert "\n" not in on_one_line(text)


def test_beside_a_change_everything_keeps_its_order_and_its_spelling() -> None:
    text = '{"b": 1.50, "a": [{"y": 1E2, "x": -0}, {"n": 123456789012345678901}], "c": "\\u00e9"}'
    value = loads(text)
    value["a"].insert(0, {"new": "é"})
    value["c"] = 40.0
    value["d"] = {"k": 1}
    assert lay_out(value, text) == (
        '{"b": 1.50, "a": [{"new": "\\u00e9"}, {"y": 1E2, "x": -0}, {"n": 123456789012345678901}], "c": 40.0, '
        '"d": {"k": 1}}'
    )
    del value["b"]
    assert lay_out(value, text).startswith('{"a": [')


@pytest.mark.parametrize(
    ("text", "pointer", "words"),
    [
        ('{"id":1,"id":2}', "/id", "“id” appears twice"),
        ('{"a": [{"b/c": 1, "b\\/c": 1}]}', "/a/0/b~1c", "appears twice"),
        ('{"a": [0, 1' + "0" * 1000 + "]}", "/a/1", "1,000 digits"),
        ('{"a": 1' + "0" * 1000 + ', "n": NaN}', "/a", "1,000 digits"),
        ('{"a": 1e999}', "/a", "too large"),
        ('{"a": [1, 1.00000000000000000001]}', "/a/1", "1.00000000000000000001 would be stored as 1.0"),
        ('{"a": 8.000000000000001}', "/a", "would be stored as 8.000000000000002"),
        ('{"a": 3.14159265358979323846}', "/a", "would be stored as 3.141592653589793"),
        ('{"a": 90071992.54740993}', "/a", "would be stored as 90071992.54740994"),
        ('{"a": 9007199254740993e0}', "/a", "would be stored as 9007199254740992.0"),
        ('{"a": 12345678901234567890.0}', "/a", "would be stored as"),
        ('{"a": 1e-400}', "/a", "1e-400 would be stored as 0.0"),
        ('{"a": -1.23456E-0320}', "/a", "would be stored as"),
        ('{"a": 1e-99999999999999999999}', "/a", "would be stored as 0.0"),
        ('{"a": 0.' + "1" * 5000 + "}", "/a", "1,000 digits"),
        ('{"\\u0000": {"\\ud800": 1, "\\ud800": 2}}', "/\ufffd/\ufffd", "“\ufffd” appears twice"),
        ('{"a": {"b": ["\\ud800"]}}', "/a/b/0", "half of a surrogate pair"),
        ("[" * 300 + "]" * 300, "", "60 levels"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_place(text: str, pointer: str, words: str) -> None:
    with pytest.raises(JsonError) as caught:
        loads(text)
    assert caught.value.pointer == pointer
    assert words in str(caught.value)


@pytest.mark.parametrize("digits", [None, 17, 20, 40, 800])
@given(st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.1, 5e-324, 2.0**-44, 2.0**65, 1e22]))
def test_a_float_is_taken_with_as_many_digits_as_a_program_writes(digits: int | None, number: float) -> None:
    text = repr(number) if digits is None else f"{number:.{digits - 1}e}"
    assert plainly(loads(f'[{{"a": {text}}}, "{text}"]')) == plainly([{"a": number}, text])


@given(st.decimals(-1000, 1000, places=14) | st.decimals(-1, 1, places=18) | st.decimals(0, 10**9, places=8))
def test_a_decimal_is_kept_to_the_last_digit_or_refused(number: Decimal) -> None:
    try:
        value = loads(f"[{number:f}]")[0]
    except JsonError as error:
        assert f"{number:f} would be stored as {float(number)!r}" in error.message  # noqa: PT017
    else:
        assert Decimal(f"{value:.{max(len(number.as_tuple().digits), 1) - 1}e}") == number


def test_a_line_that_came_in_before_lends_no_digits_that_were_lost() -> None:
    text = '{"b": 1.00000000000000000001, "s": "1.00000000000000000001", "a": [0.10, 1e-400]}'
    value = {"b": 1.0, "s": "1.00000000000000000001", "a": [0.1, 0.0]}
    assert lay_out(value, text) == '{"b": 1.0, "s": "1.00000000000000000001", "a": [0.10, 0.0]}'
    # Texts of another origin may be no JSON, and are gone through once all the same.
    odd = '"\\' * 300_000 + "0" * 20
    assert with_kept_decimals(odd) == odd


def test_content_stored_before_kinds_were_kept_has_the_hash_it_had() -> None:
    """Whole floats were integers then, and are in what is stored."""
    stored = '{"big":1e+20,"days":40,"share":0.5,"zero":0}'
    assert canonical(load_stored(stored)) == stored
    assert canonical(without_kinds({"days": 40.0, "zero": -0.0, "share": 0.5, "big": 1e20})) == stored
    assert content_hash(canonical({"days": 40})) != content_hash(canonical({"days": 40.0}))


def test_an_edit_elsewhere_leaves_every_number_as_it_was() -> None:
    numbers = {"whole": 40.0, "zero": -0.0, "id": 123456789012345678901, "share": 0.1}
    before = document(task("t1", call("s1", arguments=numbers)))
    edited, _ = apply(before, {"op": "set", "anchor": "/tasks/t1/user_message", "value": "Another one."})
    assert repr(edited["tasks"][0]["steps"][0]["arguments"]) == repr(numbers)
    assert math.copysign(1, edited["tasks"][0]["steps"][0]["arguments"]["zero"]) == -1
