"""Descriptions of tools: OpenAI functions, tools/list of MCP, OpenAPI 3, and Python code."""

import json
from contextlib import suppress
from typing import Any

import pytest

from annotator.core.schema.toolsets import CompiledToolset, toolset_content
from annotator.core.tools.sources.model import ReadTools, SourceProblem
from annotator.core.tools.sources.reading import MAX_BYTES, SourceKind, read_source

OPENAPI: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Pets"},
    "paths": {
        "/pets/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
            "get": {
                "operationId": "getPet",
                "summary": "Get a pet.",
                "parameters": [{"$ref": "#/components/parameters/Lang"}],
                "responses": {
                    "404": {"content": {"application/json": {"schema": {"type": "string"}}}},
                    "200": {"$ref": "#/components/responses/Pet"},
                    "default": {"content": {"application/json": {"schema": {"type": "integer"}}}},
                },
            },
            "put": {
                "summary": "Change a pet",
                "description": "Only its owner can.",
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}},
                },
                "responses": {"204": {"description": "Done."}, "default": {"$ref": "#/components/responses/Pet"}},
            },
        },
        "/trees": {
            "post": {
                "operationId": "add tree!",
                "requestBody": {
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Trees"}}},
                },
                "responses": {
                    "4XX": {"content": {"application/json": {"schema": {"type": "string"}}}},
                    "default": {
                        "content": {
                            "text/html": {"schema": {"type": "string"}},
                            "application/problem+json": {
                                "schema": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}
                            },
                        }
                    },
                },
            }
        },
    },
    "components": {
        "parameters": {
            "Lang": {"name": "lang", "in": "query", "description": "Language", "schema": {"enum": ["en", "de"]}}
        },
        "responses": {
            "Pet": {
                "description": "OK",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}},
            }
        },
        "schemas": {
            "Pet": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string", "example": "Rex", "x-order": 1},
                    # Names of properties, though keywords have the same.
                    "example": {"type": "string"},
                    "x-ray": {"type": "boolean", "nullable": True},
                    "owner": {"$ref": "#/components/schemas/Person"},
                },
            },
            "Person": {
                "type": "object",
                "properties": {"pets": {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}}},
            },
            "Trees": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}},
            "Tree": {
                "type": "object",
                "properties": {
                    "children": {"$ref": "#/components/schemas/Trees"},
                    "lost": {"$ref": "#/components/schemas/Nothing"},
                },
            },
        },
    },
}
CODE = '''
import datetime
from typing import Annotated, Literal, Optional

class Desk:
    def __init__(self, rooms: list): ...

    def book(self, name: str, nights: int = 1, kind: Literal["single", "double"] = "single",
             tags: "list[str] | None" = None, share: Optional[float] = None, *, guests: dict[str, int],
             when: datetime.date = datetime.date.today(), note: Annotated[str, "For the staff."] = "", **more) -> dict:
        """Book a room.

        It is free until then.

        Args:
            name: The guest's name.
            nights (int): How many nights.

        Returns:
            dict: The booking.
        """

    @staticmethod
    def prices() -> "list[float]": ...

    def close(self) -> None:
        """Close it.

        Returns:
            Nothing.
        """

    def _check(self): ...
'''


def functions(read: ReadTools) -> dict[str, dict[str, Any]]:
    assert not CompiledToolset.of_tools(read.tools).broken
    return {one["function"]["name"]: one["function"] for one in read.tools}


def notes(read: ReadTools) -> list[str]:
    return [f"{one.place}: {one.message.text % one.message.values}" for one in read.notes]


