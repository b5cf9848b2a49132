"""Findings of the checks in published data: these were all read and are right; any other is a false alarm."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotator.core.checks import Finding, Stage, run_checks
from annotator.core.schema import canonical
from annotator.core.schema.toolsets import CompiledToolset
from annotator.core.schema.violations import find_violations
from benchmark.core.formats import FORMATS

#: What a candidate still lacks, by design.
UNFINISHED = {
    "graph.not_annotated",
    "trajectory.observation_missing",
    "trajectory.answer_text_missing",
    "trajectory.clarification_incomplete",
}
#: What is no fault of the data.
PUBLISHED = "graph.published_evaluator"


def read(file: Path) -> Iterator[tuple[str, dict[str, Any], CompiledToolset]]:
    for line in file.read_text().splitlines():
        for item in FORMATS["wild"].read(json.loads(line)):
            yield item.external_id, item.document, CompiledToolset.of(canonical({"tools": item.tools}))


def check(file: Path, stage: Stage) -> list[tuple[str, Finding]]:
    return [
        (name, finding)
        for name, document, toolset in read(file)
        for finding in run_checks(document, toolset, stage=stage)
        if finding.check not in UNFINISHED
    ]


def test_the_printed_cases_of_a_paper(shared_data: Path) -> None:
    found = check(shared_data / "c3" / "paper_cases.jsonl", "submit")
    # Two parallel calls of one tool: an evaluator that compares step by step takes them in file order only.
    published = [(name, one.anchor, one.message.partition(",")[0]) for name, one in found if one.check == PUBLISHED]
    assert published == [
        ("c3_chicago_weekend", "/tasks/t3/steps", "WildToolBench’s published evaluator rejects 1 of 3 legal paths"),
        ("c3_markers_clarify", "/tasks/t1/steps", "WildToolBench’s published evaluator rejects 1 of 3 legal paths"),
        (
            "c3_globalmap_four_tasks",
            "/tasks/t2/steps",
            "WildToolBench’s published evaluator rejects 1 of 3 legal paths",
        ),
    ]
    found = [(name, one) for name, one in found if one.check != PUBLISHED]
    first = "/tasks/t1/steps/s0/arguments"
    assert [(name, one.check, one.severity, one.anchor, one.message) for name, one in found] == [
        ("c3_globalmap_four_tasks", *rest)
        for rest in (
            (
                "schema.unknown_argument",
                "error",
                f"{first}/Coordinates",
                "overlayDataOnMap has no argument “Coordinates”. It takes “data” and “mapId”.",
            ),
            (
                "schema.unknown_argument",
                "error",
                f"{first}/Data type",
                "overlayDataOnMap has no argument “Data type”. It takes “data” and “mapId”.",
            ),
            (
                "schema.unknown_argument",
                "error",
                f"{first}/Map ID",
                "overlayDataOnMap has no argument “Map ID”. Did you mean “mapId”?",
            ),
            (
                "schema.unknown_argument",
                "error",
                f"{first}/Properties",
                "overlayDataOnMap has no argument “Properties”. It takes “data” and “mapId”.",
            ),
            (
                "schema.missing_argument",
                "error",
                f"{first}/data",
                "overlayDataOnMap requires the argument “data” (a list).",
            ),
            (
                "schema.missing_argument",
                "error",
                f"{first}/mapId",
                "overlayDataOnMap requires the argument “mapId” (text).",
            ),
            (
                "schema.coordinates",
                "warning",
                "/tasks/t3/steps/s2/arguments/position/latitude",
                "“position.latitude” is 122.4194, but a latitude must be between −90 and 90; latitude and longitude "
                "may be swapped.",
            ),
        )
    ]


@pytest.mark.parametrize("stage", ["import", "submit"])
def test_real_candidates_break_their_schemas_in_these_places_only(shared_data: Path, stage: Stage) -> None:
    found = check(shared_data / "wild" / "candidates.jsonl", stage)
    assert [(name, one.check, one.anchor.rpartition("/")[2]) for name, one in found] == [
        ("wild_tool_bench_2_t3", "schema.wrong_type", "amount"),
        ("wild_tool_bench_6_t2", "schema.wrong_type", "itemId"),
        ("wild_tool_bench_18_t2", "schema.wrong_type", "expirationDate"),
        ("wild_tool_bench_18_t2", "schema.wrong_type", "url"),
        ("wild_tool_bench_18_t3", "schema.wrong_type", "expirationDate"),
        ("wild_tool_bench_18_t3", "schema.wrong_type", "url"),
    ]


def test_schema_violations_are_those_that_published_code_finds(shared_data: Path) -> None:
    kinds = {
        "error_schema: args not defined": ["unknown_argument"],
        "error_schema: required args missing": ["missing_argument"],
        "error_schema: nested args type inconsistent": ["wrong_type"],
        "error_schema: nested args value not in enum": ["not_in_enum"],
    }
    seen = set()
    for line in (shared_data / "parity" / "arguments.jsonl").read_text().splitlines():
        row = json.loads(line)
        (tool,) = CompiledToolset.of_tools([row["function"]]).tools.values()
        found = {
            side: sorted({v.kind for v in find_violations(tool, row[side], "")}) for side in ("predicted", "reference")
        }
        assert found == {"predicted": kinds.get(row["outcome"], []), "reference": []}, line
        seen.add(row["outcome"])
    assert set(kinds) <= seen


def test_what_a_candidate_lacks_is_only_a_reminder(shared_data: Path) -> None:
    for _, document, toolset in read(shared_data / "wild" / "candidates.jsonl"):
        for finding in run_checks(document, toolset, stage="import"):
            assert (finding.severity == "info") is (finding.check in UNFINISHED)
