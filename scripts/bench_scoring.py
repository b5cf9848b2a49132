"""Measure how fast predictions and transcripts are scored, on data made here.

Needs no database. ``python scripts/bench_scoring.py`` prints only this table. The published code lists every path of a
task: 4 seconds for seven independent calls, a minute for eight (recorded on this kind of machine).
"""

import io
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.config.settings")

from benchmark.core.scoring.arguments import require_libraries  # noqa: E402
from benchmark.core.scoring.scoring_run import Options, score_files  # noqa: E402

DIALOGUES, RUNS, CASES, ATTEMPTS = 250, 5, 50, 20
_ROUNDS = 3
TOOL = {
    "type": "function",
    "function": {
        "name": "find",
        "description": "Find a place.",
        "parameters": {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "the place"}, "limit": {"type": "integer"}},
            "required": ["text"],
        },
    },
}
VALIDATOR = """
def validate_format(response):
    return response.startswith("**"), "Write it in bold."
"""


@dataclass(frozen=True)
class Figure:
    """One line of the table. ``published``: the published code's recorded figure, if there is one."""

    title: str
    value: float
    unit: str
    budget: float
    published: str = ""

    @property
    def kept(self) -> bool:
        return self.value >= self.budget


def measure_scoring() -> list[Figure]:
    """Return the rows of the table, each the best of a few rounds."""
    require_libraries()
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as name:
        folder = Path(name)
        _write(folder / "references.jsonl", [_dialogue(number) for number in range(DIALOGUES)])
        _write(folder / "predictions.jsonl", [one for number in range(DIALOGUES) for one in _predictions(number)])
        _write(folder / "wide.jsonl", [_dialogue(number, 7) for number in range(20)])
        _write(folder / "wide_predictions.jsonl", [one for number in range(20) for one in _predictions(number, 7)])
        cases = folder / "cases"
        _write_cases(cases)
        _write(
            folder / "transcripts.jsonl", [_transcript(n, attempt) for attempt in range(ATTEMPTS) for n in range(CASES)]
        )
        return [
            Figure("scores: five runs of wild, all readings", _rate(folder, "wild"), "entries/s", 2000),
            Figure("scores: five runs of c3, all readings", _rate(folder, "c3"), "entries/s", 2000),
            Figure("scores: seven parallel calls", _rate(folder, "wild", "wide"), "entries/s", 200, "0.25 entries/s"),
            Figure("scores: cctu, validators in the sandbox", _rate(cases, "cctu"), "transcripts/s", 200),
        ]  # fmt: skip


def _rate(folder: Path, family: str, name: str = "") -> float:
    references = folder / f"{name}.jsonl" if name else folder / "references.jsonl"
    predictions = folder / f"{name}_predictions.jsonl" if name else folder / "predictions.jsonl"
    if family == "cctu":
        references, predictions = folder, folder.parent / "transcripts.jsonl"
    best = 0.0
    for _ in range(_ROUNDS):
        begun = time.perf_counter()
        _, outcome = score_files(references, [predictions], Options(family), io.BytesIO(), figures=False)
        best = max(best, outcome.entries / (time.perf_counter() - begun))
    return best


def _write(path: Path, records: Sequence[Any]) -> None:
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")


def _dialogue(number: int, calls: int = 3) -> dict[str, Any]:
    """Four tasks of some independent calls and one that needs them all."""
    nodes: list[dict[str, Any]] = [
        {"idx": n, "action": {"name": "find", "arguments": {"text": f"place {number} {n}"}}, "observation": "x",
         "dependency_list": []}
        for n in range(calls)
    ]  # fmt: skip
    every = list(range(calls))
    nodes.append({"idx": calls, "action": {"name": "find", "arguments": {"text": "all"}}, "observation": "x", "dependency_list": every})  # noqa: E501 # fmt: skip
    nodes.append({"idx": calls + 1, "action": {"name": "prepare_to_answer", "arguments": {"answer_type": "tool"}}, "observation": "Done.", "dependency_list": [calls]})  # noqa: E501 # fmt: skip
    return {
        "id": f"bench_{number}", "english_env_info": "2026-01-01", "english_tools": [TOOL],
        "english_tasks": [f"Task {n} of {number}" for n in range(4)], "english_answer_list": [nodes] * 4,
        "english_task_types": ["Mixed Multi-Tool"] * 4, "english_turn_subtypes": ["Partial Information"] * 3,
    }  # fmt: skip


def _predictions(number: int, calls: int = 3) -> Iterator[dict[str, Any]]:
    """Of each run: one right task, one with another text, one that stops early, one that is right call by call."""
    whole = [{"name": "find", "arguments": {"text": f"place {number} {n}"}} for n in range(calls)]
    last, answer = {"calls": [{"name": "find", "arguments": {"text": "all"}}]}, {"content": "Done."}
    other = [*whole[:-1], {"name": "find", "arguments": {"text": f"the place {number} and more words"}}]
    for task, rounds in enumerate((
        [{"calls": whole}, last, answer], [{"calls": other}, last, answer], [answer],
        [*({"calls": [one]} for one in whole), last, answer],
    )):  # fmt: skip
        for run in range(RUNS):
            yield {"run": f"run {run}", "dialogue": f"bench_{number}", "task": task, "rounds": rounds}


def _write_cases(folder: Path) -> None:
    records = []
    for number in range(CASES):
        code = folder / "check_code" / str(number)
        code.mkdir(parents=True)
        (code / "check_constraint_0.json").write_text('{"max_calls_per_tool": {"find": 2}}')
        (code / "check_constraint_1.py").write_text(VALIDATOR)
        records.append({
            "id": str(number), "tools": json.dumps([TOOL]), "codes": json.dumps({"find": "def find(**_): return 1"}),
            "messages": [{"role": "system", "content": "Keep to the rules."}, {"role": "user", "content": "Find it."}],
            "constraints_list": [["Tool", "Max Calls Per Tool", "Twice."], ["Response", "Format", "In bold."]],
            "data_source": "Single-Hop", "answer": "x", "unsolved_set": json.dumps({"find": ["place"]}),
        })  # fmt: skip
    _write(folder / "input_data.jsonl", records)


def _transcript(case: int, attempt: int) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find it."}]
    for number in range(3):
        call = {"id": f"c{number}", "function": {"name": "find", "arguments": json.dumps({"text": f"{number}"})}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": "a place"})
    messages.append({"role": "assistant", "content": f"**The answer of attempt {attempt % 4}**"})
    return {"run": "m", "attempt": attempt, "case": str(case), "messages": messages}


def scoring_table(figures: Sequence[Figure]) -> list[str]:
    """Return the lines of the table."""
    lines = [f"{'Scores':52} {'measured':>20}   budget          published code"]
    for one in figures:
        value, budget = f"{one.value:,.0f} {one.unit}", f"≥ {one.budget:,.0f}"
        lines.append(f"{one.title:52} {value:>20}   {budget:8} {'kept' if one.kept else 'MISSED':6} {one.published}")
    return lines


def as_json(figures: Sequence[Figure]) -> list[dict[str, Any]]:
    """Return the rows for the file of figures."""
    return [asdict(one) for one in figures]


if __name__ == "__main__":
    print("\n".join(scoring_table(measure_scoring())))
