"""Argument forms."""

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from annotator.core.forms.fields import AS_EMPTY, AS_JSON, MAX_FIELDS, fields
from annotator.core.forms.reading import parse
from annotator.core.forms.shapes import Kind, shape_of
from annotator.core.forms.values import shown
from annotator.core.schema.toolsets import normalise_tools

SCHEMA = {
    "type": "object",
    "required": ["city", "filters"],
    "properties": {
        "city": {"type": "string", "description": "Where to."},
        "day": {"type": "string", "format": "date"},
        "people": {"type": "integer", "minimum": 1, "maximum": 9},
        "budget": {"type": "number", "exclusiveMinimum": 0},
        "direct": {"type": "boolean"},
        "cabin": {"type": "string", "enum": ["eco", "biz"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "filters": {
            "type": "object",
            "required": ["stops"],
            "properties": {
                "stops": {"type": "integer"},
                "time": {"type": "object", "properties": {"from": {"type": "string"}}},
            },
        },
        "free": {"type": "object"},
    },
}


def by_path(arguments, schema=SCHEMA):
    return {field.path: field for field in fields(schema, arguments)}


def one(schema, value=None, *, present=True):
    """The only field of a tool with one parameter."""
    (field,) = fields({"type": "object", "properties": {"x": schema}}, {"x": value} if present else {})
    return field


def read(schema, text, **current):
    """Return the result of posting ``text`` for a single parameter: (arguments, errors)."""
    return parse({"type": "object", "properties": {"x": schema}}, {"/x": text}, current=current)


def untouched(arguments, schema=SCHEMA):
    """Return what a browser posts if nothing was changed."""
    posted = {}
    for field in fields(schema, arguments):
        if field.kind is not Kind.OBJECT:
            posted[field.key] = re.sub("\r\n?|\n", "\r\n", field.value)
            if field.keep_empty:
                posted[field.empty_key] = "on"
    return posted


# --- fields


def test_fields_stand_in_the_order_of_the_schema_with_groups_flattened():
    found = fields(SCHEMA, {})
    assert [(f.path, str(f.kind), f.level) for f in found] == [
        ("/city", "text", 0), ("/day", "date", 0), ("/people", "integer", 0), ("/budget", "number", 0),
        ("/direct", "boolean", 0), ("/cabin", "enum", 0), ("/tags", "json", 0), ("/filters", "object", 0),
        ("/filters/stops", "integer", 1), ("/filters/time", "object", 1), ("/filters/time/from", "text", 2),
        ("/free", "json", 0),
    ]  # fmt: skip
    assert all(f.key == f.path and f.value == "" and not f.present and not f.unknown for f in found)
    assert [f.path for f in found if f.required] == ["/city", "/filters", "/filters/stops"]


def test_what_a_field_shows():
    found = by_path({"city": "Oslo", "people": 2, "direct": False, "tags": ["a", "ü"], "filters": {"stops": 0}})
    assert (found["/city"].value, found["/city"].description, found["/city"].error) == ("Oslo", "Where to.", "")
    assert (found["/people"].value, found["/people"].minimum, found["/people"].maximum) == ("2", 1, 9)
    assert found["/direct"].value == "false"
    assert json.loads(found["/tags"].value) == ["a", "ü"]
    assert "ü" in found["/tags"].value
    assert found["/filters/stops"].value == "0"
    assert not found["/day"].present


def test_choices_begin_with_none():
    chosen = one(SCHEMA["properties"]["cabin"], "biz")
    assert (chosen.options, chosen.value) == ((("", "no argument"), ("eco", "eco"), ("biz", "biz")), "biz")
    absent = one({"type": "boolean"}, present=False)
    assert (absent.options, absent.value) == ((("", "no argument"), ("true", "true"), ("false", "false")), "")


def test_choices_that_look_alike_are_told_apart():
    field = one({"enum": ["1", 1, "", None, True]}, 1)
    assert [value for value, _ in field.options] == ["", '"1"', "1", '""', "null", "true"]
    assert field.value == "1"


def test_a_value_outside_the_choices_is_one_of_them_while_it_stands():
    field = one(SCHEMA["properties"]["cabin"], "first")
    assert [value for value, _ in field.options] == ["", "first", "eco", "biz"]
    assert field.error == "This is not one of the values that the tool takes."


@pytest.mark.parametrize(
    ("schema", "value", "words"),
    [
        ({"type": "integer", "maximum": 9}, 12, "12 is more than 9"),
        ({"type": "integer", "exclusiveMinimum": 0}, 0, "0 is less than 1"),
        ({"type": "number", "minimum": 0.5}, 0.1, "0.1 is less than 0.5"),
        ({"type": "integer"}, "12", "whole number"),
        ({"type": "integer"}, True, "whole number"),
        ({"type": "number"}, "x", "number"),
        ({"type": "boolean"}, "true", "true or false"),
        ({"type": "string"}, 5, "be text"),
        ({"type": "string", "format": "date"}, "tomorrow", "be a date"),
        ({"type": "object", "properties": {"a": {}}}, 5, "be an object"),
    ],
)
def test_what_is_wrong_now_is_said(schema, value, words):
    assert words in one(schema, value).error


def test_a_missing_required_argument_is_said():
    assert by_path({})["/city"].error == "This argument is required."


@pytest.mark.parametrize(
    ("schema", "value", "kind", "key"),
    [
        ({"type": "integer"}, "five", "text", "/x"),
        ({"type": "string"}, 5, "text", "/x"),
        ({"type": "string", "format": "date"}, "tomorrow", "text", "/x"),
        ({"type": "string"}, ["a"], "json", "json:/x"),
        ({"type": "string"}, None, "json", "json:/x"),
        ({"type": "string"}, True, "json", "json:/x"),
        ({"type": "boolean"}, "true", "json", "json:/x"),
        ({"enum": ["a"]}, {"b": 1}, "json", "json:/x"),
        ({"type": "array"}, "a", "json", "/x"),
    ],
)
def test_a_value_its_field_cannot_show_is_shown_otherwise(schema, value, kind, key):
    field = one(schema, value)
    assert (str(field.kind), field.key) == (kind, key)


def test_an_object_that_is_none_is_one_field():
    found = by_path({"filters": [1]})
    assert (found["/filters"].kind, found["/filters"].key) == (Kind.JSON, "json:/filters")
    assert "/filters/stops" not in found


def test_unknown_arguments_come_last():
    found = [f for f in fields(SCHEMA, {"town": "Oslo", "n": 5, "filters": {"more": [1]}}) if f.unknown]
    assert [(f.path, f.key, str(f.kind), f.value) for f in found] == [
        ("/filters/more", "json:/filters/more", "json", "[\n  1\n]"),
        ("/town", "/town", "text", "Oslo"),
        ("/n", "json:/n", "json", "5"),
    ]


def test_objects_within_objects_end_somewhere():
    schema = {"type": "string"}
    for name in "edcba":
        schema = {"type": "object", "properties": {name: schema}}
    assert [(f.path, str(f.kind)) for f in fields(schema, {})] == [
        ("/a", "object"), ("/a/b", "object"), ("/a/b/c", "object"), ("/a/b/c/d", "json")
    ]  # fmt: skip


def test_a_form_has_an_end():
    schema = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(10_000)}}
    assert len(fields(schema, {})) == MAX_FIELDS


