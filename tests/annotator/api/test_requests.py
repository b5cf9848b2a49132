"""Requests that the API refuses before reading any field, and refuses fast."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import pytest
from django.conf import settings
from django.utils.functional import lazystr
from rest_framework import serializers
from rest_framework.exceptions import ParseError

from annotator.api import parsing
from annotator.api.inputs import BoundedDictField, BoundedListField, Input
from annotator.api.parsing import MAX_VALUES, StrictJSONParser, TooLarge
from annotator.api.rendering import FastJSONRenderer, stored_json, stored_tools
from annotator.api.schema_view import description
from annotator.core.schema import canonical


def read(body: bytes) -> Any:
    return StrictJSONParser().parse(BytesIO(body))


def test_ordinary_bodies_pass_unchanged() -> None:
    value = {"a": [1, -2.5, True, None, "é 天气 \U0001f600"], "b": {"": {}}, "big": 10**30, "whole": 40.0}
    assert read(json.dumps(value).encode()) == value
    assert read(json.dumps(value, ensure_ascii=False).encode()) == value
    assert read(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


@pytest.mark.parametrize(
    "body",
    [
        b"", b" ", b"[]", b"1", b'"text"', b"null", b"{", b'{"a": 1}}', b"{'a': 1}", b'{"a": NaN}', b'{"a": Infinity}',
        b'{"a": -Infinity}', b'{"a": "\\u0000"}', b'{"a\\u0000": 1}', b'{"a": "\\ud800"}', b'{"\\udfff": 1}',
        b'{"a": "\x00"}', b'{"a": "\xff"}', b"\xff\xfe{\x00}\x00", b'{"a": 1e999}', b'{"a": 1, "a": 2}',
        b'{"a": ' + b"9" * 6000 + b"}", b'{"a":' * 100 + b"1" + b"}" * 100, b"[" * 100_000,
        b'{"a":' + b"[" * 3000 + b"]" * 3000 + b"}", b"a=1&b=2",
    ],
)  # fmt: skip
def test_what_could_not_be_stored_is_refused_with_a_sentence(body: bytes) -> None:
    with pytest.raises(ParseError) as caught:
        read(body)
    assert len(str(caught.value.detail)) > 10
    str(caught.value.detail).encode()


def test_the_place_of_the_fault_is_named() -> None:
    with pytest.raises(ParseError, match="At /document/tasks/0/user_message: The text contains a NUL"):
        read(b'{"document": {"tasks": [{"user_message": "a\\u0000"}]}}')


def test_entries_are_counted_before_they_are_read_and_only_the_first_wrong_ones_are_named() -> None:
    class Entry(serializers.CharField):
        read = 0

        def run_validation(self, data: Any = None) -> Any:
            Entry.read += 1
            return super().run_validation(data)

    for field, entries in (
        (BoundedListField(child=Entry(max_length=1), max_length=500), ["ab"] * 501),
        (BoundedDictField(child=Entry(max_length=1)), {str(place): "ab" for place in range(501)}),
    ):
        Entry.read = 0
        with pytest.raises(serializers.ValidationError, match="more than 500 entries"):
            field.run_validation(entries)
        assert Entry.read == 0
        few = entries[:500] if isinstance(entries, list) else dict(list(entries.items())[:500])
        with pytest.raises(serializers.ValidationError) as caught:
            field.run_validation(few)
        assert (len(caught.value.detail), Entry.read) == (10, 10)


def test_every_list_in_a_body_has_a_limit() -> None:
    description()
    for shape in _shapes(Input):
        for name, field in shape().fields.items():
            assert not isinstance(field, serializers.ListSerializer), f"{shape.__name__}.{name}"
            assert isinstance(field, BoundedListField) or not isinstance(field, serializers.ListField), name


def _shapes(shape: type[Input]) -> Iterator[type[Input]]:
    for under in shape.__subclasses__():
        yield under
        yield from _shapes(under)


def test_a_body_is_read_only_up_to_the_limit(settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1024

    class Endless(BytesIO):
        taken = 0

        def read(self, size: int | None = -1) -> bytes:
            assert size is not None
            assert size >= 0, "all of it at once"
            self.taken += size
            return b" " * size

    stream = Endless()
    with pytest.raises(TooLarge):
        StrictJSONParser().parse(stream)
    assert stream.taken <= 1025


@pytest.mark.parametrize("part", ["[" * 50 + "]" * 50 + ",", '{"a":0},', "0,"])
def test_a_body_of_too_many_values_is_refused_before_it_is_parsed(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    count = sum(map(part.count, ",[{"))
    body = '{"a":[' + part * (MAX_VALUES // count + 1) + "0]}"
    assert len(body) < settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    monkeypatch.setattr(parsing, "loads", None)
    with pytest.raises(TooLarge, match="more than 1,000,000 values"):
        read(body.encode())
    monkeypatch.undo()
    assert read(('{"a":[' + part * (100 // count) + "0]}").encode())


def test_stored_text_is_put_in_as_it_is() -> None:
    text = canonical({"b": 1, "a": "天"})
    out = FastJSONRenderer().render(
        {"document": stored_json(text), "tools": stored_tools(canonical({"tools": [{"x": 1}]}))}
    )
    assert out == b'{"document":{"a":"\xe5\xa4\xa9","b":1},"tools":[{"x":1}]}'


def test_numbers_go_out_with_their_kind_and_every_digit() -> None:
    data = {"items": [{"big": 10**30, "whole": 40.0, "zero": -0.0}], "when": datetime(2026, 5, 1, tzinfo=UTC)}
    written = json.loads(FastJSONRenderer().render(data))
    assert repr(written["items"]) == repr(data["items"])


def test_what_the_encoder_does_not_know_is_encoded_all_the_same() -> None:
    value = {"when": datetime(2026, 1, 2, tzinfo=UTC), "lazy": lazystr("word")}
    assert json.loads(FastJSONRenderer().render(value)) == {
        "when": "2026-01-02T00:00:00Z", "lazy": "word",
    }  # fmt: skip
    assert FastJSONRenderer().render({"findings": {3: {"kind": ["This field is required."]}}}) == (
        b'{"findings":{"3":{"kind":["This field is required."]}}}'
    )
    assert FastJSONRenderer().render(None) == b""
