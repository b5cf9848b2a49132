"""Marks of clean content: for what was checked, by the program that checked it, and for nothing else."""

import ast
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import annotator
from annotator.core.checks import CheckSettings, CleanMarks
from annotator.core.checks import clean_marks as clean
from tests.annotator.case_documents import case
from tests.annotator.core.checks.check_cases import findings, good

ROOT = Path(annotator.__file__).parent / "core"


def imports(file: Path) -> Iterator[str]:
    """Every module a file imports, wherever in it; what is beside it need not be named."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def test_whatever_decides_what_is_found_is_part_of_the_mark() -> None:
    files = [file for part in clean.PARTS for file in [ROOT / part, *(ROOT / part).rglob("*.py")] if file.is_file()]
    assert len(files) > 50
    names = {name for file in files for name in imports(file)}
    parts = {name.split(".")[2] for name in names if name.startswith("annotator.core.")}
    # search.py decides what lists and counters read; no check needs it.
    assert parts | {"search"} == {part.partition("/")[0].removesuffix(".py") for part in clean.PARTS}
    foreign = {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names) - {"annotator"}
    assert foreign == {library.replace("-", "_") for library in clean.LIBRARIES}
    assert not [file for part in clean.PARTS for file in (ROOT / part).rglob("*.json")], "data decide, too"


def test_a_mark_fits_what_was_checked_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = CheckSettings(severities={"label.policy_missing": "warning"})
    mark = CleanMarks(settings).expected_mark("a" * 64, "b" * 64)
    assert mark == CleanMarks(replace(settings)).expected_mark("a" * 64, "b" * 64)
    others = [
        CleanMarks(settings).expected_mark("c" * 64, "b" * 64),
        CleanMarks(settings).expected_mark("a" * 64, "c" * 64),
        CleanMarks(replace(settings, long_range_rule="wild")).expected_mark("a" * 64, "b" * 64),
        CleanMarks(replace(settings, severities={})).expected_mark("a" * 64, "b" * 64),
    ]
    monkeypatch.setattr(clean, "_PROGRAM", b"another")
    others.append(CleanMarks(settings).expected_mark("a" * 64, "b" * 64))
    assert len({mark, *others}) == 6


def test_only_what_a_release_takes_has_a_mark() -> None:
    def earned(document: dict[str, Any], stage: Any, **severities: Any) -> bool:
        marks = CleanMarks(CheckSettings(severities=severities))
        return marks.mark_if_clean(document, findings(document, stage), "a", "b") is not None

    assert earned(good(), "import")
    open_label = good()
    open_label["tasks"][0]["policy"] = None
    told = findings(open_label, "import")
    assert {finding.severity for finding in told} == {"info"}
    # A reminder during import is an error in a release, unless the project's settings differ.
    assert {finding.severity for finding in findings(open_label, "release")} == {"error"}
    assert not earned(open_label, "import")
    assert earned(open_label, "import", **{finding.check: "warning" for finding in told})
    # Findings about a case change when its validators are tried.
    assert CleanMarks(CheckSettings()).mark_if_clean(case(), [], "a", "b") is None
