"""Descriptions of tools that are large, hostile or unusual: bounds, names, and what is left out with a note."""

import json
from typing import Any

import pytest

from annotator.core.tools.feeds import find_feeds
from annotator.core.tools.sources.model import SourceProblem
from annotator.core.tools.sources.openapi import MAX_TOTAL
from annotator.core.tools.sources.reading import SourceKind, read_source
from annotator.core.tools.sources.yaml_text import load_yaml


def read(document: Any, kind: SourceKind | None = None) -> tuple[list[dict[str, Any]], list[str]]:
    """The functions of a source, and its notes."""
    found = read_source(document if isinstance(document, str) else json.dumps(document), kind)[1]
    return [tool["function"] for tool in found.tools], [note.message.text for note in found.notes]


def operations(*given: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"openapi": "3.0.0", "paths": {f"/p{at}": {"post": one} for at, one in enumerate(given)}, **more}


def body(schema: dict[str, Any], media: str = "application/json") -> dict[str, Any]:
    return {"operationId": "send", "requestBody": {"required": True, "content": {media: {"schema": schema}}}}


def test_aliases_do_not_make_a_small_text_large() -> None:
    levels = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 8)]
    with pytest.raises(ValueError, match="aliases repeat them too often"):
        load_yaml("\n".join(levels))
    with pytest.raises(ValueError, match="aliases repeat them too often"):
        load_yaml("a: &a [*a]")
    assert load_yaml("a: &a [1]\nb: *a") == {"a": [1], "b": [1]}


def test_names_are_free_before_they_are_taken() -> None:
    tools, _notes = read(operations(*({"operationId": name} for name in ("a_2", "a", "a", "a"))))
    assert [tool["name"] for tool in tools] == ["a_2", "a", "a_3", "a_4"]
    places = [("id_query", "query"), ("id", "path"), ("id", "query"), ("id", "header")]
    parameters = [{"name": name, "in": place, "schema": {"title": place}} for name, place in places]
    tools, _notes = read(operations({"parameters": parameters}))
    assert list(tools[0]["parameters"]["properties"]) == ["id_query", "id", "id_query_2", "id_header"]


def test_many_references_with_one_last_name_each_get_a_definition() -> None:
    paths = [f"#/components/{n}/Part" for n in range(400)]
    parts = {str(n): {"Part": {"type": "string", "title": str(n)}} for n in range(400)}
    schema = {"type": "object", "properties": {f"p{n}": {"$ref": path} for n, path in enumerate(paths)}}
    tools, _notes = read(operations(*[body(schema)] * 20, components=parts))
    for tool in tools:
        found = tool["parameters"]
        for at in (0, 399):
            name = found["properties"][f"p{at}"]["$ref"].rpartition("/")[2]
            assert found["$defs"][name]["title"] == str(at)


def test_long_values_count_against_the_bounds() -> None:
    choices = [f"value {n} {'x' * 100}" for n in range(10_000)]
    schema = {"type": "object", "properties": {"one": {"$ref": "#/components/schemas/One"}}}
    one = {"schemas": {"One": {"type": "string", "enum": choices}}}
    tools, found = read(operations(*[body(schema)] * 64, components=one))
    assert len(json.dumps(tools)) < 50 * MAX_TOTAL
    assert tools[0]["parameters"]["$defs"]["One"] == {"type": "string"}
    assert "The parameters are too large. What did not fit accepts any value." in found


def test_properties_that_are_not_sent_are_left_out() -> None:
    schema = {
        "type": "object",
        "required": ["id", "name"],
        "properties": {
            "id": {"type": "string", "readOnly": True},
            "name": {"type": "string"},
            "secret": {"$ref": "#/components/schemas/Secret"},
            "inner": {"type": "object", "required": ["at"], "properties": {"at": {"readOnly": True}}},
        },
    }
    given = body(schema) | {"responses": {"200": {"content": {"application/json": {"schema": schema}}}}}
    secret = {"schemas": {"Secret": {"type": "string", "writeOnly": True}}}
    tools, found = read(operations(given, components=secret))
    sent, returned = tools[0]["parameters"], tools[0]["response"]
    assert list(sent["properties"]) == ["name", "secret", "inner"]
    assert sent["required"] == ["name"]
    assert sent["properties"]["inner"] == {"type": "object", "required": [], "properties": {}}
    assert list(returned["properties"]) == ["id", "name", "inner"]
    assert "Left out, because it is not sent: %(keys)s." in found


def test_path_items_may_be_references_and_a_body_of_any_kind_is_json() -> None:
    document = {
        "openapi": "3.1.0",
        "paths": {"/p": {"$ref": "#/components/pathItems/P"}},
        "components": {"pathItems": {"P": {"post": body({"type": "object", "properties": {"a": {}}}, "*/*")}}},
    }
    tools, found = read(document)
    assert (tools[0]["name"], list(tools[0]["parameters"]["properties"]), found) == ("send", ["a"], [])


def test_tools_of_servers_with_unusual_keys() -> None:
    schema = {"type": "object", "properties": {"a": {}}}
    tools, found = read([{"name": "a", "description": "A.", "title": "Title", "input_schema": schema}])
    assert (tools[0]["parameters"], found) == (schema, ["Left out, because a function has no place for it: %(keys)s."])
    tools, found = read("- {name: a, inputSchema: {}, 1: x, true: y}")
    assert (tools[0]["name"], len(found)) == ("a", 1)
    assert read({"tools": [{"name": "a", "inputSchema": {}}], "result": [1]})[0][0]["name"] == "a"


def test_python_hints_that_only_the_code_knows_accept_any_value() -> None:
    code = """
class Robot:
    @property
    def state(self) -> str: ...
    def go(self, a: Literal[-1, 1], b: Literal[Place.HOME, "x"], c: Annotated[()], d: Literal["x", "y"] = "x"): ...
"""
    tools, _notes = read(code)
    assert [tool["name"] for tool in tools] == ["go"]
    assert tools[0]["parameters"]["properties"] == {
        "a": {"type": "integer", "enum": [-1, 1]},
        "b": {},
        "c": {},
        "d": {"type": "string", "enum": ["x", "y"], "default": "x"},
    }


def test_odd_names_and_texts_are_read() -> None:
    fields = {"[]": {"type": "string"}, "": {"type": "string"}, "?": {"type": "string"}}
    schema = {"type": "object", "properties": fields}
    tools = [{"name": name, "parameters": schema, "response": schema} for name in ("?", "[]", "_")]
    assert all(feed.source != feed.target for feed in find_feeds(tools))
    for text in ("\ud800", "\ud800: [", '[{"name": "\ud800"}]'):
        with pytest.raises(SourceProblem):
            read_source(text)
