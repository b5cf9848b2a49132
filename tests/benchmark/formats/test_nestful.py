"""NESTFUL's nested calls: references are dependencies, and records come back as they were."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from annotator.core.checks import run_checks
from annotator.core.schema import SchemaProblem, read_document
from annotator.core.schema.exact_json import same
from annotator.core.schema.toolsets import CompiledToolset
from benchmark.core.files.reading import RawLine, parse_line, read_lines
from benchmark.core.formats import FORMATS
from tests.benchmark.conftest import as_zip
from tests.benchmark.formats.format_records import nestful_record

NESTFUL = FORMATS["nestful"]
SPEC = [{
    "name": "getWeather", "description": "Tells the weather.", "output_parameters": {},
    "query_parameters": {
        "city": {"type": "String", "description": "The city.", "required": True}, "days": {"type": "Number"},
    },
}]  # fmt: skip


def test_references_are_dependencies_and_the_result_is_no_call() -> None:
    (dialogue,) = NESTFUL.read(nestful_record())
    assert read_document(dialogue.document) == dialogue.document
    (task,) = dialogue.document["tasks"]
    assert [(step["id"], step["name"], step["depends_on"]) for step in task["steps"]] == [
        ("var1", "findCapital", []),
        ("var2", "getWeather", [{"id": "var1", "kind": "parameter"}]),
    ]
    assert dialogue.external_id.startswith("nestful-")
    assert NESTFUL.write([dialogue]) == nestful_record()


def test_an_edited_call_is_written_and_the_result_stays() -> None:
    (dialogue,) = NESTFUL.read(nestful_record() | {"id": "n1", "note": "x"})
    dialogue.document["tasks"][0]["steps"][0]["arguments"]["country"] = "Sweden"
    written = NESTFUL.write([dialogue])
    assert written["output"][0]["arguments"] == {"country": "Sweden"}
    assert written["output"][2] == nestful_record()["output"][2]
    assert (written["id"], written["note"]) == ("n1", "x")


def test_labels_that_cannot_be_ids_get_others() -> None:
    calls = [{"name": "a", "arguments": {}}, {"name": "b", "arguments": {"x": "$s1$"}, "label": "two words"}]
    (dialogue,) = NESTFUL.read({"input": "x", "output": calls, "tools": []})
    assert [step["id"] for step in dialogue.document["tasks"][0]["steps"]] == ["s1", "s2"]
    assert NESTFUL.write([dialogue]) == {"input": "x", "output": calls, "tools": []}


@pytest.mark.parametrize(
    ("output", "pointer"),
    [([7], "/output/0"), ([{"name": "a"}], "/output/0/arguments"), ([{"name": "a", "arguments": {}}] * 257, "/output")],
)
def test_what_cannot_be_read_is_told_with_its_place(output: list[Any], pointer: str) -> None:
    with pytest.raises(SchemaProblem) as refused:
        NESTFUL.read({"input": "x", "output": output})
    assert refused.value.problems[0].pointer == pointer


def from_archive(members: dict[str, bytes]) -> list[Any]:
    items = read_lines(BytesIO(as_zip(members)), "nestful.zip", format_name="nestful")
    return [parse_line(item) if isinstance(item, RawLine) else item for item in items]


def test_the_functions_of_the_specification_become_tools() -> None:
    row = {key: value for key, value in nestful_record().items() if key != "tools"}
    (item,) = from_archive({"data.json": json.dumps([row]).encode(), "spec.json": json.dumps(SPEC).encode()})
    schema = {"city": {"type": "string", "description": "The city."}, "days": {"type": "number"}}
    assert item.data["tools"] == [{
        "name": "getWeather", "description": "Tells the weather.",
        "parameters": {"type": "object", "properties": schema, "required": ["city"]},
    }]  # fmt: skip
    (error,) = from_archive({"data.json": b"[]", "spec.json": b"{"})
    assert "spec.json is not JSON" in error.message


def test_all_published_tasks_are_read_and_come_back_as_they_were(shared_data: Path) -> None:
    folder = shared_data / "nestful"
    found = from_archive({path.name: path.read_bytes() for path in folder.glob("*.json")})
    assert len(found) == 85
    edges = 0
    for item in found:
        (dialogue,) = NESTFUL.read(item.data)
        assert same(NESTFUL.write([dialogue]), item.data)
        steps = dialogue.document["tasks"][0]["steps"]
        edges += sum(len(step["depends_on"]) for step in steps)
        findings = run_checks(dialogue.document, CompiledToolset.of_tools(dialogue.tools), stage="import")
        assert not [one for one in findings if one.check in ("schema.unknown_tool", "graph.cycle", "graph.dangling")]
    assert edges > 85
