"""schema.*: calls against the schemas of their tools, each with a good and a bad case."""

from typing import Any

import pytest

from annotator.core.checks import CheckSettings
from annotator.core.schema.toolsets import CompiledToolset
from annotator.core.schema.violations import MAX_MATCHED, MAX_MATCHED_OF_ALL
from tests.annotator.core.checks.check_cases import answer, call, document, findings, good, of, task, tool


def with_call(name: str, **arguments: Any) -> dict[str, Any]:
    # The user says every value, so that nothing but the schema is at stake.
    message = f"Please use {' '.join(str(value) for value in arguments.values())}."
    return document(task("t1", "single_tool", "explicit", call("s0", name, **arguments), answer("s0"), message=message))


PLACE = "/tasks/t1/steps/s0"


def test_calls_that_keep_to_their_schemas_have_no_finding() -> None:
    assert [one for one in findings(good()) if one.check.startswith("schema.")] == []


@pytest.mark.parametrize(
    ("check", "name", "arguments", "anchor", "message"),
    [
        (
            "schema.unknown_tool",
            "search_hotels",
            {"city": "Graz"},
            "/name",
            "The toolset has no tool “search_hotels”. Did you mean “searchHotels”?",
        ),
        (
            "schema.unknown_tool",
            "launchRocket",
            {},
            "/name",
            "The toolset has no tool “launchRocket”. It has “searchHotels”, “book_room” and “translate”.",
        ),
        (
            "schema.unknown_argument",
            "book_room",
            {"Hotel ID": "H-1", "hotelId": "H-1", "nights": 1},
            "/arguments/Hotel ID",
            "book_room has no argument “Hotel ID”. It takes “hotelId”, “nights”, “board”, “guests” and “contact”.",
        ),
        (
            "schema.unknown_argument",
            "translate",
            {"text": "x", "a/b": 1},
            "/arguments/a~1b",
            "translate has no argument “a/b”. It takes “text”.",
        ),
        (
            "schema.missing_argument",
            "book_room",
            {"hotelId": "H-1"},
            "/arguments/nights",
            "book_room requires the argument “nights” (a whole number).",
        ),
        (
            "schema.wrong_type",
            "book_room",
            {"hotelId": "H-1", "nights": "2"},
            "/arguments/nights",
            "“nights” must be a whole number, not the text “2”.",
        ),
        (
            "schema.wrong_type",
            "book_room",
            {"hotelId": "H-1", "nights": 2, "guests": [{"name": "Ana"}, {"name": 7}]},
            "/arguments/guests/1/name",
            "“guests[1].name” must be text, not 7.",
        ),
        (
            "schema.wrong_type",
            "book_room",
            {"hotelId": "H-1", "nights": 2, "contact": 7},
            "/arguments/contact",
            "“contact” must be text or null, not 7.",
        ),
        (
            "schema.not_in_enum",
            "book_room",
            {"hotelId": "H-1", "nights": 2, "board": "half"},
            "/arguments/board",
            "“board” must be “none”, “breakfast” or “full”, not the text “half”.",
        ),
        (
            "schema.nested",
            "book_room",
            {"hotelId": "H-1", "nights": 2, "guests": [{}]},
            "/arguments/guests/0/name",
            "“guests[0]” lacks “name”, which the schema requires.",
        ),
        (
            "schema.unknown_key",
            "searchHotels",
            {"city": "Graz", "area": {"lat": 47}},
            "/arguments/area/lat",
            "“area” contains “lat”, which its schema does not list.",
        ),
        (
            "schema.rule",
            "book_room",
            {"hotelId": "H-1", "nights": 0},
            "/arguments/nights",
            "“nights” must be at least 1, not 0.",
        ),
        (
            "schema.coordinates",
            "searchHotels",
            {"city": "Graz", "area": {"latitude": 122.4194, "longitude": 37.7749}},
            "/arguments/area/latitude",
            "“area.latitude” is 122.4194, but a latitude must be between −90 and 90; latitude and "
            "longitude may be swapped.",
        ),
    ],
)
def test_a_violation_is_a_sentence_at_its_place(
    check: str, name: str, arguments: dict[str, Any], anchor: str, message: str
) -> None:
    bad = with_call(name, **arguments)
    assert of(check, bad) == [(PLACE + anchor, message)]
    assert [one.check for one in findings(bad)] == [check]


def test_a_value_of_the_wrong_type_is_not_also_none_of_the_enum() -> None:
    bad = with_call("book_room", hotelId="H-1", nights=1, board=3)
    assert [(one.check, one.message) for one in findings(bad)] == [
        ("schema.wrong_type", "“board” must be text, not 3.")
    ]


def test_a_name_written_otherwise_is_recognised() -> None:
    bad = with_call("book_room", **{"Hotel ID": "H-1", "nights": 1})
    assert of("schema.unknown_argument", bad) == [
        (f"{PLACE}/arguments/Hotel ID", "book_room has no argument “Hotel ID”. Did you mean “hotelId”?")
    ]
    assert len(of("schema.missing_argument", bad)) == 1


def test_arguments_that_are_no_object() -> None:
    bad = with_call("translate", text="x")
    bad["tasks"][0]["steps"][0]["arguments"] = '{"text": '
    message = 'The arguments are the text “{"text":”, not a JSON object. Write them as an object.'
    assert of("schema.not_json", bad) == [(f"{PLACE}/arguments", message)]
    assert [one.check for one in findings(bad)] == ["schema.not_json"]


