import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import python_version

ROOT = Path(__file__).resolve().parents[2]


def fake_python(folder: Path, name: str, version: str) -> Path:
    executable = folder / name
    executable.write_text(f"#!/bin/sh\necho {version}\n")
    executable.chmod(0o755)
    return executable


@pytest.mark.parametrize(
    ("version", "supported"), [((2, 7, 18), False), ((3, 10), False), ((3, 11, 0), True), ((4, 0), True)]
)
def test_minimum_version(version, supported):
    assert python_version.is_supported(version) is supported


def test_newer_python_is_found_beside_an_old_one(tmp_path):
    fake_python(tmp_path, "python3", "3 9")
    newer = fake_python(tmp_path, "python3.12", "3 12")
    assert python_version.find_supported_python(str(tmp_path)) == str(newer)


def test_broken_python_is_passed_over(tmp_path):
    broken = tmp_path / "python3"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    assert python_version.find_supported_python(f"{tmp_path}{os.pathsep}{tmp_path / 'absent'}") is None


def test_old_python_without_a_newer_one_ends_with_a_sentence(tmp_path):
    with pytest.raises(SystemExit) as ended:
        python_version.use_supported_python(version=(3, 8, 1), path=str(tmp_path))
    assert "Assay needs Python 3.11 or newer." in ended.value.code
    assert "is Python 3.8" in ended.value.code
    assert "make demo PYTHON=" in ended.value.code


def test_old_python_hands_over_to_a_newer_one(tmp_path, monkeypatch):
    newer = fake_python(tmp_path, "python3.11", "3 11")
    calls = []
    monkeypatch.setattr(os, "execv", lambda executable, command: calls.append((executable, command)))
    monkeypatch.setattr(sys, "argv", ["scripts/start.py", "demo", "--port", "8001"])
    python_version.use_supported_python(version=(3, 9), path=str(tmp_path))
    assert calls == [(str(newer), [str(newer), "scripts/start.py", "demo", "--port", "8001"])]


@pytest.mark.parametrize("name", ["start.py", "python_version.py", "__init__.py"])
def test_what_old_pythons_read_has_nothing_newer(name):
    source = (ROOT / "scripts" / name).read_bytes()
    source.decode("ascii")  # Python 2 refuses other characters without a declaration
    tree = ast.parse(source)
    newer = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.AsyncFunctionDef, ast.Match, ast.Nonlocal)
    assert not [node for node in ast.walk(tree) if isinstance(node, newer)]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            assert node.returns is None
            assert not node.args.kwonlyargs
            assert not [argument for argument in node.args.args if argument.annotation]


def test_unknown_command_is_a_sentence():
    outcome = subprocess.run(
        [sys.executable, ROOT / "scripts" / "start.py", "dance"], capture_output=True, text=True, check=False
    )
    assert outcome.returncode == 1
    assert outcome.stderr == "Usage: python3 scripts/start.py demo|run_tests|check|run [options]\n"
