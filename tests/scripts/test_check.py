import sys
from pathlib import Path

import pytest

from scripts import check
from scripts.check import Check


@pytest.fixture(autouse=True)
def _this_python(monkeypatch):
    monkeypatch.setattr(check.Environment, "prepare", lambda self, *, development: Path(sys.executable))


def test_every_check_runs_although_one_fails(monkeypatch, capsys):
    given = [
        Check("first", ("-c", "print('all is well')")),
        Check("second", ("-c", "print('line 3 is crooked'); raise SystemExit(1)")),
        Check("third", ("-c", "import os; assert os.environ['COLOUR'] == 'red'"), {"COLOUR": "red"}),
    ]
    monkeypatch.setattr(check, "checks", lambda scratch: given)
    monkeypatch.setattr(check, "problems_below", lambda root: [])
    assert check.main([]) == 1
    said = capsys.readouterr().out
    assert "ok      first" in said
    assert "failed  second" in said
    assert "line 3 is crooked" in said
    assert "all is well" not in said
    assert "ok      third" in said
    assert said.endswith("Failed: second.\n")


def test_crooked_template_fails_the_check(monkeypatch, capsys):
    monkeypatch.setattr(check, "checks", lambda scratch: [])
    monkeypatch.setattr(check, "problems_below", lambda root: ["page.html:3: a style attribute: use a class"])
    assert check.main([]) == 1
    assert "page.html:3: a style attribute: use a class" in capsys.readouterr().out


def test_all_well(monkeypatch, capsys):
    monkeypatch.setattr(check, "checks", lambda scratch: [Check("only", ("-c", ""))])
    monkeypatch.setattr(check, "problems_below", lambda root: [])
    assert check.main([]) == 0
    assert capsys.readouterr().out.endswith("All checks passed.\n")


def test_what_has_to_be_checked_is_checked(tmp_path):
    commands = [" ".join(one.arguments) for one in check.checks(tmp_path)]
    for word in (
        "ruff check",
        "ruff format --check",
        "djlint --lint",
        "mypy",
        "mypy --config-file sdk/pyproject.toml",
        "deno lint",
        "deno check",
        "lint_imports",
        "makemigrations --check",
        "vendor.py check",
    ):
        assert any(word in command for command in commands), word
    deploy = next(one for one in check.checks(tmp_path) if "--deploy" in one.arguments)
    assert deploy.variables["ASSAY_MODE"] == "server"
    assert len(deploy.variables["SECRET_KEY"]) >= 50
