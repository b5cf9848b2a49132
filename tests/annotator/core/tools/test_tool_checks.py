"""The automatic checks of a toolset."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotator.core.schema.toolsets import read_tools
from annotator.core.tools.checks import check_tools, tool_checks


def tool(name: str = "findRoom", description: str = "Find a free room.", **parameters: Any) -> dict[str, Any]:
    properties = {key: {"description": "It says what it is."} | value for key, value in parameters.items()}
    return {"name": name, "description": description, "parameters": {"type": "object", "properties": properties}}


def found(*tools: dict[str, Any]) -> list[tuple[str, str, str]]:
    findings = check_tools(read_tools(list(tools)))
    return [(one.check.removeprefix("toolset."), one.tool, one.parameter) for one in findings]


def test_a_sound_tool_has_no_finding() -> None:
    assert found(
        tool(
            city={"type": "string"},
            board={"type": "string", "enum": ["full", "half"], "default": "half"},
            guest={"type": "object", "properties": {"age": {"type": "integer", "description": "In years."}}},
            more={"type": "object", "additionalProperties": {"type": "string"}},
        ),
        tool("bookRoom", "Book the room that was found.", city={"type": "string"}),
        tool("天气", "查询一个城市的天气"),
    ) == []  # fmt: skip


def cases() -> Iterator[tuple[list[dict[str, Any]], list[tuple[str, str, str]]]]:
    yield [tool("a", ""), tool("b", "Weather")], [("no_description", "a", ""), ("no_description", "b", "")]
    yield [tool(), tool("cancel", " find a FREE room. ")], [("same_description", "cancel", "")]
    yield [tool(), tool()], [("name_twice", "findRoom", "")]
    missing = tool(city={"type": "string"})
    missing["parameters"]["required"] = ["city", "day"]
    yield [missing], [("required_unknown", "findRoom", "day")]
    inside = {"type": "array", "items": {"type": "object", "required": ["x"], "properties": {}}}
    yield [tool(legs=inside)], [("required_unknown", "findRoom", "legs[].x")]
    yield [tool(n={"type": "integer", "default": "1"})], [("default_type", "findRoom", "n")]
    yield [tool(n={"type": "string", "enum": ["a"], "default": "b"})], [("default_type", "findRoom", "n")]
    # An optional parameter may be null if it is left out.
    yield [tool(n={"type": "integer", "default": None})], []
    yield [tool(n={"type": "float"})], [("dialect", "findRoom", "n")]
    yield [tool(n={"type": "array", "items": {"type": "int"}})], [("dialect", "findRoom", "n[]")]
    yield [tool(n={"type": "object"})], [("open_object", "findRoom", "n")]
    yield [tool(n={"type": "string", "description": ""})], [("parameter_undescribed", "findRoom", "n")]
    words = {"type": "string", "description": "The order, such as 'asc' or 'desc'."}
    yield [tool(n=words)], [("choices_in_words", "findRoom", "n")]
    yield [tool(n=words | {"enum": ["asc", "desc"]})], []
    yield [tool(n={"type": "string", "description": "Can be a city, or its latitude and longitude."})], []
    yield [tool(n={"$ref": "#/nowhere"})], [("unusable", "findRoom", "")]
    text = {"type": "string"}
    alike = [tool("getTrack", "Get a track.", id=text), tool("GetTracks", "Get it.", id=text)]
    yield alike, [("look_alike", "GetTracks", "")]
    yield [alike[0], tool("GetTracks", "Get it.", ids={"type": "array", "items": {"type": "string"}})], []


@pytest.mark.parametrize(("tools", "expected"), list(cases()))
def test_a_check_finds_its_fault_alone(tools: list[dict[str, Any]], expected: list[tuple[str, str, str]]) -> None:
    assert found(*tools) == expected


def test_each_check_is_described_and_bounded() -> None:
    checks = tool_checks()
    assert len({one.id for one in checks}) == len(checks) == 11
    many = check_tools([tool(f"tool{n}", "", n={"type": "float"}) for n in range(500)])
    assert Counter(one.check for one in many).most_common(1)[0][1] == 500


def test_the_published_toolsets_have_three_tools_that_require_what_they_do_not_describe(shared_data: Path) -> None:
    counts: Counter[str] = Counter()
    tools = set()
    for line in (shared_data / "toolsets" / "tools_en.jsonl").read_text(encoding="utf-8").splitlines():
        for one in check_tools(read_tools(line)):
            counts[one.check.removeprefix("toolset.")] += 1
            tools |= {one.tool} if one.check == "toolset.required_unknown" else set()
    assert tools == {"getMods", "createMod", "getBookDetails"}
    assert counts["name_twice"] == 4
    assert counts["same_description"] == 2
    assert counts["unusable"] == counts["default_type"] == 0


def test_properties_that_are_described_elsewhere_are_no_finding() -> None:
    base = {"type": "object", "properties": {"id": {"type": "string", "description": "Its id."}}}
    for schema in (
        {"type": "object", "allOf": [base], "required": ["id"]},
        {"type": "object", "oneOf": [base, base], "required": ["id"]},
        {"type": "object", "patternProperties": {"^x": {}}, "required": ["x1"]},
        {"type": "object", "additionalProperties": {"type": "string"}, "required": ["id"]},
    ):
        assert found(tool(body=schema)) == []


def test_short_descriptions_in_scripts_without_spaces_are_descriptions() -> None:
    assert found(tool(description="查天气"), tool("find", "検索する"), tool("go", "去")) == [
        ("no_description", "go", "")
    ]