def test_long_texts_want_room():
    assert one({"type": "string"}, "a\nb").multiline
    assert one({"type": "string"}, "a" * 81).multiline
    assert not one({"type": "string"}, "a").multiline


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({}, "json"),
        (True, "json"),
        (None, "json"),
        ({"type": "null"}, "json"),
        ({"type": ["string", "null"]}, "text"),
        ({"type": ["integer", "null"]}, "integer"),
        ({"type": ["integer", "number"]}, "number"),
        ({"type": ["integer", "boolean"]}, "json"),
        ({"type": ["string", "integer"]}, "text"),
        ({"type": ["string", "array"]}, "json"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer"),
        ({"oneOf": [{"type": "null"}, {"enum": ["a"]}]}, "enum"),
        ({"anyOf": [{"type": "integer"}, {"type": "array"}]}, "json"),
        ({"const": 5}, "enum"),
        ({"enum": []}, "json"),
        ({"type": "string", "format": "date-time"}, "text"),
        ({"type": "object"}, "json"),
        ({"properties": {"a": {}}}, "object"),
        ({"type": "object", "properties": {"a": {}}, "required": 5}, "object"),
        ({"type": "string", "description": 5}, "text"),
    ],
)
def test_kinds(schema, kind):
    assert str(shape_of(schema).kind) == kind


def test_published_tools_have_forms(shared_data):
    for name in ("tools_en.jsonl", "tools_zh.jsonl"):
        for line in (shared_data / "toolsets" / name).read_text().splitlines():
            for spec in normalise_tools(json.loads(line)).values():
                names = [f.name for f in fields(spec.parameters, {}) if f.level == 0]
                assert names == list(spec.parameters.get("properties", {}))


# --- what comes back


def test_a_filled_form():
    posted = {
        "/city": "Oslo", "/day": "2026-05-01", "/people": "2", "/budget": "99.5", "/direct": "true", "/cabin": "eco",
        "/tags": '["a"]', "/filters/stops": "0", "/filters/time/from": "", "/free": "",
    }  # fmt: skip
    assert parse(SCHEMA, posted) == (
        {
            "city": "Oslo", "day": "2026-05-01", "people": 2, "budget": 99.5, "direct": True, "cabin": "eco",
            "tags": ["a"], "filters": {"stops": 0},
        },
        {},
    )  # fmt: skip