def test_openapi_operations_become_functions() -> None:
    kind, read = read_source(json.dumps(OPENAPI))
    found = functions(read)
    assert (kind, read.name, list(found)) == (SourceKind.OPENAPI, "Pets", ["getPet", "put__pets_id", "add_tree"])
    assert found["getPet"]["description"] == "Get a pet."
    assert found["getPet"]["parameters"] == {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "lang": {"enum": ["en", "de"], "description": "Language"}},
        "required": ["id"],
    }
    put = found["put__pets_id"]
    assert put["description"] == "Change a pet\n\nOnly its owner can."
    assert put["parameters"]["required"] == ["id", "name"]
    assert put["parameters"]["properties"]["name"] == {"type": "string"}
    assert set(put["parameters"]["properties"]) == {"id", "name", "example", "x-ray", "owner"}
    assert set(put["parameters"]["$defs"]) == {"Person", "Pet"}
    # The response carries its own definitions. A good answer without a body has none, and no other answer replaces it.
    response = found["getPet"]["response"]
    assert response["$ref"] == "#/$defs/Pet"
    assert set(response["$defs"]) == {"Person", "Pet"}
    assert response["$defs"]["Pet"]["properties"]["name"] == {"type": "string"}
    assert "response" not in put
    tree = found["add_tree"]["response"]
    assert (tree["type"], tree["items"], set(tree["$defs"])) == ("array", {"$ref": "#/$defs/Tree"}, {"Tree", "Trees"})
    # An optional body's fields are optional, and a body that is no object is one parameter.
    assert "required" not in found["add_tree"]["parameters"]
    assert found["add_tree"]["parameters"]["properties"] == {"body": {"$ref": "#/$defs/Trees"}}
    assert notes(read) == [
        "put__pets_id: put_/pets/{id} is named put__pets_id here.",
        "add_tree: add tree! is named add_tree here.",
        "add_tree: The reference #/components/schemas/Nothing leads nowhere, so any value is accepted.",
    ]


def test_openapi_may_be_yaml_of_which_words_stay_words() -> None:
    text = """
openapi: 3.1.0
paths:
  /switch:
    post:
      operationId: switch
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              properties:
                on: {type: boolean, default: false}
                country: {enum: [de, no, 1, 1.5, 010, 1:30, 2026-01-02]}
"""
    kind, read = read_source(text)
    properties = functions(read)["switch"]["parameters"]["properties"]
    assert kind is SourceKind.OPENAPI
    assert properties == {
        "on": {"type": "boolean", "default": False},
        "country": {"enum": ["de", "no", 1, 1.5, "010", "1:30", "2026-01-02"]},
    }


def test_two_operations_or_parameters_of_one_name_are_told_apart() -> None:
    same = {"operationId": "act", "parameters": [{"name": "q", "in": "query"}, {"name": "q", "in": "header"}]}
    read = read_source(json.dumps({"openapi": "3.0.0", "paths": {"/a": {"get": same}, "/b": {"get": same}}}))[1]
    found = functions(read)
    assert list(found) == ["act", "act_2"]
    assert set(found["act"]["parameters"]["properties"]) == {"q", "q_header"}


def test_a_large_document_of_recursive_references_is_read_within_bounds() -> None:
    schemas = {
        f"S{n}": {
            "type": "object",
            "properties": {f"p{k}": {"$ref": f"#/components/schemas/S{(n * 7 + k) % 400}"} for k in range(40)},
        }
        for n in range(400)
    }
    body = {
        "content": {"application/json": {"schema": {"type": "array", "items": {"$ref": "#/components/schemas/S1"}}}}
    }
    paths = {f"/p{n}": {"post": {"operationId": f"op{n}", "requestBody": body}} for n in range(60)}
    text = json.dumps({"openapi": "3.0.0", "paths": paths, "components": {"schemas": schemas}})
    read = read_source(text)[1]
    assert len(read.tools) == 60
    assert len(json.dumps(read.tools)) < 40 << 20
    assert any("The parameters are too large" in one for one in notes(read))
    # Responses have the same bounds, and leave the parameters of every operation whole.
    query = {"in": "query", "name": "n", "schema": {"enum": [1]}}
    paths = {f"/p{n}": {"get": {"parameters": [query], "responses": {200: body}}} for n in range(60)}
    read = read_source(json.dumps({"openapi": "3.0.0", "paths": paths, "components": {"schemas": schemas}}))[1]
    assert [one["parameters"]["properties"] for one in functions(read).values()] == [{"n": {"enum": [1]}}] * 60
    assert 0 < sum("response" in one for one in functions(read).values()) < 60
    assert len(json.dumps(read.tools)) < 40 << 20
    assert {one.partition(": ")[2][:25] for one in notes(read) if "too large" in one} == {"The response is too large"}


def test_tools_of_an_mcp_server() -> None:
    tools = [
        {
            "name": "add",
            "description": "Add.",
            "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}}},
        },
        {
            "name": "now",
            "title": "Now",
            "inputSchema": None,
            "outputSchema": {"type": "object"},
            "annotations": {"x": 1},
        },
    ]
    for data in ({"tools": tools}, {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}, tools):
        kind, read = read_source(json.dumps(data))
        found = functions(read)
        assert kind is SourceKind.MCP
        assert found["add"] == {"name": "add", "description": "Add.", "parameters": tools[0]["inputSchema"]}
        assert found["now"]["description"] == "Now"
        assert notes(read) == ["now: Left out, because a function has no place for it: annotations."]
        assert found["now"]["response"] == {"type": "object"}
    assert "nextCursor" in notes(read_source(json.dumps({"tools": tools, "nextCursor": "2"}))[1])[-1]


