"""The unit tests of the browser's modules (tests/javascript) run here, so that they count like any other test."""

import os
import subprocess
import sys

import pytest

from scripts.environment import ROOT


@pytest.mark.any_database
def test_the_browser_modules_pass_their_own_tests(tmp_path):
    variables = {**os.environ, "DENO_DIR": str(tmp_path), "DENO_NO_UPDATE_CHECK": "1", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "deno", "test", "--no-check", "tests/javascript"]
    outcome = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