def test_a_tool_that_cannot_be_checked_is_said_at_its_calls() -> None:
    broken = tool("far", x={"$ref": "https://schemas.invalid/x.json"})
    toolset = CompiledToolset.of_tools([broken, tool("near", x={"type": "string"})])
    bad = with_call("far", y=1)
    (anchor, message) = of("schema.tool_broken", bad, toolset=toolset)[0]
    assert anchor == f"{PLACE}/name"
    assert "which is not fetched" in message
    assert [one.check for one in findings(bad, toolset=toolset)] == ["schema.tool_broken"]
    assert findings(with_call("near", x="a"), toolset=toolset) == []


def test_rules_that_cannot_be_read_are_said_and_the_others_hold() -> None:
    toolset = CompiledToolset.of_tools([tool("t", x={"type": "frob"}, y={"type": "integer"})])
    both = findings(with_call("t", x=1, y="1"), toolset=toolset)
    assert [(one.check, one.severity) for one in both] == [
        ("schema.tool_partly_checked", "info"),
        ("schema.wrong_type", "error"),
    ]
    assert "the type 'frob' is unknown" in both[0].message


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"contact": "x"}, []),
        ({"contact": {"name": "x"}}, []),
        ({"contact": {"name": 3}}, [("schema.wrong_type", "/arguments/contact/name")]),
        ({"contact": 3}, [("schema.wrong_type", "/arguments/contact")]),
        ({"contact": {"mail": "x"}}, [("schema.nested", "/arguments/contact/name")]),
        ({"size": {"w": 1}}, [("schema.nested", "/arguments/size")]),
        ({"size": {"w": 1, "h": 1}}, []),
        ({"size": {"w": 1, "h": 1, "d": 1}}, [("schema.nested", "/arguments/size")]),
    ],
)
def test_of_several_forms_the_one_that_was_meant_is_explained(
    arguments: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    named = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    pairs = [{"required": ["w", "h"]}, {"required": ["h", "d"]}]
    toolset = CompiledToolset.of_tools(
        [tool("t", contact={"anyOf": [{"type": "string"}, named]}, size={"oneOf": pairs})]
    )
    found = findings(with_call("t", **arguments), toolset=toolset)
    assert [(one.check, one.anchor.removeprefix(PLACE)) for one in found] == expected


def test_ten_thousand_wrong_items_are_one_mistake() -> None:
    bad = with_call("book_room", hotelId="H-1", nights=1, guests=[3] * 500)
    assert len(of("schema.wrong_type", bad)) == 20
    # Of so many that to find them all would take seconds, the first; with alternatives that would be as many.
    toolset = CompiledToolset.of_tools([tool("t", names={"type": "array", "items": {"type": "string"}})])
    ((check, anchor),) = {
        (one.check, one.anchor)
        for one in findings(with_call("t", names=[3] * 10_000), toolset=toolset)
        if one.severity == "error"
    }
    assert (check, anchor) == ("schema.wrong_type", f"{PLACE}/arguments/names/0")
    ((_, told),) = of("schema.rule", with_call("book_room", hotelId="H-1", nights=1, guests=[3] * 10_000))
    assert "too many for the schema of book_room" in told


def test_a_long_text_is_not_held_against_many_patterns() -> None:
    patterns = {f"x{n}": {"type": "string", "pattern": f"^a{n}"} for n in range(20)}
    toolset = CompiledToolset.of_tools([tool("t", **patterns)])
    size = MAX_MATCHED // 20 - len("x1")
    ((_, told),) = of("schema.rule", with_call("t", x1="b" * (size + 1)), toolset=toolset)
    assert "were not checked" in told
    many = with_call("t", x1="b" * size)
    first = many["tasks"][0]["steps"][0]
    many["tasks"][0]["steps"] = [first | {"id": f"s{n}", "depends_on": []} for n in range(4)]
    told_of = [message for _, message in of("schema.rule", many, toolset=toolset)]
    checked = MAX_MATCHED_OF_ALL // MAX_MATCHED
    assert ["text that matches ^a1" in one for one in told_of] == [n < checked for n in range(4)]


def test_a_tool_without_arguments_takes_none() -> None:
    toolset = CompiledToolset.of_tools([tool("now")])
    assert findings(with_call("now"), toolset=toolset) == []
    assert of("schema.unknown_argument", with_call("now", zone="UTC"), toolset=toolset) == [
        (f"{PLACE}/arguments/zone", "now takes no arguments. Remove “zone”.")
    ]


@pytest.mark.parametrize(
    ("key", "value", "wrong"),
    [
        ("latitude", 90, False),
        ("latitude", -90.01, True),
        ("startLatitude", "91.5", True),
        ("origin_lat", 100, True),
        ("pointLat", 100, True),
        ("flat", 100, False),
        ("longitude", -180, False),
        ("longitude", 181, True),
        ("lng", -200, True),
        ("longitudeNote", 500, False),
        ("纬度", 95, True),
        ("经度", 179, False),
        ("latitude", "Graz", False),
        ("latitude", None, False),
        ("latitude", True, False),
    ],
)
def test_coordinates(key: str, value: Any, wrong: bool) -> None:
    toolset = CompiledToolset.of_tools([tool("t", **{key: {}})])
    assert bool(of("schema.coordinates", with_call("t", **{key: value}), toolset=toolset)) is wrong


def test_a_project_may_let_coordinates_be() -> None:
    bad = with_call("searchHotels", city="Graz", area={"latitude": 91})
    assert of("schema.coordinates", bad)
    assert not of("schema.coordinates", bad, settings=CheckSettings(severities={"schema.coordinates": "off"}))
