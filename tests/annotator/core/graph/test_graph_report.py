"""``manage.py graph_report``: rows, refusals, streams, exit codes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from annotator.core.graph.report import MAX_LISTED, NotAGraph, graph_row
from tests.conftest import ROOT

SLIDES = {"names": ["create", "rank", "detail", "slide"], "dependencies": [[], [], [1], [0, 2]]}
SLIDES_ROW = {
    "path_count": 5,
    "optimal_steps": 3,
    "optimal_path_count": 2,
    "max_steps": 4,
    "topology": "mixed",
    "published_code_path_count": 5,
    "published_code_min_steps": 3,
    "rejected_by_c3": 0,
    "rejected_by_wild": 0,
}


def run(*arguments: str | Path, text: str = "") -> subprocess.CompletedProcess[str]:
    """The command as a shell runs it, with a database that does not answer."""
    command = [sys.executable, "manage.py", "graph_report", *map(str, arguments)]
    environment = {"PATH": "", "DATABASE_URL": "postgres://nobody@127.0.0.1:1/nothing"}
    return subprocess.run(
        command, cwd=ROOT, env=environment, input=text, capture_output=True, text=True, check=False, encoding="utf-8"
    )


class TestRow:
    def test_the_slides_of_the_paper(self) -> None:
        assert graph_row(SLIDES) == SLIDES_ROW
        assert list(graph_row(SLIDES)) == list(SLIDES_ROW)

    def test_all_shared_shapes(self, shared_data: Path) -> None:
        with (shared_data / "parity" / "paths.jsonl").open(encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        for row in rows:
            found = graph_row(row)
            assert {key: row[key] for key in found if key in row} == {key: found[key] for key in found if key in row}

    def test_each_evaluator_rejects_other_paths(self) -> None:
        row = graph_row({"names": ["a"] * 3, "dependencies": [[]] * 3})
        assert (row["path_count"], row["rejected_by_c3"], row["rejected_by_wild"]) == (13, 6, 11)

    def test_no_calls(self) -> None:
        row = graph_row({"names": [], "dependencies": []})
        assert (row["path_count"], row["optimal_steps"], row["max_steps"], row["topology"]) == (1, 0, 0, None)

    def test_null_past_a_bound(self) -> None:
        crowd = graph_row({"names": ["a"] * 65, "dependencies": [[]] * 65})
        assert (crowd["path_count"], crowd["optimal_path_count"], crowd["published_code_path_count"]) == (None,) * 3
        assert (crowd["rejected_by_c3"], crowd["rejected_by_wild"]) == (None, None)
        assert (crowd["optimal_steps"], crowd["max_steps"], crowd["topology"]) == (1, 65, "parallel")
        fence = [[j for j in (i - 1, i + 1) if j < 12] if i % 2 else [] for i in range(12)]
        bounded = graph_row({"names": list("abcdefghijkl"), "dependencies": fence}, bound=20)
        assert (bounded["path_count"], bounded["published_code_path_count"]) == (None, None)
        assert (bounded["optimal_steps"], bounded["max_steps"]) == (2, 12)

    @pytest.mark.parametrize(
        ("record", "sentence"),
        [
            ([], "A graph must be a JSON object with “names” and “dependencies”."),
            ({"dependencies": []}, "“names” is missing."),
            ({"names": []}, "“dependencies” is missing."),
            ({"names": "ab", "dependencies": []}, "“names” is not a list."),
            (
                {"names": ["a"], "dependencies": []},
                "“names” and “dependencies” have 1 and 0 entries. Each call needs one entry in both.",
            ),
            ({"names": [""], "dependencies": [[]]}, "The name of call 0 is not a tool name."),
            ({"names": ["a"], "dependencies": [None]}, "The dependencies of call 0 are not a list."),
            ({"names": ["a", "b"], "dependencies": [[], [True]]}, "Call 1 depends on true, which is not a position."),
            ({"names": ["a", "b"], "dependencies": [[], ["0"]]}, 'Call 1 depends on "0", which is not a position.'),
            ({"names": ["a", "b"], "dependencies": [[], [2]]}, "Call 1 depends on 2, but calls are numbered 0 to 1."),
            ({"names": ["a"], "dependencies": [[-1]]}, "Call 0 depends on -1, but calls are numbered 0 to 0."),
            ({"names": ["a"], "dependencies": [[0]]}, "Call 0 depends on itself."),
            ({"names": ["a", "b"], "dependencies": [[], [0, 0]]}, "Call 1 lists 0 twice. Remove one."),
            (
                {"names": ["a", "b", "c"], "dependencies": [[1], [2], [0]]},
                "The dependencies form a cycle (0 → 1 → 2 → 0). Remove one of them.",
            ),
            (
                {"names": ["a"] * (MAX_LISTED + 1), "dependencies": []},
                "“names” has 1,001 entries. The limit is 1,000 calls.",
            ),
        ],
    )  # fmt: skip
    def test_what_is_no_graph(self, record: Any, sentence: str) -> None:
        with pytest.raises(NotAGraph) as refusal:
            graph_row(record)
        assert str(refusal.value) == sentence


class TestCommand:
    @pytest.mark.servers
    def test_a_line_out_for_each_line_in(self, tmp_path: Path) -> None:
        file = tmp_path / "graphs.jsonl"
        file.write_text(
            "\ufeff" + json.dumps(SLIDES) + "\n\n" + json.dumps({"names": ["a"] * 24, "dependencies": [[]] * 24})
        )
        done = run(file)
        first, second = map(json.loads, done.stdout.splitlines())
        assert first == SLIDES_ROW
        assert second["path_count"] == 2958279121074145472650648875
        assert (done.returncode, done.stderr) == (0, "Graphs read: 2; refused: 0.\n")

    @pytest.mark.parametrize("arguments", [(), ("-",)])
    def test_refused_lines_say_why_and_the_others_are_reported(
        self, manage_without_database: Any, arguments: tuple[str, ...]
    ) -> None:
        loop = {"names": ["a", "b"], "dependencies": [[1], [0]]}
        done = manage_without_database(
            "graph_report", *arguments, text=f"nothing\n{json.dumps(loop)}\n{json.dumps(SLIDES)}\n"
        )
        assert [json.loads(line) for line in done.stdout.splitlines()] == [
            {"error": "Line 1 is not JSON: invalid literal, expected 'null'."},
            {"error": "Line 2: The dependencies form a cycle (0 → 1 → 0). Remove one of them."},
            SLIDES_ROW,
        ]
        assert (done.returncode, done.stderr) == (1, "Graphs read: 3; refused: 2.\n")

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("/nowhere/graphs.jsonl",), "Can’t read /nowhere/graphs.jsonl: No such file or directory."),
            (("--what",), "Unrecognized arguments: --what."),
            ((), "The input has no lines."),
        ],
    )
    def test_wrong_use_and_nothing_to_do(
        self, manage_without_database: Any, arguments: tuple[str, ...], said: str
    ) -> None:
        done = manage_without_database("graph_report", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
        assert "Traceback" not in done.stderr

    @pytest.mark.servers
    def test_rows_come_while_lines_still_do(self) -> None:
        command = [sys.executable, "manage.py", "graph_report"]
        with subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for _ in range(2):
                process.stdin.write(json.dumps(SLIDES).encode() + b"\n")
                process.stdin.flush()
                assert json.loads(process.stdout.readline()) == SLIDES_ROW
            process.stdin.close()
            assert process.wait() == 0
