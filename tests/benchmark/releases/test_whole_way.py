"""The script of the docs that takes single tasks from an import to scores."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow(seconds=20)

SCRIPT = Path(__file__).parents[3] / "docs" / "whole_way.py"


def test_the_script_of_the_docs_goes_the_whole_way(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, str(SCRIPT), "--keep", str(tmp_path)], capture_output=True, text=True, check=False, timeout=300
    )
    assert run.returncode == 0, run.stderr
    said = run.stdout + run.stderr
    for sentence in (
        "Imported 9 single tasks. Running them showed nothing in 8.",
        "Verified single tasks in 1 round.",
        "Drew 7 composites",
        "Released 16 items; 0 were left out.",
        "Run again: 9 single tasks, with the same results and states.",
        "| reference | 1-2 | 100.0 % | 100.0 % |",
        "| forgets the last task | 2 | 53.33 % | 0.0 % | – | neglected 7 |",
    ):
        assert sentence in said, sentence
    assert [path.name for path in tmp_path.iterdir()] == ["release-1.0.zip"]
