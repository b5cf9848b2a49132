"""Tools as they are published become JSON Schema that can be checked; whatever cannot is said in a sentence."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.schema import SchemaProblem, canonical
from annotator.core.schema.dialects import MAX_PATTERNS, read_schema
from annotator.core.schema.toolsets import CompiledToolset, normalise_tools, read_tools
from annotator.core.schema.type_words import type_fragment


def tool(name: str = "f", parameters: Any = None, **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": "", "parameters": parameters, **more}}


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def normalised(schema: Any) -> dict[str, Any]:
    """Return the schema without the notes."""
    return read_schema(schema)[0]


def one(schema: Any) -> Any:
    """Return the result for the schema of a single property."""
    return normalised(of(x=schema))["properties"]["x"]


def accepts(parameters: Any, arguments: dict[str, Any]) -> bool:
    return CompiledToolset.of_tools([tool(parameters=parameters)]).tools["f"].validator.is_valid(arguments)


# Reading


def test_tools_stay_as_they_were_read() -> None:
    tools = [tool("a", of(x={"type": "float"})), {"name": "b", "description": "d", "parameters": None}]
    assert read_tools(tools) == tools
    assert read_tools({"tools": tools}) == tools
    assert read_tools(json.dumps(tools)) == tools


@pytest.mark.parametrize(
    ("data", "pointer", "words"),
    [
        (None, "", "list of tools"),
        ({"tools": 3}, "/tools", "list of tools"),
        ("[", "", "not valid JSON"),
        ([3], "/0", "object with a name"),
        ([{"function": "f"}], "/0/function", "object with a name"),
        ([tool("a"), tool("")], "/1/function/name", "no name"),
        ([{"description": "d"}], "/0/name", "no name"),
        ([tool("x" * 201)], "/0/function/name", "200 characters"),
        ([tool(parameters="{}")], "/0/function/parameters", "must be an object"),
        ([{"name": "f", "description": 3}], "/0/description", "must be text"),
        ({"tools": [tool("f\0")]}, "/tools/0/function/name", "NUL"),
        ([tool(str(i)) for i in range(513)], "", "513 tools"),
    ],
)
def test_faults_have_a_pointer_and_a_sentence(data: Any, pointer: str, words: str) -> None:
    with pytest.raises(SchemaProblem) as caught:
        read_tools(data)
    assert [problem.pointer for problem in caught.value.problems] == [pointer]
    assert words in caught.value.problems[0].message


# Dialects


@pytest.mark.parametrize(
    ("word", "fragment"),
    [
        ("string", {"type": "string"}),
        ("float", {"type": "number"}),
        ("Double", {"type": "number"}),
        ("int", {"type": "integer"}),
        ("interger", {"type": "integer"}),
        ("bool", {"type": "boolean"}),
        ("dict", {"type": "object"}),
        ("map", {"type": "object"}),
        ("tuple", {"type": "array"}),
        ("list", {"type": "array"}),
        ("any", {}),
        ("timestamp", {}),
        ("字符串", {"type": "string"}),
        ("array of strings", {"type": "array", "items": {"type": "string"}}),
        ("list of int", {"type": "array", "items": {"type": "integer"}}),
        ("List[float]", {"type": "array", "items": {"type": "number"}}),
        (
            "list[list[int]]",
            {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
        ),
        ("list[dict[str, int]]", {"type": "array", "items": {"type": "object"}}),
        ("tuple[int, str]", {"type": "array"}),
        ("list[int, str]", {"type": "array"}),
        ("Array<string>", {"type": "array", "items": {"type": "string"}}),
        ("string[]", {"type": "array", "items": {"type": "string"}}),
        ("dict[str, float]", {"type": "object"}),
        ("Optional[int]", {"type": ["integer", "null"]}),
        ("integer or string", {"type": ["integer", "string"]}),
        ("string|null", {"type": ["string", "null"]}),
        ("Union[int, str]", {"type": ["integer", "string"]}),
        ("int or any", {}),
        ("typing.List[str]", {"type": "array", "items": {"type": "string"}}),
        ("string, optional", {"type": "string"}),
        ("string (YYYY-MM-DD)", {"type": "string"}),
        ("frobnicator", None),
        ("array of frobnicators", {"type": "array"}),
        ("yyyy/mm/dd", None),
        ("x" * 500, None),
    ],
)
def test_type_words(word: str, fragment: Any) -> None:
    assert type_fragment(word) == fragment


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({"type": "float", "default": 1.5}, {"type": "number", "default": 1.5}),
        (
            {"type": "string", "enum": ["a", "b"], "default": "c"},
            {"type": "string", "enum": ["a", "b"], "default": "c"},
        ),
        ({"description": "d"}, {"description": "d"}),
        ({"properties": {"y": {"type": "int"}}}, {"type": "object", "properties": {"y": {"type": "integer"}}}),
        ({"items": {"type": "str"}}, {"type": "array", "items": {"type": "string"}}),
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": ["int", "str"]}, {"type": ["integer", "string"]}),
        ({"type": "array", "items": "string"}, {"type": "array", "items": {"type": "string"}}),
        (
            {"type": "array", "items": [{"type": "int"}, {"type": "str"}], "additionalItems": False},
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False},
        ),
        ("string", {"type": "string"}),
        ("The city's name", {"description": "The city's name"}),
        (None, {}),
        (True, True),
        ({"type": "integer", "minimum": "0", "maximum": "9.5"}, {"type": "integer", "minimum": 0, "maximum": 9.5}),
        ({"type": "integer", "minimum": 0, "exclusiveMinimum": True}, {"type": "integer", "exclusiveMinimum": 0}),
        ({"type": "integer", "maximum": 9, "exclusiveMaximum": False}, {"type": "integer", "maximum": 9}),
        ({"type": "string", "minLength": "2", "title": None}, {"type": "string", "minLength": 2}),
        ({"type": "string", "enum": "a"}, {"type": "string", "enum": ["a"]}),
        ({"type": "string", "enum": []}, {"type": "string"}),
        ({"type": "string", "examples": "x"}, {"type": "string", "examples": ["x"]}),
        ({"anyOf": [{"type": "int"}, {"type": "str"}]}, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        ({"oneOf": []}, {}),
    ],
)
def test_dialect_of_a_property(written: Any, read: Any) -> None:
    schema, notes = read_schema(of(x=written))
    assert schema["properties"]["x"] == read
    assert notes == ()


def test_required_on_a_property_moves_to_its_object() -> None:
    schema = normalised(
        of(
            a={"type": "string", "required": True},
            b={"type": "string", "required": False},
            c={"type": "object", "required": True, "properties": {"d": {"type": "int", "required": "true"}}},
        )
    )
    assert schema["required"] == ["a", "c"]
    assert schema["properties"]["c"] == {
        "type": "object",
        "properties": {"d": {"type": "integer"}},
        "required": ["d"],
    }


def test_required_lists_are_kept_without_doubles() -> None:
    assert normalised({**of(a={}), "required": ["a", "a", 3]})["required"] == ["a"]
    assert normalised({**of(a={}), "required": "a"})["required"] == ["a"]
    assert "required" not in normalised({**of(a={}), "required": []})


def test_properties_called_like_keywords_stay_properties() -> None:
    schema = normalised(
        of(type={"type": "str"}, required={"type": "bool"}, definitions={"type": "int"}, description={"type": "str"})
    )
    assert {name: part["type"] for name, part in schema["properties"].items()} == {
        "type": "string",
        "required": "boolean",
        "definitions": "integer",
        "description": "string",
    }


def test_bare_properties_are_the_properties_of_an_object() -> None:
    assert normalised({"city": {"type": "str", "required": True}}) == {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    }


def test_properties_as_a_list_of_named_objects() -> None:
    schema = normalised({"properties": [{"name": "city", "type": "str"}, "unit"]})
    assert schema["properties"] == {"city": {"type": "string"}, "unit": {}}


@pytest.mark.parametrize("nothing", [None, {}, {"type": "object"}, {"type": "dict", "properties": None}])
def test_a_tool_without_parameters_takes_none(nothing: Any) -> None:
    assert accepts(nothing, {})
    assert not accepts(nothing, {"city": "Graz"})


@pytest.mark.parametrize(
    ("written", "note"),
    [
        ({"type": "frobnicator"}, "Of “x”, the type 'frobnicator' is unknown, so any value is accepted."),
        ({"type": 3}, "Of “x”, the type '3' is unknown, so any value is accepted."),
        ({"type": "integer", "enum": ["1", "2"]}, "no value of “enum” has the given type"),
        ({"minimum": "low"}, "“minimum” has an invalid value"),
        ({"minLength": -1}, "“minLength” has an invalid value"),
        ({"multipleOf": 0}, "“multipleOf” has an invalid value"),
        ({"pattern": "(a"}, "the pattern “(a” is not checked"),
        ({"pattern": "(?=a)b"}, "the pattern “(?=a)b” is not checked"),
        ({"patternProperties": {"(": {}}}, "the pattern “(” is not checked"),
        ({"required": 3}, "“required” is neither"),
        ({"dependentRequired": {"a": "b"}}, "“dependentRequired” is not"),
        (3, "the description is not an object"),
    ],
)
def test_what_cannot_be_read_is_left_out_with_a_note(written: Any, note: str) -> None:
    schema, notes = read_schema(of(x=written))
    assert len(notes) == 1
    assert note in notes[0]
    jsonschema_rs.meta.validate(schema)


def test_the_schema_that_was_read_stays_as_it_was() -> None:
    schema = of(x={"type": "float", "enum": "1", "items": [{"type": "int"}], "required": True})
    before = json.dumps(schema)
    normalised(schema)
    assert json.dumps(schema) == before


# References


def test_local_references_are_put_in_place() -> None:
    schema = {
        **of(a={"$ref": "#/$defs/place"}, b={"$ref": "#/definitions/x~1y", "description": "d"}),
        "$defs": {"place": {"type": "object", "properties": {"lat": {"type": "float"}}}},
        "definitions": {"x/y": {"type": "int", "description": "e"}},
    }
    assert normalised(schema) == {
        "type": "object",
        "properties": {
            "a": {"type": "object", "properties": {"lat": {"type": "number"}}},
            "b": {"type": "integer", "description": "d"},
        },
    }


def test_rules_beside_a_reference_hold_too() -> None:
    schema = {**of(a={"$ref": "#/$defs/n", "minimum": 3}), "$defs": {"n": {"type": "integer", "minimum": 1}}}
    assert not accepts(schema, {"a": 2})
    assert accepts(schema, {"a": 3})


def test_a_value_that_looks_like_a_reference_is_a_value() -> None:
    assert one({"default": {"$ref": "http://x.invalid/"}})["default"] == {"$ref": "http://x.invalid/"}


def test_a_property_called_ref_is_a_property() -> None:
    assert accepts(of(**{"$ref": {"type": "string"}}), {"$ref": "x"})


def test_a_tree_is_checked_as_deep_as_it_is_unfolded() -> None:
    node = {"type": "object", "properties": {"v": {"type": "int"}, "l": {"$ref": "#/$defs/n"}}}
    schema = {**of(root={"$ref": "#/$defs/n"}), "$defs": {"n": node}}
    assert accepts(schema, {"root": {"v": 1, "l": {"v": 2, "l": {"l": {"l": {"v": 3}}}}}})
    assert not accepts(schema, {"root": {"v": 1, "l": {"v": "2"}}})


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (of(a={"$ref": "http://schemas.invalid/a.json"}), "which is not fetched"),
        (of(a={"$ref": "file:///etc/passwd"}), "which is not fetched"),
        (of(a={"$ref": "other.json#/a"}), "which is not fetched"),
        (of(a={"$ref": "#/$defs/gone"}), "which does not exist"),
        (of(a={"$ref": "#anchor"}), "which does not exist"),
        ({"type": "array", "items": {"type": "string"}}, "must describe an object"),
    ],
)
def test_a_tool_that_cannot_be_checked_is_broken_with_a_reason(schema: Any, words: str) -> None:
    toolset = CompiledToolset.of_tools([tool(parameters=schema), tool("g", of(x={"type": "int"}))])
    assert list(toolset.broken) == ["f"]
    assert words in toolset.broken["f"]
    assert toolset.tools["f"].validator.is_valid({"anything": 1})
    assert not toolset.tools["g"].validator.is_valid({"x": "1"})


def test_a_schema_that_unfolds_without_bounds_is_refused() -> None:
    doubling: dict[str, Any] = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(40)}
    doubling["d40"] = {"type": "string"}
    bomb = {**of(a={"$ref": "#/$defs/d0"}), "$defs": doubling}
    circle = {**of(a={"$ref": "#/$defs/a"}), "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}] * 30}}}
    toolset = CompiledToolset.of_tools([tool("bomb", bomb), tool("circle", circle)])
    assert all("too large or nested too deeply" in reason for reason in toolset.broken.values())
    assert len(toolset.broken) == 2


def test_a_hostile_pattern_runs_in_linear_time() -> None:
    validator = CompiledToolset.of_tools([tool(parameters=of(x={"pattern": "^(a+)+$"}))]).tools["f"].validator
    # A backtracking engine would not come back; no stop-watch is needed to tell.
    assert not validator.is_valid({"x": "a" * 20_000 + "b"})


def test_a_toolset_of_hundreds_of_patterns_is_checked_by_the_first_of_them() -> None:
    """Three hundred of the largest took seconds to compile, in every process."""
    half = {f"x{n}": {"pattern": f"^a{n}$"} for n in range(MAX_PATTERNS // 2)}
    names = {"type": "object", "patternProperties": {f"^b{n}$": {} for n in range(MAX_PATTERNS)}}
    tools = CompiledToolset.of_tools([tool("one", of(**half)), tool("two", of(all=names)), tool("three", of(**half))])
    one, two, three = tools.tools.values()
    assert [one.patterns, two.patterns, three.patterns] == [MAX_PATTERNS // 2, MAX_PATTERNS // 2, 0]
    assert not one.spec.notes
    assert len(two.spec.notes) == len(three.spec.notes) == MAX_PATTERNS // 2
    assert f"the toolset has more than {MAX_PATTERNS} patterns" in three.spec.notes[0]
    assert CompiledToolset.of_tools([tool("two", of(all=names))]).tools["two"].patterns == MAX_PATTERNS


# Compiled toolsets


def test_a_toolset_is_compiled_once() -> None:
    text = canonical({"tools": [tool(parameters=of(x={"type": "float"}))]})
    assert CompiledToolset.of(text) is CompiledToolset.of(text[:1] + text[1:])
    assert len(CompiledToolset.of(text).content_hash) == 64


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"tools": [{}]}'])
def test_what_is_no_toolset_is_refused(text: str) -> None:
    with pytest.raises(SchemaProblem):
        CompiledToolset.of(text)


def test_unnamed_arguments_are_refused_where_arguments_are_listed() -> None:
    parameters = {
        **of(place=of(lat={"type": "float"}), anything={"type": "object"}, points={"type": "array", "items": of(p={})}),
        "required": ["hidden"],
    }
    assert accepts(parameters, {"hidden": 1, "place": {"lat": 1}, "anything": {"x": 1}, "points": [{"p": 1}]})
    assert not accepts(parameters, {"hidden": 1, "other": 1})
    assert not accepts(parameters, {"hidden": 1, "place": {"long": 1}})
    assert not accepts(parameters, {"hidden": 1, "points": [{"q": 1}]})


@pytest.mark.parametrize(
    "more", [{"additionalProperties": True}, {"patternProperties": {"^x": {}}}, {"anyOf": [of(b={}), of(c={})]}]
)
def test_a_schema_that_speaks_of_further_arguments_is_left_open(more: dict[str, Any]) -> None:
    assert accepts({**of(a={}), **more}, {"a": 1, "xb": 2})


def test_the_same_tool_twice_is_one_tool_and_differing_ones_are_broken() -> None:
    twice = [tool("f", of(x={"type": "int", "description": "a"})), tool("f", of(x={"type": "integer"}))]
    assert list(normalise_tools(twice)) == ["f"]
    assert not CompiledToolset.of_tools(twice).broken
    differing = CompiledToolset.of_tools([*twice, tool("f", of(y={}))])
    assert "twice, with different parameters" in differing.broken["f"]


# Whatever comes

words = st.sampled_from(
    ["string", "float", "any", "object", "array", "frob", "#/$defs/a", "#/properties/type", "#", "(?=a)", "^a+$", ""]
)
keys = st.sampled_from(
    [
        *(
            "type",
            "properties",
            "required",
            "items",
            "enum",
            "default",
            "anyOf",
            "allOf",
            "not",
            "$ref",
            "$defs",
            "name",
        ),
        *("minimum", "maxLength", "pattern", "patternProperties", "additionalProperties", "dependentRequired", "const"),
        *("exclusiveMinimum", "nullable", "prefixItems", "description", "examples", "if", "format", "dependentSchemas"),
        *("additionalItems", "$id", "$schema", "uniqueItems", "dependencies", "contains", "minContains", "city"),
    ]
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=25,
)


@given(st.dictionaries(keys, anything, max_size=6), st.dictionaries(keys, anything, max_size=3))
def test_whatever_stands_in_the_parameters_they_are_read_or_refused(schema: Any, arguments: Any) -> None:
    try:
        result = normalised(schema)
    except ValueError:
        assert "cannot be used" in CompiledToolset.of_tools([tool(parameters=schema)]).broken["f"]
        return
    jsonschema_rs.meta.validate(result)
    toolset = CompiledToolset.of_tools([tool(parameters=schema)])
    assert not toolset.broken
    toolset.tools["f"].validator.is_valid(arguments)


@given(anything)
def test_whatever_stands_for_the_tools_is_read_or_refused(data: Any) -> None:
    with suppress(SchemaProblem):
        CompiledToolset.of(canonical({"tools": read_tools(data)}))


# Real toolsets


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_published_tool_can_be_checked(shared_data: Path, language: str) -> None:
    lines = (shared_data / "toolsets" / f"tools_{language}.jsonl").read_text().splitlines()
    count = 0
    for line in lines:
        tools = json.loads(line)
        toolset = CompiledToolset.of(canonical({"tools": read_tools(tools)}))
        count += len(tools)
        assert toolset.broken == {}
        for compiled in toolset.tools.values():
            jsonschema_rs.meta.validate(compiled.parameters)
            assert compiled.spec.notes == ()
    assert (len(lines), count) == (256, 1248)


def test_function_documents_of_other_collections_can_be_checked(shared_data: Path) -> None:
    for file in (shared_data / "bfcl").glob("func_doc_*.json"):
        toolset = CompiledToolset.of_tools([json.loads(line) for line in file.read_text().splitlines()])
        assert toolset.broken == {}
    specs = json.loads((shared_data / "nestful" / "executable-spec.json").read_text())
    bare = [
        {"name": spec["name"], "parameters": spec["query_parameters"]} for spec in specs if "query_parameters" in spec
    ]
    toolset = CompiledToolset.of_tools(bare)
    assert toolset.broken == {}
    assert "originSkyId" in toolset.tools["SkyScrapperFlightSearch"].parameters["required"]
