"""The scripts that measure provenance on made-up dialogues and on BFCL: no worse than docs/provenance.md says."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).resolve().parents[4] / "docs"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> ModuleType:
    """A script of docs/, which is no package."""
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module(request.param)


@pytest.mark.parametrize("script", ["provenance_synthetic"], indirect=True)
def test_the_made_up_dialogues_are_judged_as_well_as_the_table_says(script: ModuleType) -> None:
    text = (DOCS / "provenance.md").read_text(encoding="utf-8")
    for figure in script.FIGURES:
        for half, column in (("kept", 3), ("open", 5)):
            (row,) = [line.split("|") for line in text.splitlines() if line.startswith(f"| {figure.name} |")]
            stated = float(row[column].strip(" %")) / 100
            rows = list(script.judged(figure, seed=1, each=2, half=half))
            share = sum(one.hit for one in rows) / len(rows)
            # Two dialogues of each way, not twelve.
            assert abs(share - stated) <= 0.03, (figure.name, half, share)


@pytest.mark.parametrize("script", ["provenance_synthetic"], indirect=True)
def test_there_are_enough_ways_and_the_same_seed_makes_the_same_dialogues(script: ModuleType) -> None:
    assert len(script.EDGES) + len(script.SAID) >= 60
    assert len(script.TRAPS) >= 30
    figure = script.FIGURES[0]
    first, again, other = (
        [one.made for one in script.judged(figure, seed=seed, each=1, half="open")] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize("script", ["provenance_bfcl"], indirect=True)
def test_the_table_of_bfcl_is_what_the_script_prints(
    script: ModuleType, shared_data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["provenance_bfcl.py", str(shared_data / "bfcl")])
    script.main()
    assert capsys.readouterr().out.strip() in (DOCS / "provenance.md").read_text(encoding="utf-8")