def test_blank_means_absent_and_an_empty_text_must_be_meant():
    assert parse(SCHEMA, {"/city": ""}) == ({}, {})
    assert parse(SCHEMA, {"/city": "", AS_EMPTY + "/city": "on"}) == ({"city": ""}, {})
    assert parse(SCHEMA, {"/city": ""}, current={"city": ""}) == ({}, {})
    assert parse(SCHEMA, {"/people": "", AS_EMPTY + "/people": ""}, current={"people": 2}) == ({}, {})
    field = by_path({"city": ""})["/city"]
    assert (field.keep_empty, field.empty_key) == (True, "empty:/city")


def test_a_text_of_blanks_is_a_text():
    assert read({"type": "string"}, "  ") == ({"x": "  "}, {})
    assert read({"type": "integer"}, "  ", x=5) == ({}, {})


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, "5", "5"),
        ({"type": "string"}, "true", "true"),
        ({"type": "string"}, "a\r\nb", "a\nb"),
        ({"type": "integer"}, " -3 ", -3),
        ({"type": "integer"}, "１２", 12),
        ({"type": "number"}, "5", 5),
        ({"type": "number"}, ".5", 0.5),
        ({"type": "number"}, "１．５", 1.5),
        ({"type": "number"}, "1e3", 1000.0),
        ({"type": "boolean"}, "false", False),
        ({"enum": [1, 2]}, "2", 2),
        ({"enum": ["1", 1]}, '"1"', "1"),
        ({"type": "string", "format": "date"}, " 2026-02-28 ", "2026-02-28"),
        ({"type": "array"}, "[1, null]", [1, None]),
        ({}, '"text"', "text"),
    ],
)
def test_texts_are_read_as_their_kind(schema, text, value):
    arguments, errors = read(schema, text)
    assert errors == {}
    assert arguments == {"x": value}
    assert type(arguments["x"]) is type(value)


@pytest.mark.parametrize(
    ("schema", "text", "words"),
    [
        ({"type": "integer"}, "five", "whole number"),
        ({"type": "integer"}, "5.5", "whole number"),
        ({"type": "integer"}, "1_000", "whole number"),
        ({"type": "integer"}, "9" * 5000, "whole number"),
        ({"type": "number"}, "NaN", "a number"),
        ({"type": "number"}, "1e999", "too large"),
        ({"type": "number"}, "0x10", "a number"),
        ({"type": "number"}, "1" * 500 + ".0", "a number"),
        ({"type": "boolean"}, "yes", "true or false"),
        ({"enum": ["a"]}, "b", "one of the values"),
        ({"type": "string", "format": "date"}, "2026-02-30", "2026-05-01"),
        ({"type": "string", "format": "date"}, "20260228", "2026-05-01"),
        ({"type": "array"}, "[1,", "line 1, column 4"),
    ],
)
def test_what_cannot_be_read_changes_nothing(schema, text, words):
    arguments, errors = read(schema, text)
    assert arguments == {}
    assert words in errors["/x"]
    arguments, errors = read(schema, text, x="held")
    assert (arguments, list(errors)) == ({"x": "held"}, ["/x"])


def test_a_text_in_a_json_field_is_quoted():
    for value in ("[1]", "5", "", "[1, 2"):
        assert one({"type": "array"}, value).value == json.dumps(value)


def test_fields_that_were_not_posted_keep_their_values():
    current = {"city": "Oslo", "filters": {"stops": 1, "more": 2}, "extra": [1]}
    assert parse(SCHEMA, {"/people": "3"}, current=current) == ({**current, "people": 3}, {})


def test_clearing_a_group_takes_it_away_but_an_empty_object_stays():
    assert parse(SCHEMA, {"/filters/stops": ""}, current={"filters": {"stops": 1}}) == ({}, {})
    assert parse(SCHEMA, {"/filters/stops": ""}, current={"filters": {}}) == ({"filters": {}}, {})
    nested = {"filters": {"time": {"from": "x"}}}
    assert parse(SCHEMA, {"/filters/time/from": ""}, current=nested) == ({}, {})
    assert parse(SCHEMA, {"/filters/time/from": "8:00"}) == ({"filters": {"time": {"from": "8:00"}}}, {})


