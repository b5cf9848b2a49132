"""The command ``execute_trajectories``."""

import json

import pytest
from django.core.management import call_command

PUT = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
TOOLSET = {
    "id": "shelf",
    "source_file": "shelf.py",
    "class": "Shelf",
    "load": None,
    "functions": [{"name": "put", "parameters": PUT}],
}
SOURCE = """
class Shelf:
    def __init__(self):
        self.books = []
    def put(self, title: str):
        self.books.append(title)
        return len(self.books)
"""
TASK = {
    "id": "t1",
    "question": "Put Emma and Ulysses.",
    "toolset": "shelf",
    "ground_truth": ["put('Emma')", "put('Ulysses')"],
}


@pytest.fixture
def run(tmp_path, capfd):
    """Run the command; return its exit code, rows and words."""

    def run(*rows, toolset=TOOLSET):
        (tmp_path / "shelf.py").write_text(SOURCE)
        (tmp_path / "toolsets.jsonl").write_text(toolset if isinstance(toolset, str) else json.dumps(toolset))
        (tmp_path / "tasks.jsonl").write_text(
            "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
        )
        code = 0
        try:
            call_command(
                "execute_trajectories", str(tmp_path / "tasks.jsonl"), toolsets=str(tmp_path / "toolsets.jsonl")
            )
        except SystemExit as end:
            code = end.code
        except Exception as stop:
            return getattr(stop, "returncode", None), [], str(stop)
        out, words = capfd.readouterr()
        return code, [json.loads(line) for line in out.splitlines()], words

    return run


def test_each_line_is_answered_with_what_its_calls_came_to(run):
    code, [row], words = run(TASK)
    assert (code, words.strip()) == (0, "Single tasks read: 1; refused: 0.")
    assert [(call["name"], call["status"], call["result"], call["state_changed"]) for call in row["calls"]] == [
        ("put", "ok", 1, True), ("put", "ok", 2, True),
    ]  # fmt: skip
    assert row["final_state_sha256"] == row["calls"][1]["state_sha256"]
    assert row["findings"] == []


BAD = {
    "no object": (7, "Line 2: A single task must be an object."),
    "no JSON": ("{", "Line 2 is not JSON"),
    "no question": ({**TASK, "question": None}, "Line 2: /question: must be a text."),
    "unknown toolset": ({**TASK, "toolset": "x"}, "Line 2: /toolset: there is no toolset x"),
    "no literal": ({**TASK, "ground_truth": ["put(a)"]}, "Line 2: /ground_truth/0: Character 5: “a” is not a literal."),
    "calls that are no texts": ({**TASK, "ground_truth": [1]}, "Line 2: /ground_truth: must be a list of calls"),
    "10,000 calls": ({**TASK, "ground_truth": ["put('a')"] * 10_000}, "Line 2: /ground_truth: there are 10,000 calls."),
    "no moment": ({**TASK, "now": "soon"}, "Line 2: /now: must be a date and time"),
    "no seed": ({**TASK, "seed": 1.5}, "Line 2: /seed: must be a whole number."),
}


@pytest.mark.parametrize(("row", "sentence"), BAD.values(), ids=BAD)
def test_a_bad_line_is_refused_with_its_place_and_the_next_one_runs(run, row, sentence):
    code, [first, second, third], _ = run(TASK, row, TASK)
    assert code == 1
    assert second["error"].startswith(sentence)
    assert first == third


@pytest.mark.parametrize(
    ("toolset", "sentence"),
    [
        ("{", "toolsets.jsonl, line 1 is not JSON"),
        ("[]", "toolsets.jsonl, line 1: A toolset must be an object with an id."),
        ({**TOOLSET, "functions": 1}, "The toolset shelf cannot be used: Must be a list of tools."),
        ({**TOOLSET, "source_file": "absent.py"}, "can’t read"),
        ({**TOOLSET, "class": "a b"}, "The toolset shelf cannot be used: Must be a name in the code, or null."),
        (json.dumps(TOOLSET) + "\n" + json.dumps(TOOLSET), "line 2: the toolset shelf appears twice."),
    ],
)
def test_a_bad_toolset_stops_the_command_with_a_sentence(run, toolset, sentence):
    code, rows, words = run(TASK, toolset=toolset)
    assert (code, rows) == (2, [])
    assert sentence in words


def test_an_empty_file_is_told(run):
    assert run()[::2] == (2, "The input has no lines.")
