import importlib.util
import subprocess
import sys

import pytest

from scripts import environment
from scripts.environment import Environment, Stop, download_sentence, is_new_enough_uv, require_venv_module


@pytest.fixture
def project(tmp_path):
    """A folder with a lock file and an environment whose Python is this one."""
    root = tmp_path / "a folder with spaces"
    root.mkdir()
    (root / "uv.lock").write_text("version = 1\n")
    (root / "pyproject.toml").write_text("[project]\n")
    (root / ".venv" / "bin").mkdir(parents=True)
    (root / ".venv" / "bin" / "python").symlink_to(sys.executable)
    return root


@pytest.fixture
def installs(monkeypatch):
    """The installations that were asked for, instead of done."""
    asked = []
    monkeypatch.setattr(Environment, "_install", lambda self, *, development: asked.append(development))
    return asked


def test_second_time_installs_nothing(project, installs):
    for _ in range(2):
        assert Environment(project).prepare(development=False) == project / ".venv" / "bin" / "python"
    assert installs == [False]


def test_development_environment_serves_the_application_too(project, installs):
    Environment(project).prepare(development=True)
    Environment(project).prepare(development=False)
    assert installs == [True]


def test_application_environment_does_not_serve_development(project, installs):
    Environment(project).prepare(development=False)
    Environment(project).prepare(development=True)
    assert installs == [False, True]


def test_changed_lock_file_installs_again(project, installs):
    Environment(project).prepare(development=False)
    (project / "uv.lock").write_text("version = 1\nrevision = 2\n")
    Environment(project).prepare(development=False)
    assert installs == [False, False]


def test_broken_environment_is_made_anew(project, installs, monkeypatch):
    python = project / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to(project / "gone")
    said = []
    monkeypatch.setattr(
        environment, "run_quietly", lambda command, **options: subprocess.CompletedProcess(command, 0, "", "")
    )
    Environment(project, said.append).prepare(development=False)
    assert "no longer works" in said[0]
    assert installs == [False]


def test_incomplete_checkout_is_a_sentence(project):
    (project / "uv.lock").unlink()
    with pytest.raises(Stop, match=r"uv\.lock is missing\. Run this in a complete checkout"):
        Environment(project).prepare(development=False)


def test_folder_without_write_permission_is_a_sentence(project, installs, monkeypatch):
    monkeypatch.setattr(environment.os, "access", lambda place, mode: False)
    with pytest.raises(Stop, match=r"Can't write to .* Use a checkout that belongs to you"):
        Environment(project).prepare(development=False)


def test_missing_venv_module_names_the_package(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Stop, match="apt-get install python3-venv"):
        require_venv_module()


def test_failed_download_shows_the_reason_and_a_sentence(project, monkeypatch):
    monkeypatch.setattr(Environment, "_uv", lambda self: "uv")
    failure = subprocess.CompletedProcess(["uv"], 2, "", "error: could not resolve the host\n")
    monkeypatch.setattr(environment, "run_quietly", lambda command, **options: failure)
    with pytest.raises(Stop) as stopped:
        Environment(project, lambda sentence: None).prepare(development=False)
    assert "    error: could not resolve the host" in str(stopped.value)
    assert "Check the network connection" in str(stopped.value)
    assert not (project / ".venv" / "assay-application.sha256").exists()


def test_missing_uv_is_fetched_with_pip(project, monkeypatch):
    commands = []

    def record(command, **options):
        commands.append([str(word) for word in command])
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(environment.shutil, "which", lambda name: None)
    monkeypatch.setattr(environment, "run_quietly", record)
    Environment(project, lambda sentence: None).prepare(development=False)
    python = str(project / ".venv" / "bin" / "python")
    assert [python, "-m", "pip", "install"] == commands[1][:4]
    assert commands[-1][:4] == [str(project / ".venv" / "bin" / "uv"), "sync", "--frozen", "--inexact"]
    assert "--no-dev" in commands[-1]


@pytest.mark.parametrize(
    ("answer", "enough"), [("uv 0.5.9", False), ("uv 0.6.0 (abc)", True), ("uv 1.0.1", True), ("none", False)]
)
def test_age_of_uv(answer, enough, tmp_path):
    executable = tmp_path / "uv"
    executable.write_text(f"#!/bin/sh\necho '{answer}'\n")
    executable.chmod(0o755)
    assert is_new_enough_uv(str(executable)) is enough


def test_uv_that_does_not_run_is_not_new_enough(tmp_path):
    assert is_new_enough_uv(str(tmp_path / "uv")) is False


def test_download_sentence_names_what_failed():
    assert download_sentence("uv").startswith("Installing uv failed (see above).")