def test_functions_stay_as_they_are() -> None:
    one = {"name": "a", "strict": True, "parameters": {"type": "dict"}, "response": {"type": "dict", "properties": {}}}
    tools = [{"type": "function", "function": one}]
    assert read_source(json.dumps({"tools": tools})) == (SourceKind.OPENAI, ReadTools(tools))
    assert toolset_content(tools) == {"tools": tools}


def test_python_signatures_become_functions() -> None:
    kind, read = read_source(CODE)
    found = functions(read)
    assert (kind, read.name, list(found)) == (SourceKind.PYTHON, "Desk", ["book", "prices", "close"])
    assert found["book"]["description"] == "Book a room.\n\nIt is free until then."
    assert found["book"]["parameters"] == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The guest's name."},
            "nights": {"type": "integer", "description": "How many nights.", "default": 1},
            "kind": {"type": "string", "enum": ["single", "double"], "default": "single"},
            "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}], "default": None},
            "share": {"type": ["number", "null"], "default": None},
            "guests": {"type": "object", "additionalProperties": {"type": "integer"}},
            "when": {"type": "string", "format": "date"},
            "note": {"type": "string", "description": "For the staff.", "default": ""},
        },
        "required": ["name", "guests"],
    }
    assert found["book"]["response"] == {"type": "object", "description": "The booking."}
    assert found["prices"] == {
        "name": "prices",
        "description": "",
        "parameters": {"type": "object", "properties": {}},
        "response": {"type": "array", "items": {"type": "number"}},
    }
    assert "response" not in found["close"]
    assert notes(read) == [
        "book: The default of when is worked out by the code, so it is left out.",
        "book: Further arguments (* or **) are left out.",
    ]
    assert list(functions(read_source("def f(a): ...\ndef _g(): ...\nclass C:\n    def m(self): ...\n")[1])) == ["f"]


@pytest.mark.parametrize(
    ("text", "words", "place"),
    [
        ("", "empty", ""),
        (" " * (MAX_BYTES + 1), "larger than 10 MB", ""),
        ("Tools for the desk", "neither JSON nor YAML", ""),
        ('{"tools": [', "cannot be read", ""),
        ("openapi: [", "cannot be read", ""),
        ("a: !!python/object:os.system x", "cannot be read", ""),
        ("def f(:", "cannot be read", ""),
        ("def _f(): ...", "no function", ""),
        ('{"tools": [{"description": "no name"}]}', "no name", "/tools/0/name"),
        ('{"tools": [{"inputSchema": {}}]}', "no name", "/tools/0"),
        ('{"tools": [{"name": "a", "inputSchema": {}, "description": 1}]}', "must be text", "/tools/0/description"),
        ('{"swagger": "2.0"}', "OpenAPI 2", ""),
        ('{"openapi": "4.0"}', "only 3.x", "/openapi"),
        ('{"openapi": "3.0.0", "paths": {}}', "no operations", "/paths"),
        ('{"openapi": "3.0.0", "paths": {"/a": 1, "/b": {"get": 1}}}', "no operations", "/paths"),
    ],
)
def test_bad_input_is_a_sentence(text: str, words: str, place: str) -> None:
    with pytest.raises(SourceProblem) as error:
        read_source(text)
    assert words in error.value.message.text % error.value.message.values
    assert error.value.place == place


@pytest.mark.parametrize("depth", [50, 5_000])
def test_deep_input_is_a_sentence(depth: int) -> None:
    for text in (
        "a: " + "[" * depth + "]" * depth,
        "[" * depth + "]" * depth,
        f"def f(a: {'list[' * depth}int{']' * depth}): ...",
    ):
        # Nothing but this error may come out.
        with suppress(SourceProblem):
            read_source(text)


def test_too_many_operations_are_refused() -> None:
    paths = {f"/{n}": {"get": {}} for n in range(513)}
    with pytest.raises(SourceProblem, match="operations"):
        read_source(json.dumps({"openapi": "3.0.0", "paths": paths}))
