"""How many gold argument values of BFCL's multi-turn tasks are said to have no source.

    .venv/bin/python docs/provenance_bfcl.py FOLDER [--wrong]

FOLDER contains multi_turn_base.json, gold_executions.jsonl and the func_doc_*.json files. Each turn is a task with the
gold calls and what they returned. The values are right by definition, so every finding is a false alarm, except where
the gold call guesses what nobody has said.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from annotator.core.provenance import ArgumentTrace, Origin, trace
from annotator.core.schema import read_document
from annotator.core.schema.toolsets import CompiledToolset


def read_folder(folder: Path) -> tuple[list[dict[str, Any]], CompiledToolset]:
    """The tasks as documents, and all tools."""
    tools = []
    for file in sorted(folder.glob("func_doc_*.json")):
        for line in file.read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            parameters = {**one["parameters"], "type": "object"}
            tools.append({"type": "function", "function": {"name": one["name"], "parameters": parameters}})
    said = {one["id"]: one["question"] for one in _lines(folder / "multi_turn_base.json")}
    return [
        _document(one, said[one["id"]]) for one in _lines(folder / "gold_executions.jsonl")
    ], CompiledToolset.of_tools(tools)


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _document(gold: dict[str, Any], turns: list[list[dict[str, str]]]) -> dict[str, Any]:
    tasks = []
    for i, (messages, turn) in enumerate(zip(turns, gold["turns"], strict=True)):
        steps: list[dict[str, Any]] = [
            {
                "type": "call",
                "id": f"s{j}",
                "name": call["name"],
                "arguments": call["arguments"],
                "observation": call.get("result") or {},
                "depends_on": None,
            }
            for j, call in enumerate(turn["calls"])
        ]
        steps.append({"type": "answer", "id": "a", "text": "Done.", "depends_on": None})
        text = "\n".join(message["content"] for message in messages)
        tasks.append({"id": f"t{i}", "user_message": text or "Go on.", "steps": steps})
    return read_document({"kind": "multi_turn", "language": "en", "tasks": tasks, "env_info": "An assistant."})


def origins(folder: Path) -> list[tuple[int, ArgumentTrace]]:
    """Pairs (number of the task, value) of all gold values."""
    documents, toolset = read_folder(folder)
    return [
        (number, argument)
        for number, document in enumerate(documents)
        for task in trace(document, toolset).tasks
        for call in task.calls
        for argument in call.arguments
    ]


def main() -> None:
    """Print the line of docs/provenance.md."""
    parser = argparse.ArgumentParser(description="Count gold values of BFCL without a source.")
    parser.add_argument("folder", type=Path, help="the folder with multi_turn_base.json and gold_executions.jsonl")
    parser.add_argument("--wrong", action="store_true", help="list the values without a source")
    options = parser.parse_args()
    if not (options.folder / "gold_executions.jsonl").is_file():
        parser.error(f"{options.folder} does not contain gold_executions.jsonl; see the data beside the checkout.")
    found = origins(options.folder)
    counts = Counter(argument.origin for _, argument in found)
    print("| gold values | with a source | unknown | without |")
    print("|---|---|---|---|")
    missing = counts[Origin.NOWHERE]
    sourced = len(found) - missing - counts[Origin.UNKNOWN]
    print(f"| {len(found)} | {sourced / len(found):.1%} | {counts[Origin.UNKNOWN]} | {missing} |")
    for number, argument in found if options.wrong else ():
        if argument.origin is Origin.NOWHERE:
            print(f"task {number}: {argument.anchor}: {argument.value!r}")


if __name__ == "__main__":
    main()
