"""What toolsets consist of."""

from pathlib import Path

import pytest

from annotator.core.schema.toolsets import read_tools
from annotator.core.tools.parameters import each_tool, parameters_of
from annotator.core.tools.statistics import tool_statistics

TRIP = {
    "name": "bookTrip",
    "description": "Book a trip.",
    "parameters": {
        "type": "object",
        "required": ["legs"],
        "properties": {
            "legs": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["to"],
                    "properties": {"to": {"type": "str"}, "stops": {"type": "array", "items": {"type": "string"}}},
                },
            },
            "board": {"type": "string", "enum": ["full", "half"]},
            "guest": {"type": "object", "properties": {"age": {"type": ["integer", "null"]}, "name": "string"}},
            "paid": {"anyOf": [{"type": "boolean"}, {"type": "number"}]},
            "note": {"description": "Anything."},
        },
    },
}


def test_parameters_have_names_depths_and_kinds() -> None:
    found = [(one.name, one.kind, one.depth, one.required) for one in parameters_of(each_tool([TRIP])[0])]
    assert found == [
        ("legs", "array", 1, True),
        ("legs[].to", "string", 2, True),
        ("legs[].stops", "array", 2, False),
        ("board", "enum", 1, False),
        ("guest", "object", 1, False),
        ("guest.age", "integer", 2, False),
        ("guest.name", "string", 2, False),
        ("paid", "several", 1, False),
        ("note", "any", 1, False),
    ]


def test_tools_are_counted_also_broken_ones_and_those_that_share_a_name() -> None:
    broken = {"name": "odd", "parameters": {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}}}
    found = tool_statistics([each_tool([TRIP, TRIP]), each_tool([broken]), []])
    assert (found.toolsets, found.tools, found.broken, found.total, found.required) == (3, 3, 1, 18, 4)
    assert found.by_kind == {
        "string": 4, "integer": 2, "enum": 2, "array": 4, "object": 2, "several": 2, "any": 2
    }  # fmt: skip
    assert found.by_depth == {1: 10, 2: 8}
    assert found.tools_by_parameters == {0: 1, 5: 2}
    assert tool_statistics([]).by_kind == {}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_published_toolsets_have_their_published_numbers(shared_data: Path, language: str) -> None:
    with (shared_data / "toolsets" / f"tools_{language}.jsonl").open(encoding="utf-8") as lines:
        found = tool_statistics(each_tool(read_tools(line)) for line in lines)
    assert (found.toolsets, found.tools, found.broken) == (256, 1_248, 0)
    if language == "en":
        assert found.by_kind == {
            "string": 1_913, "integer": 492, "number": 145, "boolean": 192, "enum": 255, "array": 196, "object": 96
        }  # fmt: skip
        assert found.by_depth == {1: 3_056, 2: 225, 3: 8}