def test_values_of_another_type_are_mended_by_saving_or_kept():
    assert read({"type": "integer"}, "5", x="5") == ({"x": 5}, {})
    assert read({"type": "string"}, "5", x=5) == ({"x": "5"}, {})
    for kind, text in (("integer", "007"), ("number", "1.50"), ("number", "1e3"), ("integer", " 5")):
        assert read({"type": kind}, text, x=text) == ({"x": text}, {})
    assert read({"type": "integer"}, "007", x=5) == ({"x": 7}, {})
    assert read({"type": "integer"}, "five", x="five") == ({"x": "five"}, {})
    assert read({"enum": ["a"]}, "b", x="b") == ({"x": "b"}, {})
    schema = {"type": "object", "properties": {"x": {"type": "string"}}}
    assert parse(schema, {AS_JSON + "/x": '["a"]'}, current={"x": ["a"]}) == ({"x": ["a"]}, {})
    assert parse(schema, {AS_JSON + "/x": '"a"'}, current={"x": ["a"]}) == ({"x": "a"}, {})


def test_unknown_arguments_are_kept_changed_and_taken_away():
    current = {"town": "Oslo", "n": 5}
    assert parse(SCHEMA, {"/town": "Rome", "json:/n": "6"}, current=current) == ({"town": "Rome", "n": 6}, {})
    assert parse(SCHEMA, {"/town": "", "json:/n": ""}, current=current) == ({}, {})
    arguments, errors = parse(SCHEMA, {"json:/n": "six"}, current=current)
    assert (arguments["n"], list(errors)) == (5, ["/n"])


def test_new_unknown_arguments():
    assert parse(SCHEMA, {"/new": "x", "json:/list": "[1]", "/a~1b": "y"})[0] == {"new": "x", "list": [1], "a/b": "y"}
    assert parse(SCHEMA, {"/filters/new": "x"}, current={"filters": {"stops": 1}})[0] == {
        "filters": {"stops": 1, "new": "x"}
    }
    assert parse(SCHEMA, {"/new": "", "empty:/new": "on"})[0] == {"new": ""}
    assert parse(SCHEMA, {"/new": "", "/": "x", "": "x", "csrf": "x", "empty:/q": "on"}) == ({}, {})
    assert list(parse(SCHEMA, {"/city/deep": "x"}, current={"city": "Oslo"})[1]) == ["/city/deep"]
    arguments, errors = parse(SCHEMA, {"json:/new": "{"})
    assert (arguments, list(errors)) == ({}, ["/new"])


def test_nothing_is_too_large_to_be_refused():
    arguments, errors = parse(SCHEMA, {"/city": "x" * 200_001}, current={"city": "Oslo"})
    assert (arguments, "200,001" in errors["/city"]) == ({"city": "Oslo"}, True)
    many = {f"/p{n}": "x" for n in range(100_000)}
    assert len(parse(SCHEMA, many)[0]) == MAX_FIELDS


def test_the_values_before_are_not_changed():
    current = {"filters": {"stops": 1}, "tags": [1]}
    parse(SCHEMA, {"/filters/stops": "2", "/tags": "[2]"}, current=current)
    assert current == {"filters": {"stops": 1}, "tags": [1]}


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)
_fitting = {
    "city": st.text() | st.text("\r\n a"),
    "day": st.dates().map(str),
    "people": st.integers(-(2**63), 2**64 - 1),
    "budget": st.floats(allow_nan=False, allow_infinity=False) | st.integers(0, 9),
    "direct": st.booleans(),
    "cabin": st.sampled_from(["eco", "biz"]),
    "tags": _json,
    "filters": st.fixed_dictionaries(
        {}, optional={"stops": st.integers(0, 3), "time": st.just({"from": "8"}), "z": _json}
    ),
    "free": _json,
    "unknown": _json,
}


@given(st.fixed_dictionaries({}, optional=_fitting))
def test_an_untouched_form_keeps_what_fits_exactly(arguments):
    again, errors = parse(SCHEMA, untouched(arguments), current=arguments)
    assert errors == {}
    assert json.dumps(again, sort_keys=True) == json.dumps(arguments, sort_keys=True)


@example({"budget": " ", "people": "\n", "day": "  "})
@given(st.dictionaries(st.sampled_from(sorted(SCHEMA["properties"])) | st.text(max_size=3), _json, max_size=5))
def test_an_untouched_form_of_anything_loses_nothing(arguments):
    again, errors = parse(SCHEMA, untouched(arguments), current=arguments)
    assert errors == {}
    assert again.keys() == arguments.keys()
    for name, value in arguments.items():
        # Only a scalar of another scalar type may be corrected, and its spelling stays.
        assert again[name] == value or (isinstance(value, str | int | float) and shown(again[name]) == shown(value))


@given(st.dictionaries(st.text(max_size=12), st.text(max_size=12)), st.dictionaries(st.text(max_size=4), _json))
def test_anything_may_be_posted(posted, current):
    arguments, errors = parse(SCHEMA, posted, current=current)
    assert isinstance(arguments, dict)
    assert all(isinstance(sentence, str) and sentence for sentence in errors.values())
