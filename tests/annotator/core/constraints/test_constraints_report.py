"""``manage.py replay_constraints``: rows, refusals, streams, exit codes; parity with the published checker."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from annotator.core.constraints.report import NotATrajectory, replay_row
from tests.conftest import ROOT

LIMIT = {"category": "tool call count", "dimension": "resource", "parameters": {"min_callTimes": 0, "max_callTimes": 1}}
RECORD = {
    "constraints": [LIMIT, {"category": "length", "parameters": {"min_responseLength": 3, "unit": "words"}}],
    "turns": [{"tool_calls": ["a", "b"]}, {"final": "too short"}],
}
ROW = {"turns": [[{"call": 1, "violations": ["MAX CALL TIMES"]}], [{"final": True, "violations": ["MIN LENGTH"]}]]}


def run(*arguments: str | Path, text: str = "") -> subprocess.CompletedProcess[str]:
    """The command as a shell runs it, with a database that does not answer."""
    command = [sys.executable, "manage.py", "replay_constraints", *map(str, arguments)]
    environment = {"PATH": "", "DATABASE_URL": "postgres://nobody@127.0.0.1:1/nothing"}
    return subprocess.run(
        command, cwd=ROOT, env=environment, input=text, capture_output=True, text=True, check=False, encoding="utf-8"
    )


class TestRow:
    def test_a_small_case(self) -> None:
        assert replay_row(RECORD) == ROW

    def test_turn_by_turn_as_the_published_checker(self, shared_data: Path) -> None:
        lines = (shared_data / "parity" / "constraint_steps.jsonl").read_bytes().splitlines()
        assert len(lines) == 350
        for number, line in enumerate(lines, 1):
            record = orjson.loads(line)
            expected = record.pop("expected")
            assert replay_row(record)["turns"] == expected, f"line {number}, case {record['case_id']}"

    def test_rounds_used_up_are_no_violation(self) -> None:
        rounds = {"category": "interaction rounds", "parameters": {"max_round": 1}}
        turns = [{"tool_calls": ["a"]}, {"tool_calls": ["a"]}, {"final": "x"}]
        assert replay_row({"constraints": [rounds], "turns": turns}) == {"turns": [[], [], []]}

    def test_arguments_are_judged_by_schemas(self) -> None:
        record: dict[str, Any] = {
            "tools": [{"name": "f", "parameters": {"type": "object", "properties": {}, "required": ["x"]}}],
            "constraints": [{"category": "required parameters"}],
            "turns": [{"tool_calls": [{"name": "f", "arguments": {}}]}],
        }
        assert replay_row(record) == {"turns": [[{"call": 0, "violations": ["MISSING PARAMETER"]}]]}

    @pytest.mark.parametrize(
        ("record", "sentence"),
        [
            ([], "“constraints” and “turns”"),
            ({"turns": []}, "“constraints” is missing"),
            ({"constraints": [], "turns": {}}, "“turns” is not a list"),
            ({"constraints": [{"category": "mood"}], "turns": []}, "“mood” is not a category"),
            ({"constraints": [{"category": None}], "turns": []}, "has no category"),
            ({"constraints": [3], "turns": []}, "Constraint 0"),
            ({"constraints": [], "turns": [{}]}, "Turn 0 needs either"),
            ({"constraints": [], "turns": [{"tool_calls": [], "final": ""}]}, "Turn 0 needs either"),
            ({"constraints": [], "turns": [{"tool_calls": []}]}, "at least one call"),
            ({"constraints": [], "turns": [{"tool_calls": [{"name": ""}]}]}, "Call 0 of turn 0"),
            ({"constraints": [], "turns": [{"final": None}]}, "is not text"),
            ({"constraints": [], "turns": [], "tools": "f"}, "“tools” is not a list"),
            ({"constraints": [], "turns": [], "tools": [{"name": "f", "parameters": 3}]}, "tools cannot be read"),
            ({"constraints": [], "turns": [{"final": ""}] * 1001}, "1,001 turns"),
            ({"constraints": [{"category": "format"}] * 501, "turns": []}, "501 constraints"),
        ],
    )
    def test_says_what_is_wrong(self, record: object, sentence: str) -> None:
        with pytest.raises(NotATrajectory, match=sentence):
            replay_row(record)


class TestCommand:
    @pytest.mark.servers
    def test_reads_standard_input(self) -> None:
        done = run("-", text=json.dumps(RECORD) + "\n\n")
        assert (done.returncode, json.loads(done.stdout)) == (0, ROW)
        assert done.stderr == "Trajectories read: 1; refused: 0.\n"

    def test_reads_a_file_and_lists_what_it_refuses(self, manage_without_database: Any, tmp_path: Path) -> None:
        path = tmp_path / "in.jsonl"
        path.write_text(f"{json.dumps(RECORD)}\nnot JSON\n{{}}\n")
        done = manage_without_database("replay_constraints", path)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        assert done.returncode == 1
        assert rows[0] == ROW
        assert rows[1]["error"].startswith("Line 2 is not JSON")
        assert rows[2]["error"] == "Line 3: “constraints” is missing."

    def test_nothing_to_read(self, manage_without_database: Any, tmp_path: Path) -> None:
        assert manage_without_database("replay_constraints", "-").returncode == 2
        missing = manage_without_database("replay_constraints", tmp_path / "none.jsonl")
        assert missing.returncode == 2
        assert "Can’t read" in missing.stderr
