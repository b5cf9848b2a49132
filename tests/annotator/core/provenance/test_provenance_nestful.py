"""Suggested dependencies against published references: no worse than docs/provenance.md says."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(scope="module")
def nestful() -> ModuleType:
    """The script of docs/, which is no module of a package."""
    spec = importlib.util.spec_from_file_location("provenance_nestful", ROOT / "docs" / "provenance_nestful.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_without_collisions_nearly_all_references_are_suggested_and_hardly_any_other(
    nestful: ModuleType, shared_data: Path
) -> None:
    score = nestful.evaluate(shared_data / "nestful", 0.0, range(1, 6))
    assert score.true == 5 * 139
    assert score.precision >= 0.99
    assert score.recall >= 0.98


def test_with_collisions_what_is_suggested_is_still_right(nestful: ModuleType, shared_data: Path) -> None:
    score = nestful.evaluate(shared_data / "nestful", 0.3, range(1, 6))
    found, among = score.repeated
    assert score.precision >= 0.98
    assert score.recall >= 0.78
    assert found / among >= 0.85


def test_the_same_seed_gives_the_same_tasks(nestful: ModuleType, shared_data: Path) -> None:
    tasks, specs = nestful.read_folder(shared_data / "nestful")
    first, again, other = (nestful.make_case(0, tasks[0], specs, rate=0.3, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.document != other.document


def test_the_table_of_the_documentation_is_what_the_script_prints(
    nestful: ModuleType, shared_data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["provenance_nestful.py", str(shared_data / "nestful")])
    nestful.main()
    assert capsys.readouterr().out.strip() in (ROOT / "docs" / "provenance.md").read_text(encoding="utf-8")
