"""The command ``assay``."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from assay import __main__ as command
from assay.client import Client
from assay.verbs import COMMANDS

Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Say:
    """Run a command with answers by path; return its exit code, output and errors."""

    def run(answers: dict[str, Any], *arguments: str) -> tuple[int, str, str]:
        def handler(request: httpx.Request) -> httpx.Response:
            status, body = answers[request.url.path.removeprefix("/api/")]
            return httpx.Response(status, json=body) if body is not None else httpx.Response(status)

        def client(url: str, token: str, **options: Any) -> Client:
            return Client(url, token, transport=httpx.MockTransport(handler), **options)

        monkeypatch.setattr(command, "Client", client)
        code = command.main(arguments)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    monkeypatch.setenv("ASSAY_URL", "https://a.example")
    monkeypatch.setenv("ASSAY_TOKEN", "secret")
    monkeypatch.setenv("ASSAY_PROJECT", "p")
    return run


def test_every_command_describes_itself(capsys: pytest.CaptureFixture[str]) -> None:
    for name in COMMANDS:
        with pytest.raises(SystemExit) as stopped:
            command.main([name, "--help"])
        assert stopped.value.code == 0
        assert f"usage: assay {name}" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        command.main(["--help"])
    printed = capsys.readouterr().out
    assert all(word in printed for word in ("ASSAY_TOKEN", "exit codes", "assay submit item.json"))


def test_what_is_missing_is_said_in_a_sentence(say: Say, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"no zip")
    code, out, err = say({}, "verify", str(tmp_path / "a.zip"))
    assert (code, out) == (1, "")
    assert "zip archive" in err
    code, _, err = say({}, "import", str(tmp_path / "nowhere.jsonl"))
    assert (code, err) == (2, f"{tmp_path / 'nowhere.jsonl'}: No such file or directory.\n")
    monkeypatch.delenv("ASSAY_PROJECT")
    code, _, err = say({}, "dialogues")
    assert code == 2
    assert "--project SLUG" in err
    monkeypatch.delenv("ASSAY_TOKEN")
    code, _, err = say({}, "projects")
    assert code == 2
    assert "ASSAY_TOKEN" in err


def test_plain_http_to_another_machine_needs_a_word_and_gets_a_warning(
    say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: dict[str, Any] = {"projects/": (200, {"next": None, "results": []})}
    assert say(answers, "projects", "--insecure") == (0, "", "")
    monkeypatch.setenv("ASSAY_URL", "http://a.example")
    code, _, err = say(answers, "projects")
    assert code == 2
    assert "--insecure" in err
    code, out, err = say(answers, "projects", "--insecure")
    assert (code, out) == (0, "")
    assert "others in the network can read the token" in err


def test_rows_are_lines_of_json_or_a_table(say: Say) -> None:
    rows = [{"slug": "p", "name": "Züge", "description": "a\nb"}, {"slug": "longer", "name": "x", "description": None}]
    answers = {"projects/": (200, {"next": None, "results": rows})}
    code, out, _ = say(answers, "projects")
    assert (code, [json.loads(line) for line in out.splitlines()]) == (0, rows)
    assert say(answers, "projects", "-o", "table")[1] == (
        "slug    name  description\np       Züge  a b\nlonger  x\n"
    )  # fmt: skip


def test_an_item_is_claimed_into_a_file_and_submitted_from_it(say: Say, tmp_path: Path) -> None:
    item = {"slot": "s", "token": "t", "document": {"tasks": []}, "stage": {"verdicts": ["approve"]}, "tools": []}
    code, out, _ = say({"projects/p/claims/": (201, item)}, "claim")
    assert (code, json.loads(out)) == (0, item)
    assert say({"projects/p/claims/": (204, None)}, "claim")[0] == 3
    path = tmp_path / "item.json"
    path.write_text(out)
    findings = [{"severity": "error", "anchor": "/tasks", "message": "There are no tasks."}]
    refused = {"error": "invalid", "sentence": "Fix 1 error.", "details": {"findings": findings}}
    code, _, err = say({"work/s/submit/": (422, refused)}, "submit", str(path), "--verdict", "approve")
    assert (code, err) == (2, "Fix 1 error.\nerror at /tasks: There are no tasks.\n")
    assert say({}, "submit", str(path))[2].startswith("Say what your verdict is")
    path.write_text("[]")
    assert say({}, "submit", str(path))[2] == f"{path} is not a JSON object.\n"


def test_the_day_of_a_person_has_verbs(say: Say, tmp_path: Path) -> None:
    path = tmp_path / "item.json"
    path.write_text('{"slot": "s", "token": "t"}')
    later = {"expires_at": "2026-05-31T08:00:00Z"}
    code, out, _ = say({"work/s/take-back/": (200, later)}, "take-back", str(path))
    assert (code, json.loads(out)) == (0, later)
    goal = {"person": "a", "goal": 20}
    answers = {"projects/p/goal/": (200, goal), "projects/p/goals/": (200, {"people": [goal]} | goal)}
    assert json.loads(say(answers, "goal")[1]) == {"goal": 20}
    for arguments in (["20"], ["--none"], ["20", "--person", "a"], ["--person", "a"]):
        assert goal.items() <= json.loads(say(answers, "goal", *arguments)[1]).items()
    assert say(answers, "goals", "-o", "table")[1] == "person  goal\na       20\n"
    settings = {"stage": "check", "length": 3, "pass_mark": 2, "attempts": 2, "enabled": True, "mine": None}
    answers = {"projects/p/training/": (200, settings), "projects/p/training/again/": (200, settings)}
    path.write_text(say(answers, "training")[1])
    for arguments in (["--set", str(path)], ["--again"]):
        assert json.loads(say(answers, "training", *arguments)[1]) == settings
    path.write_text("{}")
    assert say(answers, "training", "--set", str(path))[2].endswith(
        "has no “stage”. Change what “assay training” prints.\n"
    )
    row = {"public_id": "f", "dispute": "open"}
    for verb in (["reply", "f", "Why?"], ["dispute", "f", "It is there."], ["answer", "f", "keep", "It is not."]):
        place = {"reply": "replies", "dispute": "dispute", "answer": "answer"}[verb[0]]
        code, out, _ = say({f"projects/p/feedback/f/{place}/": (201, row)}, *verb)
        assert (code, json.loads(out)) == (0, row)
    assert json.loads(say({"projects/p/feedback/": (200, {"next": None, "results": [row]})}, "feedback")[1]) == row
    people = {"people": [{"person": "a", "state": "passed"}]}
    assert json.loads(say({"projects/p/training/people/": (200, people)}, "trainees")[1])["state"] == "passed"


def test_a_rejected_record_or_suggestion_is_not_passed_over(
    say: Say, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_text("{}\n")
    job = {"state": "done", "done": 1, "total": 1, "error": ""}
    row = {"public_id": "i", "job": job, "rejected": 1}
    code, out, err = say({"projects/p/imports/": (202, row)}, "import", str(tmp_path / "a.jsonl"))
    assert (code, json.loads(out), err) == (1, row, "Rejected records: 1. “assay report i” says why.\n")
    failed = row | {"job": job | {"state": "failed", "error": "The file is empty."}}
    code, out, err = say({"projects/p/imports/": (202, failed)}, "import", str(tmp_path / "a.jsonl"))
    assert (code, json.loads(out), err) == (1, failed, "The file is empty.\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"dialogue": "x"}\n')))
    results = [{"result": "refused", "message": "There is no such dialogue."}]
    answer = {"counts": {"refused": 1}, "results": results}
    assert say({"projects/p/suggestions/": (200, answer)}, "suggest", "-")[0] == 1


def test_a_model_is_run_and_refused_requests_are_not_passed_over(say: Say) -> None:
    job = {"state": "done", "done": 3, "total": 3, "error": ""}
    row = {"public_id": "i", "job": job, "scoring": job, "done": 3, "total": 3, "refused": 0, "runs": ["r"]}
    run = {"public_id": "r", "model": "m", "right": 2, "entries": 3, "figures": []}
    answers = {
        "projects/p/releases/": (200, {"next": None, "results": [{"public_id": "x", "version": "1.0"}]}),
        "projects/p/endpoints/": (200, {"next": None, "results": [{"public_id": "e", "name": "Local"}]}),
        "projects/p/releases/x/inferences/": (202, row), "projects/p/inferences/i/": (200, row),
        "projects/p/runs/r/": (200, run),
    }  # fmt: skip
    code, out, err = say(answers, "run-model", "1.0", "Local", "m", "--limit", "3")
    assert (code, json.loads(out), err) == (0, run, "")
    answers["projects/p/releases/x/inferences/"] = answers["projects/p/inferences/i/"] = (200, row | {"refused": 1})
    code, _, err = say(answers, "run-model", "1.0", "Local", "m")
    assert (code, err) == (1, "Refused requests: 1. Their entries count as wrong.\n")
    code, out, _ = say(answers, "run-model", "1.0", "Local", "m", "--no-wait")
    assert (code, json.loads(out)["public_id"]) == (0, "i")
    assert say(answers, "run-model", "1.0", "Remote", "m")[2] == "The project has no endpoint “Remote”. It has Local.\n"
