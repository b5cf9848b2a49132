"""The script of the docs that scores the five benchmarks and compares with the published outcomes."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[3] / "docs" / "score_benchmarks.py"


def test_every_benchmark_agrees(shared_data):
    done = subprocess.run([sys.executable, SCRIPT, shared_data], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines()]
    assert [row[0] for row in rows[2:]] == [
        "C3-Bench", "Multi-Mission Tool Bench", "WildToolBench", "AsyncTool", "CCTU"
    ]  # fmt: skip
    for row in rows[2:]:
        assert row[2] == row[3], "every entry agrees"
        assert row[6] == row[7], "so does the figure of the paper"
