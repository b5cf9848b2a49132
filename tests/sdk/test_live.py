"""The Python package and its command against a real server with a worker, the whole way."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from assay.__main__ import main

from annotator.services.accounts.tokens import create_token
from benchmark.demo.chat_server import said, serving
from scripts.demo import listening_socket, web_command
from scripts.supervisor import Supervisor
from tests.conftest import ROOT
from tests.factories import Team, adopt_c3, make_team

pytestmark = [pytest.mark.servers, pytest.mark.slow]

EXAMPLES = ROOT / "benchmark" / "core" / "formats" / "examples"
PATIENCE = 120


@pytest.fixture
def url(process_environment: dict[str, str], tmp_path: Path, start_worker: Callable[..., Any]) -> Iterator[str]:
    """The address of a server on this test's database."""
    start_worker("--concurrency", "2")
    with listening_socket("0") as listener, Supervisor() as programs:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        programs.start(
            "web server", web_command(Path(sys.executable), listener.fileno()), env=process_environment, cwd=ROOT,
            log=tmp_path / "web.log", pass_fds=[listener.fileno()],
        )  # fmt: skip
        assert programs.wait_until_ready(f"{address}/healthz", seconds=PATIENCE)
        yield address


@pytest.fixture
def team(transactional_db: None) -> Team:
    team = make_team()
    adopt_c3(team, audit_fraction=0.0)
    return team


def test_the_page_of_the_docs_goes_from_files_to_scores(
    team: Team, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tokens = {
        person: create_token(actor=person, name="sdk", expires_at=None)[1]
        for person in (team.administrator, *team.annotators)
    }
    for name in ("sharegpt.jsonl", "otlp.jsonl"):
        (tmp_path / name).write_bytes((EXAMPLES / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_URL", url)
    monkeypatch.setenv("ASSAY_TOKEN", tokens[team.administrator])
    monkeypatch.setenv("ASSAY_PROJECT", team.project.slug)
    monkeypatch.setenv("REVIEWERS", " ".join(tokens[person] for person in team.annotators))
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "sdk.md").read_text(), re.S | re.M):
        exec(block, names)  # noqa: S102 - the code of the docs
    printed = capsys.readouterr().out
    assert "2 created, 0 rejected" in printed
    # “trains-1” of the traces is the one that was imported before.
    assert "The project already has a dialogue “trains-1”" in printed
    assert "'verified': 4" in printed
    assert "1.0 4 dialogues" in printed
    assert "100.0% of 5, from " in printed
    assert {record["id"] for record in names["loaded"]} >= {"trains-1", "greeting-2"}

    # A model that the worker asks.
    with serving(lambda body: said("No.")) as chat:
        names["project"].add_endpoint("Local", chat.url, "sk-1")
        (run,) = names["release"].run_model("Local", "hasty", limit=1).wait(timeout=PATIENCE)
    assert (run.row["model"], run.row["right"]) == ("hasty", 0)
    assert [row["model"] for row in names["release"].leaderboard()["rows"]] == ["parrot", "hasty"]

    # The command, on what is there now.
    assert main(["dialogues", "-o", "table"]) == 0
    assert "greeting-2" in capsys.readouterr().out
    assert main(["download", "1.0", "again.zip"]) == 0
    assert (tmp_path / "again.zip").read_bytes() == (tmp_path / "release-1.0.zip").read_bytes()
    (tmp_path / "no.jsonl").write_text('{"dialogue": "nowhere", "task": 0, "rounds": []}\n')
    assert main(["score", "1.0", "no.jsonl"]) == 1
    assert "The references have no nowhere" in capsys.readouterr().err
    assert main(["report-error", "1.0", "trains-1", "The seat is wrong."]) == 0
    report = json.loads(capsys.readouterr().out)["public_id"]
    assert main(["confirm", "1.0", report, "--severity", "minor", "--reason", "It is 12B."]) == 0
    capsys.readouterr()
    assert main(["errata", "1.0"]) == 0
    assert json.loads(capsys.readouterr().out)["reason"] == "It is 12B."
    # The item is in review again. An annotator claims and submits it with files.
    monkeypatch.setenv("ASSAY_TOKEN", tokens[team.annotators[0]])
    variables = os.environ | {"PYTHONPATH": str(ROOT / "sdk" / "src")}
    claimed = subprocess.run([sys.executable, "-m", "assay", "claim"], env=variables, capture_output=True, check=True)
    assert json.loads(claimed.stdout)["dialogue"]["external_id"] == "trains-1"
    (tmp_path / "item.json").write_bytes(claimed.stdout)
    assert main(["submit", "item.json", "--verdict", "nonsense"]) == 2
    assert "“approve”" in capsys.readouterr().err
    assert main(["unclaim", "item.json"]) == 0
    assert main(["freeze", "2.0", "--format", "wild"]) == 2
    names["client"].close()
