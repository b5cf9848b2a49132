"""``make clients``: what goes wrong is said, and the server of the check uses nothing of another installation."""

import sys
from pathlib import Path

import pytest

from scripts import check_clients
from scripts.environment import Stop


def test_a_program_that_fails_is_named_with_what_it_says() -> None:
    assert check_clients.run([sys.executable, "-c", "print(1)"], {}) == "1\n"
    with pytest.raises(Stop, match=r"-c failed:\s+the reason"):
        check_clients.run([sys.executable, "-c", "raise SystemExit('the reason')"], {})


def test_a_program_that_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_clients, "PATIENCE", 0.2)
    with pytest.raises(Stop, match="took more than"):
        check_clients.run([sys.executable, "-c", "import time; time.sleep(30)"], {})


def test_the_server_has_a_database_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://somewhere/else")
    found = check_clients.server_variables(tmp_path / "data", "http://127.0.0.1:1")
    assert "DATABASE_URL" not in found
    assert found["ASSAY_DATA"] == str(tmp_path / "data")
    given = check_clients.server_variables(tmp_path / "more", "http://127.0.0.1:1", "postgres:///own")
    assert given["DATABASE_URL"] == "postgres:///own"
